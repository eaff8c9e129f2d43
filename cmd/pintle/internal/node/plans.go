package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/author/schema"
	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// PlanTimeout is how long a provider may take for a Plan, from when a process is ready for it. The limit is Pintle's own.
const PlanTimeout = 10 * time.Second

// planPrefix begins the IDs of the events that ask for plans. No request has such an ID.
const planPrefix = "plan."

// plans returns what asks the providers of this node. As AWS has no such request, [engine.FidelityAWS] asks none.
func (b *builder) plans() engine.ProviderPlans {
	switch {
	case b.config.Fidelity == engine.FidelityAWS:
		return nil
	case b.config.Plans != nil:
		return b.config.Plans.With(b.references)
	case b.runtime == nil:
		return nil
	}
	b.asksPlans.Use(b.runtime)
	return b.asksPlans.With(b.references)
}

// References resolves the dynamic references in properties, see [github.com/pintle-dev/pintle/internal/provider/delivery.References].
type References interface {
	Wants(reference dynamic.Reference, native bool) bool
	Resolve(ctx context.Context, account, region string, references []dynamic.Reference) (
		resolved map[string]value.Value, missing map[string]string, err error)
}

// Plans asks local processes what they would do. It implements [engine.ProviderPlans]. Call [Plans.Use] before it is asked. Its
// methods may be called from many goroutines.
type Plans struct {
	match      func(wire.ServiceToken) (string, bool)
	schema     func(ctx context.Context, name string) (json.RawMessage, error)
	references References
	calls      *planCalls
}

// planCalls are the running calls.
type planCalls struct {
	runtime *local.Runtime

	mu      sync.Mutex
	waiting map[string]chan local.Outcome
}

// NewPlans returns what asks the providers that match returns for tokens. schema returns the schema of one of them.
func NewPlans(match func(wire.ServiceToken) (string, bool), schema func(context.Context, string) (json.RawMessage, error)) *Plans {
	return &Plans{match: match, schema: schema, calls: &planCalls{waiting: map[string]chan local.Outcome{}}}
}

// Use sets the runtime of the processes. Its Config.Done must call [Plans.Done].
func (p *Plans) Use(runtime *local.Runtime) { p.calls.runtime = runtime }

// With returns a copy that resolves dynamic references.
func (p *Plans) With(references References) *Plans {
	own := *p
	own.references = references
	return &own
}

// Done takes the end of an event; false if the event is not a Plan.
func (p *Plans) Done(id string, outcome local.Outcome) bool {
	if !isPlan(id) {
		return false
	}
	p.calls.mu.Lock()
	defer p.calls.mu.Unlock()
	if waiting := p.calls.waiting[id]; waiting != nil {
		delete(p.calls.waiting, id)
		waiting <- outcome // it has room for one
	}
	return true
}

// isPlan reports whether an event is a Plan.
func isPlan(id string) bool { return strings.HasPrefix(id, planPrefix) }

// Plans implements [engine.ProviderPlans]. A provider that publishes no schema, or a schema that is not valid, does not plan.
func (p *Plans) Plans(ctx context.Context, token wire.ServiceToken) (engine.DeclaredTypes, error) {
	name, ok := p.match(token)
	if !ok {
		return nil, nil
	}
	text, err := p.schema(ctx, name)
	switch {
	case errors.Is(err, local.ErrNoSchema), errors.Is(err, local.ErrUnknown):
		return nil, nil
	case ctx.Err() != nil:
		return nil, errors.New("there was no time left to ask its provider for its schema")
	case err != nil:
		return nil, err
	}
	document, err := schema.Parse(text)
	if err != nil {
		return nil, nil //nolint:nilerr // it declares no plans
	}
	return func(resourceType string) bool { return document.Type(resourceType).Plans }, nil
}

// Plan implements [engine.ProviderPlans].
func (p *Plans) Plan(ctx context.Context, q engine.PlanQuestion) wire.Planned {
	hide := &redact.Secrets{}
	answer, err := p.plan(ctx, &q, hide)
	if err != nil {
		answer = wire.Planned{Error: err.Error()}
	}
	answer.Reason, answer.Error = hide.Mask(answer.Reason), hide.Mask(answer.Error)
	return answer
}

func (p *Plans) plan(ctx context.Context, q *engine.PlanQuestion, hide *redact.Secrets) (wire.Planned, error) {
	if err := p.resolve(ctx, q); err != nil {
		return wire.Planned{}, err
	}
	secrets := slices.Concat(q.Properties.Secrets(), q.Old.Secrets(), q.Token.Secrets())
	hide.Add(secrets...)
	token := wire.ServiceToken(q.Token.Text())
	name, ok := p.match(token)
	if !ok {
		return wire.Planned{}, errors.New("no process serves it")
	}
	id := planPrefix + uuid.NewString()
	document, err := planDocument(q, token).Encode()
	if err != nil {
		return wire.Planned{}, errors.New("the properties hold an invalid number")
	}
	if len(document) > wire.MaxRequest {
		return wire.Planned{}, fmt.Errorf("the request is %d bytes long, %d are allowed", len(document), wire.MaxRequest)
	}
	event := local.Event{
		ID: id, Payload: document, Secrets: secrets, WantResult: true, Contract: local.ContractOf(token),
	}
	if parsed, err := wire.ParseToken(token); err == nil && (parsed.Service == wire.Lambda || parsed.Service == wire.FC) {
		event.FunctionARN = string(token)
	}
	outcome, err := p.calls.invoke(ctx, name, event)
	if err != nil {
		return wire.Planned{}, err
	}
	if outcome.Kind != local.Returned {
		return wire.Planned{}, errors.New(outcome.String())
	}
	return wire.ParsePlanned(outcome.Result)
}

// planDocument returns the request. It has no response URL: the answer is the result of the invocation.
func planDocument(q *engine.PlanQuestion, token wire.ServiceToken) wire.Request {
	r := wire.Request{
		Dialect: q.Dialect, RequestType: wire.Plan, StackID: q.StackID, RequestID: wire.RequestID(uuid.NewString()), LogicalResourceID: q.Logical,
		PhysicalResourceID: q.PhysicalID, ResourceType: q.ResourceType, ResourceProperties: q.Properties.JSON(),
	}
	if q.PhysicalID != "" {
		r.OldResourceProperties = q.Old.JSON()
	}
	if q.Dialect == wire.ROS {
		r.StackName, r.ResourceOwnerID, r.CallerID, r.RegionID = q.StackName, q.Account, q.Caller, q.Region
	} else {
		r.ServiceToken = token
	}
	return r
}

// invoke has a process deal with an event, and waits for its end.
func (c *planCalls) invoke(ctx context.Context, name string, event local.Event) (local.Outcome, error) {
	done, started := make(chan local.Outcome, 1), make(chan struct{})
	event.Started = func(time.Duration) { close(started) }
	c.mu.Lock()
	c.waiting[event.ID] = done
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, event.ID)
		c.mu.Unlock()
	}()
	if err := local.InvokeWhenFree(ctx, c.runtime, name, event); err != nil {
		return local.Outcome{}, err
	}
	timer := time.NewTimer(PlanTimeout)
	defer timer.Stop()
	ready := started
	for {
		select {
		case outcome := <-done:
			return outcome, nil
		case <-ready:
			ready = nil
			timer.Reset(PlanTimeout) // a build and a queue before it do not count
		case <-timer.C:
			if ready != nil {
				continue // it is not started yet; ctx bounds that
			}
			c.runtime.Cancel(event.ID, 0)
			return local.Outcome{}, fmt.Errorf("it did not answer within %s", PlanTimeout)
		case <-ctx.Done():
			c.runtime.Cancel(event.ID, 0)
			return local.Outcome{}, errors.New("it did not answer in time")
		}
	}
}

// resolve replaces the dynamic references in a question, as they are replaced in a request: a reference that only the old properties
// contain stays as written if it has no value.
func (p *Plans) resolve(ctx context.Context, q *engine.PlanQuestion) error {
	if q.Dialect == wire.ROS || p.references == nil {
		return nil // in ROS they are text
	}
	var wanted []dynamic.Reference
	needed := map[string]bool{} // by the text of the reference
	for _, part := range []struct {
		in  value.Value
		old bool
	}{{q.Token, false}, {q.Properties, false}, {q.Old, true}} {
		found, err := dynamic.In(part.in)
		switch {
		case err != nil && part.old:
			continue
		case err != nil:
			return errors.New("a dynamic reference in its properties is not valid")
		}
		for _, reference := range found {
			if !p.references.Wants(reference, false) {
				continue
			}
			needed[reference.Text] = needed[reference.Text] || !part.old
			if !slices.Contains(wanted, reference) {
				wanted = append(wanted, reference)
			}
		}
	}
	switch {
	case len(wanted) == 0:
		return nil
	case len(wanted) > dynamic.Limit:
		return fmt.Errorf("its properties have %d dynamic references, %d are allowed", len(wanted), dynamic.Limit)
	}
	resolved, missing, err := p.references.Resolve(ctx, q.Account, q.Region, wanted)
	if err != nil || slices.ContainsFunc(wanted, func(r dynamic.Reference) bool { return needed[r.Text] && missing[r.Text] != "" }) {
		return errors.New("a dynamic reference in its properties cannot be resolved now")
	}
	q.Token, q.Properties, q.Old = dynamic.Replace(q.Token, resolved), dynamic.Replace(q.Properties, resolved), dynamic.Replace(q.Old, resolved)
	return nil
}
