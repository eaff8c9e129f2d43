package local

import "syscall"

// processAttr makes the process lead its own group and die with this process.
func processAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
