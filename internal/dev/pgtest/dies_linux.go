package pgtest

import "syscall"

// dies returns attributes with which the kernel ends a server when the test process ends.
func dies(who *syscall.SysProcAttr) *syscall.SysProcAttr {
	with := *who
	with.Pdeathsig = syscall.SIGQUIT
	return &with
}
