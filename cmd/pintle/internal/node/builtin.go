package node

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pintle-dev/pintle/internal/builtin"
	"github.com/pintle-dev/pintle/internal/local"
	"github.com/pintle-dev/pintle/internal/project"
	"github.com/pintle-dev/pintle/wire"
)

// defineBuiltin makes a definition of a provider that is in the program. Its rules are held against what AWS has here alone, where
// a person waits for the answer.
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

// checkBuiltin finds what does not go together.
func (d Definition) checkBuiltin() error {
	if err := project.CheckBuiltin(d.Builtin); err != nil {
		return err
	}
	if d.Target != "" || d.OnEvent != nil || d.IsComplete != nil || len(d.Env) > 0 || d.Handler != "" {
		return errors.New("builtin is a provider in this program, which has no target, functions, env and handler")
	}
	return nil
}

// inside returns what answers for a provider that is in the program.
func (p *providers) inside(name string, d Definition, parsed parsed) (local.Provider, error) {
	return builtin.AWS{
		Allow: d.Allow, Region: p.region, Timeout: parsed.timeout, Concurrency: parsed.concurrency,
	}.Provider(name)
}

// standIn returns the provider that answers in the place of the function which the CDK makes: the first by name that makes AWS
// calls. The caller holds mu.
func (p *providers) standIn(token wire.ServiceToken) (string, bool) {
	if !builtin.IsAWS(token) {
		return "", false
	}
	for _, name := range slices.Sorted(maps.Keys(p.known)) {
		if p.known[name].builtin {
			return name, true
		}
	}
	return "", false
}
