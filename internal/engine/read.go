package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/internal/engine/drift"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// mostReading is the maximum time limit of a Read, even if its resource allows more.
const mostReading = 15 * time.Minute

// Reading asks providers to read resources.
type Reading struct{ *runner }

// Read asks the providers of resources for their current state, and returns the requests by logical ID. It leaves out
// resources whose providers don't declare Read, and those that have changed since. A resource whose last Read is
// unanswered gets no second one. When Read returns, the requests are durable. A settled request has the result, see
// [store.TypeRead]. unasked has the resources whose providers could not be asked whether they declare Read, with the reason.
func (g Reading) Read(ctx context.Context, stack store.Stack, instances []store.Instance) (
	sent map[wire.LogicalID]wire.RequestID, unasked map[wire.LogicalID]string, err error,
) {
	var tokens []string
	for _, i := range instances {
		if readable(&i) {
			tokens = append(tokens, i.Body.Token.Text())
		}
	}
	declared := g.declareReads(ctx, tokens)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err() // else it would be the reason
	}
	var able []store.Instance
	unasked = map[wire.LogicalID]string{}
	for _, i := range instances {
		if !readable(&i) {
			continue
		}
		switch of := declared[i.Body.Token.Text()]; {
		case of.problem != "":
			unasked[i.Logical] = redact.Of(i.Body.Token.Secrets()).Mask(of.problem)
		case of.types.has(i.Body.Type):
			able = append(able, i)
		}
	}
	if len(able) == 0 {
		return nil, unasked, nil
	}
	err = g.apply(ctx, store.Target{Stack: stack.Key}, func(d *decision) error {
		sent = reads{d}.ask(able)
		return nil
	})
	return sent, unasked, err
}

// readable reports whether an instance belongs to a custom resource that exists.
func readable(i *store.Instance) bool {
	return i.Role == store.RoleCurrent && i.Body != nil && !i.Body.Token.IsNull() && i.PhysicalID != "" && !i.Unborn()
}

// reads asks providers for the current state of resources.
type reads struct{ *decision }

// ask sends the Reads of instances. The view is whole. It sends none while an operation is in progress, because
// resources change.
func (d reads) ask(instances []store.Instance) map[wire.LogicalID]wire.RequestID {
	sent := map[wire.LogicalID]wire.RequestID{}
	if !d.op.Phase.Final() {
		return sent
	}
	open := map[int]*store.Request{}
	for _, id := range sortedKeys(d.requests) {
		if r := d.requests[id]; r.Type == store.TypeRead {
			open[r.Instance] = r
		}
	}
	for _, was := range instances {
		i := d.instances[was.Number]
		if i == nil || !readable(i) || !i.Changed.Equal(was.Changed) {
			continue
		}
		r := open[i.Number]
		if r == nil || r.Body.PhysicalID != i.PhysicalID || !r.Body.Properties.Equal(i.Body.Properties) {
			r = d.send(i)
		}
		sent[i.Logical] = r.ID
	}
	return sent
}

// send creates the Read of an instance.
func (d reads) send(i *store.Instance) *store.Request {
	r := requests(d).add(i, store.TypeRead)
	r.Body.Timeout, r.Body.Properties = min(i.Body.Timeout, mostReading), i.Body.Properties
	if d.dialect == ROS {
		r.Body.StackName, r.Body.Account, r.Body.Caller = d.stack.Name, d.stack.Account, d.op.Caller
	}
	return r
}

// report handles the outcome of a Read.
func (d reads) report(r *store.Request, outcome Outcome) error {
	problem := ""
	var state *wire.State
	var said value.Value
	switch outcome.Kind {
	case Accepted:
		requests(d).accept(r, outcome)
		return nil
	case Silent:
		silence(d).record(r, outcome)
		return nil
	case Answered:
		state, said, problem = d.read(r, outcome)
	case TimedOut:
		problem = "the provider did not answer in time"
		if r.Silence != nil {
			problem = "the handler of the provider returned without an answer"
		}
	case Refused, Died:
		problem = d.redact(r, outcome.Text)
	case Provided, Awaiting, Waiting, Returned:
		problem = "a Read must be answered at once"
	}
	return d.settle(r, outcome.Kind.String(), state, said, problem)
}

// read returns the state and the attributes in an answer, or the problem.
func (d reads) read(r *store.Request, outcome Outcome) (state *wire.State, said value.Value, problem string) {
	got := answers(d).read(r, outcome)
	d.tellAnswer(r, outcome, &got)
	if text := answers(d).mismatches(r, got); text != "" && got.problem == "" {
		answers(d).auditCopies(r, text)
	}
	switch {
	case got.problem != "":
		return nil, got.data, d.redact(r, got.explained, got.data)
	case !got.success:
		return nil, got.data, "the provider answered FAILED: " + d.redact(r, got.reason, got.data)
	case got.state == nil:
		return nil, got.data, noState
	case got.id != r.Body.PhysicalID: // the state belongs to another resource
		return nil, got.data, d.redact(r, otherResource(r, d.redact(r, string(got.id), got.data)), got.data)
	case outcome.withheld:
		return nil, got.data, withheldText
	}
	return got.state, got.data, ""
}

// otherResource returns the problem of an answer to a Read with another resource's physical ID. The ID must be redacted: it is
// cut, and part of a secret would remain.
func otherResource(r *store.Request, redacted string) string {
	return fmt.Sprintf("the provider answered with the physical ID %.200q instead of %q", redacted, r.Body.PhysicalID)
}

const noState = "the provider answered SUCCESS without the state of the resource"

// settle settles a Read. Its row keeps the result of the comparison, never the state itself. said are the attributes
// in the answer.
func (d reads) settle(r *store.Request, ending string, state *wire.State, said value.Value, problem string) error {
	found := drift.Resource{
		Logical: r.Logical, Physical: r.Body.PhysicalID, Type: r.Body.ResourceType, Status: drift.Unknown, Problem: problem, Checked: d.now,
	}
	if problem == "" {
		found.Compare(r.Body.Properties, state, d.secrets(said))
	}
	text, err := json.Marshal(found)
	if err != nil {
		return fmt.Errorf("write the state of %s: %w", r.Logical, err)
	}
	body := *r.Body
	body.Pending = value.Str(string(text))
	r.Body = &body
	d.newReq.add(r.ID)
	r.State, r.Owner, r.Executor, r.Due = store.RequestSettled, 0, 0, zeroTime
	r.Ending, r.Settled = ending, d.now
	d.changeRequest(r)
	return nil
}
