package pgtest

import "syscall"

// dies adds to a server's attributes that it ends when the test's process does, however that ends.
func dies(who *syscall.SysProcAttr) *syscall.SysProcAttr {
	with := *who
	with.Pdeathsig = syscall.SIGQUIT
	return &with
}
