//go:build !unix

package local

import (
	"os"
	"syscall"
)

// This system has no process groups: only the process itself is killed.

func processAttr() *syscall.SysProcAttr { return nil }

func buildAttr() *syscall.SysProcAttr { return nil }

func terminateGroup(leader *os.Process) error { return leader.Kill() }

func killGroup(leader *os.Process) error { return leader.Kill() }
