package audit_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/audit"
)

// entries reads the entries of a log.
func entries(t *testing.T, path string) (list []audit.Entry) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var e audit.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		list = append(list, e)
	}
	return list
}

func TestLines(t *testing.T) {
	var out bytes.Buffer
	l, err := audit.Open("-", &out)
	if err != nil {
		t.Fatal(err)
	}
	e := audit.Entry{
		Time: time.Date(2026, 11, 23, 1, 2, 3, 456789000, time.FixedZone("", 3600)), Who: audit.Who{User: "eve", Role: "operator"},
		From: "192.0.2.7", Endpoint: audit.EndpointConsole, Action: "Respond", Stack: "s", Resource: "R", Outcome: audit.Granted, Status: 200,
	}
	if err := l.Write(e); err != nil {
		t.Fatal(err)
	}
	const want = `{"time":"2026-11-23T00:02:03.456Z","who":{"user":"eve","role":"operator"},"from":"192.0.2.7","door":"console",` +
		`"action":"Respond","stack":"s","resource":"R","outcome":"granted","status":200}` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFileIsReopened checks that only the owner may write the file, and that entries go to a new file after the old one
// was moved away and the log reopened.
func TestFileIsReopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l, err := audit.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	write := func(action string) {
		t.Helper()
		if err := l.Write(audit.Entry{Action: action}); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write("two")
	if err := l.Reopen(); err != nil {
		t.Fatal(err)
	}
	write("three")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = audit.Open(path, nil); err != nil {
		t.Fatal(err)
	}
	write("four")
	for name, want := range map[string]string{path + ".1": "one two", path: "three four"} {
		var actions []string
		for _, e := range entries(t, name) {
			actions = append(actions, e.Action)
		}
		if got := strings.Join(actions, " "); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, error %v", name, info.Mode(), err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if l.Write(audit.Entry{}) == nil || l.Reopen() == nil {
		t.Error("a closed log takes what is written")
	}
}

// narrow accepts a number of bytes and then returns an error: no space.
type narrow struct {
	bytes.Buffer
	space int
}

func (n *narrow) Write(text []byte) (int, error) {
	if len(text) <= n.space {
		n.space -= len(text)
		return n.Buffer.Write(text)
	}
	written, _ := n.Buffer.Write(text[:n.space]) // never fails
	n.space = 0
	return written, syscall.ENOSPC
}

// TestTornLines checks that a line that was cut off, by a full disk or a crash, does not damage later ones.
func TestTornLines(t *testing.T) {
	for space := range 40 {
		out := &narrow{space: space}
		l, err := audit.Open("-", out)
		if err != nil {
			t.Fatal(err)
		}
		for _, more := range []int{0, 1, 5, 1000} {
			out.space += more
			if err := l.Write(audit.Entry{Action: "CreateStack"}); (err == nil) != (more == 1000) {
				t.Fatalf("a line with room for %d bytes: %v", out.space, err)
			}
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if last := lines[len(lines)-1]; !json.Valid([]byte(last)) || strings.Contains(out.String(), "\n\n") {
			t.Errorf("with room for %d bytes at first there is:\n%s", space, out)
		}
	}

	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(`{"time":"2026-11-23T0`), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := audit.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"one", "two"} {
		if err := l.Write(audit.Entry{Action: action}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) != 4 || !json.Valid([]byte(lines[1])) || !json.Valid([]byte(lines[2])) || lines[3] != "" {
		t.Errorf("the file is:\n%s", text)
	}
}

func TestNoLog(t *testing.T) {
	var l *audit.Log
	if err := l.Write(audit.Entry{}); err != nil {
		t.Error(err)
	}
	if err := l.Reopen(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := audit.Open(filepath.Join(t.TempDir(), "none", "audit.log"), nil); err == nil {
		t.Error("a log was opened in a folder that is not there")
	}
}

// TestHostileNames checks that each entry is one line of limited length, even if clients choose hostile names.
func TestHostileNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l, err := audit.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	long := strings.Repeat("ü", 100_000)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := l.Write(audit.Entry{Action: "CreateStack", Stack: "a\nb\x1b[31m\x00", Name: long, Token: "x" + long}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	list := entries(t, path)
	if len(list) != 20 {
		t.Fatalf("%d lines, want 20", len(list))
	}
	for _, e := range list {
		if e.Stack != "a\nb\x1b[31m\x00" || len(e.Name) > 2100 || !utf8.ValidString(e.Token) || len(e.Token) > 2100 {
			t.Errorf("line %.100v", e)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsAny(text, "\x1b\x00") {
		t.Error("control characters are written as they are")
	}
}
