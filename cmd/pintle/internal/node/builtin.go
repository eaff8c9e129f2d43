package node

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pintle-dev/pintle/internal/provider/builtin"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/wire"
)

// defineBuiltin makes a definition of a built-in provider. It checks the rules against the AWS model only here, where
// a user waits for the result.
func defineBuiltin(d Definition, declared project.Provider) (Definition, error) {
	d.Builtin, d.Allow = declared.Builtin, declared.Allow
	err := d.checkBuiltin()
	if err == nil {
		err = builtin.AWS{Allow: d.Allow}.Check()
	}
	if err == nil {
		return d, nil
	}
	place := ""
	if declared.Place != "" {
		place = declared.Place + ": "
	}
	return Definition{}, fmt.Errorf("%sprovider %s: %w", place, declared.Name, err)
}

// checkBuiltin rejects conflicting settings.
func (d Definition) checkBuiltin() error {
	if err := project.CheckBuiltin(d.Builtin); err != nil {
		return err
	}
	if d.Target != "" || d.OnEvent != nil || d.IsComplete != nil || len(d.Env) > 0 || d.Handler != "" || d.Runtime != "" || d.Initializer+d.AWS+d.Answers != "" {
		return errors.New("a builtin provider takes no target, functions, env, handler, runtime, initializer, aws or answers")
	}
	return nil
}

// inside returns the handler of a built-in provider.
func (p *providers) inside(name string, d Definition, parsed parsed) (local.Provider, error) {
	return builtin.AWS{
		Allow: d.Allow, Region: p.region, Timeout: parsed.timeout, Concurrency: parsed.concurrency,
	}.Provider(name)
}

// inCloud is the name under which the runtime has the provider that answers for functions of the local cloud which the CDK
// makes for AwsCustomResources. It is not a row: no one declared it.
const inCloud = "AwsCustomResource (in pintle)"

// deploymentsInCloud is the name of the provider that replaces the functions that the CDK makes for BucketDeployments.
const deploymentsInCloud = "BucketDeployment (in pintle)"

// cloudFunction returns the logical ID that a template gave the local function behind a token, or "" if no template made
// it. ok is false if the function does not exist.
type cloudFunction func(wire.ServiceToken) (logical string, ok bool)

// standForCDK lets the provider in the program answer instead of the local functions which the CDK makes for
// AwsCustomResources, so that they need no packages: code of templates runs here anyway, so everything may be called, as functions
// are asked to call by env. Where a provider was declared that makes AWS calls, that goes before, with its own rules.
func (p *providers) standForCDK(env func(account string) map[string]string, functions cloudFunction) error {
	if p.runtime != nil {
		inside, err := builtin.AWS{All: true, Env: env, Region: p.region}.Provider(inCloud)
		if err == nil {
			err = p.runtime.Set(inside)
		}
		if err != nil {
			return fmt.Errorf("provider %s: %w", inCloud, err)
		}
		p.deployments = builtin.NewDeployments(builtin.AWS{Env: env, Region: p.region})
		if inside, err = p.deployments.Provider(deploymentsInCloud); err == nil {
			err = p.runtime.Set(inside)
		}
		if err != nil {
			return fmt.Errorf("provider %s: %w", deploymentsInCloud, err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.functions = functions
	return nil
}

// standIn returns the provider that answers instead of the function which the CDK makes: the first by name that makes AWS
// calls, and else, of a local function, the one that is there for that.
func (p *providers) standIn(token wire.ServiceToken) (string, bool) {
	logical, here := "", false
	if p.functions != nil {
		logical, here = p.functions(token) // a stack's name may have left no room for all of the function's
	}
	if here && builtin.IsDeployment(logical) {
		return deploymentsInCloud, true
	}
	if !builtin.IsAWS(token) && !builtin.IsCDK(logical) {
		return "", false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(p.known)) {
		if p.known[name].builtin {
			return name, true
		}
	}
	return inCloud, here
}
