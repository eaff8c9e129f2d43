//go:build unix

package local

import (
	"os"
	"syscall"
)

// buildAttr is processAttr without Pdeathsig, which depends on the thread that starts the build.
func buildAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(leader *os.Process) error { return syscall.Kill(-leader.Pid, syscall.SIGTERM) }

func killGroup(leader *os.Process) error { return syscall.Kill(-leader.Pid, syscall.SIGKILL) }
