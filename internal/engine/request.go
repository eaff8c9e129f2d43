package engine

import (
	"cmp"
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// requests sends and settles the requests of resources.
type requests struct{ *decision }

// send makes a request for an instance and assigns it to the step.
func (d requests) send(
	s *store.Step, i *store.Instance, kind wire.RequestType, ask asked, old value.Value,
) *store.Request {
	r := d.add(i, kind)
	r.Body.Timeout, r.Body.Properties, r.Body.OldProperties, r.Body.Tags = ask.timeout, ask.properties, old, ask.tags
	r.Body.Forwarded = ask.forwarded
	if kind == wire.Update {
		if ask.forwarded == nil {
			r.Body.Forwarded = i.Body.Forwarded // the type is no longer forwarded, and no other type may serve the request
		}
		r.Body.Revert = resource(d).forced(s.Logical)
	}
	if d.dialect == ROS {
		r.Body.StackName, r.Body.Account, r.Body.Caller, r.Body.HTTPConfig = d.stack.Name, d.stack.Account, d.op.Caller, ask.httpConfig
	}
	if kind == wire.Create {
		r.Body.PhysicalID = ""
	}
	if kind == wire.Create || kind == wire.Update {
		r.Body.Await = ask.await
	}
	if pause := d.native.Pause(i.Body.Type, kind, old, ask.properties, d.op.Phase == store.PhaseRevert); pause > 0 {
		r.Body.Await, r.Body.Timeout = &store.Await{Pause: true}, pause
	}
	if d.isNested(i.Body.Type) {
		nestedRequests(d).aim(s, r, ask.aim)
	}
	s.Request = r.ID
	d.changeStep(s)
	return r
}

// add creates a request for an instance, ready for delivery.
func (d requests) add(i *store.Instance, kind wire.RequestType) *store.Request {
	r := &store.Request{
		ID: d.dialect.requestID(d.newID()), Stack: d.stack.Key, Operation: d.op.Number, Logical: i.Logical, Instance: i.Number,
		Type: kind, State: store.RequestReady, Owner: d.node(), First: d.node(), Created: d.now,
		Body: &store.RequestBody{
			Dialect: d.dialect.Name(), StackID: d.stack.ID, Region: d.stack.Region, Token: i.Body.Token,
			ResourceType: i.Body.Type, PhysicalID: i.PhysicalID, Trace: d.op.Trace,
		},
	}
	d.requests[r.ID] = r
	d.changeRequest(r)
	d.newReq.add(r.ID)
	d.madeReady.add(r.ID)
	return r
}

// matches reports whether a resource already has the requested properties and tags, and everything else that the
// endpoint of a forwarded type needs.
func (a *asked) matches(body *store.InstanceBody) bool {
	return a.properties.Equal(body.Properties) && sameTags(a.tags, body.Tags) && body.Forwarded.Covers(a.forwarded)
}

// matchesButTags reports whether a resource differs from the request at most in tags that its row does not record.
func (a *asked) matchesButTags(body *store.InstanceBody) bool {
	return body.Tags == nil && body.Attempted.IsNull() && a.properties.Equal(body.Properties) && body.Forwarded.Covers(a.forwarded)
}

// onlyReads reports whether a forwarded resource differs from the request only in attributes that the rest of the
// stack reads, or in its policies. Such a request does not change the resource.
func (a *asked) onlyReads(body *store.InstanceBody) bool {
	return a.forwarded != nil && body.Attempted.IsNull() && a.properties.Equal(body.Properties) && sameTags(a.tags, body.Tags)
}

// askedOf returns the last request of a resource.
func askedOf(i *store.Instance) asked {
	return asked{
		properties: i.Body.Properties, token: i.Body.Token, timeout: i.Body.Timeout, httpConfig: i.Body.HTTPConfig, forwarded: i.Body.Forwarded,
	}
}

// accept records that the provider has the request. The rest of the request's time starts to run.
func (d requests) accept(r *store.Request, outcome Outcome) {
	if r.State != store.RequestReady {
		r.Executor = 0 // should this node die, nothing dies with it
		d.changeRequest(r)
		return
	}
	if holder(r) != r.First {
		r.First = 0
	}
	left := max(r.Body.Timeout-max(outcome.Took, 0), 0)
	r.State, r.Delivered, r.Due, r.Silence = store.RequestWaiting, d.now, d.now.Add(left), nil
	if r.Cancelled {
		r.Due = minTime(r.Due, d.now.Add(d.cancelledWait))
	}
	if r.Body.Aim != "" {
		nestedRequests(d).wait(r)
	}
	r.Within = 0
	if outcome.Local {
		r.Executor = d.node()                                                         // not always the owner
		if outcome.Within < r.Body.Timeout && d.environment.fidelity != FidelityAWS { // AWS does not report it
			r.Within = max(outcome.Within, 0)
		}
	}
	r.Owner = 0
	d.changeRequest(r)
}

// holder returns the node that handles a request: its owner or, after it was accepted, the node whose process
// executes it. 0 means that the provider has it elsewhere.
func holder(r *store.Request) store.Incarnation { return cmp.Or(r.Owner, r.Executor) }

// resend makes a delayed request ready after its pause.
func (d requests) resend(r *store.Request) {
	r.State, r.Owner, r.First, r.Due = store.RequestReady, d.node(), d.node(), zeroTime
	d.madeReady.add(r.ID)
	d.changeRequest(r)
	if i := d.instances[r.Instance]; i != nil {
		d.resourceEvent(i, store.VerbDelete, store.ProgressRunning, "", i.Body.Properties, true)
	}
}

// settle settles a request, applies its result and continues the stack.
func (d requests) settle(request *store.Request, ending string, v result) error {
	request.State, request.Owner, request.Executor = store.RequestSettled, 0, 0
	request.Ending, request.Settled = ending, d.now
	request.Due = zeroTime
	d.changeRequest(request)
	pollRequests(d).stop(request)
	d.settling = request
	defer func() { d.settling = nil }()

	instance := d.instances[request.Instance]
	if instance == nil {
		return fmt.Errorf("instance %d of stack %s was not loaded", request.Instance, d.stack.ID)
	}
	step := d.steps[request.Logical]
	if step == nil || step.Request != request.ID {
		results(d).record(nil, instance, request, v) // its operation finished without it
		return nil
	}
	step.Request = ""
	if request.Body.Aim != "" {
		step.Held = v.held
	}
	d.changeStep(step)
	if request.Cancelled {
		results(d).record(step, instance, request, v)
		switch step.State {
		case store.StepHeld:
			step.State = store.StepPending
			scheduler(d).count(-1)
			d.todo = append(d.todo, step.Logical)
		case store.StepAwaited:
			step.State = store.StepIdle
			scheduler(d).count(-1)
		case store.StepIdle, store.StepPending, store.StepRunning, store.StepDone, store.StepFailed, store.StepCancelled:
		}
		d.settling = nil
		return scheduler(d).run()
	}
	scheduler(d).count(-1)
	if err := results(d).apply(step, instance, request, v); err != nil {
		return err
	}
	d.settling = nil
	return scheduler(d).run()
}
