//go:build unix && !linux

package local

import "syscall"

// processAttr makes the process lead its own group. The kernel cannot tie it to this process. If it outlives this
// process, it ends when its request for the next event fails.
func processAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
