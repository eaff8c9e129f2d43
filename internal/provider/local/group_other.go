//go:build !unix

package local

import (
	"os"
	"syscall"
)

// There are no process groups here: only the process itself is ended.

func processAttr() *syscall.SysProcAttr { return nil }

func buildAttr() *syscall.SysProcAttr { return nil }

func terminateGroup(leader *os.Process) error { return leader.Kill() }

func killGroup(leader *os.Process) error { return leader.Kill() }
