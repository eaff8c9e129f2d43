//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// process is a process that was started.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended
}

// end ends the process by a signal, and by SIGKILL if that takes too long.
func (p process) end(signal syscall.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
		return errors.Join(fmt.Errorf("%s does not end", p.cmd), p.cmd.Process.Kill())
	}
}

// daemon is a program other than PostgreSQL that runs beside servers.
type daemon struct {
	process
	log string // the file that has what it wrote
}

// daemon starts a program in the server's directory, as the server's user. It ends with the test, and writes to the test's log if that
// failed.
func (s *Server) daemon(t testing.TB, program string, args ...string) (*daemon, error) {
	t.Helper()
	log, err := os.CreateTemp(s.dir, filepath.Base(program)+"-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the process has it too
	d := &daemon{process{exec.Command(program, args...), make(chan struct{})}, log.Name()}
	d.cmd.Dir, d.cmd.Env, d.cmd.SysProcAttr = s.dir, environment(), dies(s.who)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(d.ended)
		_ = d.cmd.Wait() // it is killed, or its log says why it ended
	}()
	t.Cleanup(func() {
		if err := d.end(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("%s:\n%s", program, d.said())
		}
	})
	return d, nil
}

// said returns the end of what the program wrote.
func (d *daemon) said() []byte {
	text, err := os.ReadFile(d.log)
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-4<<10):]
}

// listens waits until the program accepts connections at a port.
func (d *daemon) listens(port int) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-d.ended:
			return fmt.Errorf("%s ended:\n%s", d.cmd, d.said())
		case <-deadline:
			return fmt.Errorf("%s does not listen:\n%s", d.cmd, d.said())
		}
	}
}

// free returns ports of loopback at which nobody listens.
func free(n int) ([]int, error) {
	var ports []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = listener.Close() }() // not before all ports are known
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
