package node

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/cdkprovider"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/cdkframework"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// frameworkMargin is the time of the framework itself, in addition to that of the functions.
const frameworkMargin = time.Minute

// framework returns the handler of a provider made of functions: the SDK, inside this process.
func (p *providers) framework(name string, parsed parsed) (local.Provider, error) {
	memory, err := pintle.NewMemoryStore(0)
	if err != nil {
		return local.Provider{}, err
	}
	onEvent, err := p.function(name, bootstrap.OnEvent, *parsed.onEvent)
	if err != nil {
		return local.Provider{}, err
	}
	var isComplete cdkprovider.Function
	if parsed.isComplete != nil {
		if isComplete, err = p.function(name, bootstrap.IsComplete, *parsed.isComplete); err != nil {
			return local.Provider{}, err
		}
	}
	var policy []pintle.Option
	if isComplete != nil {
		policy = append(policy, pintle.WithPollPolicy(pintle.PollPolicy{Interval: parsed.interval, Timeout: parsed.total}))
	}
	handler := cdkprovider.NewRemote(onEvent, isComplete, policy...)
	return local.Provider{
		Name: name, Concurrency: parsed.concurrency, Serve: cdkframework.Serve(handler, memory, cdkframework.Brief),
		// After onEvent, isComplete is called in the same event at least once.
		Timeout: 2*cmp.Or(parsed.timeout, local.DefaultTimeout) + frameworkMargin,
	}, nil
}

// function returns a function of a provider.
func (p *providers) function(of string, role bootstrap.Role, ref functionRef) (cdkprovider.Function, error) {
	what := roleName(role)
	if ref.program != "" {
		return p.calls.Function(what, func() (string, error) { return ref.program, nil }), nil
	}
	here := p.calls.Function(what, func() (string, error) { return p.find(of, ref.token) })
	if !strings.HasPrefix(ref.token, "arn:") {
		return here, nil
	}
	// An ARN that names no local function at the time of the call goes to AWS Lambda.
	there, err := cdkprovider.LambdaFunction(ref.token, cdkprovider.LambdaConfigFromEnvironment())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return func(ctx context.Context, event []byte) ([]byte, error) {
		if _, ok := p.Match(wire.ServiceToken(ref.token)); ok {
			return here(ctx, event)
		}
		return there(ctx, event)
	}, nil
}

// find returns the name in the runtime of another provider, or of a function of the local cloud, that is a function of this
// provider.
func (p *providers) find(of, token string) (string, error) {
	name, ok := p.named(wire.ServiceToken(token))
	if !ok {
		if name, ok, err := p.lookUp(wire.ServiceToken(token)); ok || err != nil {
			return name, err
		}
		return "", fmt.Errorf("no local provider %s: add it to pintle.yaml under providers", token)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.known[name]
	if k.broken != nil {
		return "", fmt.Errorf("provider %s: %w", name, k.broken)
	}
	if err := callable(name == of, k.pair, k.builtin, k.url != ""); err != nil {
		return "", fmt.Errorf("%s: %w", token, err)
	}
	return name, nil
}
