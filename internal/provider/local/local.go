// Package local runs providers as local processes on the Lambda Runtime API.
//
// A [Provider] names a [Target]: an executable, a directory with a bootstrap, a Go package that is built first, or a Python
// or Node file, run by what package bootstrap has for it. A [Runtime] starts its processes when events come, keeps them warm, and ends them when they idle. Each process has a
// loopback listener of its own and handles one event at a time, as a Lambda environment does. Other users of the machine
// can't use that listener: they don't know the secret in its address, and where the system reports the user of a connection,
// theirs are refused.
//
// [Runtime.Invoke] accepts an event and returns; how it ended is reported once by [Config.Done] as an [Outcome]. That
// is the point of the package: a process that dies, hangs or never starts is known at once, with the end of its log,
// instead of by an hour of silence. That a handler returned says nothing about whether it answered the response URL.
//
// A provider may also be a function of this program, a [ServeFunc], which speaks the same API.
//
// Log lines are cleaned and redacted before anything keeps or passes them. Every process leads its own process group,
// and the whole group is ended with it; on Linux the kernel also ends the process when this one dies.
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

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/wire"
)

// Defaults of [Config] and [Provider].
const (
	DefaultTimeout     = 15 * time.Minute // of one event; the most Lambda grants
	DefaultConcurrency = 10               // processes of one provider
	DefaultQueue       = 32               // events waiting for a process of one provider
	DefaultIdle        = 5 * time.Minute  // until an unused process is ended
	DefaultInitTimeout = time.Minute      // from the start of a process to its first call for an event
	DefaultGrace       = 2 * time.Second  // between SIGTERM and SIGKILL
	DefaultRegion      = "us-east-1"
	DefaultAccount     = "000000000000"
)

// Errors of [Runtime.Invoke] and [Runtime.Prepare].
var (
	// ErrUnknown means that no provider has this name.
	ErrUnknown = errors.New("no local provider has this name")
	// ErrBusy means that every process of the provider is busy and its queue is full: try again after an event of it
	// has finished.
	ErrBusy = errors.New("the provider's processes are busy and its queue is full")
	// ErrClosed means that the runtime has been closed.
	ErrClosed = errors.New("the local runtime is closed")
)

// Event is one invocation of a provider.
type Event struct {
	// ID names the event to the caller: 1 to 128 of letters, digits, '-', '_' and '.'. It comes back in [Config.Done] and
	// [Config.Log]. The handler does not see it.
	ID string
	// Invocation is the request ID that the handler sees, in its context and in the paths of the Runtime API; of the same form
	// as ID. Empty means a new UUID for each time the event is handed to a process: on AWS, the ID of an invocation is
	// never that of a request of CloudFormation.
	Invocation string
	// Resource names what the event is about; empty for nothing. One for the same resource goes to the process that had the
	// last, if that is free, or will be within half a second.
	Resource string
	// Payload is the JSON the handler gets.
	Payload []byte
	// Deadline ends the event before the provider's timeout does. Zero means that only the timeout counts.
	Deadline time.Time
	// Secrets are texts that must not be seen in the log. They stay hidden for as long as the process lives.
	Secrets []string
	// FunctionARN is the ARN the handler is told it was invoked by. Empty means one made of the configured region,
	// account and the provider's name. For [bootstrap.FC] it is a service token, acs:fc:…, whose region, account and service
	// the handler is told.
	FunctionARN string
	// Contract says how the handler is called if its provider does not. Zero means [bootstrap.Lambda]. See [ContractOf].
	Contract bootstrap.Contract
	// Trace is the trace that the event belongs to; empty means one of its own, which no one samples.
	Trace trace.Parent
	// WantResult keeps what the handler returns, or reports of its error, in [Outcome.Result]; without it the bytes are read
	// and dropped.
	WantResult bool
	// Waits says that the handler may return a wire.Waiting instead of finishing, and is then asked again: the event ends
	// as [Waiting].
	Waits  bool
	cancel *cancellation // set by Invoke
	// Started is called when a process was started for the event, or a running one became free: until then the event waited
	// for that, or for a build. A new process may still have to initialize. Started is called at most once, before Handed and
	// [Config.Done], under the same rules. most is the longest that the process may take from then on: its time for the
	// event and, if it is new, for its initialization. Nil is not called.
	Started func(most time.Duration)
	// Handed is called when a process has the event, at most once, before [Config.Done] and under the same rules. Nil is not
	// called.
	Handed func()
}

// Config configures a [Runtime]. The callbacks are called from many goroutines; they must return soon and may call
// Invoke, but not Close.
type Config struct {
	// Providers are the providers known from the start; [Runtime.Set] adds more.
	Providers []Provider
	// Done is called exactly once for every event that Invoke accepted. Required.
	Done func(id string, outcome Outcome)
	// Log gets each redacted line of a process; id is empty for lines outside an event. Nil drops them.
	Log func(provider, id, line string)
	// Printed gets each redacted line of a process that is called as a function of Lambda, with the lines that Lambda itself writes
	// about its events, and where Lambda would put them. Nil drops them.
	Printed func(o Origin, line string)
	// Leaked is notified of each line that holds secrets, before Log gets it: of the secrets in clear, in the spelling that they have
	// there. Nil drops that.
	Leaked func(provider, id string, secrets []string)
	// Progress tells a person what is about to take time, before it starts. Nil drops it.
	Progress func(provider, text string)
	// Logger gets starts and ends of processes at level debug. Nil means slog.Default().
	Logger *slog.Logger
	// Environ is the environment that processes start from, as KEY=VALUE. Nil means os.Environ() without PINTLE_*.
	Environ []string
	// Env is added to Environ for every provider, for example AWS_ENDPOINT_URL. Where that ends up set and no
	// credentials are, dummy ones are added.
	Env map[string]string
	// Trust changes the complete environment of a process before it starts, so that the process trusts the listener of the
	// response URLs. program is false for a Python or Node handler and for a Go package, which need less. Nil changes nothing.
	Trust func(env map[string]string, program bool) error
	// AWS serves the calls of the AWS SDK that is built into the Python and Node runtimes: a POST with one call, from a process
	// of this runtime. Nil disables the built-in SDK.
	AWS http.Handler
	// Region and Account are used in ARNs and AWS_REGION. Empty means [DefaultRegion] and [DefaultAccount].
	Region, Account string
	// CacheDir is where Go packages are built into, and where what runs Python and Node handlers is put. Required if a
	// target is a [GoPackage] or a [Script]; made when missing.
	CacheDir string
	// SchemaDir is where the answers of [Runtime.Schema] are kept; made when missing. Empty means that they are not.
	SchemaDir string
	// Queue is how many events of one provider may wait for a process. Zero means [DefaultQueue].
	Queue int
	// Idle is how long an unused process is kept. Zero means [DefaultIdle].
	Idle time.Duration
	// InitTimeout is how long a new process may take to ask for its first event. Zero means [DefaultInitTimeout].
	InitTimeout time.Duration
	// Grace is how long a process that is asked to end may take. Zero means [DefaultGrace].
	Grace time.Duration
}

// Runtime runs the processes of providers. Its methods may be called concurrently.
type Runtime struct {
	config  Config
	ctx     context.Context // ends when the runtime is closed
	cancel  context.CancelFunc
	workers sync.WaitGroup
	wg      sync.WaitGroup // the templates

	mu        sync.Mutex // guards what follows and the pools
	closed    bool
	pools     map[string]*pool
	turns     map[string]chan struct{} // to build, by the package's directory
	ports     map[string]bool          // where processes may listen
	templates map[string]*template     // by what they run

	cancels map[string]*cancellation // of the events that have not ended, by their IDs

	isForeign func(net.Conn) (foreign bool, uid int, err error)
	pickPort  func() string
	// listensForeign reports whether a program of another user listens at a local address, as far as the system
	// reports it.
	listensForeign func(net.Addr) bool
	reportsUsers   func() bool // whether the system reports the user of a connection
}

// New returns a runtime that accepts events at once. No process is started before one is needed.
func New(config Config) (*Runtime, error) {
	if config.Done == nil {
		return nil, errors.New("local runtime: Done is required")
	}
	if config.Queue < 0 || config.Idle < 0 || config.InitTimeout < 0 || config.Grace < 0 {
		return nil, errors.New("local runtime: Queue, Idle, InitTimeout and Grace must not be negative")
	}
	setDefault(&config.Queue, DefaultQueue)
	setDefault(&config.Idle, DefaultIdle)
	setDefault(&config.InitTimeout, DefaultInitTimeout)
	setDefault(&config.Grace, DefaultGrace)
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

// Run waits until ctx ends and then closes the runtime. No goroutine or process of the runtime is left when it
// returns. The error is always nil.
func (r *Runtime) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-r.ctx.Done():
	}
	return r.Close()
}

// Close ends all processes: SIGTERM to each group, SIGKILL after the grace. Events that did not end in that time are
// reported as [Stopped]. It returns when every process has finished and every report was made; the error is always nil.
// It may be called more than once.
func (r *Runtime) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.workers.Wait() // which also report what is still queued
	r.endTemplates()
	r.wg.Wait()
	return nil
}

// Set adds a provider, or replaces the one of the same name: events accepted before still run on the old one.
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

// Drop forgets the provider of this name, if there is one: events accepted before still run.
func (r *Runtime) Drop(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.pools[name]; old != nil && !r.closed {
		old.retire()
		delete(r.pools, name)
	}
}

// turn returns the semaphore that serializes the builds of a package for all its providers: two builds at once would
// write the same file. The caller holds mu.
func (r *Runtime) turn(source string) chan struct{} {
	turn := r.turns[source]
	if turn == nil {
		turn = make(chan struct{}, 1)
		turn <- struct{}{}
		r.turns[source] = turn
	}
	return turn
}

// Has reports whether a provider of this name is known.
func (r *Runtime) Has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pools[name] != nil
}

// Timeout returns how long a process of the provider may take for an event, 0 if no provider has this name.
func (r *Runtime) Timeout(name string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.pools[name]; p != nil {
		return p.provider.Timeout
	}
	return 0
}

// Match returns the name of the provider that answers for the service token, or false when there is none.
func (r *Runtime) Match(token wire.ServiceToken) (name string, ok bool) { return Match(token, r.Has) }

// Prepare builds the provider's program if it has to be built, and looks whether there is an interpreter if it needs one, so that a mistake in it is found before anything
// depends on it. The first event does the same. It returns [ErrUnknown], [ErrClosed], a [*BuildError] or
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

// Invoke accepts an event for the named provider and returns without waiting. It returns [ErrUnknown], [ErrBusy] or
// [ErrClosed], or an error about the ID, and then the event is not accepted and Done is not called for it.
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

func validID(id string) bool {
	return id != "" && len(id) <= 128 && strings.Trim(id,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}
