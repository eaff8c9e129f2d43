package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Respond is an answer that a person gives for a provider that does not answer.
type Respond struct {
	Stack   Ref
	Logical wire.LogicalID
	// Request is the request to answer; empty means the one that the resource waits for.
	Request wire.RequestID
	Status  wire.Status
	// PhysicalID is the resource's ID; empty means the existing ID, or else a generated one.
	PhysicalID wire.PhysicalID
	// Reason is the reason. With FAILED, the event shows it; empty means "answered by hand".
	Reason string
	// Data is a JSON object of all attributes. Nil keeps the resource's attributes and their secrecy; a Create has
	// none.
	Data json.RawMessage
	// Set is a JSON object of attributes to set in Data or in the kept attributes. Nil sets none.
	Set json.RawMessage
	// NoEcho makes the attributes secret.
	NoEcho bool
	// Force accepts a SUCCESS that lacks an attribute which another resource or an output reads. Without it, such an
	// answer is rejected, because the stack would fail.
	Force bool
	// By is the person's name in the audit list.
	By string
}

// AttributeRead is an attribute of a resource that another resource or an output reads.
type AttributeRead = template.AttributeRead

// IDOrigin is the source of the physical ID in an answer by hand.
type IDOrigin string

// The origins.
const (
	IDGiven     IDOrigin = "given"     // in the answer
	IDKept      IDOrigin = "kept"      // the resource already has it
	IDGenerated IDOrigin = "generated" // by the engine
)

// Responded is the result of [Engine.Respond].
type Responded struct {
	Request    wire.RequestID
	Type       wire.RequestType
	PhysicalID wire.PhysicalID
	Origin     IDOrigin
	// Lacks are the attributes that others read and that the forced answer does not have.
	Lacks []AttributeRead
}

// endedByHand is the ending of a request that a person answered.
const endedByHand = "answered by hand"

// Respond settles the request that a resource waits for, as if its provider had answered, and the stack continues.
// The audit list records it. Respond rejects an answer that a provider could not give, or to a request that no
// provider has; nothing changes then. Errors that the client can fix are of type [Error].
func (e *Engine) Respond(ctx context.Context, in Respond) (Responded, error) {
	stack, err := e.Find(ctx, in.Stack)
	if errors.Is(err, store.ErrNotFound) {
		return Responded{}, noStack(in.Stack)
	} else if err != nil {
		return Responded{}, err
	}
	open, err := e.store.Requests(ctx, stack.Key)
	if err != nil {
		return Responded{}, err
	}
	id, err := in.choose(stack.Name, open)
	if err != nil {
		return Responded{}, err
	}
	var done Responded
	err = e.apply(ctx, store.Target{Request: id}, func(d *decision) (err error) {
		done, err = manualAnswer{d}.give(&in)
		return err
	})
	return done, err
}

// choose returns the request to answer, out of the unsettled requests of the stack.
func (in *Respond) choose(stack string, open []store.Request) (wire.RequestID, error) {
	var meant, others []store.Request
	for _, r := range open {
		switch {
		case !r.Asks(), r.Type == store.TypeRead: // no step waits for it
		case r.Logical == in.Logical && (in.Request == "" || in.Request == r.ID):
			meant = append(meant, r)
		case r.State == store.RequestWaiting:
			others = append(others, r)
		}
	}
	switch len(meant) {
	case 1:
		return meant[0].ID, nil
	case 0:
		what := "resource " + string(in.Logical)
		if in.Request != "" {
			what = "request " + string(in.Request) + " of " + what
		}
		return "", invalid("Stack " + stack + " does not wait for " + what + ". " + waitingFor(others))
	}
	return "", invalid("Resource " + string(in.Logical) + " of stack " + stack + " has more than one request that is not settled: " +
		describeRequests(meant) + ". Name the one that is meant by its id.")
}

// mostNamed is the maximum number of requests that a text names.
const mostNamed = 20

func waitingFor(requests []store.Request) string {
	if len(requests) == 0 {
		return "It waits for no provider."
	}
	return "It waits for " + describeRequests(requests) + "."
}

func describeRequests(requests []store.Request) string {
	var names []string
	for i, r := range requests {
		if i == mostNamed {
			names = append(names, fmt.Sprintf("and %d more", len(requests)-i))
			break
		}
		names = append(names, string(r.Type)+" of "+string(r.Logical)+" ("+string(r.ID)+")")
	}
	return strings.Join(names, ", ")
}

// manualAnswer records the answer that a person gives instead of a provider.
type manualAnswer struct{ *decision }

// give settles the request in view with the answer of a person.
func (d manualAnswer) give(in *Respond) (Responded, error) {
	r := d.requests[d.view.Request.ID]
	if r == nil {
		return Responded{}, invalid(fmt.Sprintf("The %s of %s was settled a moment ago (%s).", d.view.Request.Type,
			d.view.Request.Logical, d.view.Request.Ending))
	}
	if err := mayRespond(r); err != nil {
		return Responded{}, err
	}
	if in.NoEcho && d.dialect.wire() == wire.ROS {
		return Responded{}, invalid("ROS has no NoEcho: everyone with access to the stack reads all attributes. Nothing was changed.")
	}
	instance := d.instances[r.Instance]
	if instance == nil {
		return Responded{}, fmt.Errorf("instance %d of stack %s was not loaded", r.Instance, d.stack.ID)
	}
	done := Responded{Request: r.ID, Type: r.Type, PhysicalID: in.PhysicalID, Origin: IDGiven}
	if done.PhysicalID == "" {
		done.PhysicalID, done.Origin = cmp.Or(r.Body.PhysicalID, instance.PhysicalID), IDKept
	}
	if done.PhysicalID == "" {
		done.PhysicalID, done.Origin = d.dialect.generateID(d.stack, r.Logical, d.random), IDGenerated
	}
	response := wire.Response{
		Dialect: d.dialect.wire(),
		Status:  in.Status, Reason: in.Reason, PhysicalResourceID: done.PhysicalID, StackID: d.stack.ID, RequestID: r.ID,
		LogicalResourceID: r.Logical,
	}
	data, noEcho, err := in.attributes(r, instance)
	if err != nil {
		return Responded{}, err
	}
	if response.NoEcho = noEcho; !data.IsNull() {
		response.Data = data.JSON()
	}
	if response.Status == wire.Failed {
		response.Reason = cmp.Or(in.Reason, endedByHand)
	}
	body, err := response.Encode()
	if err != nil {
		return Responded{}, errAttributes // the error quotes the attributes
	}
	if got := d.dialect.answer(body, 0, r); got.problem != "" {
		return Responded{}, invalid(d.redact(r, got.explained, got.data) + " Nothing was changed.")
	}
	if done.Lacks, err = d.lacks(in, r, instance, data); err != nil {
		return Responded{}, err
	}
	if len(done.Lacks) > 0 && !in.Force {
		return Responded{}, invalid(AnswerLacks + DescribeReads(done.Lacks) + ". The stack would fail. Add what is missing, or force " +
			"the answer. Nothing was changed.")
	}
	text := fmt.Sprintf("%s with %s, physical id %s (%s), by %s", endedByHand, in.Status,
		strconv.Quote(string(done.PhysicalID)), done.Origin, in.By)
	if in.Reason != "" {
		text += ": " + in.Reason
	}
	d.audit(r, d.redact(r, text, d.dialect.answer(body, 0, r).data))
	d.byHand = true
	if _, err := reports(d).take(Outcome{Kind: Answered, Body: body, Delivered: true}); err != nil {
		return Responded{}, err
	}
	r.Ending = endedByHand
	return done, nil
}

var errAttributes = invalid("The attributes are not a JSON object. Nothing was changed.")

// attributes returns the attributes of the answer and whether they are secret. Its error does not quote them.
func (in *Respond) attributes(r *store.Request, i *store.Instance) (data value.Value, noEcho bool, err error) {
	data, noEcho = value.Value{}, in.NoEcho
	switch {
	case in.Data != nil:
		if data, err = value.Parse(in.Data); err != nil || data.Kind() != value.Map {
			return data, noEcho, errAttributes
		}
	case r.Type == wire.Update && in.Status == wire.Success:
		data, noEcho = i.Body.Data, noEcho || i.Body.NoEcho
	}
	if in.Set == nil {
		return data, noEcho, nil
	}
	set, err := value.Parse(in.Set)
	if err != nil || set.Kind() != value.Map {
		return data, noEcho, errAttributes
	}
	for _, m := range set.Members() {
		data = data.With(m.Key, m.Value)
	}
	return data, noEcho, nil
}

// mayRespond rejects an answer for a provider that does not have the request yet, because no step would track its
// later work.
func mayRespond(r *store.Request) error {
	what := "The " + string(r.Type) + " of " + string(r.Logical)
	if r.Body.Aim != "" {
		return invalid(what + " waits for a nested stack, not for a provider: answer what that one waits for.")
	}
	const later = " It can be answered once its provider has it."
	switch r.State {
	case store.RequestWaiting:
		return nil
	case store.RequestReady:
		return invalid(what + " is still on its way to the provider." + later)
	case store.RequestDelayed:
		return invalid(what + " is to be sent again at " + r.Due.UTC().Format("15:04:05") + " UTC." + later)
	case store.RequestSettled:
	}
	return invalid(what + " is settled (" + r.Ending + ").")
}
