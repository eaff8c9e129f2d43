package local

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// buildTimeout limits one go build. A first build that compiles every dependency takes about a minute.
const buildTimeout = 15 * time.Minute

// BuildError is the error of a Go package that could not be built.
type BuildError struct {
	Provider string
	Dir      string   // of the package
	Log      []string // the end of the compiler's output, bounded and redacted like [Outcome.Log]
	Err      error    // why the build failed, e.g. an exit status
}

// Error returns the provider, the directory and the cause, without the log.
func (e *BuildError) Error() string {
	return fmt.Sprintf("build provider %s: go build in %s: %v", e.Provider, e.Dir, e.Err)
}

// Unwrap returns the cause.
func (e *BuildError) Unwrap() error { return e.Err }

// command is the command line and environment of a process.
type command struct {
	path string
	args []string // the first is the program's name
	env  []string // more of the environment, as KEY=VALUE
	// schema is the command line of a handler's schema. It is empty for a program, which gets the argument schema.
	schema []string
	// runtime is the directory of the program that calls the handler, passed as LAMBDA_RUNTIME_DIR. It is empty if the
	// program calls the handler itself.
	runtime string
}

// program is the program of a provider's processes. A Go package is built at most once.
type program struct {
	provider Provider
	config   *Config
	turn     chan struct{} // semaphore of one token; its holder may build and access the fields below
	built    string
	failed   error     // of the last build
	began    time.Time // start of the failed build
}

func newProgram(provider Provider, config *Config, turn chan struct{}) *program {
	return &program{provider: provider, config: config, turn: turn}
}

// dir returns the working directory of the processes, their LAMBDA_TASK_ROOT.
func (p *program) dir() string {
	target := p.provider.Target
	switch target.Kind() {
	case Executable:
		return cmp.Or(target.dir, filepath.Dir(target.Path()))
	case Script:
		return target.script.root
	case Java:
		return target.root()
	case Folder, GoPackage, URL:
	}
	return target.Path()
}

// command returns the command to run, and builds the program if necessary.
func (p *program) command(ctx context.Context) (command, error) {
	if p.provider.Serve != nil {
		return command{}, nil
	}
	target := p.provider.Target
	file := target.Path()
	switch target.Kind() {
	case Executable:
	case Folder:
		file = filepath.Join(file, "bootstrap")
	case GoPackage:
		var err error
		if file, err = p.path(ctx); err != nil {
			return command{}, err
		}
	case Script:
		// Look for the interpreter each time, because the cache directory may have been emptied.
		return target.script.command(p.config, p.provider)
	case Java:
		return javaCommand(p.config, p.provider)
	case URL:
		return command{}, errors.New("a URL has no program")
	}
	return command{path: file, args: strings.Split(file+target.args, "\x00")}, nil
}

// path returns the executable that a Go package is built into. Builds are not concurrent. The error of a failed build
// applies to all callers that were waiting when it began. The next caller builds again.
func (p *program) path(ctx context.Context) (string, error) {
	arrived := time.Now()
	select {
	case <-p.turn:
		defer func() { p.turn <- struct{}{} }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if p.built != "" {
		return p.built, nil
	}
	if p.failed != nil && p.began.After(arrived) {
		return "", p.failed
	}
	p.began, p.failed = time.Now(), nil
	file, err := p.build(ctx)
	switch {
	case err == nil:
		p.built = file
	case ctx.Err() == nil: // otherwise only this caller has cancelled
		p.failed = err
	}
	return file, err
}

// build runs go build, which is fast if nothing has changed.
func (p *program) build(ctx context.Context) (string, error) {
	source := p.provider.Target.Path()
	fail := func(err error, output string) (string, error) {
		return "", &BuildError{p.provider.Name, source, outputTail(output), err}
	}
	gotool, err := exec.LookPath("go")
	if err != nil {
		return fail(fmt.Errorf("%w: install Go, or name a built executable as the target", err), "")
	}
	key := sha256.Sum256([]byte(source))
	file := filepath.Join(p.config.CacheDir, fmt.Sprintf("%x", key[:8]), "bootstrap")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fail(err, "")
	}
	note := ""
	if _, err := os.Stat(file); err != nil {
		note = "; the first build takes about a minute"
	}
	p.config.Progress(p.provider.Name, fmt.Sprintf("building provider %s (go build in %s)%s",
		p.provider.Name, p.provider.Target, note))

	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	output := &boundedBuffer{limit: 64 << 10}
	cmd := exec.CommandContext(ctx, gotool, "build", "-buildvcs=false", "-o", file, ".")
	cmd.Dir = source
	cmd.Env = append(p.config.Environ[:len(p.config.Environ):len(p.config.Environ)], "PWD="+source)
	cmd.Stdout, cmd.Stderr = output, output
	ownGroup(cmd)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fail(err, output.String())
	}
	return file, nil
}

// outputTail returns the end of a build's output.
func outputTail(output string) []string {
	var t tail
	h := newRedactor()
	for line := range strings.Lines(output) {
		if line = h.line(line); line != "" {
			t.add(line)
		}
	}
	return t.lines()
}

// boundedBuffer keeps the last limit bytes written to it.
type boundedBuffer struct {
	limit int
	buf   bytes.Buffer
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	n := len(p)
	if n > b.limit {
		p = p[n-b.limit:]
	}
	if over := b.buf.Len() + len(p) - b.limit; over > 0 {
		b.buf.Next(over)
	}
	b.buf.Write(p)
	return n, nil
}

func (b *boundedBuffer) String() string { return b.buf.String() }
