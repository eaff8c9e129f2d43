//go:build unix && !linux

package local

import "syscall"

// processAttr makes the process lead a group of its own. Where the kernel offers nothing to tie it to us, a process
// that outlives us ends when it asks for its next event and no one listens.
func processAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
