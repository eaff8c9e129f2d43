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

// body is what a process is: a child of this one, or a part of it.
type body interface {
	// start begins it.
	start() error
	// pid returns its number, 0 if it has none of its own.
	pid() int
	// wait returns when it has finished, with all that it left behind.
	wait() error
	// terminate asks it to end; kill makes it. Both do nothing to one that has finished.
	terminate()
	kill()
	// end describes how it ended; when completes the sentence.
	end(when string) Outcome
}

// child is a process of its own.
type child struct{ cmd exec.Cmd }

// start keeps the goroutine's thread until wait: the kernel ends a child when the thread that made it ends.
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
	c.kill() // what it left behind; usually nothing
	return err
}

func (c *child) terminate() { _ = terminateGroup(c.cmd.Process) } // fails only if it has finished

func (c *child) kill() { _ = killGroup(c.cmd.Process) }

func (c *child) end(when string) Outcome {
	status, _ := c.cmd.ProcessState.Sys().(syscall.WaitStatus) // which it is on every system
	return ending(status, when)
}

// ending describes how a process ended by its status.
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

// Host is what serves the Runtime API to a [ServeFunc].
type Host struct {
	// Address is where the Runtime API is, HOST:PORT/SECRET, as in AWS_LAMBDA_RUNTIME_API.
	Address string
	// Log takes the lines of the log.
	Log io.Writer
	// Killed is cancelled when no time is left to finish anything. The ServeFunc must not answer any event after
	// that.
	Killed context.Context
}

// ServeFunc handles events of the Runtime API as a process would, one after the other, but inside this one. It returns soon
// after ctx is cancelled, when it has finished what it was at, and at once when host.Killed is.
type ServeFunc func(ctx context.Context, host Host) error

// inside is a part of this process.
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
	i.err = errors.New("it was ended") // by a runtime.Goexit, if this stays
	i.err = i.serve(i.ctx, i.host)
	return i.err
}

func (i *inside) terminate() { i.cancel() }

func (i *inside) kill() { i.cancelHost() }

func (i *inside) end(when string) Outcome {
	message := "what answers for the provider ended " + when
	if i.err != nil {
		message += ": " + i.err.Error()
	}
	return Outcome{Kind: Exited, ExitCode: 1, Message: message}
}
