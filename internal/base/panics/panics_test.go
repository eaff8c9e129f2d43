package panics_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/base/panics"
)

const secret = "hunter2-and-more"

func TestCause(t *testing.T) {
	recovered := func(f func()) (text string) {
		defer func() { text = panics.Cause(recover()) }()
		f()
		return ""
	}
	var list []int
	for want, f := range map[string]func(){
		"a string, ":              func() { panic("the password is " + secret) },
		"a *errors.errorString, ": func() { panic(errors.New(secret)) },
		"a *fmt.wrapError, ":      func() { panic(fmt.Errorf("%s: %w", secret, errors.ErrUnsupported)) },
		"index out of range [0]":  func() { _ = list[len(list)] },
		"interface conversion":    func() { _ = any(secret).(fmt.Stringer) },
		"called with nil":         func() { panic(nil) }, //nolint:govet // on purpose
	} {
		got := recovered(f)
		if !strings.Contains(got, want) || strings.Contains(got, secret) {
			t.Errorf("%q, want %q in it and no secret", got, want)
		}
	}
}

func TestHandler(t *testing.T) {
	var log bytes.Buffer
	handler := panics.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(secret) }), slog.New(slog.NewTextHandler(&log, nil)))
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(&log, nil), slog.LevelError)
	server.Start()
	if reply, err := http.Get(server.URL); err == nil {
		reply.Body.Close()
		t.Errorf("it was answered with %s", reply.Status)
	}
	server.Close()
	if text := log.String(); strings.Contains(text, secret) || !strings.Contains(text, "panics_test.go") {
		t.Errorf("the log, in which the stack and no secret should be: %s", text)
	}
}

// recovers matches a recover call and the variable that holds its value.
var recovers = regexp.MustCompile(`(?:(\w+) := |\()recover\(\)`)

// TestEveryRecoveryIsMasked searches the repository. A recovered value may be compared, raised again, passed to this
// package or passed to a masker that knows the secrets of its request. Any other use fails the test.
func TestEveryRecoveryIsMasked(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	found := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != root || entry.Name() == "node_modules" || name == "bench" || name == "internal/base/panics"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, at := range recovers.FindAllStringSubmatchIndex(string(text), -1) {
			found++
			if at[2] < 0 {
				t.Errorf("%s: the result of recover is used without a name", name)
				continue
			}
			value := string(text[at[2]:at[3]])
			body := text[at[1]:]
			if end := bytes.Index(body, []byte("\n\t}()")); end >= 0 {
				body = body[:end]
			}
			for _, use := range regexp.MustCompile(`(?m)^.*\b`+value+`\b.*$`).FindAllString(string(body), -1) {
				if !allowed(use, value) && !masked[name+": "+strings.TrimSpace(use)] {
					t.Errorf("%s: %s", name, strings.TrimSpace(use))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 8 {
		t.Errorf("%d calls of recover were found, which is too few to be all", found)
	}
}

// allowed reports whether a line uses a recovered value only to compare it, to raise it again, or with this package.
func allowed(line, value string) bool {
	for _, use := range []string{"panics.Cause(" + value + ")", "panic(" + value + ")", value + " != nil", value + ".(error)", "; " + value + " {", value + ": "} {
		line = strings.ReplaceAll(line, use, "")
	}
	return !regexp.MustCompile(`\b` + value + `\b`).MatchString(strings.ReplaceAll(line, `"`+value+`"`, ""))
}

// masked are the lines that pass a recovered value to a masker that knows the secrets of the request.
var masked = map[string]bool{
	// The log and the response are both masked.
	`answer.go: o = outcome{err: fmt.Errorf("panic: %v", p)}`:                                                  true,
	`answer.go: r.Log().Error("panic in the handler", "panic", fmt.Sprint(p), "trace", string(debug.Stack()))`: true,
}
