package local

import "syscall"

// processAttr makes the process lead a group of its own and die with us.
func processAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
