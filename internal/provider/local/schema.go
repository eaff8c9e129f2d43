package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// Limits of a provider's schema.
const (
	// MaxSchema is the maximum size of a schema in bytes.
	MaxSchema = 1 << 20

	// schemaTimeout is how long a program may take to print its schema.
	schemaTimeout = 5 * time.Second
	// silenceKept is how long the cache remembers that a program printed no schema or timed out. Either may have had a
	// temporary cause, such as a missing file or a busy machine.
	silenceKept = time.Hour

	// maxKept is the maximum number of cached schemas. The oldest are removed first.
	maxKept = 200
)

// ErrNoSchema means that a provider does not support the schema command.
var ErrNoSchema = errors.New("the provider prints no schema")

// ErrSchemaUnread means that a provider did not answer the schema command: its program timed out, did not start or was killed. So it is
// unknown whether the provider has a schema.
var ErrSchemaUnread = errors.New("the provider did not answer the schema command")

// Schema runs the provider's program with the command schema and returns its output: JSON of at most [MaxSchema] bytes. A handler in
// Python or Node prints its schema if its file uses the library for authors in that language.
// It builds the program first if necessary. The program runs for at most five seconds, in the environment of the
// provider's processes but without a Runtime API. The answer of a compiled program is cached in [Config.SchemaDir] by
// the program's content; the absence of a schema is cached for an hour. A script runs every time, because it may
// consist of several files, unless it timed out within the last hour. Errors are [ErrNoSchema] and [ErrSchemaUnread], with the
// reason, [ErrUnknown], [ErrClosed], a [*BuildError], a [*SchemaError] or the error of ctx.
func (r *Runtime) Schema(ctx context.Context, name string) ([]byte, error) {
	p, err := r.program(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	kind := p.provider.Target.Kind()
	if p.provider.Serve != nil || p.provider.Function != nil || kind == Java || kind == Script && !p.provider.Target.script.published(p.provider) {
		return nil, fmt.Errorf("%w: it is a function without a library that publishes one", ErrNoSchema)
	}
	run, err := p.command(ctx)
	if err != nil {
		return nil, err
	}
	file, line := run.path, []string{run.path, "schema"}
	if kind == Script {
		file, line = p.provider.Target.script.file, run.schema
	}
	env := environment(&r.config, p.provider, run, surroundings{dir: p.dir()})
	for _, own := range []string{
		"AWS_LAMBDA_RUNTIME_API", "AWS_LAMBDA_LOG_STREAM_NAME", "PINTLE_PROVIDER_LISTEN", fcRuntimeAPI, "FC_INSTANCE_ID",
	} {
		delete(env, own)
	}
	keep := r.schemaFile(file, p.provider.Env)
	keep.script = keep.script || kind == Script
	if text, ok, err := keep.read(); ok {
		return text, err
	}
	text, printed, err := askSchema(ctx, line, p.dir(), list(env))
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.Exited() && ended.ExitCode() != exitNoSchema && (kind == Script || hasSDK(file)) {
		return nil, &SchemaError{name, p.provider.Target.Path(), ended, failureText(printed, variableSecrets(p.provider.Env, env))}
	}
	switch {
	case err == nil:
		keep.write(text, ".json")
	case ctx.Err() != nil:
	case errors.Is(err, errLate):
		keep.write(nil, ".late")
	case errors.Is(err, ErrNoSchema):
		keep.write(nil, ".none")
	}
	return text, err
}

// cutShort reports whether a program did not start or was killed, so that its output means nothing.
func cutShort(err error) bool {
	ended, ok := errors.AsType[*exec.ExitError](err)
	_, unstarted := errors.AsType[*fs.PathError](err)
	return unstarted || ok && !ended.Exited()
}

// errLate is the error for a program that timed out.
var errLate = fmt.Errorf("%w within %s", ErrSchemaUnread, schemaTimeout)

// askSchema runs a command line and returns its schema. printed is the beginning of its standard error, which may contain anything.
func askSchema(ctx context.Context, line []string, dir string, env []string) (text []byte, printed string, err error) {
	ctx, cancel := context.WithTimeout(ctx, schemaTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir, cmd.Env = dir, env
	failures := headBuffer{limit: maxSchemaErrors}
	cmd.Stderr = &failures
	out, err := Output(cmd, MaxSchema)
	printed = failures.buf.String()
	switch {
	case errors.Is(err, ErrOutputTooLong):
		return nil, printed, fmt.Errorf("%w: it has more than %d bytes", ErrNoSchema, MaxSchema)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, printed, errLate
	case ctx.Err() != nil:
		return nil, printed, ctx.Err()
	case cutShort(err):
		return nil, printed, fmt.Errorf("%w: %w", ErrSchemaUnread, err)
	case err != nil:
		return nil, printed, fmt.Errorf("%w: %w", ErrNoSchema, err)
	}
	text = bytes.TrimSpace(out)
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		return nil, printed, fmt.Errorf("%w: what it printed is not a JSON object", ErrNoSchema)
	}
	return text, printed, nil
}

// headBuffer keeps up to limit bytes, and drops the rest.
type headBuffer struct {
	limit int
	buf   bytes.Buffer
}

// Write implements io.Writer.
func (b *headBuffer) Write(p []byte) (int, error) {
	b.buf.Write(p[:min(len(p), b.limit-b.buf.Len())])
	return len(p), nil
}

// schemaFile is the cache file of a program's schema.
type schemaFile struct {
	path   string // without the extension; empty disables the cache
	script bool   // a script: only a timeout is cached
}

func (r *Runtime) schemaFile(program string, env map[string]string) schemaFile {
	if r.config.SchemaDir == "" {
		return schemaFile{}
	}
	f, err := os.Open(program)
	if err != nil {
		return schemaFile{}
	}
	defer f.Close()
	hash := sha256.New()
	head := make([]byte, 2)
	if _, err := io.ReadFull(f, head); err != nil {
		return schemaFile{}
	}
	hash.Write(head)
	if _, err := io.Copy(hash, f); err != nil {
		return schemaFile{}
	}
	declared, err := json.Marshal(env) // keys are sorted
	if err != nil {
		return schemaFile{}
	}
	hash.Write(declared)
	return schemaFile{filepath.Join(r.config.SchemaDir, hex.EncodeToString(hash.Sum(nil)[:16])), string(head) == "#!"}
}

// read returns the cached schema, or the cached error. ok is false if there is neither.
func (s schemaFile) read() (text []byte, ok bool, err error) {
	if s.path == "" {
		return nil, false, nil
	}
	for _, kept := range []struct {
		extension string
		err       error
	}{{".none", ErrNoSchema}, {".late", errLate}} {
		if info, err := os.Stat(s.path + kept.extension); err == nil && time.Since(info.ModTime()) < silenceKept {
			return nil, true, kept.err
		}
	}
	info, err := os.Stat(s.path + ".json")
	if err != nil || info.Size() > MaxSchema {
		return nil, false, nil //nolint:nilerr // the program is asked instead
	}
	text, err = os.ReadFile(s.path + ".json")
	return text, err == nil && json.Valid(text), nil
}

// write caches a schema. If it fails, the program runs again the next time. A crash leaves a temporary file behind.
func (s schemaFile) write(text []byte, extension string) {
	if s.path == "" || s.script && extension != ".late" {
		return
	}
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return
	}
	f, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), s.path+extension)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // incomplete
	}
	prune(dir)
}

// prune removes the oldest files if a directory has too many. If it fails, the next call repeats it.
func prune(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= maxKept {
		return
	}
	written := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			written[e.Name()] = info.ModTime()
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return written[a.Name()].Compare(written[b.Name()]) })
	for _, e := range entries[:len(entries)-maxKept] {
		_ = os.Remove(filepath.Join(dir, e.Name()))
	}
}
