package lambda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// prepared is the state of a function in the runtime.
type prepared struct {
	definition string // changes with the definition
	code       []string
}

// turn is the lock of one function.
type turn struct {
	mu    sync.Mutex
	users int // number of callers that hold it or wait for it
}

// Match returns the runtime name of the function with a service token, and prepares the function in the runtime. ok
// is false if the function does not exist. An error is one of the store, so whether the function exists is unknown.
func (f *Functions) Match(ctx context.Context, token wire.ServiceToken) (name string, ok bool, err error) {
	parsed, err := wire.ParseToken(token)
	if err != nil || parsed.Service != wire.Lambda && parsed.Service != wire.FC {
		return "", false, nil //nolint:nilerr // any text may be a token
	}
	place := registry.Scope{Account: parsed.Account, Region: parsed.Region}
	r, err := ParseReference(place, string(token), "")
	if err != nil {
		return "", false, nil //nolint:nilerr // what names no function has none
	}
	i, err := f.config.Catalog.Functions.Get(ctx, place, r.row())
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("look %s up: %w", r.ARN(), err)
	}
	return f.ready.prepare(ctx, i), true, nil
}

// preparer configures functions in the runtime.
type preparer struct {
	config Config
	code   *codeStore

	mu       sync.Mutex
	prepared map[string]prepared // configured in the runtime, by name there
	turns    map[string]*turn    // locks for preparing a function, by name in the runtime
}

// prepare makes the runtime use the current definition of a function, and returns its name there. A function that
// cannot run fails with the reason when it is called, as on Lambda.
func (pr *preparer) prepare(ctx context.Context, i item) string {
	name := of(i).ARN()
	definition := fmt.Sprintf("%d %s", i.Version, i.Of.Revision)
	pr.mu.Lock()
	now := pr.prepared[name]
	pr.mu.Unlock()
	if now.definition == definition && pr.there(now.code) {
		return name
	}
	// Prepare one at a time, and read the catalog again after waiting. A caller that read an old definition must not
	// restore the old code after an update.
	leave := pr.turn(name)
	defer leave()
	switch fresh, err := pr.config.Catalog.Functions.Get(ctx, i.Scope, i.Name); {
	case errors.Is(err, registry.ErrNotFound):
		return name // it was deleted, and the runtime does not have it or will soon drop it
	case err == nil: // after an error, use the known definition
		i, definition = fresh, fmt.Sprintf("%d %s", fresh.Version, fresh.Of.Revision)
	}
	pr.mu.Lock()
	now = pr.prepared[name]
	pr.mu.Unlock()
	if now.definition == definition && pr.there(now.code) {
		return name // another caller was faster
	}
	provider, err := pr.provider(name, i)
	if err != nil {
		provider = local.Provider{
			Name: name, Contract: bootstrap.Lambda, Serve: broken(err), Concurrency: provider.Concurrency, Queue: provider.Queue,
		}
		definition = "" // the error may be temporary
	}
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if err := pr.config.Runtime.Set(provider); err != nil && !errors.Is(err, local.ErrClosed) {
		pr.config.Log.ErrorContext(ctx, "a function could not be set up", "function", name, "error", err)
		provider = local.Provider{Name: name, Contract: bootstrap.Lambda, Serve: broken(err)}
		_ = pr.config.Runtime.Set(provider) // fails only if the runtime is closed
		definition = ""
	}
	code := []string{i.Of.Code}
	for _, layer := range i.Of.LayerCode {
		code = append(code, layer.Code)
	}
	pr.prepared[name] = prepared{definition: definition, code: code}
	return name
}

// turn locks the function's entry in the runtime, and returns the func that unlocks it.
func (pr *preparer) turn(name string) (leave func()) {
	pr.mu.Lock()
	t := pr.turns[name]
	if t == nil {
		t = &turn{}
		pr.turns[name] = t
	}
	t.users++
	pr.mu.Unlock()
	t.mu.Lock()
	return func() {
		t.mu.Unlock()
		pr.mu.Lock()
		defer pr.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(pr.turns, name)
		}
	}
}

// there reports whether code is still unpacked, and marks it as used.
func (pr *preparer) there(sums []string) bool {
	for _, sum := range sums {
		pr.code.touch(sum)
		if _, err := os.Stat(filepath.Join(pr.config.CacheDir, sum)); err != nil {
			return false
		}
	}
	return true
}

// provider returns the runtime's definition of a function.
func (pr *preparer) provider(name string, i item) (local.Provider, error) {
	p := local.Provider{
		Name: name, Timeout: time.Duration(i.Of.Timeout) * time.Second, Handler: i.Of.Handler,
		Concurrency: pr.config.Concurrency, Queue: pr.config.Queue, Secrets: secrets(i.Of),
	}
	switch n := i.Of.Concurrency; {
	case n == nil:
	case *n == 0:
		return p, errors.New("none of its calls may run: its reserved concurrency is 0")
	default:
		p.Concurrency, p.Queue = *n, -1
	}
	dir, err := pr.code.unpacked(i.Scope, i.Of.Code)
	if err != nil {
		return p, err
	}
	var layers []string
	for _, layer := range i.Of.LayerCode {
		folder, err := pr.code.unpacked(layer.Scope, layer.Code)
		if err != nil {
			return p, err
		}
		layers = append(layers, folder)
	}
	if i.Of.Contract == registry.ContractFC {
		err := pr.fcProvider(&p, i, dir, layers)
		return p, err
	}
	r := of(i)
	p.Contract = bootstrap.Lambda
	p.Function = &local.Function{
		Name: r.Name, Version: r.Qualifier, Account: i.Account, Region: i.Region, Runtime: i.Of.Runtime, Memory: i.Of.Memory,
		LogGroup: i.Of.LogGroup, LogFormat: i.Of.LogFormat, LogLevel: i.Of.LogLevel, Modules: pr.config.Modules, Layers: layers,
	}
	p.Env = maps.Clone(pr.config.Environment(i.Scope, name, i.Of.Environment))
	if p.Env == nil {
		p.Env = map[string]string{}
	}
	for _, name := range keyVariables {
		if text := p.Env[name]; len(text) >= minKey {
			p.Secrets = append(p.Secrets, text)
		}
	}
	maps.Copy(p.Env, i.Of.Environment)
	p.Target, err = local.FunctionTarget(dir, i.Of.Runtime, i.Of.Handler)
	return p, err
}

// broken returns a program for a function that cannot run. It reports the cause as an initialization error.
func broken(cause error) local.ServeFunc {
	return func(ctx context.Context, host local.Host) error {
		report := errorReport("Runtime.InvalidEntrypoint", cause.Error())
		url := "http://" + host.Address + "/2018-06-01/runtime/init/error"
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(string(report)))
		if err != nil {
			return err
		}
		transport := &http.Transport{DisableKeepAlives: true}
		answer, err := transport.RoundTrip(request)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		return errors.Join(cause, err, answer.Body.Close())
	}
}

// forget removes a deleted function from the runtime.
func (pr *preparer) forget(name string) {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	delete(pr.prepared, name)
	pr.config.Runtime.Drop(name)
}

// secretName matches the names of variables that are likely to contain secrets.
var secretName = regexp.MustCompile(`(?i)(secret|passw|passphrase|private|credential|token|api_?key|access_?key)`)

// keyVariables are the variables with the secret parts of the keys that functions get.
var keyVariables = [...]string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN"}

// minKey is the minimum length of a key that is redacted. Keys of AWS have at least 40 characters. Servers that stand in for AWS accept
// words such as "test", and masking those would make logs unreadable.
const minKey = 16

// minSecret is the minimum length of a value that is redacted because of its name. Shorter values are words such as
// "true".
const minSecret = 8

// secrets returns the values of variables that must not appear in a log: known secrets, and values whose names
// suggest a secret, except ARNs, which only refer to one.
func secrets(fn registry.Function) []string {
	var list []string
	for name, text := range fn.Environment {
		named := len(text) >= minSecret && secretName.MatchString(name) && !strings.HasPrefix(text, "arn:")
		if text != "" && (named || slices.Contains(fn.Hidden, name)) {
			list = append(list, text)
		}
	}
	return list
}
