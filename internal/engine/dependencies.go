package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Dependency is a resource in the current template.
type Dependency struct {
	Logical wire.LogicalID
	Type    string
	// Needs are the resources that it depends on, by reference or by DependsOn.
	Needs []wire.LogicalID
}

// Dependencies returns the resources of the current revision whose conditions hold, in the template's order. It
// returns none if the stack has no revision, or its macros have not run. It reads only the template.
func (q Queries) Dependencies(ctx context.Context, stack store.Stack) ([]Dependency, error) {
	revision, err := q.Revision(ctx, stack)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil // a stack in review
	} else if err != nil {
		return nil, err
	}
	dialect, err := DialectOf(stack.Dialect)
	if err != nil {
		return nil, err
	}
	t, err := q.env.parsed.of(dialect.language(), &revision)
	if err != nil {
		return nil, fmt.Errorf("parse revision %d of stack %s: %w", revision.Number, stack.ID, err)
	}
	candidates, err := plan.Create(plan.Side{Template: t, Scope: template.NewScope(nil, revision.Conditions, template.Pseudo{})})
	if err != nil {
		return nil, fmt.Errorf("revision %d of stack %s: %w", revision.Number, stack.ID, err)
	}
	list := make([]Dependency, len(candidates))
	for i, c := range candidates {
		list[i] = Dependency{Logical: wire.LogicalID(c.Logical), Type: c.New.Type, Needs: logicalIDs(c.NewNeeds)}
	}
	return list, nil
}
