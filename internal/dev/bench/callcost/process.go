//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a measured process.
type process struct {
	cmd    *exec.Cmd
	output bytes.Buffer
	ended  chan struct{}
	err    error
}

func start(ctx context.Context, c *candidate, more ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, c.command[0], c.command[1:]...), ended: make(chan struct{})}
	p.cmd.Env = append(append([]string{}, c.env...), more...)
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

func (p *process) died() error {
	return fmt.Errorf("%s: it ended: %w\n%s", strings.Join(p.cmd.Args, " "), p.err, p.output.Bytes())
}

// stop ends the process and returns its usage.
func (p *process) stop() usage {
	memory := peak(strconv.Itoa(p.cmd.Process.Pid))
	_ = p.cmd.Process.Kill() // it may have exited
	used := p.wait()
	if memory > 0 {
		used.memory = memory
	}
	return used
}

// peak returns the peak memory of a process in bytes, or 0 if /proc does not have it. The value of wait is less
// exact: it is never below the memory of this program when it started the process.
func peak(pid string) int64 {
	text, _ := os.ReadFile(filepath.Join("/proc", pid, "status"))
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kib, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.ParseInt(kib, 10, 64)
	return n << 10
}

func (p *process) wait() usage {
	<-p.ended
	used, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return usage{}
	}
	return usage{cpu: time.Duration(used.Utime.Nano() + used.Stime.Nano()), memory: maxBytes(used)}
}

// usage is the total resource usage of a process.
type usage struct {
	took, cpu time.Duration
	memory    int64 // peak, in bytes
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
