package console

import (
	"context"
	"fmt"

	"github.com/pintle-dev/pintle/internal/api/console/picture"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// census counts the resources of a stack by the result of the newest operation.
type census struct {
	Parts []censusPart
	All   int
}

// censusPart is the number of resources in one state. X and Width are its position in the meter, in percent.
type censusPart struct {
	Count    int
	Label    string
	Class    picture.State
	X, Width string
}

// countOf counts the resources of a stack's newest operation. The ledger caches the events and the resources of the
// template.
func (tr *tracker) countOf(ctx context.Context, stack *store.Stack, op *store.Operation) (census, error) {
	l := tr.ledgers.of(ledgerKey{stack.Key, op.Number})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := tr.follow(ctx, l, stack, op); err != nil {
		return census{}, err
	}
	if l.declared == nil || l.revision != stack.Revision {
		all, err := tr.engine.Dependencies(ctx, *stack)
		if err != nil {
			return census{}, err
		}
		l.declared, l.revision = make([]wire.LogicalID, len(all)), stack.Revision
		for i, d := range all {
			l.declared[i] = d.Logical
		}
	}
	counts, undone := map[picture.State]int{}, 0
	for _, at := range l.newest {
		b := &l.bars[at]
		if class := b.class(); class == picture.Done && !op.RollbackStarted.IsZero() && !b.Start.Before(op.RollbackStarted) {
			undone++
		} else {
			counts[class]++
		}
	}
	rest := 0
	for _, logical := range l.declared {
		if _, touched := l.newest[logical]; !touched {
			rest++
		}
	}
	label := "not started"
	switch {
	case op.Kind == store.KindUpdate && op.Phase == store.PhaseApply:
		label = "unchanged or not started"
	case op.Kind == store.KindUpdate || op.Kind == store.KindImport:
		label = "unchanged"
	}
	done, back := "done", "rolled back"
	if op.Kind == store.KindDelete && op.RollbackStarted.IsZero() {
		done = "deleted"
	} else if op.Kind == store.KindDelete {
		back = "deleted"
	}
	return newCensus(counts, done, censusPart{Count: undone, Label: back, Class: picture.Stopped}, rest, label), nil
}

// newCensus makes a census from the counts by state, the resources that a rollback has undone, and the rest.
func newCensus(counts map[picture.State]int, done string, undone censusPart, rest int, label string) census {
	parts := []censusPart{
		{counts[picture.Done], done, picture.Done, "", ""}, undone, {counts[picture.Running], "running", picture.Running, "", ""},
		{counts[picture.Failed], "failed", picture.Failed, "", ""},
		{counts[picture.Stopped] + counts[picture.Waiting], "skipped", picture.Stopped, "", ""}, {rest, label, picture.Waiting, "", ""},
	}
	var all census
	for _, p := range parts {
		all.All += p.Count
	}
	at := 0
	for _, p := range parts {
		if p.Class == picture.Stopped && p.Count == 0 {
			continue
		}
		p.X, p.Width = percent(at, all.All), percent(p.Count, all.All)
		at += p.Count
		all.Parts = append(all.Parts, p)
	}
	return all
}

// percent formats part/all as a percentage with two decimals.
func percent(part, all int) string {
	return fmt.Sprintf("%.2f%%", 100*float64(part)/float64(max(all, 1)))
}
