package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// SignalResource is what it takes to signal a resource by its name.
type SignalResource struct {
	Stack   Ref
	Logical wire.LogicalID
	// ID is the sender's own name for the signal, 1 to 64 characters.
	ID     string
	Failed bool
}

// Signal takes a signal that came to the URL of a handle, whose signature has been checked: key is what the URL names, body
// the document. When it returns nil the signal is durable, or was there before. It returns [store.ErrNotFound] if there is
// no such handle, or no longer; errors that the sender can fix are of type [Error].
func (e *Engine) Signal(ctx context.Context, key wire.ResponseKey, body []byte) error {
	s, err := native.ParseSignal(body)
	if err != nil {
		return invalid(err.Error())
	}
	return e.apply(ctx, store.Target{Request: key.RequestID}, func(m *machine) error { return m.takeSignal(key, s) })
}

// SignalROS is [Engine.Signal] for the handle of a stack of ROS.
func (e *Engine) SignalROS(ctx context.Context, key wire.ResponseKey, body []byte) error {
	if len(body) > native.MaxSignal {
		_, err := native.ParseROSSignal(body, nil)
		return invalid(err.Error())
	}
	stack, err := e.store.Stack(ctx, key.StackID)
	if err != nil {
		return err
	}
	return e.apply(ctx, store.Target{Stack: stack.Key}, func(m *machine) error { return m.takeROSSignal(key, body) })
}

// SignalResource takes a signal for a resource that is being created and waits for it. Errors that the client can fix are
// of type [Error].
func (e *Engine) SignalResource(ctx context.Context, in SignalResource) error {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return err
	}
	return e.apply(ctx, target, func(m *machine) error { return m.signalResource(&in) })
}

// awaiting notes that a request is with nobody any more: signals end it, and those that are there may be enough.
func (m *machine) awaiting(r *store.Request, outcome Outcome) error {
	if r.State != store.RequestReady {
		return nil // reported before
	}
	instance := m.instances[r.Instance]
	if instance == nil {
		return fmt.Errorf("instance %d of stack %s was not loaded", r.Instance, m.stack.ID)
	}
	if r.Type == wire.Create {
		instance.PhysicalID = outcome.Result.PhysicalID
		m.changeInstance(instance)
		m.initiated(instance, verbOf(instance), r)
	}
	m.accepted(r, outcome)
	if r.Body.Aim != "" {
		return nil
	}
	_, err := m.awaited(r, false)
	return err
}

// awaited ends a request if the signals that it waits for are there, or are not to come any more.
func (m *machine) awaited(r *store.Request, timedOut bool) (ended bool, err error) {
	if r.Body.Await.Pause {
		if timedOut {
			err = m.finish(r, "paused", m.rested(r))
		}
		return timedOut, err
	}
	source := m.signalled(r)
	switch {
	case source == nil && !m.view.Whole:
		return false, &store.More{Whole: true} // it need not be a neighbour in the graph
	case source == nil:
		return true, m.finish(r, "failed", verdict{reached: true, reason: native.BadValue(m.dialect.wire(), "Handle", "be the Ref of a "+
			handleType(m.dialect)+" of this stack; "+string(r.Body.Await.Handle)+" is none, or is not what it was").Error()})
	}
	var before value.Value
	if i := m.instances[r.Instance]; i != nil {
		before = i.Body.Data
	}
	result, ended, problem := m.native.Awaited(r.Body.ResourceType, *r.Body.Await, source.Body.Signals, before, timedOut)
	if !ended {
		return false, nil
	}
	v := verdict{success: problem == nil, reached: true, id: result.PhysicalID, data: result.Attributes, ref: result.Ref}
	if problem != nil {
		class := failedByNative
		if timedOut {
			class = failedInTime
		}
		v.reason = m.failure(class, r.Logical, m.scrub(r, problem.Error(), v.data, v.ref))
	}
	ending := "signalled"
	if timedOut {
		ending = TimedOut.String()
	}
	return true, m.finish(r, ending, v)
}

// signalled returns the resource whose signals a request waits for, nil if it is not there.
func (m *machine) signalled(r *store.Request) *store.Instance {
	if r.Body.Await.Handle == "" {
		return m.instances[r.Instance]
	}
	for _, number := range m.numbers[r.Body.Await.Handle] {
		if i := m.instances[number]; isHandle(i) && madeBy(i, r.Body.Await.From) {
			return i
		}
	}
	return nil
}

// isHandle reports whether an instance is there and takes signals at a URL.
func isHandle(i *store.Instance) bool {
	kind := i.Body.Type == native.WaitConditionHandle || i.Body.Type == native.ROSWaitConditionHandle
	return kind && (i.Role == store.RoleCurrent || i.Role == store.RoleCondemned)
}

// handleType is the type of handles in a dialect.
func handleType(d Dialect) string {
	if d == ROS {
		return native.ROSWaitConditionHandle
	}
	return native.WaitConditionHandle
}

// madeBy reports whether a handle came to be by a request. One of ROS can have been updated since.
func madeBy(handle *store.Instance, create wire.RequestID) bool {
	if handle.Body.Type == native.ROSWaitConditionHandle {
		key, ok := native.ROSHandleKey(string(handle.PhysicalID))
		return ok && key.RequestID == create
	}
	return handle.Body.AnsweredBy == create
}

// takeSignal keeps a signal that came to a handle, and ends what waited for it.
func (m *machine) takeSignal(key wire.ResponseKey, s store.Signal) error {
	handle := m.instances[m.view.Request.Instance]
	if handle == nil || !isHandle(handle) || handle.Body.AnsweredBy != key.RequestID || handle.Logical != key.LogicalID ||
		m.stack.ID != key.StackID {
		return store.ErrNotFound
	}
	if slices.ContainsFunc(handle.Body.Signals, func(known store.Signal) bool { return known.ID == s.ID }) {
		return nil
	}
	return m.takenSignal(handle, s)
}

// takeROSSignal is takeSignal for a handle of ROS. A signal takes the place of one with the same id.
func (m *machine) takeROSSignal(key wire.ResponseKey, body []byte) error {
	if err := m.whole(); err != nil {
		return err
	}
	for _, number := range m.numbers[key.LogicalID] {
		handle := m.instances[number]
		if handle.Body.Type != native.ROSWaitConditionHandle || !isHandle(handle) || !madeBy(handle, key.RequestID) {
			continue
		}
		s, err := native.ParseROSSignal(body, handle.Body.Signals)
		if err != nil {
			return invalid(err.Error())
		}
		return m.takenSignal(handle, s)
	}
	return store.ErrNotFound
}

// takenSignal keeps a signal of a handle, and ends what waited for it.
func (m *machine) takenSignal(handle *store.Instance, s store.Signal) error {
	if err := m.keepSignal(handle, s); err != nil {
		return err
	}
	if m.op.Phase.Final() {
		return nil // it waits for whom it may concern
	}
	if err := m.whole(); err != nil { // whoever waits for it need not be a neighbour in the graph
		return err
	}
	for _, id := range sortedKeys(m.requests) {
		r := m.requests[id]
		if r.State == store.RequestWaiting && r.Body.Await != nil && m.waitsFor(r, handle) {
			m.progressed(r, handle, s)
			if _, err := m.awaited(r, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// progressed says in an event that a signal came for a wait condition of ROS: if the signal has a reason, or the condition shows
// its progress.
func (m *machine) progressed(r *store.Request, handle *store.Instance, s store.Signal) {
	i := m.instances[r.Instance]
	shown, _ := r.Body.Properties.Get("ShowProgressEvent")
	always := shown.Text() == "Enabled" || shown.Text() == "EnabledIfCreateStack" && m.op.Kind == store.KindCreate
	if m.dialect != ROS || i == nil || s.Reason == "" && !always {
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
	m.resourceEvent(i, verb, store.ProgressRunning, m.presentable(m.scrub(r, text)), r.Body.Properties, false)
}

// pruneSignals drops the signals that a handle of ROS does not keep when an update reaches it. The text says why it cannot.
func (m *machine) pruneSignals(handle *store.Instance, properties value.Value) string {
	if handle.Body.Type != native.ROSWaitConditionHandle || len(handle.Body.Signals) == 0 {
		return ""
	}
	kept, err := native.ROSSignalsKept(properties, handle.Body.Signals)
	if err != nil {
		return m.failure(failedAsDeclared, handle.Logical, m.presentable(err.Error()))
	}
	if len(kept) < len(handle.Body.Signals) {
		handle.Body.Signals = kept
		m.changeBody(handle)
	}
	return ""
}

// rested is what a request has come to that only paused.
func (m *machine) rested(r *store.Request) verdict {
	v := verdict{success: true, reached: true}
	if i := m.instances[r.Instance]; i != nil {
		v.id, v.data = i.PhysicalID, i.Body.Data
	}
	return v
}

func (m *machine) waitsFor(r *store.Request, handle *store.Instance) bool {
	return r.Body.Await.Handle != "" && m.signalled(r) == handle
}

// keepSignal puts a signal with the others of its resource, in the place of the one of the same name.
func (m *machine) keepSignal(i *store.Instance, s store.Signal) error {
	signals := slices.DeleteFunc(slices.Clone(i.Body.Signals), func(known store.Signal) bool { return known.ID == s.ID })
	if !native.Room(signals, s) {
		return invalid(fmt.Sprintf("%s has as many signals as it can keep: %d, of %d bytes together",
			i.Logical, native.MaxSignals, native.MaxSignalBytes))
	}
	i.Body.Signals = append(signals, s)
	m.changeBody(i)
	return nil
}

// signalResource takes a signal for a resource that waits for signals of its own.
func (m *machine) signalResource(in *SignalResource) error {
	id := wire.CleanText(in.ID)
	if m.op.Phase.Final() {
		return invalid("Stack:" + string(m.stack.ID) + " is in " + m.dialect.StackStatus(m.stack.Kind, m.stack.Phase) +
			" state and can not be signaled.")
	}
	step := m.steps[in.Logical]
	if step == nil {
		return invalid("Resource " + string(in.Logical) + " does not exist for stack " + in.Stack.Stack)
	}
	r := m.requests[step.Request]
	if r == nil || r.Body.Await == nil || r.Body.Await.Handle != "" || r.Body.Await.Pause {
		return invalid("Resource " + string(in.Logical) + " is not waiting for signals. Only a WaitCondition with a CreationPolicy " +
			"does, while it is being created; one with a Handle is signaled at the URL that is the handle's Ref.")
	}
	instance := m.instances[r.Instance]
	for _, known := range instance.Body.Signals {
		if known.ID == id && (known.Failed || !in.Failed) {
			return invalid("Signal with ID " + id + " for resource " + string(in.Logical) +
				" already exists. Signals may only be updated with a FAILURE status.")
		}
	}
	if err := m.keepSignal(instance, store.Signal{ID: id, Failed: in.Failed}); err != nil {
		return err
	}
	m.resourceEvent(instance, verbOf(instance), store.ProgressRunning,
		m.presentable(m.dialect.texts().signalled(in.Failed, id)), r.Body.Properties, false)
	if r.State != store.RequestWaiting {
		return nil // it looks for signals when it begins to wait
	}
	_, err := m.awaited(r, false)
	return err
}

// verbOf returns what the Create of an instance is called: a part of an update, if the instance takes another one's place.
func verbOf(i *store.Instance) store.Verb {
	if i.Role == store.RoleCondemned {
		return store.VerbUpdate
	}
	return store.VerbCreate
}
