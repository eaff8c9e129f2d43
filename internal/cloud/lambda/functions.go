// Package lambda is the local stand-in for AWS Lambda: it runs functions of templates and clients on the
// installed interpreters.
//
// The catalog holds the definition of each function, so every node serves it, also after a restart. The code of a
// function is a zip file below [Config.CodeDir], named by its SHA-256. The file is durable before the catalog refers
// to it. A node unpacks it below [Config.CacheDir] when it first needs it, and again if that directory was emptied.
// Nodes on different machines share the directory of the code.
//
// If all processes are busy, a call waits for one, up to a bound. If the function has reserved concurrency, the call
// is throttled instead, as on Lambda. Asynchronous events are kept in memory and tried three times.
//
// Functions of Alibaba Cloud Function Compute are defined, stored and prepared here in the same way. The package that
// delivers requests calls the function that [Functions.Match] finds.
//
// Differences from Lambda: memory and disk are not limited, no role is assumed, architectures are only recorded, the
// functions use the machine's own file system, and there is no /opt.
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

	"golang.org/x/sync/singleflight"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// Defaults of [Config].
const (
	DefaultConcurrency = local.DefaultConcurrency // processes of one function
	DefaultQueue       = 1000                     // calls that wait for a process of one function, and events of all
	DefaultMemory      = 256 << 20                // bytes of what all calls and events carry that have not ended
)

// Runtime runs the processes. A [local.Runtime] is one.
type Runtime interface {
	Set(local.Provider) error
	Drop(name string)
	Invoke(name string, event local.Event) error
}

// Objects has code that clients have put into buckets.
type Objects interface {
	// Open returns an object's bytes and how many there are, to an account. An empty version means the newest. An error that
	// wraps catalog.ErrNotFound or fs.ErrNotExist says that there is none, one that wraps fs.ErrPermission that it is not the
	// account's.
	Open(ctx context.Context, account, bucket, key, version string) (io.ReadCloser, int64, error)
}

// Config is what functions are made of.
type Config struct {
	// Catalog says what functions and layers there are. Required.
	Catalog *registry.Catalog
	// Runtime runs them; its Done is to call [Functions.Done]. Required.
	Runtime Runtime
	// Objects is where code in buckets is; nil means that there are no buckets.
	Objects Objects
	// CodeDir is where zip files are kept, CacheDir where they are unpacked. Both are made when missing. Required.
	CodeDir, CacheDir string
	// Environment returns the variables that a function of a place gets in addition to its own, which win: endpoints and
	// credentials. name is the function's in the runtime. Nil means nothing.
	Environment func(place registry.Scope, name string) map[string]string
	// Inside answers calls of functions that the program itself replaces, by the holder of the function in the catalog, and reports
	// whether the function is one. Its error is that of the function. Nil means that every function runs.
	Inside func(ctx context.Context, place registry.Scope, holder string, payload []byte) (reply []byte, err error, ok bool)
	// Declared finds functions that are not in the catalog. They come before those of the catalog that have their names. Nil means
	// that there are none.
	Declared Declarations
	// DeclaredOnly leaves the functions of the catalog out: none is found, created, changed or run, and no file is kept. CodeDir and
	// CacheDir are not used then.
	DeclaredOnly bool
	// Secrets returns the secrets in the properties of a request of a custom resource, which its calls hide in the log of what they
	// call. Nil means that there are none.
	Secrets func(context.Context, wire.RequestID) []string
	// Modules are directories node_modules that every Node function finds modules in, after its own.
	Modules []string
	// Concurrency is how many processes one function may have that has none reserved. Zero means [DefaultConcurrency].
	Concurrency int
	// Queue is how many calls may wait for a process of one function, and how many events may be kept. Zero means
	// [DefaultQueue].
	Queue int
	// Memory bounds the payloads of all calls and events that have not ended, in bytes. Zero means [DefaultMemory].
	Memory int64
	// Deliver sends the record of an event that ended to its destination. Nil sends none.
	Deliver func(context.Context, Result) error
	// Pauses are those before an event is tried again whose function has failed. Nil means one minute, then two.
	Pauses []time.Duration
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Log gets what went wrong behind the scenes; nil discards it.
	Log *slog.Logger
}

// Functions stores and runs the local functions. Its methods may be called concurrently.
type Functions struct {
	config Config
	ctx    context.Context // ends when it is closed
	cancel context.CancelFunc
	wg     sync.WaitGroup // events
	unpack singleflight.Group

	mu       sync.Mutex // guards what follows
	closed   bool
	calls    map[string]*call    // that the runtime has, by ID
	prepared map[string]prepared // what the runtime was told, by name there
	turns    map[string]*turn    // of preparing a function, by name there
	used     map[string]time.Time
	held     int64 // bytes of payloads
	events   int
}

// New returns the functions of a catalog.
func New(config Config) (*Functions, error) {
	if config.Catalog == nil || config.Runtime == nil || !config.DeclaredOnly && (config.CodeDir == "" || config.CacheDir == "") {
		return nil, errors.New("functions: the catalog, the runtime, and folders for code and for what is unpacked are required")
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
		config.Environment = func(registry.Scope, string) map[string]string { return nil }
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
	f := &Functions{
		config: config, calls: map[string]*call{}, prepared: map[string]prepared{}, turns: map[string]*turn{}, used: map[string]time.Time{},
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f, nil
}

// makeFolders makes the directories, and their paths absolute.
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
	// Code without a package.json of its own must not get one of the directories above, such as that of the CDK app.
	scope := filepath.Join(config.CacheDir, "package.json")
	return os.WriteFile(scope, []byte("{}\n"), 0o600)
}

// sweepEvery is how often files that nothing needs are looked for.
const sweepEvery = 10 * time.Minute

// Run removes files that are no longer needed, now and then, until ctx ends, and then closes the functions. No goroutine of
// theirs is left when it returns. The error is always nil.
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

// Close gives up what events are still to be tried and returns when nothing of them runs. Calls that wait end when the runtime
// does. The error is always nil. It may be called more than once.
func (f *Functions) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	f.wg.Wait()
	return nil
}
