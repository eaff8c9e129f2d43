//go:build unix

package local

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestEndedProcessIsNotSignalled checks that a reaped process is not signalled, because another process group may have
// its ID.
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
	// Not SIGINT: a shell makes the processes that it starts in the background ignore that.
	if err := other.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait() // the status is checked next
	if status, ok := other.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGUSR1 {
		t.Errorf("another process was ended: %v", other.ProcessState)
	}
}
