//go:build unix

// Package measure runs programs on loopback, each in its own directory, and reports their use of time, processor time and
// memory, as the operating system counts them.
//
// The package reads /proc, so it works only on Linux; on other systems it returns an error.
package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience limits waits in this package. It is not an assertion: it only ends a run that hangs.
const patience = time.Minute

// Process is a running program. It is not safe for concurrent use, except the methods that read /proc.
type Process struct {
	command *exec.Cmd
	began   time.Time
	log     string        // the file with its output
	ended   chan struct{} // closed when the process exits
}

// Start starts a program in a directory where it may write. The file log of that directory gets its output. The program
// ends with ctx and must be stopped.
func Start(ctx context.Context, folder string, env []string, program string, args ...string) (*Process, error) {
	said, err := os.OpenFile(filepath.Join(folder, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer said.Close() // the process has its own copy
	p := &Process{command: exec.CommandContext(ctx, program, args...), log: said.Name(), ended: make(chan struct{})}
	p.command.Dir, p.command.Stdout, p.command.Stderr = folder, said, said
	p.command.Env = append(os.Environ(), env...)
	p.began = time.Now()
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.command.Wait() // ProcessState has the result
		close(p.ended)
	}()
	return p, nil
}

// Ready waits until a GET of the URL returns 200, and returns the time since the start of the process. It polls every
// millisecond. If the process ends first, the error has the last lines of its output.
func (p *Process) Ready(ctx context.Context, url string) (time.Duration, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	for late := time.Now().Add(patience); time.Now().Before(late); {
		if ok(ctx, client, url) {
			return time.Since(p.began), nil
		}
		select {
		case <-p.ended:
			return 0, fmt.Errorf("%s has ended:\n%s", p.command.Path, p.said())
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return 0, fmt.Errorf("%s is not ready:\n%s", p.command.Path, p.said())
}

func ok(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	_ = response.Body.Close() // only the status matters
	return response.StatusCode == http.StatusOK
}

// said returns the last lines of the log.
func (p *Process) said() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// Stop asks the process to end, and kills it if it does not. It returns when the process has exited.
func (p *Process) Stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
		_ = p.command.Process.Kill() // it may have exited by now
		<-p.ended
		return fmt.Errorf("%s did not end when it was asked to:\n%s", p.command.Path, p.said())
	}
}

// Kill ends the process like a crash, and returns when it has exited.
func (p *Process) Kill() {
	_ = p.command.Process.Kill() // it may have exited by itself
	<-p.ended
}

// ID returns the process's id.
func (p *Process) ID() int { return p.command.Process.Pid }

// Memory is the resident memory of a process in MB of a million bytes.
type Memory struct {
	Resident float64 // current
	Peak     float64 // the peak since the start, or since [Process.Forget]
}

// Memory returns the memory of the process.
func (p *Process) Memory() (Memory, error) {
	text, err := os.ReadFile(p.proc("status"))
	if err != nil {
		return Memory{}, unread(err)
	}
	var m Memory
	for line := range bytes.Lines(text) {
		var kib float64
		if _, err := fmt.Sscanf(string(line), "VmRSS: %f kB", &kib); err == nil {
			m.Resident = kib * 1024 / 1e6
		}
		if _, err := fmt.Sscanf(string(line), "VmHWM: %f kB", &kib); err == nil {
			m.Peak = kib * 1024 / 1e6
		}
	}
	if m.Resident == 0 || m.Peak == 0 {
		return m, fmt.Errorf("%s has no VmRSS and VmHWM", p.proc("status"))
	}
	return m, nil
}

// Forget resets the memory peak to the current use.
func (p *Process) Forget() error {
	return unread(os.WriteFile(p.proc("clear_refs"), []byte("5"), 0o600))
}

// ticks is the number of ticks per second in /proc, on every platform of Go.
const ticks = 100

// CPU returns the processor time of the process since its start, in steps of 10 ms, without its children.
func (p *Process) CPU() (time.Duration, error) {
	text, err := os.ReadFile(p.proc("stat"))
	if err != nil {
		return 0, unread(err)
	}
	// The second field is the program's name in parentheses, which may contain any characters.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("%s is too short", p.proc("stat"))
	}
	var sum int
	for _, field := range fields[11:13] { // utime and stime, the 14th and 15th of proc(5)
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", p.proc("stat"), err)
		}
		sum += n
	}
	return time.Duration(sum) * time.Second / ticks, nil
}

func (p *Process) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(p.ID()), name)
}

func unread(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("what a process takes is read from /proc, on Linux, while it runs: %w", err)
	}
	return err
}

// OwnCPU returns the processor time of this process since its start.
func OwnCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // it fails only for other arguments
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// FreeAddress returns an unused host and port on loopback. Pass it to a program that takes its address as an argument.
func FreeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
