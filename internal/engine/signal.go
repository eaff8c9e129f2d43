package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// SignalResource is the input of [Engine.SignalResource].
type SignalResource struct {
	Stack   Ref
	Logical wire.LogicalID
	// ID is the sender's identifier of the signal, 1 to 64 characters.
	ID     string
	Failed bool
}

// Signal accepts a signal to the URL of a handle whose signature has been checked. key comes from the URL, and body
// is the document. When it returns nil, the signal is durable. It returns [store.ErrNotFound] if the handle does not
// exist or no longer exists. Errors that the sender can fix are of type [Error].
func (e *Engine) Signal(ctx context.Context, key responseurl.ResponseKey, body []byte) error {
	s, err := native.ParseSignal(body)
	if err != nil {
		return invalid(err.Error())
	}
	return e.apply(ctx, store.Target{Request: key.RequestID}, func(d *decision) error { return signals{d}.take(key, s) })
}

// SignalROS is [Engine.Signal] for the handle of a ROS stack.
func (e *Engine) SignalROS(ctx context.Context, key responseurl.ResponseKey, body []byte) error {
	if len(body) > native.MaxSignal {
		_, err := native.ParseROSSignal(body, nil)
		return invalid(err.Error())
	}
	stack, err := e.store.Stack(ctx, key.StackID)
	if err != nil {
		return err
	}
	return e.apply(ctx, store.Target{Stack: stack.Key}, func(d *decision) error { return signals{d}.takeROS(key, body) })
}

// SignalResource accepts a signal for a resource whose Create waits for it. Errors that the client can fix are of
// type [Error].
func (e *Engine) SignalResource(ctx context.Context, in SignalResource) error {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return err
	}
	return e.apply(ctx, target, func(d *decision) error { return signals{d}.takeNamed(&in) })
}

// signals records signals and ends the requests that wait for them.
type signals struct{ *decision }

// wait records that signals end a request. Earlier signals may already be enough.
func (d signals) wait(r *store.Request, outcome Outcome) error {
	if r.State != store.RequestReady {
		return nil // already reported
	}
	instance := d.instances[r.Instance]
	if instance == nil {
		return fmt.Errorf("instance %d of stack %s was not loaded", r.Instance, d.stack.ID)
	}
	if r.Type == wire.Create {
		instance.PhysicalID = outcome.Result.PhysicalID
		d.changeInstance(instance)
		results(d).initiated(instance, verbOf(instance), r)
	}
	requests(d).accept(r, outcome)
	if r.Body.Aim != "" {
		return nil
	}
	_, err := d.check(r, false)
	return err
}

// check settles a request if it has the signals that it waits for, or can no longer get them.
func (d signals) check(r *store.Request, timedOut bool) (ended bool, err error) {
	if r.Body.Await.Pause {
		if timedOut {
			err = requests(d).settle(r, "paused", d.pauseOver(r))
		}
		return timedOut, err
	}
	source := d.source(r)
	switch {
	case source == nil && !d.view.Whole:
		return false, &store.More{Whole: true} // it may not be a neighbour in the graph
	case source == nil:
		return true, requests(d).settle(r, "failed", result{reached: true, reason: native.BadValue(d.dialect.wire(), "Handle", "be the Ref of a "+
			handleType(d.dialect)+" of this stack; "+string(r.Body.Await.Handle)+" is none, or is not what it was").Error()})
	}
	var before value.Value
	if i := d.instances[r.Instance]; i != nil {
		before = i.Body.Data
	}
	given, ended, problem := d.native.Awaited(r.Body.ResourceType, *r.Body.Await, source.Body.Signals, before, timedOut)
	if !ended {
		return false, nil
	}
	v := result{success: problem == nil, reached: true, id: given.PhysicalID, data: given.Attributes, ref: given.Ref}
	if problem != nil {
		class := failedByNative
		if timedOut {
			class = failedInTime
		}
		v.reason = d.failure(class, r.Logical, d.redact(r, problem.Error(), v.data, v.ref))
	}
	ending := "signalled"
	if timedOut {
		ending = TimedOut.String()
	}
	return true, requests(d).settle(r, ending, v)
}

// source returns the resource whose signals a request waits for, or nil.
func (d signals) source(r *store.Request) *store.Instance {
	if r.Body.Await.Handle == "" {
		return d.instances[r.Instance]
	}
	for _, number := range d.numbers[r.Body.Await.Handle] {
		if i := d.instances[number]; isHandle(i) && madeBy(i, r.Body.Await.From) {
			return i
		}
	}
	return nil
}

// isHandle reports whether an instance exists and accepts signals at a URL.
func isHandle(i *store.Instance) bool {
	kind := i.Body.Type == native.WaitConditionHandle || i.Body.Type == native.ROSWaitConditionHandle
	return kind && (i.Role == store.RoleCurrent || i.Role == store.RoleCondemned)
}

// handleType returns the resource type of handles in a dialect.
func handleType(d Dialect) string {
	if d == ROS {
		return native.ROSWaitConditionHandle
	}
	return native.WaitConditionHandle
}

// madeBy reports whether a request created a handle. A ROS handle may have been updated since.
func madeBy(handle *store.Instance, create wire.RequestID) bool {
	if handle.Body.Type == native.ROSWaitConditionHandle {
		key, ok := native.ROSHandleKey(string(handle.PhysicalID))
		return ok && key.RequestID == create
	}
	return handle.Body.AnsweredBy == create
}

// take records a signal for a handle and settles the requests that it completes.
func (d signals) take(key responseurl.ResponseKey, s store.Signal) error {
	handle := d.instances[d.view.Request.Instance]
	if handle == nil || !isHandle(handle) || handle.Body.AnsweredBy != key.RequestID || handle.Logical != key.LogicalID ||
		d.stack.ID != key.StackID {
		return store.ErrNotFound
	}
	if slices.ContainsFunc(handle.Body.Signals, func(known store.Signal) bool { return known.ID == s.ID }) {
		return nil
	}
	return d.add(handle, s)
}

// takeROS is take for a ROS handle. A signal replaces one with the same ID.
func (d signals) takeROS(key responseurl.ResponseKey, body []byte) error {
	if err := d.whole(); err != nil {
		return err
	}
	for _, number := range d.numbers[key.LogicalID] {
		handle := d.instances[number]
		if handle.Body.Type != native.ROSWaitConditionHandle || !isHandle(handle) || !madeBy(handle, key.RequestID) {
			continue
		}
		s, err := native.ParseROSSignal(body, handle.Body.Signals)
		if err != nil {
			return invalid(err.Error())
		}
		return d.add(handle, s)
	}
	return store.ErrNotFound
}

// add records a signal for a handle and settles the requests that it completes.
func (d signals) add(handle *store.Instance, s store.Signal) error {
	if err := d.keep(handle, s); err != nil {
		return err
	}
	if d.op.Phase.Final() {
		return nil // a later wait will find it
	}
	if err := d.whole(); err != nil { // a resource that waits for it may not be a neighbour in the graph
		return err
	}
	for _, id := range sortedKeys(d.requests) {
		r := d.requests[id]
		if r.State == store.RequestWaiting && r.Body.Await != nil && d.waitsFor(r, handle) {
			d.showProgress(r, handle, s)
			if _, err := d.check(r, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// showProgress writes an event about a signal for a ROS wait condition, if the signal has a reason or the condition
// shows its progress.
func (d signals) showProgress(r *store.Request, handle *store.Instance, s store.Signal) {
	i := d.instances[r.Instance]
	shown, _ := r.Body.Properties.Get("ShowProgressEvent")
	always := shown.Text() == "Enabled" || shown.Text() == "EnabledIfCreateStack" && d.op.Kind == store.KindCreate
	if d.dialect != ROS || i == nil || s.Reason == "" && !always {
		return
	}
	text := fmt.Sprintf("received signal %s (%d of %d)", s.ID, len(handle.Body.Signals), r.Body.Await.Count)
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	verb := store.VerbUpdate
	if r.Type == wire.Create {
		verb = verbOf(i)
	}
	d.resourceEvent(i, verb, store.ProgressRunning, d.presentable(d.redact(r, text)), r.Body.Properties, false)
}

// pauseOver returns the result of a request that only paused.
func (d signals) pauseOver(r *store.Request) result {
	v := result{success: true, reached: true}
	if i := d.instances[r.Instance]; i != nil {
		v.id, v.data = i.PhysicalID, i.Body.Data
	}
	return v
}

func (d signals) waitsFor(r *store.Request, handle *store.Instance) bool {
	return r.Body.Await.Handle != "" && d.source(r) == handle
}

// keep adds a signal to the others of its resource. It replaces one with the same ID.
func (d signals) keep(i *store.Instance, s store.Signal) error {
	signals := slices.DeleteFunc(slices.Clone(i.Body.Signals), func(known store.Signal) bool { return known.ID == s.ID })
	if !native.Room(signals, s) {
		return invalid(fmt.Sprintf("%s has as many signals as it can keep: %d, of %d bytes together",
			i.Logical, native.MaxSignals, native.MaxSignalBytes))
	}
	i.Body.Signals = append(signals, s)
	d.changeBody(i)
	return nil
}

// takeNamed records a signal for a resource that waits for signals of its own.
func (d signals) takeNamed(in *SignalResource) error {
	id := wire.CleanText(in.ID)
	if d.op.Phase.Final() {
		return invalid("Stack:" + string(d.stack.ID) + " is in " + d.dialect.StackStatus(d.stack.Kind, d.stack.Phase) +
			" state and can not be signaled.")
	}
	step := d.steps[in.Logical]
	if step == nil {
		return invalid("Resource " + string(in.Logical) + " does not exist for stack " + in.Stack.Stack)
	}
	r := d.requests[step.Request]
	if r == nil || r.Body.Await == nil || r.Body.Await.Handle != "" || r.Body.Await.Pause {
		return invalid("Resource " + string(in.Logical) + " is not waiting for signals. Only a WaitCondition with a CreationPolicy " +
			"does, while it is being created; one with a Handle is signaled at the URL that is the handle's Ref.")
	}
	instance := d.instances[r.Instance]
	for _, known := range instance.Body.Signals {
		if known.ID == id && (known.Failed || !in.Failed) {
			return invalid("Signal with ID " + id + " for resource " + string(in.Logical) +
				" already exists. Signals may only be updated with a FAILURE status.")
		}
	}
	if err := d.keep(instance, store.Signal{ID: id, Failed: in.Failed}); err != nil {
		return err
	}
	d.resourceEvent(instance, verbOf(instance), store.ProgressRunning,
		d.presentable(d.dialect.texts().signalled(in.Failed, id)), r.Body.Properties, false)
	if r.State != store.RequestWaiting {
		return nil // it looks for signals when it starts to wait
	}
	_, err := d.check(r, false)
	return err
}

// verbOf returns the verb of an instance's Create, which is part of an update if the instance replaces another one.
func verbOf(i *store.Instance) store.Verb {
	if i.Role == store.RoleCondemned {
		return store.VerbUpdate
	}
	return store.VerbCreate
}
