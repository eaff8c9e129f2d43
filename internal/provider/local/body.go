package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/pintle-dev/pintle/internal/base/panics"
)

// body is the execution of a process: a child process, or a goroutine of this process.
type body interface {
	// start starts it.
	start() error
	// pid returns its process ID, or 0 if it has none of its own.
	pid() int
	// wait waits until it has exited, and kills its remaining child processes.
	wait() error
	// terminate asks it to exit, and kill forces it to. Both do nothing after it has exited.
	terminate()
	kill()
	// end describes how it ended. when completes the sentence.
	end(when string) Outcome
}

// child is a child process.
type child struct{ cmd exec.Cmd }

// start locks the goroutine to its thread until wait, because the kernel kills a child when the thread that started it
// ends.
func (c *child) start() error {
	runtime.LockOSThread()
	err := c.cmd.Start()
	if err != nil {
		runtime.UnlockOSThread()
	}
	return err
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) wait() error {
	defer runtime.UnlockOSThread()
	err := c.cmd.Wait()
	c.kill() // kill remaining processes of the group, if any
	return err
}

func (c *child) terminate() { _ = terminateGroup(c.cmd.Process) } // fails only if the process has exited

func (c *child) kill() { _ = killGroup(c.cmd.Process) }

func (c *child) end(when string) Outcome {
	status, _ := c.cmd.ProcessState.Sys().(syscall.WaitStatus) // it has this type on every system
	return ending(status, when)
}

// ending describes how a process ended, by its status.
func ending(status syscall.WaitStatus, when string) Outcome {
	if status.Signaled() {
		return Outcome{
			Kind: Crashed, Signal: status.Signal().String(),
			Message: fmt.Sprintf("a signal (%s) ended the provider's process %s", status.Signal(), when),
		}
	}
	return Outcome{
		Kind: Exited, ExitCode: status.ExitStatus(),
		Message: fmt.Sprintf("the provider's process exited with code %d %s", status.ExitStatus(), when),
	}
}

// Host connects a [ServeFunc] to the Runtime API.
type Host struct {
	// Address is the address of the Runtime API, HOST:PORT/SECRET, as in AWS_LAMBDA_RUNTIME_API.
	Address string
	// Log receives the log lines.
	Log io.Writer
	// Killed is cancelled when the ServeFunc must stop immediately. The ServeFunc must not answer any event after that.
	Killed context.Context
}

// ServeFunc handles events of the Runtime API like a process, one after the other, but inside this process. When ctx is
// cancelled, it finishes the current event and returns. When host.Killed is cancelled, it returns immediately.
type ServeFunc func(ctx context.Context, host Host) error

// inside runs a ServeFunc inside this process.
type inside struct {
	serve      ServeFunc
	host       Host
	ctx        context.Context
	cancel     context.CancelFunc
	cancelHost context.CancelFunc
	err        error
}

func newInside(serve ServeFunc, host Host) *inside {
	i := &inside{serve: serve, host: host}
	i.host.Killed, i.cancelHost = context.WithCancel(context.Background())
	i.ctx, i.cancel = context.WithCancel(i.host.Killed)
	return i
}

func (*inside) start() error { return nil }
func (*inside) pid() int     { return 0 }

func (i *inside) wait() (err error) {
	defer i.kill()
	defer func() {
		if cause := recover(); cause != nil {
			i.err = errors.New("panic: " + panics.Cause(cause))
		}
		err = i.err
	}()
	i.err = errors.New("it was ended") // stays if runtime.Goexit ends serve
	i.err = i.serve(i.ctx, i.host)
	return i.err
}

func (i *inside) terminate() { i.cancel() }

func (i *inside) kill() { i.cancelHost() }

func (i *inside) end(when string) Outcome {
	message := "the handler process of the provider ended " + when
	if i.err != nil {
		message += ": " + i.err.Error()
	}
	return Outcome{Kind: Exited, ExitCode: 1, Message: message}
}
