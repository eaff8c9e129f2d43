package local

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"time"
)

// ErrOutputTooLong is the error of a command that prints more than it may.
var ErrOutputTooLong = errors.New("the output is too long")

// Output runs a command, made with [exec.CommandContext], in a process group of its own, and returns what it prints on standard output. It
// kills the whole group when the command ends, when the context does, and when there are more than limit bytes, which is an
// [ErrOutputTooLong]. It returns the output with other errors too. If a child of a command that ended with 0 holds the output open, the
// error is [exec.ErrWaitDelay]. Where there are no process groups, only the command itself is killed.
func Output(cmd *exec.Cmd, limit int) ([]byte, error) {
	ownGroup(cmd)
	kill := func() {
		if cmd.Process != nil {
			_ = killGroup(cmd.Process) // usually there is nothing left to kill
		}
	}
	out := limitedBuffer{limit: limit, full: kill}
	cmd.Stdout = &out
	err := cmd.Run()
	kill()
	if out.over {
		return nil, ErrOutputTooLong
	}
	return out.buf.Bytes(), err
}

// ownGroup makes a command lead its own process group, which is killed as a whole when the command's context ends.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = buildAttr()
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = time.Second // a child that it left behind may hold its output open
}

// limitedBuffer takes up to limit bytes and then refuses.
type limitedBuffer struct {
	limit int
	full  func() // called when there is more
	buf   bytes.Buffer
	over  bool
}

// Write implements io.Writer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.over = b.over || b.buf.Len()+len(p) > b.limit; b.over {
		b.full()
		return 0, io.ErrShortWrite
	}
	return b.buf.Write(p)
}
