package engine

import (
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// The texts of CloudFormation's import events. Source: events that users have published.
const (
	importStarted   = "Resource import started."
	importCompleted = "Resource import completed."
	importTagging   = "Apply stack-level tags to imported resource if applicable."
)

// importing imports an existing resource for a step.
type importing struct{ *decision }

// start requests the import of an existing resource.
func (d importing) start(
	s *store.Step, of store.Import, properties, metadata value.Value, ask asked, problem string,
) error {
	s.Touched = true
	instance := d.addInstance(s.Logical, store.InstanceBody{
		Type: s.Plan.Type, Token: ask.token, Timeout: ask.timeout, Properties: ask.properties, Metadata: metadata,
		Holder: of.Holder, Forwarded: ask.forwarded,
	})
	instance.PhysicalID, instance.Imported = of.ID, true
	s.Instance = instance.Number
	d.resourceEvent(instance, store.VerbImport, store.ProgressRunning, importStarted, properties, false)
	if problem != "" {
		return scheduler(d).fail(s, instance, store.VerbImport, problem, properties)
	}
	instance.Reached = true
	if ask.forwarded == nil { // whose endpoint applies them
		ask.tags = nil // an import keeps the tags; the next update sends the stack's
	}
	r := requests(d).send(s, instance, store.TypeImport, ask, value.Value{})
	r.Body.Holder, r.Body.Identifier, instance.Body.ImportedBy = of.Holder, of.Identifier, r.ID
	scheduler(d).wait(s)
	return nil
}

// finish handles the result of an import. CloudFormation then updates the tags of the resource; here its holder
// decides them.
func (d importing) finish(s *store.Step, i *store.Instance, r *store.Request, v result) error {
	results(d).record(s, i, r, v)
	if !v.success {
		return scheduler(d).fail(s, i, store.VerbImport, v.reason, r.Body.Properties)
	}
	d.resourceEvent(i, store.VerbImport, store.ProgressSucceeded, importCompleted, r.Body.Properties, false)
	d.resourceEvent(i, store.VerbUpdate, store.ProgressRunning, importTagging, r.Body.Properties, false)
	d.resourceEvent(i, store.VerbUpdate, store.ProgressSucceeded, "", r.Body.Properties, false)
	scheduler(d).complete(s)
	return nil
}

// undone reports whether a rollback releases an instance instead of deleting it, because the resource existed before
// the operation. It is false for nil, and in an operation that is not rolled back: there the policies of the resource
// apply.
func (d importing) undone(i *store.Instance) bool {
	undoing := d.op.Phase == store.PhaseRevert || d.op.Phase == store.PhaseRevertCleanup || operation(d).deletesFailedCreate()
	return undoing && i != nil && i.Imported && i.Number > d.op.Stood
}

// release removes an imported instance from the stack. The resource stays.
func (d importing) release(i *store.Instance) {
	d.resourceEvent(i, store.VerbImportRollback, store.ProgressRunning, "", i.Body.Properties, false)
	i.Role = store.RoleGone
	i.Shown = d.op.Kind != store.KindUpdate
	d.resourceEvent(i, store.VerbImportRollback, store.ProgressSucceeded, "", i.Body.Properties, false)
}

// undo releases an instance, and has its service return the resource to its previous holder. No step waits for that.
func (d importing) undo(i *store.Instance) {
	d.release(i)
	schema := d.native.Schema(i.Body.Type)
	recorded := (schema == nil || schema.Recorded) && i.Body.Forwarded == nil // even if the type is not forwarded any more
	if !i.Reached || recorded || i.Body.ImportedBy == "" {
		return
	}
	// Its instance may no longer be loaded when the request ends: see disowned.
	r := requests(d).add(i, store.TypeDisown)
	r.Body.Timeout, r.Body.Properties = i.Body.Timeout, value.Object()
	r.Body.Holder, r.Body.Import, r.Body.Forwarded = i.Body.Holder, i.Body.ImportedBy, i.Body.Forwarded
}

// disowned settles the request that returns an imported resource. If it failed, the resource still names a stack that
// no longer has it. Other stacks can import it nevertheless.
func (d importing) disowned(r *store.Request, outcome Outcome) {
	r.State, r.Owner, r.Executor, r.Due = store.RequestSettled, 0, 0, zeroTime
	r.Ending, r.Settled = outcome.Kind.String(), d.now
	d.changeRequest(r)
	if outcome.Text != "" {
		d.audit(r, "the resource was not given back: "+d.redact(r, outcome.Text))
	}
}
