package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/provider/builtin"
	"github.com/pintle-dev/pintle/internal/provider/cdkframework"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// The states of [operator.Provider] begin with these words.
const (
	StateReady    = "ready"
	StateBuilding = "building"
	StateBroken   = "broken"
)

// providers has the providers by name, with their rows and runtimes. It implements [delivery.Local].
type providers struct {
	rows    rows
	runtime *local.Runtime
	calls   *cdkframework.Calls
	notes   *notes
	log     *slog.Logger
	region  string // of calls that name none
	// functions looks up functions of the local cloud; nil without one. It is set before the node serves requests.
	functions cloudFunction
	// deployments answers for the functions that the CDK makes for BucketDeployments; nil without a runtime or local AWS emulation.
	deployments *builtin.Deployments
	// match returns the runtime name of the local function that a token names; nil without a local cloud. It is set with functions.
	match func(context.Context, wire.ServiceToken) (name string, ok bool, err error)
	// invoked returns the request that an invocation of a local function belongs to; nil without a local cloud. It is set with functions.
	invoked func(id string) (wire.RequestID, bool)
	// calledOut reports whether a process of a provider or template function, by its name in the runtime, has called a service of
	// this server since a time through which it can have something answer later. It is set before anything is served.
	calledOut func(name string, since time.Time) bool
	// aws says where the AWS calls of processes go. It is set before the providers are loaded.
	aws awsRule

	// builds are under way; they end when ctx does.
	ctx    context.Context
	stop   context.CancelFunc
	builds sync.WaitGroup

	mu    sync.Mutex
	known map[string]*known
}

// rows has the methods of the store that providers need.
type rows interface {
	Providers(context.Context) ([]store.Provider, error)
	PutProvider(context.Context, store.Provider) error
}

type known struct {
	url string // that serves it; empty if a process, or this one, does
	// webhook says that the URL gets the request document also behind a topic.
	webhook bool
	// function is the function that a macro stands for; empty for a macro with a program of its own.
	function string
	shown    string // the program or URL, without secrets
	pair     bool   // it is two functions
	// later says that its answers may come long after its handler has returned.
	later bool
	// builtin says that it is in this program.
	builtin bool
	state   string
	broken  error    // why it cannot be run, nil if it can
	builds  []string // the Go packages of it, by their names in the runtime
	built   bool     // they were, or are being, built
	// functions describes its programs as functions of Lambda. elsewhere reports that their AWS calls do not go to this server.
	functions []lambda.Declared
	elsewhere bool
}

func newProviders(rows rows, notes *notes, region string, log *slog.Logger) *providers {
	p := &providers{rows: rows, notes: notes, region: region, log: log, calls: cdkframework.NewCalls(), known: map[string]*known{}}
	p.calledOut = func(string, time.Time) bool { return false }
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// close ends the builds.
func (p *providers) close() {
	p.stop()
	p.builds.Wait()
}

// load takes up the providers that the store knows. One that cannot be run any more stays known, so that its requests
// fail by saying why.
func (p *providers) load(ctx context.Context) error {
	list, err := p.rows.Providers(ctx)
	if err != nil {
		return fmt.Errorf("read the providers: %w", err)
	}
	for _, row := range list {
		if row.Holder != "" {
			continue // a resource made it
		}
		var d Definition
		if err := json.Unmarshal(row.Definition, &d); err != nil {
			return fmt.Errorf("provider %s: %w", row.Name, err)
		}
		if err := p.use(row.Name, d); err != nil {
			p.log.Warn("a provider cannot be run", "provider", row.Name, "error", err)
		}
	}
	return nil
}

// put is the hook of the operator API. A caller that may define a provider can run programs as this user, so put
// requires the key that only this user can read.
func (p *providers) put(ctx context.Context, name string, text json.RawMessage) error {
	bad := func(err error) error { return &operator.Error{Status: http.StatusBadRequest, Message: err.Error()} }
	var d Definition
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return bad(fmt.Errorf("the definition of provider %s: %w", name, err))
	}
	if _, err := d.parse(name); err != nil {
		return bad(err)
	}
	clean, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := p.rows.PutProvider(ctx, store.Provider{Name: name, Definition: clean}); err != nil {
		return fmt.Errorf("keep provider %s: %w", name, err)
	}
	if err := p.use(name, d); err != nil {
		if inner := errors.Unwrap(err); inner != nil { // the client says which provider it is
			err = inner
		}
		return bad(err)
	}
	p.prepare(name)
	return nil
}

// use registers a provider and, if processes serve it, configures the runtime.
func (p *providers) use(name string, d Definition) error {
	parsed, err := d.parse(name)
	if err == nil && p.runtime != nil {
		if err = p.aws.polling(d, parsed.programs); err != nil {
			err = fmt.Errorf("provider %s: %w", name, err)
		} else {
			err = p.run(name, d, parsed)
		}
	}
	k := &known{url: parsed.url, webhook: parsed.webhook, function: parsed.function, shown: d.show(), pair: d.OnEvent != nil, later: d.Answers == project.AnswersLater, builtin: parsed.builtin, state: StateReady, builds: parsed.builds()}
	k.functions, k.elsewhere = callablePrograms(parsed), !parsed.builtin && !p.aws.local(d)
	if err != nil {
		k.state = StateBroken + ": " + err.Error()
		k.broken = err
		if inner := errors.Unwrap(err); inner != nil { // without the provider's name, which delivery says itself
			k.broken = inner
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[name] = k
	return err
}

// run configures the programs of a provider in the runtime.
func (p *providers) run(name string, d Definition, parsed parsed) error {
	programs := parsed.programs
	if parsed.builtin {
		inside, err := p.inside(name, d, parsed)
		if err != nil {
			return fmt.Errorf("provider %s: %w", name, err)
		}
		programs = append(programs, inside)
	}
	if parsed.onEvent != nil {
		framework, err := p.framework(name, parsed)
		if err != nil {
			return fmt.Errorf("provider %s: %w", name, err)
		}
		programs = append(programs, framework)
	}
	for _, program := range programs {
		p.aws.apply(&program, d)
		if err := p.runtime.Set(program); err != nil {
			return err
		}
	}
	return nil
}

// prepare builds the Go packages of a provider in advance.
func (p *providers) prepare(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.known[name]
	if k == nil || k.built || k.broken != nil || len(k.builds) == 0 || p.runtime == nil || p.ctx.Err() != nil {
		return
	}
	k.built, k.state = true, StateBuilding+" provider "+name
	p.builds.Go(func() {
		var err error
		for _, program := range k.builds {
			if err = p.runtime.Prepare(p.ctx, program); err != nil {
				break
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		k.state = StateReady
		if err != nil {
			k.built, k.state = false, StateBroken+": "+err.Error()
			if failed, ok := errors.AsType[*local.BuildError](err); ok && len(failed.Log) > 0 {
				k.state += "\n" + strings.Join(failed.Log, "\n")
			}
		}
	})
}

// building takes the runtime's word that a build begins.
func (p *providers) building(name, text string) {
	p.log.Info(text, "provider", name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := p.known[owner(name)]; k != nil && strings.HasPrefix(k.state, StateBuilding) {
		k.state = text
	}
}

// schema is the hook of the operator API that returns the schema of a provider.
func (p *providers) schema(ctx context.Context, name string) (json.RawMessage, error) {
	text, err := p.askSchema(ctx, name)
	if local.CannotRun(err) {
		return nil, &operator.Error{Status: http.StatusBadGateway, Message: err.Error()}
	}
	if err != nil {
		return nil, &operator.Error{Status: http.StatusNotFound, Message: "provider " + name + ": " + err.Error()}
	}
	return text, nil
}

// noSchema is the error for a provider that cannot publish a schema. It is a [local.ErrNoSchema].
type noSchema string

func (e noSchema) Error() string { return string(e) }

func (noSchema) Is(target error) bool { return target == local.ErrNoSchema }

// askSchema returns the schema that a provider publishes. Only a process can be asked for it. The errors are those of
// [local.Runtime.Schema], and why a provider is broken.
func (p *providers) askSchema(ctx context.Context, name string) (json.RawMessage, error) {
	p.mu.Lock()
	k := p.known[name]
	p.mu.Unlock()
	switch {
	case k == nil:
		return nil, noSchema("it is not known")
	case k.broken != nil:
		return nil, k.broken
	case k.url != "" || p.runtime == nil:
		return nil, noSchema("no process of this server runs it")
	}
	return p.runtime.Schema(ctx, name)
}

// Match implements [delivery.Local].
func (p *providers) Match(token wire.ServiceToken) (delivery.Provider, bool) {
	if name, ok := p.named(token); ok {
		return p.found(name), true
	}
	if name, ok := p.standIn(token); ok {
		found := p.found(name)
		if name == inCloud || name == deploymentsInCloud {
			found.Account = accountOf(token)
		}
		return found, true
	}
	name, ok, err := p.lookUp(token)
	if err != nil {
		p.log.Error("a function could not be looked up", "error", err)
		return delivery.Provider{Unsure: true}, true
	}
	return delivery.Provider{Name: name, Account: accountOf(token), Timeout: p.timeout(name)}, ok
}

// lookUp returns the name in the runtime of the function of the local cloud that a token names.
func (p *providers) lookUp(token wire.ServiceToken) (name string, ok bool, err error) {
	if p.match == nil {
		return "", false, nil
	}
	ctx, cancel := context.WithTimeout(p.ctx, lookupTimeout)
	defer cancel()
	return p.match(ctx, token)
}

// accountOf returns the account of the function of the local cloud that a token names.
func accountOf(token wire.ServiceToken) string {
	parsed, err := wire.ParseToken(token)
	if err != nil {
		return ""
	}
	return parsed.Account
}

// named returns the declared provider that a token names.
func (p *providers) named(token wire.ServiceToken) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return local.Match(token, func(name string) bool { return p.known[name] != nil })
}

func (p *providers) found(name string) delivery.Provider {
	p.mu.Lock()
	defer p.mu.Unlock()
	provider := delivery.Provider{Name: name, Timeout: p.timeout(name)}
	if k := p.known[name]; k != nil {
		provider.URL, provider.Webhook, provider.Function = k.url, k.webhook, wire.ServiceToken(k.function)
		provider.Later = k.later
	}
	return provider
}

// timeout returns the time limit of a provider's process for an event, or 0 if no process serves it.
func (p *providers) timeout(name string) time.Duration {
	if p.runtime == nil {
		return 0
	}
	return p.runtime.Timeout(name)
}

// serves reports whether a process of this node can be asked for a service token.
func (p *providers) serves(token wire.ServiceToken) bool {
	found, ok := p.Match(token)
	if !ok || found.URL != "" || found.Unsure {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.known[found.Name]
	return k == nil || k.broken == nil // an unknown provider is a function of the local cloud
}

// Invoke implements [delivery.Local].
func (p *providers) Invoke(name string, event local.Event) error {
	p.mu.Lock()
	k := p.known[name]
	p.mu.Unlock()
	if k != nil && k.broken != nil {
		return k.broken
	}
	p.prepare(name) // shows the reason for the delay
	id := wire.RequestID(event.ID)
	p.notes.begin(id, name)
	if k != nil && k.pair {
		p.calls.Begin(event)
	}
	err := p.runtime.Invoke(name, event)
	if err != nil {
		p.notes.end(id)
		p.calls.End(event.ID)
	}
	return err
}

// Cancel implements [delivery.Local].
func (p *providers) Cancel(id string, grace time.Duration) { p.runtime.Cancel(id, grace) }

// requestOf returns the request that an invocation belongs to; its lines go to the log of that request. If a provider
// or a local function made the call while it served a request, that is the one. Otherwise the invocation has its own.
// An empty ID stays empty.
func (p *providers) requestOf(id string) wire.RequestID {
	if request, ok := p.calls.Request(id); ok {
		id = request
	}
	if p.invoked != nil {
		if request, ok := p.invoked(id); ok {
			return request
		}
	}
	return wire.RequestID(id)
}

// progress returns the reason for the delay of a request.
func (p *providers) progress(id wire.RequestID) string {
	name, text := p.notes.show(id)
	if text != "" || name == "" {
		return text
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := p.known[name]; k != nil && strings.HasPrefix(k.state, StateBuilding) {
		return k.state
	}
	return ""
}

// names returns the names of the declared providers, without macros.
func (p *providers) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.known)), func(name string) bool { return strings.HasPrefix(name, "macro:") })
}

// list returns the providers as the operator API reports them.
func (p *providers) list() []operator.Provider {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]operator.Provider, 0, len(p.known))
	for _, name := range slices.Sorted(maps.Keys(p.known)) {
		k := p.known[name]
		list = append(list, operator.Provider{Name: name, Target: k.shown, State: k.state})
	}
	return list
}
