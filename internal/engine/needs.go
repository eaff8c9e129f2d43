package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// need is the error of a decision that lacks external data. The engine fetches the data between two attempts of the
// decision. Each kind of need has its own error text.
type need interface {
	error
	// fetch gets the missing data and stores them in the input of the decision.
	fetch(context.Context, *runner) error
	// exhausted returns the error of a decision that needs data of this kind again after [maxFetches].
	exhausted() error
}

// maxFetches bounds the number of fetches of one kind for a decision. The engine gives no more time to a stack that
// others keep changing.
const maxFetches = 5

// needParameters lacks values of the parameter store. Each call reads them again, so that the client gets the current
// values.
type needParameters struct {
	options         *Options
	account, region string
	names           []string
}

func (*needParameters) Error() string { return "the parameter store has to be read" }

func (*needParameters) exhausted() error {
	return invalid("The stack was changed by others while its parameters were read. Please try again.")
}

func (n *needParameters) fetch(ctx context.Context, run *runner) error {
	if run.stored == nil {
		return invalid(unfetched(n.names))
	}
	stored, err := run.stored(ctx, n.account, n.region, n.names)
	if err != nil && run.env.fidelity != FidelityAWS {
		return invalid(unfetched(n.names) + " " + err.Error())
	} else if err != nil {
		return invalid(unfetched(n.names))
	}
	n.options.stored = make(map[string]template.Stored, len(n.names))
	for _, name := range n.names {
		n.options.stored[name] = stored[name]
	}
	return nil
}

// needSnippets lacks snippets that a submitted template includes. Their locations may depend on parameters.
type needSnippets struct {
	of        *submission
	locations []string
}

func (*needSnippets) Error() string { return "snippets have to be fetched" }

func (*needSnippets) exhausted() error {
	return invalid("The stack was changed by others while the snippets of its template were fetched. Please try again.")
}

func (n *needSnippets) fetch(ctx context.Context, run *runner) error {
	for _, location := range n.locations {
		if err := n.of.fetch(ctx, run.snippet, location); err != nil {
			return err
		}
		if n.of.problem != "" {
			return nil // the decision reports it
		}
	}
	return nil
}

// needLookups lacks the results of looking for existing resources.
type needLookups struct {
	of        *importRequest
	stack     store.Stack
	resources []ImportResource
}

func (*needLookups) Error() string { return "existing resources have to be looked up" }

func (*needLookups) exhausted() error {
	return invalid("Other operations changed the stack while Pintle looked for existing resources. Try again.")
}

func (n *needLookups) fetch(ctx context.Context, run *runner) error {
	if n.of.fetches++; n.of.unattended && n.of.fetches >= maxFetches {
		n.of.problem = n.exhausted().Error()
		return nil // the decision reports it
	}
	records := map[recordKey]wire.StackID{}
	var tokens []string
	for _, r := range n.resources {
		if r.custom {
			tokens = append(tokens, r.token)
		}
		if r.custom || run.env.native.Schema(r.Type).Recorded {
			records[recordKey{r.Type, wire.PhysicalID(r.text())}] = ""
		}
	}
	if err := (owners{run}).recordOwners(ctx, &n.stack, "", records); err != nil {
		return err
	}
	declared := run.declareReads(ctx, tokens)
	for _, r := range n.resources {
		if n.of.found == nil {
			n.of.found = map[wire.LogicalID]lookup{}
		}
		if r.custom {
			n.of.found[r.Logical] = owners{run}.custom(r, records, declared)
			continue
		}
		var err error
		if n.of.found[r.Logical], err = (owners{run}).existing(ctx, &n.stack, r, records); err != nil {
			err = fmt.Errorf("look for %s: %w", r.text(), err)
			if _, refused := errors.AsType[lookupError](err); !refused || !n.of.unattended || ctx.Err() != nil {
				return err
			}
			n.of.problem = "Pintle could not " + err.Error()
			return nil // the decision reports it
		}
	}
	return nil
}

// needForwarded lacks the knowledge whether endpoints have the types that are forwarded to them.
type needForwarded struct {
	region string
	types  []string
}

func (*needForwarded) Error() string { return "endpoints have to be asked for forwarded types" }

func (*needForwarded) exhausted() error {
	return invalid("Pintle could not find out whether the endpoints in --forward have the types of the template. Please try again.")
}

func (n *needForwarded) fetch(ctx context.Context, run *runner) error {
	run.env.native.CheckForwarded(ctx, n.region, n.types)
	return ctx.Err()
}
