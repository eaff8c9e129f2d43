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
	// Data is a JSON object of all the attributes. Nil keeps those that the resource has, secret if they are; a Create has none.
	Data json.RawMessage
	// Set is a JSON object of attributes that are set in Data, or in what is kept. Nil sets none.
	Set json.RawMessage
	// NoEcho makes the attributes secret.
	NoEcho bool
	// Force has a SUCCESS taken that lacks an attribute which another resource or an output reads. Otherwise it is refused: the stack
	// would fail.
	Force bool
	// By says who answers, for the audit list.
	By string
}

// AttributeRead is an attribute of a resource that another resource or an output reads.
type AttributeRead = template.AttributeRead

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
	// Lacks are the attributes that are read and not in the answer, which was given by force.
	Lacks []AttributeRead
}

// endedByHand is how a request ends that a person has answered.
const endedByHand = "answered by hand"

// Respond settles the request that a resource waits for as if its provider had answered; the stack then goes on. It is
// put on the audit list. An answer that a provider could not give is refused and changes nothing, as is one to a request
// that is not with its provider. Errors that the client can fix are of type [Error].
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
		return Responded{}, errAttributes // the error quotes them
	}
	if got := m.dialect.answer(body, 0, r); got.problem != "" {
		return Responded{}, invalid(m.scrub(r, got.explained, got.data) + " Nothing was changed.")
	}
	if done.Lacks, err = m.unanswered(in, r, instance, data); err != nil {
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
	m.audit(r, m.scrub(r, text, m.dialect.answer(body, 0, r).data))
	m.byHand = true
	if _, err := m.settle(Outcome{Kind: Answered, Body: body, Delivered: true}); err != nil {
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

// unanswered returns the attributes that the rest of the stack reads, and the answer does not have. Those of a failure, of a Delete and of
// what is only waited for to be cleaned up are read by nothing.
func (m *machine) unanswered(in *Respond, r *store.Request, i *store.Instance, data value.Value) ([]AttributeRead, error) {
	revision := goal(&m.op)
	if in.Status != wire.Success || r.Type == wire.Delete || r.Operation != m.op.Number || revision == 0 || m.current(r.Logical) != i {
		return nil, nil
	}
	t, err := m.template(revision)
	if err != nil {
		return nil, err
	}
	scope, err := m.scope(revision)
	if err != nil {
		return nil, err
	}
	var missing []AttributeRead
	for _, read := range t.AttributeReads(scope, string(r.Logical)) {
		if _, ok := m.dialect.attribute(data, read.Attribute); !ok {
			missing = append(missing, read)
		}
	}
	return missing, nil
}

// goal returns the number of the revision that an operation goes for now, 0 for none.
func goal(op *store.Operation) int {
	switch op.Phase {
	case store.PhaseApply:
		return op.To
	case store.PhaseRevert:
		return op.From
	case store.PhasePrepare, store.PhaseCleanup, store.PhaseRevertCleanup, store.PhaseSucceeded, store.PhaseFailed, store.PhaseReverted,
		store.PhaseRevertFailed:
	}
	return 0
}

// AttributeReads returns the attributes of a resource that other resources and outputs read once a request of it has succeeded.
func (e *Engine) AttributeReads(ctx context.Context, stack store.Stack, logical wire.LogicalID) ([]AttributeRead, error) {
	op, err := e.store.Operation(ctx, stack.Key, stack.Operation)
	if err != nil {
		return nil, err
	}
	number := goal(&op)
	if number == 0 {
		return nil, nil
	}
	revision, err := e.store.Revision(ctx, stack.Key, number)
	if err != nil {
		return nil, err
	}
	dialect, err := DialectOf(stack.Dialect)
	if err != nil {
		return nil, err
	}
	t, err := e.env.parsed.of(dialect.language(), &revision)
	if err != nil {
		return nil, err
	}
	m := newMachine(&e.env, dialect, &store.View{Stack: stack})
	return t.AttributeReads(m.scopeOf(&revision), string(logical)), nil
}

// DescribeReads says for people which attributes are read, and by what.
func DescribeReads(reads []AttributeRead) string {
	var names []string
	by := map[string][]string{}
	for _, read := range reads {
		reader := "output " + read.Output
		if read.Output == "" {
			reader = "resource " + read.Resource
		}
		if by[read.Attribute] == nil {
			names = append(names, read.Attribute)
		}
		by[read.Attribute] = append(by[read.Attribute], reader)
	}
	for i, name := range names {
		readers := by[name]
		if len(readers) > mostReaders {
			readers = append(readers[:mostReaders:mostReaders], fmt.Sprintf("%d more", len(readers)-mostReaders))
		}
		names[i] = "the attribute " + name + ", read by " + strings.Join(readers, ", ")
	}
	if len(names) > mostNamed {
		names = append(names[:mostNamed], fmt.Sprintf("%d more attributes", len(names)-mostNamed))
	}
	return strings.Join(names, "; ")
}

// AnswerLacks is the beginning of the error that [Respond.Force] overrides.
const AnswerLacks = "The answer lacks "

// mostReaders is how many readers of an attribute a text names.
const mostReaders = 5

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
