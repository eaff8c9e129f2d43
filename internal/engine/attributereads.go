package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// lacks returns the attributes that the rest of the stack reads and the answer lacks. Nothing reads the attributes of
// a failure, of a Delete, or of a resource that is only awaited for clean-up.
func (d manualAnswer) lacks(in *Respond, r *store.Request, i *store.Instance, data value.Value) ([]AttributeRead, error) {
	revision := goal(&d.op)
	if in.Status != wire.Success || r.Type == wire.Delete || r.Operation != d.op.Number || revision == 0 || d.current(r.Logical) != i {
		return nil, nil
	}
	t, err := d.template(revision)
	if err != nil {
		return nil, err
	}
	scope, err := d.scope(revision)
	if err != nil {
		return nil, err
	}
	var missing []AttributeRead
	for _, read := range t.AttributeReads(scope, string(r.Logical)) {
		if _, ok := d.dialect.attribute(data, read.Attribute); !ok {
			missing = append(missing, read)
		}
	}
	return missing, nil
}

// goal returns the number of the revision that an operation currently applies, or 0.
func goal(op *store.Operation) int {
	switch op.Phase {
	case store.PhaseApply:
		return op.To
	case store.PhaseRevert:
		return op.From
	case store.PhasePrepare, store.PhaseCleanup, store.PhaseRevertCleanup, store.PhaseSucceeded, store.PhaseFailed, store.PhaseReverted,
		store.PhaseRevertFailed:
	}
	return 0
}

// AttributeReads returns the attributes of a resource that other resources and outputs read after a request of it
// succeeds.
func (q Queries) AttributeReads(ctx context.Context, stack store.Stack, logical wire.LogicalID) ([]AttributeRead, error) {
	op, err := q.store.Operation(ctx, stack.Key, stack.Operation)
	if err != nil {
		return nil, err
	}
	number := goal(&op)
	if number == 0 {
		return nil, nil
	}
	revision, err := q.store.Revision(ctx, stack.Key, number)
	if err != nil {
		return nil, err
	}
	dialect, err := DialectOf(stack.Dialect)
	if err != nil {
		return nil, err
	}
	t, err := q.env.parsed.of(dialect.language(), &revision)
	if err != nil {
		return nil, err
	}
	d := newDecision(&q.env, dialect, &store.View{Stack: stack})
	return t.AttributeReads(d.scopeOf(&revision), string(logical)), nil
}

// DescribeReads describes the attributes and their readers for people.
func DescribeReads(reads []AttributeRead) string {
	var names []string
	by := map[string][]string{}
	for _, read := range reads {
		reader := "output " + read.Output
		if read.Output == "" {
			reader = "resource " + read.Resource
		}
		if by[read.Attribute] == nil {
			names = append(names, read.Attribute)
		}
		by[read.Attribute] = append(by[read.Attribute], reader)
	}
	for i, name := range names {
		readers := by[name]
		if len(readers) > mostReaders {
			readers = append(readers[:mostReaders:mostReaders], fmt.Sprintf("%d more", len(readers)-mostReaders))
		}
		names[i] = "the attribute " + name + ", read by " + strings.Join(readers, ", ")
	}
	if len(names) > mostNamed {
		names = append(names[:mostNamed], fmt.Sprintf("%d more attributes", len(names)-mostNamed))
	}
	return strings.Join(names, "; ")
}

// AnswerLacks is the beginning of the error that [Respond.Force] overrides.
const AnswerLacks = "The answer lacks "

// mostReaders is the number of readers that a text names for an attribute.
const mostReaders = 5
