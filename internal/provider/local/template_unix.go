//go:build unix

package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

const canFork = true

// killed is the status of a process that was killed by SIGKILL.
const killed = syscall.WaitStatus(syscall.SIGKILL)

// run runs the template from start to end. It keeps its thread locked, because the kernel kills the template when the
// thread ends.
func (t *template) run(path, script string, begun chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ours, theirs, err := socketPair()
	if err != nil {
		begun <- err
		return
	}
	defer ours.Close()
	cmd := exec.Cmd{
		Path: path, Args: []string{path, script, "--template", "3"}, Env: t.environment(), ExtraFiles: []*os.File{theirs},
		Dir: os.TempDir(), SysProcAttr: processAttr(),
	}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		begun <- err
		return
	}
	t.control = ours // no other goroutine uses t yet
	begun <- nil
	lines := bufio.NewScanner(ours)
	for lines.Scan() {
		var number, status int
		switch n, _ := fmt.Sscanf(lines.Text(), "ended %d %d", &number, &status); {
		case n == 2:
			t.ended(number, syscall.WaitStatus(status))
		default:
			_, _ = fmt.Sscanf(lines.Text(), "started %d", &number) // 0 means that the fork failed
			t.started <- number
		}
	}
	t.mu.Lock()
	t.close()
	t.mu.Unlock()
	_ = killGroup(cmd.Process) // it ends by itself, unless it hangs
	_ = cmd.Wait()             // the status does not matter
	close(t.dead)
}

// spawn makes the template fork the process that cmd describes, and returns its process ID. If it fails, it releases
// the caller's use of the template.
func (t *template) spawn(cmd *exec.Cmd) (number int, err error) {
	defer func() {
		if err != nil {
			t.release()
		}
	}()
	ours, theirs, err := socketPair()
	if err != nil {
		return 0, err
	}
	defer ours.Close()
	number, err = t.fork(theirs, cmd.Stdout)
	theirs.Close()
	if err != nil {
		return 0, err
	}
	text := []byte(cmd.Dir + "\x00" + strconv.Itoa(len(cmd.Args)) + "\x00")
	for _, list := range [][]string{cmd.Args, cmd.Env} {
		for _, one := range list {
			text = append(append(text, one...), 0)
		}
	}
	_ = ours.SetWriteDeadline(time.Now().Add(sendTimeout)) // sockets support deadlines
	_, _ = ours.Write(text)                                // if it fails, the process has exited, which is reported
	return number, nil
}

// fork requests a process with the two files from the template.
func (t *template) fork(source *os.File, log any) (int, error) {
	output, ok := log.(*os.File)
	if !ok {
		return 0, errors.New("the log is not a file")
	}
	t.request.Lock()
	defer t.request.Unlock()
	t.mu.Lock()
	control := t.control
	t.mu.Unlock()
	if control == nil {
		return 0, errTemplate
	}
	_, _, err := control.WriteMsgUnix([]byte{0}, syscall.UnixRights(int(source.Fd()), int(output.Fd())), nil)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(t.runtime.ctx, t.runtime.config.InitTimeout)
	defer cancel()
	select {
	case number := <-t.started:
		if number == 0 {
			return 0, errors.New("the template process cannot fork")
		}
		return number, nil
	case <-t.dead:
		return 0, errTemplate
	case <-ctx.Done():
		if t.runtime.ctx.Err() != nil {
			return 0, ErrClosed // other templates may use the remaining time to end
		}
		t.mu.Lock()
		t.close() // a late response would be mistaken for that of another request
		t.mu.Unlock()
		return 0, ctx.Err()
	}
}

// socketPair returns two connected sockets, the second for another process.
func socketPair() (ours *net.UnixConn, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(pair[0])
		syscall.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	file := os.NewFile(uintptr(pair[0]), "socket")
	theirs = os.NewFile(uintptr(pair[1]), "socket")
	conn, err := net.FileConn(file) // it has its own descriptor
	file.Close()
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		theirs.Close()
		return nil, nil, errors.New("a socket is of another kind")
	}
	return unix, theirs, nil
}
