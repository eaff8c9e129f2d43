// Package lambda is the local stand-in for AWS Lambda: it runs functions of templates and clients on the installed
// interpreters.
//
// The catalog holds the definition of each function, so every node serves it, also after a restart. The code of a
// function is a zip file below [Config.CodeDir], named by its SHA-256. The file is durable before the catalog refers
// to it. A node unpacks it below [Config.CacheDir] on first use, and again if that directory was emptied. Nodes on
// different machines share the code directory.
//
// If all processes are busy, a call waits for one, up to a limit. If the function has reserved concurrency, the call
// is throttled instead, as on Lambda. Asynchronous events are kept in memory and tried three times.
//
// Functions of Alibaba Cloud Function Compute are defined, stored and prepared here in the same way. The package that
// delivers requests calls the function that [Functions.Match] finds.
//
// Differences from Lambda: memory and disk are not limited, no role is assumed, architectures are only recorded, the
// functions use the machine's own file system, and /opt does not exist.
//
// Source: AWS Lambda developer guide; Lambda API Reference, version 2015-03-31; Function Compute developer guide.
package lambda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// Defaults of [Config].
const (
	DefaultConcurrency = local.DefaultConcurrency // processes of one function
	DefaultQueue       = 1000                     // calls that wait for a process of one function, and events in total
	DefaultMemory      = 256 << 20                // bytes of payloads of all unfinished calls and events
)

// Runtime runs the processes. [local.Runtime] implements it.
type Runtime interface {
	Set(local.Provider) error
	Drop(name string)
	Invoke(name string, event local.Event) error
}

// Objects provides code that clients put into buckets.
type Objects interface {
	// Open returns the bytes and the size of an object to an account. An empty version means the newest. The error
	// wraps [registry.ErrNotFound] or fs.ErrNotExist if the object does not exist, and fs.ErrPermission if it belongs
	// to another account.
	Open(ctx context.Context, account, bucket, key, version string) (io.ReadCloser, int64, error)
}

// Config configures [Functions].
type Config struct {
	// Catalog stores the functions and layers. Required.
	Catalog *registry.Catalog
	// Runtime runs the functions. Its Done func must call [Functions.Done]. Required.
	Runtime Runtime
	// Objects provides code in buckets. Nil disables this.
	Objects Objects
	// CodeDir is the directory of zip files, and CacheDir that of unpacked code. New creates both if they are
	// missing. Required.
	CodeDir, CacheDir string
	// Environment returns variables that a function in a scope gets in addition to its own: endpoints and
	// credentials. The function's own variables, own, take precedence. name is its name in the runtime. Nil adds none.
	Environment func(place registry.Scope, name string, own map[string]string) map[string]string
	// Inside serves calls of functions that the program itself implements, by their holder in the catalog. ok reports
	// whether it implements the function. err is the function's error. Nil means that all functions run in the
	// runtime.
	Inside func(ctx context.Context, place registry.Scope, holder string, payload []byte) (reply []byte, err error, ok bool)
	// Declared finds functions that are not in the catalog. They take precedence over catalog functions with the same
	// name. Nil means none.
	Declared Declarations
	// DeclaredOnly disables the functions of the catalog: they cannot be found, created, changed or run, and no file
	// is stored. CodeDir and CacheDir are then unused.
	DeclaredOnly bool
	// Secrets returns the secrets in the properties of a custom resource request. Calls that belong to the request
	// redact them in the logs of the called functions. Nil means none.
	Secrets func(context.Context, wire.RequestID) []string
	// Modules are node_modules directories in which all Node functions find modules, after their own.
	Modules []string
	// Concurrency is the maximum number of processes of a function without reserved concurrency. Zero means
	// [DefaultConcurrency].
	Concurrency int
	// Queue is how many calls may wait for a process of one function, and how many events may be stored. Zero means
	// [DefaultQueue].
	Queue int
	// Memory limits the payloads of all unfinished calls and events, in bytes. Zero means [DefaultMemory].
	Memory int64
	// Deliver sends the record of a finished event to its destination. Nil sends none.
	Deliver func(context.Context, Result) error
	// Pauses are the pauses before retries of an event whose function failed. Nil means one minute, then two.
	Pauses []time.Duration
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Log gets background errors. Nil discards them.
	Log *slog.Logger
}

// Functions stores and runs the local functions. Its methods are safe for concurrent use.
type Functions struct {
	*finder
	*definitions
	*settings
	*layers

	config Config
	code   *codeStore
	ready  *preparer
	ctx    context.Context // ends on Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // events
	mu     sync.Mutex     // guards the fields below
	closed bool
	calls  map[string]*call // in the runtime, by ID
	held   int64            // bytes of payloads
	events int
}

// New returns the functions of a catalog.
func New(config Config) (*Functions, error) {
	if config.Catalog == nil || config.Runtime == nil || !config.DeclaredOnly && (config.CodeDir == "" || config.CacheDir == "") {
		return nil, errors.New("functions: the catalog, the runtime, and directories for code and unpacked code are required")
	}
	if config.Concurrency < 0 || config.Queue < 0 || config.Memory < 0 {
		return nil, errors.New("functions: Concurrency, Queue and Memory must not be negative")
	}
	config.Concurrency = cmp.Or(config.Concurrency, DefaultConcurrency)
	config.Queue = cmp.Or(config.Queue, DefaultQueue)
	config.Memory = cmp.Or(config.Memory, DefaultMemory)
	if config.Pauses == nil {
		config.Pauses = []time.Duration{time.Minute, 2 * time.Minute}
	}
	if config.Secrets == nil {
		config.Secrets = func(context.Context, wire.RequestID) []string { return nil }
	}
	if config.Environment == nil {
		config.Environment = func(registry.Scope, string, map[string]string) map[string]string { return nil }
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	config.Modules = slices.Clone(config.Modules)
	if !config.DeclaredOnly {
		if err := config.makeFolders(); err != nil {
			return nil, fmt.Errorf("functions: %w", err)
		}
	}
	code := &codeStore{config: config, used: map[string]time.Time{}}
	ready := &preparer{config: config, code: code, prepared: map[string]prepared{}, turns: map[string]*turn{}}
	find := &finder{config}
	settings := &settings{finder: find}
	f := &Functions{
		finder: find, settings: settings, layers: &layers{config, code},
		definitions: &definitions{finder: find, settings: settings, code: code, ready: ready},
		config:      config, code: code, ready: ready, calls: map[string]*call{},
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f, nil
}

// makeFolders creates the directories and makes their paths absolute.
func (config *Config) makeFolders() error {
	for _, dir := range []*string{&config.CodeDir, &config.CacheDir} {
		absolute, err := filepath.Abs(*dir)
		if err != nil {
			return err
		}
		*dir = absolute
		if err := os.MkdirAll(absolute, 0o700); err != nil {
			return err
		}
	}
	// Without its own package.json, code must not use one in a directory above, such as that of the CDK app.
	scope := filepath.Join(config.CacheDir, "package.json")
	return os.WriteFile(scope, []byte("{}\n"), 0o600)
}

// sweepEvery is the interval of the search for unused files.
const sweepEvery = 10 * time.Minute

// Run periodically removes unused files until ctx ends, and then closes the functions. No goroutine is left when it
// returns. The error is always nil.
func (f *Functions) Run(ctx context.Context) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		if !f.config.DeclaredOnly {
			f.sweep(ctx)
		}
		select {
		case <-ctx.Done():
			return f.Close()
		case <-f.ctx.Done():
			return f.Close()
		case <-ticker.C:
		}
	}
}

// Close drops the remaining events and waits until none is running. Waiting calls end when the runtime does. The
// error is always nil. Close may be called more than once.
func (f *Functions) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	f.wg.Wait()
	return nil
}
