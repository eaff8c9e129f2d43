package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Respond is an answer that a person gives in the place of a provider that does not.
type Respond struct {
	Stack   Ref
	Logical wire.LogicalID
	// Request is the one to be answered; empty means the one that the resource waits for.
	Request wire.RequestID
	Status  wire.Status
	// PhysicalID is what the resource is; empty means the id that it has or, if it has none yet, a generated one.
	PhysicalID wire.PhysicalID
	// Reason says why; with FAILED it is shown in the event, and empty means "answered by hand".
	Reason string
	// Data is a JSON object of all the attributes, nil for none; NoEcho makes them secret.
	Data   json.RawMessage
	NoEcho bool
	// By says who answers, for the audit list.
	By string
}

// IDOrigin is where the physical id of an answer by hand comes from.
type IDOrigin string

// The origins.
const (
	IDGiven     IDOrigin = "given"     // with the answer
	IDKept      IDOrigin = "kept"      // it is the one that the resource has
	IDGenerated IDOrigin = "generated" // the engine made it up
)

// Responded is what was answered.
type Responded struct {
	Request    wire.RequestID
	Type       wire.RequestType
	PhysicalID wire.PhysicalID
	Origin     IDOrigin
}

// endedByHand is how a request ends that a person has answered.
const endedByHand = "answered by hand"

// Respond settles the request that a resource waits for as if its provider had answered; the stack then goes on. It is
// put on the audit list. An answer that a provider could not give is refused and changes nothing, as is one to a request
// that is not with its provider. Errors that the client can mend are of type [Error].
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
	err = e.apply(ctx, store.Target{Request: id}, func(m *machine) (err error) {
		done, err = m.respond(&in)
		return err
	})
	return done, err
}

// choose finds the request that is meant among those of the stack that are not settled.
func (in *Respond) choose(stack string, open []store.Request) (wire.RequestID, error) {
	var meant, others []store.Request
	for _, r := range open {
		switch {
		case !r.Asks():
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

// mostNamed is how many requests a text names.
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

// respond settles the view's request by the answer of a person.
func (m *machine) respond(in *Respond) (Responded, error) {
	r := m.requests[m.view.Request.ID]
	if r == nil {
		return Responded{}, invalid(fmt.Sprintf("The %s of %s was settled a moment ago (%s).", m.view.Request.Type,
			m.view.Request.Logical, m.view.Request.Ending))
	}
	if err := mayRespond(r); err != nil {
		return Responded{}, err
	}
	if in.NoEcho && m.dialect.wire() == wire.ROS {
		return Responded{}, invalid("ROS has no NoEcho: whoever may read the stack reads all attributes. Nothing was changed.")
	}
	instance := m.instances[r.Instance]
	if instance == nil {
		return Responded{}, fmt.Errorf("instance %d of stack %s was not loaded", r.Instance, m.stack.ID)
	}
	done := Responded{Request: r.ID, Type: r.Type, PhysicalID: in.PhysicalID, Origin: IDGiven}
	if done.PhysicalID == "" {
		done.PhysicalID, done.Origin = cmp.Or(r.Body.PhysicalID, instance.PhysicalID), IDKept
	}
	if done.PhysicalID == "" {
		done.PhysicalID, done.Origin = m.dialect.generateID(m.stack, r.Logical, m.random), IDGenerated
	}
	response := wire.Response{
		Dialect: m.dialect.wire(),
		Status:  in.Status, Reason: in.Reason, PhysicalResourceID: done.PhysicalID, StackID: m.stack.ID, RequestID: r.ID,
		LogicalResourceID: r.Logical, NoEcho: in.NoEcho, Data: in.Data,
	}
	if response.Status == wire.Failed {
		response.Reason = cmp.Or(in.Reason, endedByHand)
	}
	body, err := response.Encode()
	if err != nil {
		return Responded{}, invalid("The data is no JSON object.") // the error quotes it
	}
	if got := m.dialect.answer(body, 0, r); got.problem != "" {
		return Responded{}, invalid(m.scrub(r, got.explained, got.data) + " Nothing was changed.")
	}
	text := fmt.Sprintf("%s with %s, physical id %s (%s), by %s", endedByHand, in.Status,
		strconv.Quote(string(done.PhysicalID)), done.Origin, in.By)
	if in.Reason != "" {
		text += ": " + in.Reason
	}
	m.audit(r, m.scrub(r, text, m.dialect.answer(body, 0, r).data))
	m.byHand = true
	if _, err := m.settle(Outcome{Kind: Answered, Body: body, Delivered: true}); err != nil {
		return Responded{}, err
	}
	r.Ending = endedByHand
	return done, nil
}

// mayRespond refuses to answer for a provider that has not been asked: it will be, and what it then does would be nobody's.
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
