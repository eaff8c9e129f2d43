package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// stackEvent moves the operation to a phase and records an event.
func (d *decision) stackEvent(phase store.Phase, reason string) {
	kind := d.op.Shown()
	before := d.dialect.StackStatus(kind, d.op.Phase)
	silent := reason == "" && before == d.dialect.StackStatus(kind, phase) // clients would see no difference
	if reason == "" {
		reason = d.dialect.texts().stack(d.op.Kind, phase)
	}
	d.op.Phase, d.opChanged = phase, true
	d.stack.Kind, d.stack.Phase, d.stack.Reason, d.stackChanged = kind, phase, reason, true
	if phase.Final() {
		d.op.Ended = d.now
	}
	d.noteForParent(phase, reason)
	if silent {
		return
	}
	d.event(store.Event{
		ID: d.newID(), Logical: wire.LogicalID(d.stack.Name), Physical: wire.PhysicalID(d.stack.ID),
		Type: d.dialect.StackType(), Kind: kind, Phase: phase, Reason: reason, Time: d.eventTime(),
	})
}

// eventTime returns the time of the next event. It is at least a millisecond after the previous one, even if the
// clock is set back, so clients can sort by it. After a burst of events it is ahead of the clock.
func (d *decision) eventTime() time.Time {
	return maxTime(maxTime(d.now, d.op.Earliest), d.op.Latest.Add(time.Millisecond))
}

// resourceEvent records an event of an instance and updates the instance's status.
func (d *decision) resourceEvent(
	i *store.Instance, verb store.Verb, progress store.Progress, reason string, properties value.Value, detached bool,
) {
	at := d.eventTime()
	if reason == "" && progress == store.ProgressSucceeded {
		reason = d.remark(i, verb)
	}
	if reason == "" {
		reason = d.dialect.texts().resource
	}
	i.Verb, i.Progress, i.Reason, i.Changed, i.FailedBy = verb, progress, reason, at, ""
	if r := d.settling; r != nil && progress == store.ProgressFailed && r.Logical == i.Logical {
		i.FailedBy = r.ID
	}
	i.Stuck = verb == store.VerbUpdate && progress == store.ProgressFailed && d.op.Phase == store.PhaseRevert
	d.changeInstance(i)
	e := store.Event{
		ID:      d.dialect.eventID(i.Logical, d.dialect.ResourceStatus(verb, progress), at, detached, d.newID),
		Logical: i.Logical, Physical: i.PhysicalID, Type: i.Body.Type,
		Verb: verb, Progress: progress, Reason: reason, Time: at, Request: i.FailedBy,
	}
	if !detached {
		e.Properties = properties.String()
	}
	d.event(e)
}

func (d *decision) event(e store.Event) {
	e.Token, e.Operation = d.op.Token, d.op.ID
	if d.op.RollbackID != "" {
		e.Operation, e.Token = d.op.RollbackID, cmp.Or(d.op.RollbackToken, d.op.Token)
	}
	d.op.Latest = maxTime(d.op.Latest, e.Time)
	d.delta.Events = append(d.delta.Events, e)
}

// noteForParent records why the operation of a nested stack failed, so that its parent can report it.
func (d *decision) noteForParent(phase store.Phase, reason string) {
	if d.op.Parent == nil || reason == "" || phase == store.PhaseApply {
		return
	}
	row := *d.op.Parent
	row.Reason = reason
	d.op.Parent, d.opChanged = &row, true
}

// remark returns the reason for an event of success, empty for none. The first event of a recorded resource notes,
// for the whole stack, that its recorded resources exist only in the stack.
func (d *decision) remark(i *store.Instance, verb store.Verb) string {
	schema := d.native.Schema(i.Body.Type)
	if schema != nil && schema.Forwarded != "" && (verb == store.VerbCreate || verb == store.VerbUpdate) {
		return strings.Join(slices.DeleteFunc([]string{d.unreachable(i), d.adopted(i, verb)}, func(text string) bool { return text == "" }), ". ")
	}
	if schema == nil || !schema.Recorded || d.stack.Remarked || verb != store.VerbCreate && verb != store.VerbUpdate {
		return ""
	}
	d.stack.Remarked, d.stackChanged = true, true
	types := []string{i.Body.Type}
	if side, err := d.side(d.op.To); err == nil {
		for _, r := range side.Template.Active(side.Scope) {
			if of := d.native.Schema(r.Type); of != nil && of.Recorded {
				types = append(types, r.Type)
			}
		}
	}
	slices.Sort(types)
	return native.RecordedOnly(schema.Dialect, slices.Compact(types))
}

// adopted returns a warning if the endpoint of a new forwarded resource may have adopted an existing one; "" if not.
func (d *decision) adopted(i *store.Instance, verb store.Verb) string {
	if verb != store.VerbCreate {
		return ""
	}
	return d.native.Adopted(i.Body.Type, i.Body.Properties)
}

// unreachable returns a warning if a forwarded resource refers to resources that its endpoint does not have; "" if not.
func (d *decision) unreachable(i *store.Instance) string {
	side, err := d.side(d.op.To)
	if err != nil {
		return ""
	}
	r := side.Template.Resource(string(i.Logical))
	if r == nil {
		return ""
	}
	names := d.native.Unreachable(side.Template, r)
	if names == nil {
		return ""
	}
	return native.UnreachableText(d.native.ForwardedTo(i.Body.Type), names)
}
