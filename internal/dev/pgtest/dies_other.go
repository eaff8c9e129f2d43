//go:build unix && !linux

package pgtest

import "syscall"

// dies cannot be said on this system: a server outlives a test that is killed.
func dies(who *syscall.SysProcAttr) *syscall.SysProcAttr { return who }
