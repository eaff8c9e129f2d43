//go:build !unix

package local

import (
	"os/exec"
	"syscall"
)

const canFork = false

var killed syscall.WaitStatus

func (*template) run(_, _ string, begun chan<- error) { begun <- errTemplate }

func (*template) spawn(*exec.Cmd) (int, error) { return 0, errTemplate }
