package engine

import (
	"context"

	"github.com/pintle-dev/pintle/internal/store"
)

// DeleteChangeSet deletes a change set. It succeeds if the change set does not exist. Errors that the client can fix
// are of type [Error].
func (p Planner) DeleteChangeSet(ctx context.Context, ref ChangeSetRef) error {
	row, stack, err := p.findChangeSet(ctx, ref)
	if inputErr, ok := InputError(err); ok && inputErr.Code == CodeChangeSetNotFound {
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

// remove decides to delete a change set. It does nothing if the set does not exist.
func (d changeSetDeletion) remove(id store.ChangeSetID) error {
	row, ok := d.view.ChangeSets[id]
	if !ok {
		return nil
	}
	// Only the newest set's operation can be in progress.
	if row.State == store.ChangeSetExecuted && row.Operation == d.op.Number && !d.op.Phase.Final() {
		return d.dialect.refusals().changeSetStatus(&row, "deleted", d.dialect.ExecutionStatus(ExecutionRunning), true)
	}
	macroRequests(d).withdraw(id)
	d.delta.DropChangeSets = append(d.delta.DropChangeSets, id)
	return nil
}

// removeOthers removes the stack's change sets except one. It keeps executed sets that hold no name: their ARNs still
// find them. The view is whole.
func (d changeSetDeletion) removeOthers(but store.ChangeSetID) {
	d.delta.DropChangeSets = nil
	for _, id := range sortedKeys(d.view.ChangeSets) {
		if row := d.view.ChangeSets[id]; id != but && holdsName(&row, d.dialect) {
			macroRequests(d).withdraw(id)
			d.delta.DropChangeSets = append(d.delta.DropChangeSets, id)
		}
	}
}
