package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pintle-dev/pintle/internal/provider/local"
)

// answerer is a minimal provider that answers every event with its own directory.
const answerer = `package main

import (
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	api := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/"
	for {
		r, err := http.Get(api + "next")
		if err != nil {
			os.Exit(1)
		}
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
		dir, _ := os.Getwd()
		http.Post(api+r.Header.Get("Lambda-Runtime-Aws-Request-Id")+"/response", "", strings.NewReader(dir))
	}
}
`

// goKit returns a kit with the Go package as its provider, and the progress messages.
func goKit(t *testing.T, dir, cache string) (*kit, *[]string) {
	t.Helper()
	target, err := local.ParseTarget(dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	var said []string // appended by one goroutine at a time
	k := newKit(t, "handle", func(c *local.Config, p *local.Provider) {
		c.CacheDir = cache
		c.Progress = func(provider, text string) { said = append(said, text) }
		p.Target, p.Concurrency = target, 1
	})
	return k, &said
}

func TestGoPackageIsBuiltOnce(t *testing.T) {
	dir := tree(t, map[string]string{"main.go": answerer, "go.mod": "module example.com/answerer\n\ngo 1.24\n"})
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(t.TempDir(), "cache")
	k, said := goKit(t, dir, cache)
	if err := k.Prepare(context.Background(), "P"); err != nil {
		var build *local.BuildError
		errors.As(err, &build)
		t.Fatal(err, build.Log)
	}
	for i := range 2 {
		if got := k.run(fmt.Sprint(i), task{}); got.Kind != local.Returned || string(got.Result) != dir {
			t.Errorf("got %v %s, want the folder %s", got, got.Result, dir)
		}
	}
	k.Close()
	if len(*said) != 1 || !strings.HasSuffix((*said)[0], "the first build takes about a minute") {
		t.Errorf("progress said %q, want one line about the first build", *said)
	}
	built := builtFile(t, cache)

	// A new runtime calls go build again, which finds nothing to do.
	k, said = goKit(t, dir, cache)
	if got := k.run("again", task{}); got.Kind != local.Returned {
		t.Errorf("got %v", got)
	}
	k.Close()
	if len(*said) != 1 || strings.Contains((*said)[0], "minute") {
		t.Errorf("progress said %q, want one line that does not speak of a first build", *said)
	}
	if again := builtFile(t, cache); !os.SameFile(built, again) {
		t.Error("an unchanged package was linked again")
	}
}

func builtFile(t *testing.T, cache string) os.FileInfo {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cache, "*", "bootstrap"))
	if err != nil || len(files) != 1 {
		t.Fatalf("built files %q (%v), want one", files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestGoPackageWithAMistake(t *testing.T) {
	dir := tree(t, map[string]string{
		"main.go": "package main\n\nfunc main() { undefined() }\n",
		"go.mod":  "module example.com/mistake\n\ngo 1.24\n",
	})
	k, _ := goKit(t, dir, t.TempDir())
	err := k.Prepare(context.Background(), "P")
	var build *local.BuildError
	if !errors.As(err, &build) || build.Provider != "P" || build.Dir != dir {
		t.Fatalf("got %v, want a BuildError of P in %s", err, dir)
	}
	const complaint = "main.go:3:15: undefined: undefined"
	if log := strings.Join(build.Log, "\n"); !strings.Contains(log, complaint) {
		t.Errorf("log %q without the compiler's complaint", log)
	}
	got := k.run("1", task{})
	if got.Kind != local.InitFailed || got.Delivered || !strings.Contains(strings.Join(got.Log, "\n"), complaint) {
		t.Errorf("got %v %q, want InitFailed with the compiler's complaint", got, got.Log)
	}
	// After the mistake is fixed, the next event succeeds.
	fixed := "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(5) }\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(fixed), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := k.run("2", task{}); got.ExitCode != 5 {
		t.Errorf("got %v, want the exit of the fixed program", got)
	}
}

func TestBuildWithoutGo(t *testing.T) {
	dir := tree(t, map[string]string{"main.go": answerer})
	k, _ := goKit(t, dir, t.TempDir())
	t.Setenv("PATH", t.TempDir())
	err := k.Prepare(context.Background(), "P")
	if err == nil || !strings.Contains(err.Error(), "install Go, or name a built executable as the target") {
		t.Errorf("got %v, want the remedy", err)
	}
}

func TestPrepareIsCancelled(t *testing.T) {
	dir := tree(t, map[string]string{"main.go": answerer, "go.mod": "module example.com/answerer\n\ngo 1.24\n"})
	k, _ := goKit(t, dir, t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := k.Prepare(ctx, "P"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if err := k.Prepare(context.Background(), "Q"); !errors.Is(err, local.ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown", err)
	}
}

// TestOnePackageOfTwoProviders builds a package for two providers at once. The go tool may write its output in place,
// so that two concurrent builds would damage it, or fail because a process uses the file.
func TestOnePackageOfTwoProviders(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nmkdir %[1]s/busy || exit 9\n%[2]s \"$@\"\nstatus=$?\nrmdir %[1]s/busy\nexit $status\n", bin, tool)
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	dir := tree(t, map[string]string{"main.go": answerer, "go.mod": "module example.com/answerer\n\ngo 1.24\n"})
	target, err := local.ParseTarget(dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	k := newKit(t, "handle", func(c *local.Config, p *local.Provider) {
		c.CacheDir = t.TempDir()
		p.Target = target
		other := *p
		other.Name = "Q"
		c.Providers = []local.Provider{other}
	})
	errs := make(chan error, 2)
	for _, name := range []string{"P", "Q"} {
		go func() { errs <- k.Prepare(context.Background(), name) }()
	}
	for range 2 {
		var build *local.BuildError
		if err := <-errs; errors.As(err, &build) {
			t.Error(err, build.Log)
		}
	}
}

// TestFailingBuildIsShared sends several events to a provider that cannot be built. They must share builds.
func TestFailingBuildIsShared(t *testing.T) {
	const events = 24
	dir := tree(t, map[string]string{
		"main.go": "package main\n\nfunc main() { undefined() }\n",
		"go.mod":  "module example.com/mistake\n\ngo 1.24\n",
	})
	target, err := local.ParseTarget(dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	var builds atomic.Int32
	k := newKit(t, "handle", func(c *local.Config, p *local.Provider) {
		c.CacheDir = t.TempDir()
		c.Progress = func(string, string) { builds.Add(1) }
		p.Target, p.Concurrency = target, 8
	})
	for i := range events {
		k.invoke(fmt.Sprint(i), task{})
	}
	for range events {
		if got := k.next().outcome; got.Kind != local.InitFailed || len(got.Log) == 0 {
			t.Errorf("got %v %q, want InitFailed with the compiler's complaint", got, got.Log)
		}
	}
	if n := builds.Load(); n > events/2 {
		t.Errorf("%d builds for %d events", n, events)
	}
}
