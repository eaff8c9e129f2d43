package engine

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// tries finds the remains of failed operations. The next update starts from the stack's last complete revision, and
// finds later changes in the instances.
type tries struct{ *decision }

// needed returns the tried revisions that an operation needs: the newest, and those that are the only ones to declare
// an existing resource. So there are never more of them than resources, however often a stack is tried again.
func (d tries) needed(op *store.Operation) ([]int, error) {
	declared := set[wire.LogicalID]{}
	for _, number := range []int{op.From, op.To} {
		ids, err := d.declared(number)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			declared.add(id)
		}
	}
	var still []int
	for i, number := range op.Tried {
		ids, err := d.declared(number)
		if err != nil {
			return nil, err
		}
		alone := func(id wire.LogicalID) bool {
			return !declared[id] && (d.current(id) != nil || len(d.pendingDelete(id)) > 0)
		}
		if i > 0 && !slices.ContainsFunc(ids, alone) {
			continue
		}
		still = append(still, number)
		for _, id := range ids {
			declared.add(id)
		}
	}
	return still, nil
}

// declared returns the resources of a revision; revision 0 has none.
func (d tries) declared(number int) ([]wire.LogicalID, error) {
	if number == 0 {
		return nil, nil
	}
	side, err := d.side(number)
	if err != nil {
		return nil, err
	}
	var ids []wire.LogicalID
	for _, r := range side.Template.Active(side.Scope) {
		ids = append(ids, wire.LogicalID(r.LogicalID))
	}
	return ids, nil
}

// plan returns the plan of an operation from its From, which may be 0, to its To.
func (d tries) plan(op *store.Operation) ([]plan.Candidate, error) {
	to, err := d.side(op.To)
	if err != nil {
		return nil, err
	}
	tried, err := d.sides(op.Tried)
	if err != nil {
		return nil, err
	}
	if op.From == 0 {
		return plan.Retry(nil, to, tried)
	}
	from, err := d.side(op.From)
	if err != nil {
		return nil, err
	}
	return plan.Retry(&from, to, tried)
}

// tried returns the revisions that an operation uses, or may roll back to.
func tried(op *store.Operation) []int { return append([]int{op.From, op.To}, op.Tried...) }
