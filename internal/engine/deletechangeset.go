package engine

import (
	"context"

	"github.com/pintle-dev/pintle/internal/store"
)

// DeleteChangeSet deletes a change set. One that does not exist is no error. Errors that the client can fix are of type
// [Error].
func (p Planner) DeleteChangeSet(ctx context.Context, ref ChangeSetRef) error {
	row, stack, err := p.findChangeSet(ctx, ref)
	if told, ok := InputError(err); ok && told.Code == CodeChangeSetNotFound {
		return nil
	} else if err != nil {
		return err
	}
	if err := p.checkOwn(ctx, &row, "deleted"); err != nil {
		return err
	}
	if err := p.apply(ctx, store.Target{Stack: stack.Key}, func(d *decision) error { return changeSetDeletion{d}.remove(row.ID) }); err != nil {
		return err
	}
	p.dropNested(ctx, row.Nested)
	return nil
}

// changeSetDeletion deletes change sets.
type changeSetDeletion struct{ *decision }

// remove decides to delete a change set. One that is gone already is no error.
func (d changeSetDeletion) remove(id store.ChangeSetID) error {
	row, ok := d.view.ChangeSets[id]
	if !ok {
		return nil
	}
	// The operation of another set than the newest has ended.
	if row.State == store.ChangeSetExecuted && row.Operation == d.op.Number && !d.op.Phase.Final() {
		return d.dialect.refusals().changeSetStatus(&row, "deleted", d.dialect.ExecutionStatus(ExecutionRunning), true)
	}
	macroRequests(d).withdraw(id)
	d.delta.DropChangeSets = append(d.delta.DropChangeSets, id)
	return nil
}

// removeOthers removes the stack's change sets except one, and except those that were executed before where these hold no name:
// they stay readable by their ARNs. The view is whole.
func (d changeSetDeletion) removeOthers(but store.ChangeSetID) {
	d.delta.DropChangeSets = nil
	for _, id := range sortedKeys(d.view.ChangeSets) {
		if row := d.view.ChangeSets[id]; id != but && holdsName(&row, d.dialect) {
			macroRequests(d).withdraw(id)
			d.delta.DropChangeSets = append(d.delta.DropChangeSets, id)
		}
	}
}
