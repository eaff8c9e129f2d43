// Package local runs providers as local processes on the Lambda Runtime API.
//
// A [Provider] has a [Target]: an executable, a directory with a bootstrap, a Go package that is built first, or a
// Python or Node file that a program of package bootstrap runs. A [Runtime] starts processes when events come, keeps
// them warm, and ends idle ones. Each process has its own loopback listener and handles one event at a time, like a
// Lambda environment. Other users of the machine cannot use that listener, because they don't know the secret in its
// address. Where the system reports the user of a connection, their connections are refused.
//
// [Runtime.Invoke] accepts an event and returns. [Config.Done] reports the result once, as an [Outcome]. So a process
// that dies, hangs or never starts is reported immediately, with the end of its log, instead of after a timeout of an
// hour. If a handler returned, it is unknown whether it sent an answer to the response URL.
//
// A provider may also be a function of this program, a [ServeFunc], which uses the same API.
//
// Log lines are cleaned and redacted before they are stored or passed on. Every process leads its own process group,
// and the whole group is killed with it. On Linux, the kernel also kills the process when this one dies.
//
// Source: AWS Lambda developer guide, "Using the Lambda runtime API for custom runtimes".
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/base/backoff"
	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/wire"
)

// Defaults of [Config] and [Provider].
const (
	DefaultTimeout     = 15 * time.Minute // for one event; Lambda's maximum
	DefaultConcurrency = 10               // processes of one provider
	DefaultQueue       = 32               // events waiting for a process of one provider
	DefaultIdle        = 5 * time.Minute  // until an unused process ends
	DefaultInitTimeout = time.Minute      // from the start of a process to its first request for an event
	DefaultGrace       = 2 * time.Second  // between SIGTERM and SIGKILL
	// DefaultAffinity is short because the process that handled the resource's last event has already sent its answer,
	// or there would be no next event. It will be idle soon, and its in-memory state is worth the wait.
	DefaultAffinity = 500 * time.Millisecond
	DefaultRegion   = "us-east-1"
	DefaultAccount  = "000000000000"
)

// Errors of [Runtime.Invoke] and [Runtime.Prepare].
var (
	// ErrUnknown means that no provider has this name.
	ErrUnknown = errors.New("no local provider has this name")
	// ErrBusy means that every process of the provider is busy and its queue is full. Retry after one of its events has
	// finished.
	ErrBusy = errors.New("the provider's processes are busy and its queue is full")
	// ErrClosed means that the runtime has been closed.
	ErrClosed = errors.New("the local runtime is closed")
)

// Event is one invocation of a provider.
type Event struct {
	// ID identifies the event in [Config.Done] and [Config.Log]. It has 1 to 128 letters, digits, '-', '_' and '.'. The
	// handler does not see it.
	ID string
	// Invocation is the request ID that the handler sees, in its context and in the paths of the Runtime API. It has
	// the same form as ID. Empty means a new UUID each time the event is sent to a process: on AWS, the ID of an
	// invocation always differs from the RequestId of CloudFormation.
	Invocation string
	// Resource identifies the resource of the event. It may be empty. If the process that handled the resource's last
	// event is free, or becomes free within half a second, it gets the event.
	Resource string
	// Payload is the JSON that the handler gets.
	Payload []byte
	// Deadline ends the event if it is earlier than the provider's timeout. Zero means that only the timeout applies.
	Deadline time.Time
	// Secrets are texts to redact in the log. They stay redacted for the lifetime of the process.
	Secrets []string
	// FunctionARN is the invoked function's ARN that the handler sees. Empty means an ARN made of the configured region
	// and account and the provider's name. For [bootstrap.FC] it is a service token, acs:fc:…, and the handler sees the
	// region, account and service in it.
	FunctionARN string
	// Contract is the calling convention of the handler if its provider has none. Zero means [bootstrap.Lambda]. See
	// [ContractOf].
	Contract bootstrap.Contract
	// Trace is the trace that the event belongs to. Empty means a new, unsampled trace.
	Trace trace.Parent
	// WantResult stores the handler's result, or its error report, in [Outcome.Result]. Otherwise the bytes are
	// discarded.
	WantResult bool
	// Waits means that the handler may return a wire.Waiting instead of finishing, and is then polled. The event ends
	// as [Waiting].
	Waits  bool
	cancel *cancellation // set by Invoke
	// Started is called when the event has a process, new or free. Until then it waited for one, or for a build. A new
	// process may still have to initialize. Started is called at most once, before Handed and [Config.Done], under the
	// same rules. most is the maximum remaining time of the process: the timeout of the event and, if it is new, that
	// of its initialization. Started may be nil.
	Started func(most time.Duration)
	// Handed is called when a process has received the event, at most once, before [Config.Done] and under the same
	// rules. It may be nil.
	Handed func()
}

// Config configures a [Runtime]. The callbacks are called from many goroutines. They must return soon and may call
// Invoke, but not Close.
type Config struct {
	// Providers are the initial providers. [Runtime.Set] adds more.
	Providers []Provider
	// Done is called exactly once for every event that Invoke accepted. Required.
	Done func(id string, outcome Outcome)
	// Log gets each redacted line of a process. The id is empty for lines outside an event. Nil discards them.
	Log func(provider, id, line string)
	// Printed gets each redacted line of a process that is called as a Lambda function, including the lines that Lambda
	// itself writes about events. The origin is the log stream where Lambda would write it. Nil discards them.
	Printed func(o Origin, line string)
	// Leaked is called before Log for each line that contains secrets. It gets the unredacted secrets as spelled in the
	// line. Nil does nothing.
	Leaked func(provider, id string, secrets []string)
	// Progress gets messages for people before an operation that takes time. Nil discards them.
	Progress func(provider, text string)
	// Logger logs starts and ends of processes at level debug. Nil means slog.Default().
	Logger *slog.Logger
	// Environ is the base environment of processes, as KEY=VALUE. Nil means os.Environ() without PINTLE_*.
	Environ []string
	// Env is added to Environ for every provider, for example AWS_ENDPOINT_URL. If that variable is set without
	// credentials, dummy credentials are added.
	Env map[string]string
	// Trust changes the complete environment of a process before it starts, so that the process trusts the listener of
	// the response URLs. program is false for a Python or Node handler and for a Go package, which need fewer changes.
	// Nil changes nothing.
	Trust func(env map[string]string, program bool) error
	// AWS serves the calls of the AWS SDK that is built into the Python and Node runtimes: a POST with one call, from a
	// process of this runtime. Nil disables the built-in SDK.
	AWS http.Handler
	// Region and Account are used in ARNs and AWS_REGION. Empty means [DefaultRegion] and [DefaultAccount].
	Region, Account string
	// CacheDir is the directory of built Go packages and of the programs that run Python and Node handlers. It is
	// required if a target is a [GoPackage] or a [Script], and created if it does not exist.
	CacheDir string
	// SchemaDir is the cache directory of [Runtime.Schema]. It is created if it does not exist. Empty disables the
	// cache.
	SchemaDir string
	// Queue is the maximum number of events of one provider that wait for a process. Zero means [DefaultQueue].
	Queue int
	// Idle is how long an unused process is kept alive. Zero means [DefaultIdle].
	Idle time.Duration
	// InitTimeout is the maximum time until a new process asks for its first event. Zero means [DefaultInitTimeout].
	InitTimeout time.Duration
	// Grace is the time that a process has to end when it is asked to. Zero means [DefaultGrace].
	Grace time.Duration
	// Affinity is how long an event waits for the process that handles its resource's last event, instead of going to
	// another one. Zero means [DefaultAffinity].
	Affinity time.Duration
}

// Runtime runs the processes of providers. It is safe for concurrent use.
type Runtime struct {
	config  Config
	ctx     context.Context // ends when the runtime is closed
	cancel  context.CancelFunc
	workers sync.WaitGroup
	wg      sync.WaitGroup // the templates

	mu        sync.Mutex // guards the following fields and the pools
	closed    bool
	pools     map[string]*pool
	turns     map[string]chan struct{} // serialize builds, by the package's directory
	ports     map[string]bool          // ports assigned to processes
	templates map[string]*template     // by the program that they run

	cancels map[string]*cancellation // of the unfinished events, by ID

	isForeign func(net.Conn) (foreign bool, uid int, err error)
	pickPort  func() string
	// listensForeign reports whether a program of another user listens on a local address. It returns false if the
	// system does not report that.
	listensForeign func(net.Addr) bool
	reportsUsers   func() bool // whether the system reports the user of a connection
}

// New returns a runtime that accepts events immediately. Processes start when they are needed.
func New(config Config) (*Runtime, error) {
	if config.Done == nil {
		return nil, errors.New("local runtime: Done is required")
	}
	if config.Queue < 0 || config.Idle < 0 || config.InitTimeout < 0 || config.Grace < 0 || config.Affinity < 0 {
		return nil, errors.New("local runtime: Queue, Idle, InitTimeout, Grace and Affinity must not be negative")
	}
	setDefault(&config.Queue, DefaultQueue)
	setDefault(&config.Idle, DefaultIdle)
	setDefault(&config.InitTimeout, DefaultInitTimeout)
	setDefault(&config.Grace, DefaultGrace)
	setDefault(&config.Affinity, DefaultAffinity)
	setDefault(&config.Region, DefaultRegion)
	setDefault(&config.Account, DefaultAccount)
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.Log == nil {
		config.Log = func(string, string, string) {}
	}
	if config.Progress == nil {
		config.Progress = func(string, string) {}
	}
	if config.Environ == nil {
		config.Environ = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "PINTLE_") })
	}
	if config.CacheDir != "" {
		dir, err := filepath.Abs(config.CacheDir)
		if err != nil {
			return nil, fmt.Errorf("local runtime: cache directory: %w", err)
		}
		config.CacheDir = dir
	}
	r := &Runtime{config: config, pools: map[string]*pool{}, turns: map[string]chan struct{}{}, ports: map[string]bool{}, templates: map[string]*template{}}
	r.cancels = map[string]*cancellation{}
	r.isForeign, r.listensForeign = isForeign, listensForeign
	r.pickPort = r.port
	r.reportsUsers = sync.OnceValue(func() bool { return reportsUsers(r.isForeign) })
	r.ctx, r.cancel = context.WithCancel(context.Background())
	for _, p := range config.Providers {
		if err := r.Set(p); err != nil {
			r.cancel()
			return nil, err
		}
	}
	return r, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Run waits until ctx ends and then closes the runtime. When it returns, all goroutines and processes of the runtime
// are finished. The error is always nil.
func (r *Runtime) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-r.ctx.Done():
	}
	return r.Close()
}

// Close ends all processes: SIGTERM to each group, SIGKILL after the grace period. Events that did not finish in that
// time are reported as [Stopped]. Close returns after every process has exited and every event was reported. The error
// is always nil. It may be called more than once.
func (r *Runtime) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.workers.Wait() // workers also report the queued events
	r.endTemplates()
	r.wg.Wait()
	return nil
}

// Set adds a provider or replaces the one with the same name. Events that were accepted before still run on the old
// one.
func (r *Runtime) Set(provider Provider) error {
	if err := provider.check(r.config.CacheDir); err != nil {
		return fmt.Errorf("provider %q: %w", provider.Name, err)
	}
	if provider.Serve != nil {
		provider.Contract = bootstrap.Lambda
	}
	setDefault(&provider.Timeout, DefaultTimeout)
	setDefault(&provider.Concurrency, DefaultConcurrency)
	if provider.Queue == 0 {
		provider.Queue = r.config.Queue
	}
	provider.Env, provider.Secrets = maps.Clone(provider.Env), slices.Clone(provider.Secrets)
	provider.Given, provider.Without = maps.Clone(provider.Given), slices.Clone(provider.Without)

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	if old := r.pools[provider.Name]; old != nil {
		old.retire()
	}
	r.pools[provider.Name] = newPool(r, provider)
	return nil
}

// Drop removes the provider with this name, if it exists. Events that were accepted before still run.
func (r *Runtime) Drop(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.pools[name]; old != nil && !r.closed {
		old.retire()
		delete(r.pools, name)
	}
}

// turn returns the semaphore that serializes the builds of a package across its providers, because two concurrent
// builds would write the same file. The caller holds mu.
func (r *Runtime) turn(source string) chan struct{} {
	turn := r.turns[source]
	if turn == nil {
		turn = make(chan struct{}, 1)
		turn <- struct{}{}
		r.turns[source] = turn
	}
	return turn
}

// Has reports whether a provider with this name exists.
func (r *Runtime) Has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pools[name] != nil
}

// Timeout returns the maximum time of the provider's processes for an event, or 0 for an unknown name.
func (r *Runtime) Timeout(name string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.pools[name]; p != nil {
		return p.provider.Timeout
	}
	return 0
}

// Match returns the name of the provider that serves the service token, or false.
func (r *Runtime) Match(token wire.ServiceToken) (name string, ok bool) { return Match(token, r.Has) }

// Prepare builds the provider's program if necessary, or checks that its interpreter exists, so that errors are found
// early. Otherwise the first event does this. Prepare returns [ErrUnknown], [ErrClosed], a [*BuildError] or
// [bootstrap.ErrNoInterpreter].
func (r *Runtime) Prepare(ctx context.Context, name string) error {
	p, err := r.program(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	_, err = p.command(ctx)
	return err
}

// program returns the program of a provider.
func (r *Runtime) program(name string) (*program, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	p := r.pools[name]
	if p == nil {
		return nil, fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	return p.program, nil
}

// Invoke accepts an event for the named provider and returns without waiting. It returns [ErrUnknown], [ErrBusy],
// [ErrClosed], or an error about the ID. Then the event was not accepted, and Done is not called for it.
func (r *Runtime) Invoke(name string, event Event) error {
	if !validID(event.ID) {
		return fmt.Errorf("event ID %q: want 1 to 128 of letters, digits, '-', '_' and '.'", event.ID)
	}
	if event.Invocation != "" && !validID(event.Invocation) {
		return fmt.Errorf("invocation ID %q: want 1 to 128 of letters, digits, '-', '_' and '.'", event.Invocation)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	p := r.pools[name]
	if p == nil {
		return fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	event.cancel = newCancellation()
	err := p.of(event.Contract).accept(event)
	if err == nil {
		r.cancels[event.ID] = event.cancel
	}
	return err
}

// Invoker runs events: a [Runtime].
type Invoker interface {
	Invoke(name string, event Event) error
}

// Pauses between attempts to invoke a provider whose queue is full.
const (
	shortestPause = 20 * time.Millisecond
	longestPause  = time.Second
)

// InvokeWhenFree invokes a provider, and tries again while its processes are busy. Its errors are those of [Runtime.Invoke]; it is
// [ErrBusy] if ctx ends before a process is free.
func InvokeWhenFree(ctx context.Context, runtime Invoker, name string, event Event) error {
	for n := 0; ; n++ {
		err := runtime.Invoke(name, event)
		if !errors.Is(err, ErrBusy) || !backoff.Wait(ctx, backoff.Bound(shortestPause, longestPause, n)) {
			return err
		}
	}
}

func validID(id string) bool {
	return id != "" && len(id) <= 128 && strings.Trim(id,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}
