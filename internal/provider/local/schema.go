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

// Bounds of what a provider tells of itself.
const (
	// MaxSchema is the size of the largest schema in bytes.
	MaxSchema = 1 << 20

	// schemaTimeout is how long a program may take to print it.
	schemaTimeout = 5 * time.Second
	// silenceKept is how long it is remembered that a program printed none or did not end in that time: either may have been
	// for others, which were missing, or busy.
	silenceKept = time.Hour

	// maxKept is how many answers are kept; those that were written first go first.
	maxKept = 200
)

// ErrNoSchema means that a provider does not know the command schema.
var ErrNoSchema = errors.New("the provider prints no schema")

// Schema returns what the provider's program prints for the command schema: JSON of at most [MaxSchema] bytes. It is
// built first if it has to be, and runs for five seconds at most, in the environment of the provider's processes without a
// Runtime API. The answer of a compiled program is kept in [Config.SchemaDir] by the program's content, for an hour if
// that is none; a script is asked every time, for it may be made of more than one file, unless it did not end in time
// within the last hour. Errors are [ErrNoSchema], with the reason, [ErrUnknown], [ErrClosed] or a [*BuildError].
func (r *Runtime) Schema(ctx context.Context, name string) ([]byte, error) {
	p, err := r.program(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	if p.provider.Serve != nil || p.provider.Function != nil || p.provider.Target.Kind() == Script || p.provider.Target.Kind() == Java {
		return nil, fmt.Errorf("%w: it is a function, not a program", ErrNoSchema)
	}
	run, err := p.command(ctx)
	if err != nil {
		return nil, err
	}
	file := run.path
	env := environment(&r.config, p.provider, run, surroundings{dir: p.dir()})
	for _, own := range []string{
		"AWS_LAMBDA_RUNTIME_API", "AWS_LAMBDA_LOG_STREAM_NAME", "PINTLE_PROVIDER_LISTEN", fcRuntimeAPI, "FC_INSTANCE_ID",
	} {
		delete(env, own)
	}
	keep := r.schemaFile(file, p.provider.Env)
	if text, ok := keep.read(); ok {
		if len(text) == 0 {
			return nil, ErrNoSchema
		}
		return text, nil
	}
	text, err := askSchema(ctx, file, p.dir(), list(env))
	switch {
	case err == nil:
		keep.write(text, ".json")
	case ctx.Err() != nil:
	case errors.Is(err, context.DeadlineExceeded):
		keep.write(nil, ".late")
	case errors.Is(err, ErrNoSchema) && !cutShort(err):
		keep.write(nil, ".none")
	}
	return text, err
}

// cutShort reports whether a program was not run to its own end, which says nothing about it.
func cutShort(err error) bool {
	ended, ok := errors.AsType[*exec.ExitError](err)
	_, unstarted := errors.AsType[*fs.PathError](err)
	return unstarted || ok && !ended.Exited()
}

// askSchema runs the program.
func askSchema(ctx context.Context, file, dir string, env []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, schemaTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, "schema")
	cmd.Dir, cmd.Env = dir, env
	out, err := Output(cmd, MaxSchema) // what it prints on standard error is not shown: it may be anything
	switch {
	case errors.Is(err, ErrOutputTooLong):
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrNoSchema, MaxSchema)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%w within %s: %w", ErrNoSchema, schemaTimeout, context.DeadlineExceeded)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoSchema, err)
	}
	text := bytes.TrimSpace(out)
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		return nil, fmt.Errorf("%w: what it printed is not a JSON object", ErrNoSchema)
	}
	return text, nil
}

// schemaFile is where a program's answer is kept.
type schemaFile struct {
	path   string // without the extension; empty for nowhere
	script bool   // of which only is kept that it did not end
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
	declared, err := json.Marshal(env) // in the order of the names
	if err != nil {
		return schemaFile{}
	}
	hash.Write(declared)
	return schemaFile{filepath.Join(r.config.SchemaDir, hex.EncodeToString(hash.Sum(nil)[:16])), string(head) == "#!"}
}

// read returns what is kept; an empty text for a program without a schema.
func (s schemaFile) read() ([]byte, bool) {
	if s.path == "" {
		return nil, false
	}
	for _, extension := range []string{".none", ".late"} {
		if info, err := os.Stat(s.path + extension); err == nil && time.Since(info.ModTime()) < silenceKept {
			return nil, true
		}
	}
	info, err := os.Stat(s.path + ".json")
	if err != nil || info.Size() > MaxSchema {
		return nil, false
	}
	text, err := os.ReadFile(s.path + ".json")
	return text, err == nil && json.Valid(text)
}

// write keeps an answer. Whatever goes wrong, the program is asked again the next time. A crash leaves a file of another
// name.
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
		_ = os.Remove(f.Name()) // it is of no use
	}
	prune(dir)
}

// prune removes the oldest files of a directory that has too many. If it fails, the next call does it.
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
