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

// process is a running process.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has exited
}

// end sends a signal to the process, and kills it if it does not exit in time.
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

// daemon is another program that runs next to the servers.
type daemon struct {
	process
	log string // the file with its output
}

// daemon starts a program in the server's directory, as the server's user. The program ends with the test. If the
// test failed, its output is written to the test log.
func (s *Server) daemon(t testing.TB, program string, args ...string) (*daemon, error) {
	t.Helper()
	log, err := os.CreateTemp(s.dir, filepath.Base(program)+"-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the process has its own descriptor
	d := &daemon{process{exec.Command(program, args...), make(chan struct{})}, log.Name()}
	d.cmd.Dir, d.cmd.Env, d.cmd.SysProcAttr = s.dir, environment(), dies(s.who)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(d.ended)
		_ = d.cmd.Wait() // it was killed, or its log has the reason
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

// said returns the end of the program's output.
func (d *daemon) said() []byte {
	text, err := os.ReadFile(d.log)
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-4<<10):]
}

// listens waits until the program accepts connections on a port.
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

// free returns n free loopback ports.
func free(n int) ([]int, error) {
	var ports []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = listener.Close() }() // keeps the port until all are found
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
