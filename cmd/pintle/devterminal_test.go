//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestDevTerminal runs dev on a pseudo-terminal.
func TestDevTerminal(t *testing.T) {
	t.Run("foreground", func(t *testing.T) {
		d := newTerminal(t, "exec pintle dev app --no-schema")
		d.await(1, "(u to send Updates again, Ctrl-C to stop)")
		d.save("exec \"$PROVIDER\" \"$@\"\n# saved\n")
		d.await(1, "no resource got an Update: to send one to all custom resources, type u and press Enter")
		d.write("u\n")
		d.await(1, "stack app was updated in ")
		d.await(3, "watching")
		d.write("\x03")
		d.await(1, "stack app is kept")
	})
	// By default the system would stop it when it reads the terminal.
	t.Run("background", func(t *testing.T) {
		d := newTerminal(t, "set -m; pintle dev app --no-schema & read line; fg")
		d.await(1, "stack app was created in ")
		d.await(1, "Ctrl-C to stop)")
		d.save("exec \"$PROVIDER\" \"$@\"\n# saved\n")
		d.await(1, "no resource got an Update")
		d.write("\n")                            // the shell reads it
		d.await(1, "pintle dev app --no-schema") // the shell names the job
		d.write("u\n")
		d.await(1, "stack app was updated in ")
		d.await(3, "watching")
		d.write("\x03")
		d.await(1, "stack app is kept")
	})
}

// terminalRun is a shell on a pseudo-terminal in a directory with a project.
type terminalRun struct {
	t       *testing.T
	dir     string
	master  *os.File
	printed chan []byte
	out     bytes.Buffer
}

func newTerminal(t *testing.T, script string) *terminalRun {
	t.Helper()
	require.Device(t, "terminal", "/dev/ptmx")
	provider, err := exec.LookPath("provider")
	if err != nil {
		t.Fatal(err)
	}
	d := &terminalRun{t: t, dir: t.TempDir(), printed: make(chan []byte)}
	if err := os.Mkdir(filepath.Join(d.dir, "app"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.file("pintle.yaml", "stack: app\nproviders: {CRTest: ./provider}\n")
	d.file("template.json", `{"Resources": {"Thing": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "CRTest"}}}}`)
	d.save("exec \"$PROVIDER\" \"$@\"\n")
	// A blocking descriptor could not be closed during a read.
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	d.master = os.NewFile(uintptr(master), "/dev/ptmx")
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = d.dir, slave, slave, slave
	cmd.Env = append(os.Environ(), "TERM=dumb", "PROVIDER="+provider)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close() // the shell has its own
	go func() {
		defer close(d.printed)
		for {
			text := make([]byte, 4096)
			n, err := d.master.Read(text)
			if err != nil { // no process has the terminal open any more
				return
			}
			d.printed <- text[:n]
		}
	}()
	t.Cleanup(func() {
		if record, err := node.ReadRecord(filepath.Join(d.dir, "app", ".pintle")); err == nil && t.Failed() {
			_ = syscall.Kill(record.PID, syscall.SIGKILL) // a hangup does not end a job in the background
		}
		_ = d.master.Close() // which hangs up
		for range d.printed {
		}
		_ = cmd.Wait()
	})
	return d
}

func (d *terminalRun) file(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, "app", name), []byte(text), 0o700); err != nil {
		d.t.Fatal(err)
	}
}

// save writes the provider, a shell script.
func (d *terminalRun) save(script string) { d.t.Helper(); d.file("provider", "#!/bin/sh\n"+script) }

func (d *terminalRun) write(keys string) {
	d.t.Helper()
	if _, err := d.master.WriteString(keys); err != nil {
		d.t.Fatal(err)
	}
}

// await waits until a text was printed that many times.
func (d *terminalRun) await(times int, text string) {
	d.t.Helper()
	deadline := time.After(patience)
	for strings.Count(d.out.String(), text) < times {
		select {
		case more, ok := <-d.printed:
			if !ok {
				d.t.Fatalf("it ended without %q:\n%s", text, &d.out)
			}
			d.out.Write(more)
		case <-deadline:
			d.t.Fatalf("it does not print %q:\n%s", text, &d.out)
		}
	}
}
