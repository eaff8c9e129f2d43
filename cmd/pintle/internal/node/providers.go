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
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/delivery"
	"github.com/pintle-dev/pintle/internal/local"
	"github.com/pintle-dev/pintle/internal/project"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Definition is what runs behind a provider's name, as one command tells it to another.
type Definition struct {
	// Target is an absolute path or an http(s) URL.
	Target string            `json:"target"`
	Env    map[string]string `json:"env,omitempty"`
	// Timeout is a duration such as "15m0s"; empty and zero mean the defaults, here and below.
	Timeout     string `json:"timeout,omitempty"`
	Concurrency int    `json:"concurrency,omitempty"`
	Handler     string `json:"handler,omitempty"`
}

// Define makes a definition of what a project file or a flag declares, relative to dir. It returns an error if what is
// declared does not exist or cannot be run.
func Define(dir string, declared project.Provider) (Definition, error) {
	provider, err := local.ParseProvider(dir, declared)
	if err != nil {
		return Definition{}, err
	}
	d := Definition{
		Target: provider.Target.Path(), Env: provider.Env, Concurrency: provider.Concurrency, Handler: provider.Handler,
	}
	if provider.Timeout != 0 {
		d.Timeout = provider.Timeout.String()
	}
	return d, nil
}

func (d Definition) provider(name string) (local.Provider, error) {
	declared := project.Provider{
		Name: name, Target: d.Target, Env: d.Env, Concurrency: d.Concurrency, Handler: d.Handler,
	}
	if d.Timeout != "" {
		var err error
		if declared.Timeout, err = time.ParseDuration(d.Timeout); err != nil {
			return local.Provider{}, fmt.Errorf("provider %s: timeout %q is no duration", name, d.Timeout)
		}
	}
	if !filepath.IsAbs(d.Target) && !strings.Contains(d.Target, "://") {
		return local.Provider{}, fmt.Errorf("provider %s: the target must be an absolute path or a URL", name)
	}
	return local.ParseProvider("", declared)
}

// The states that [operator.Provider] tells begin with these words.
const (
	StateReady    = "ready"
	StateBuilding = "building"
	StateBroken   = "broken"
)

// providers is the providers known by name: their rows, and what runs them. It fulfils [delivery.Local].
type providers struct {
	rows    rows
	runtime *local.Runtime
	notes   *notes
	log     *slog.Logger

	// builds are under way; they end when ctx does.
	ctx    context.Context
	stop   context.CancelFunc
	builds sync.WaitGroup

	mu    sync.Mutex
	known map[string]*known
}

// rows is what is needed of the store.
type rows interface {
	Providers(context.Context) ([]store.Provider, error)
	PutProvider(context.Context, store.Provider) error
}

type known struct {
	target local.Target
	shown  string // the target without anything secret
	state  string
	broken error // why it cannot be run, nil if it can
	built  bool  // a Go package was, or is being, built
}

func newProviders(rows rows, notes *notes, log *slog.Logger) *providers {
	p := &providers{rows: rows, notes: notes, log: log, known: map[string]*known{}}
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

// put is the hook of the operator's face. Whoever may define a provider runs programs as this user, so it takes the
// key that only this user can read.
func (p *providers) put(ctx context.Context, name string, text json.RawMessage) error {
	bad := func(err error) error { return &operator.Error{Status: http.StatusBadRequest, Message: err.Error()} }
	var d Definition
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return bad(fmt.Errorf("the definition of provider %s: %w", name, err))
	}
	if _, err := d.provider(name); err != nil {
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
		return bad(err)
	}
	p.prepare(name)
	return nil
}

// use makes a provider known and, if a process serves it, tells the runtime.
func (p *providers) use(name string, d Definition) error {
	provider, err := d.provider(name)
	if err == nil && provider.Target.Kind() != local.URL && p.runtime != nil {
		err = p.runtime.Set(provider)
	}
	k := &known{target: provider.Target, shown: show(d.Target), state: StateReady}
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

// prepare builds a provider beforehand if it is a Go package.
func (p *providers) prepare(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.known[name]
	if k == nil || k.built || k.broken != nil || k.target.Kind() != local.GoPackage || p.runtime == nil || p.ctx.Err() != nil {
		return
	}
	k.built, k.state = true, StateBuilding+" provider "+name
	p.builds.Go(func() {
		err := p.runtime.Prepare(p.ctx, name)
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
	if k := p.known[name]; k != nil && strings.HasPrefix(k.state, StateBuilding) {
		k.state = text
	}
}

// Match implements [delivery.Local].
func (p *providers) Match(token wire.ServiceToken) (delivery.Provider, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, ok := local.Match(token, func(name string) bool { return p.known[name] != nil })
	if !ok {
		return delivery.Provider{}, false
	}
	found := delivery.Provider{Name: name}
	if k := p.known[name]; k.target.Kind() == local.URL {
		found.URL = k.target.Path()
	}
	return found, true
}

// serves reports whether a process of this node can be asked for a service token.
func (p *providers) serves(token wire.ServiceToken) bool {
	found, ok := p.Match(token)
	if !ok || found.URL != "" {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.known[found.Name]
	return k != nil && k.broken == nil
}

// Invoke implements [delivery.Local].
func (p *providers) Invoke(name string, event local.Event) error {
	p.mu.Lock()
	k := p.known[name]
	p.mu.Unlock()
	if k != nil && k.broken != nil {
		return k.broken
	}
	p.prepare(name) // so that it is seen what the event waits for
	id := wire.RequestID(event.ID)
	p.notes.begin(id, name)
	err := p.runtime.Invoke(name, event)
	if err != nil {
		p.notes.end(id)
	}
	return err
}

// progress says what holds a request up.
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

// list is what the operator's face tells of the providers.
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

// show returns a target without what may be secret in a URL.
func show(target string) string {
	u, err := url.Parse(target)
	if err != nil || !strings.Contains(target, "://") {
		return target
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
