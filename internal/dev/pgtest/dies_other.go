//go:build unix && !linux

package pgtest

import "syscall"

// dies returns who unchanged: on this system, a server outlives a killed test.
func dies(who *syscall.SysProcAttr) *syscall.SysProcAttr { return who }
