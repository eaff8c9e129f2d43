package local

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"time"
)

// ErrOutputTooLong is the error of a command that prints more than the limit.
var ErrOutputTooLong = errors.New("the output is too long")

// Output runs a command, made with [exec.CommandContext], in its own process group, and returns its standard output. It
// kills the whole group when the command or the context ends, and when the output exceeds limit bytes, which is an
// [ErrOutputTooLong]. It also returns the output when it returns another error. If a child of a successful command
// keeps the output open, the error is [exec.ErrWaitDelay]. On systems without process groups, only the command itself
// is killed.
func Output(cmd *exec.Cmd, limit int) ([]byte, error) {
	ownGroup(cmd)
	kill := func() {
		if cmd.Process != nil {
			_ = killGroup(cmd.Process) // usually no process is left
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
	cmd.WaitDelay = time.Second // a remaining child may keep the output open
}

// limitedBuffer accepts up to limit bytes and then returns an error.
type limitedBuffer struct {
	limit int
	full  func() // called when the limit is exceeded
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
