package node

import (
	"fmt"
	"log/slog"

	"github.com/pintle-dev/pintle/internal/provider/cdkframework"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

// Apart is a provider with its functions, for a [local.Runtime] outside of a node.
type Apart struct {
	// Framework answers for the provider.
	Framework local.Provider
	// Functions lists the functions that it calls.
	Functions []local.Provider
	// Calls are those calls. They are to use the runtime, and to get its reports.
	Calls *cdkframework.Calls
	// Later says that its answers may come long after its handler has returned, from elsewhere.
	Later bool
	// Elsewhere says that its AWS calls go where the environment says, in any case.
	Elsewhere bool
}

// NeedsServer returns why the provider cannot run without a server: its helper library invokes the function again through AWS
// services, and only a server has both. It is nil for handlers that do not poll, or of which that cannot be seen.
func (a Apart) NeedsServer() error {
	if a.Elsewhere {
		return nil
	}
	if p := findPoller([]local.Provider{a.Framework}); p != nil {
		return fmt.Errorf("%s polls with %s: it is invoked again through %s, and only a server has its function", p.file, p.library, p.through)
	}
	return nil
}

// NewApart returns the provider with a name, which must be made of functions; others are the definitions of providers that
// it may name as such.
func NewApart(name string, d Definition, others map[string]Definition) (Apart, error) {
	parsed, err := d.parse(name)
	if err != nil {
		return Apart{}, err
	}
	if parsed.onEvent == nil {
		return Apart{}, fmt.Errorf("provider %s does not consist of functions", name)
	}
	p := newProviders(nil, newNotes(), local.DefaultRegion, slog.New(slog.DiscardHandler))
	defer p.close()
	for other, d := range others {
		_ = p.use(other, d) // as in a node, calling a function that cannot be run is an error of the call
	}
	made := Apart{Functions: parsed.programs, Calls: p.calls}
	if made.Framework, err = p.framework(name, parsed); err != nil {
		return Apart{}, fmt.Errorf("provider %s: %w", name, err)
	}
	called := map[string]bool{}
	for _, ref := range []*functionRef{parsed.onEvent, parsed.isComplete} {
		if ref == nil || ref.token == "" {
			continue
		}
		if other, err := p.find(name, ref.token); err == nil && !called[other] {
			called[other] = true
			if program, ok, err := others[other].Program(other); err == nil && ok {
				made.Functions = append(made.Functions, program)
			}
		}
	}
	return made, nil
}
