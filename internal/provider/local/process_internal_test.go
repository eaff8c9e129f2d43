//go:build unix

package local

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestEndedProcessIsNotSignalled: once it is waited for, its id may be that of another process group.
func TestEndedProcessIsNotSignalled(t *testing.T) {
	other := exec.Command("sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := other.Start(); err != nil {
		t.Skip(err)
	}
	p := &process{
		body: &child{cmd: exec.Cmd{Process: other.Process}}, ending: make(chan struct{}), ended: make(chan struct{}),
	}
	close(p.ending)
	close(p.ended)
	p.stop(time.Minute)
	p.kill()
	if err := other.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait() // how it ended is looked at next
	if status, ok := other.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGINT {
		t.Errorf("another process was ended: %v", other.ProcessState)
	}
}
