// Package cdkprovider makes handlers from functions that follow the contract of the CDK's provider framework, onEvent and
// isComplete:
//
//	func main() { pintle.Main(cdkprovider.New(onEvent, isComplete)) }
//
// The functions may be Go functions in this program, see [New], or run elsewhere, see [NewRemote] and [LambdaFunction]. The
// guide docs/cdk-provider-framework.md compares this package with the framework, case by case.
package cdkprovider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/pintle-dev/pintle"
)

// EventFunc is an onEvent or isComplete function of the provider framework.
//
// The event has the members of the request: RequestType, RequestId, PhysicalResourceId, ResourceProperties and so on. Its
// ResponseURL is "...". For isComplete it also has the members of onEvent's result. It is decoded as by [encoding/json],
// with numbers of the type [json.Number]. The function may change it. A [pintle.Secret] in the result is sent in clear
// text and makes the answer NoEcho. A nil result is an empty one.
type EventFunc func(ctx context.Context, event map[string]any) (map[string]any, error)

// Function is a function in another process that takes an event and returns a result, both JSON objects. An empty result
// is an empty object. [LambdaFunction] makes one from the name of a Lambda function.
type Function func(ctx context.Context, event []byte) ([]byte, error)

// FunctionError is the error of a [Function] that ran and failed.
type FunctionError struct {
	// Message is the error message of the function. The events of the stack show it.
	Message string
	// Logs is where to find more, e.g. "/aws/lambda/NAME". The events also show it. It may be empty.
	Logs string
	// Trace is a stack trace for the log of this program. It may be empty.
	Trace []string
}

// Error returns the message and the place of the logs.
func (e *FunctionError) Error() string {
	if e.Logs == "" {
		return e.Message
	}
	return e.Message + "\n\nLogs: " + e.Logs
}

// Handler is a [pintle.Handler] made from one or two functions.
type Handler struct{ resource *pintle.Resource }

// Handle answers one request by calling the functions.
func (h *Handler) Handle(ctx context.Context, r *pintle.Request) (pintle.Answer, error) {
	return h.resource.Handle(ctx, r)
}

// New returns a handler made from two functions.
//
// onEvent starts the operation. It returns PhysicalResourceId, Data and NoEcho, all optional, and any other members for
// the event of isComplete. The default ID is the request ID for a Create, and the present ID otherwise. An Update that
// returns another ID replaces the resource. A Delete cannot change the ID. isComplete returns IsComplete and, if that is
// true, Data to add to onEvent's. It is called right after onEvent and then at intervals, see [pintle.WithPollPolicy]. If
// isComplete is nil, the operation is complete when onEvent returns.
//
// An error fails the request. If onEvent fails a Create, nothing was made, and the Delete that follows is answered
// without a call. If isComplete fails it, onEvent gets that Delete. For a Delete, [pintle.ErrGone] counts as success.
func New(onEvent, isComplete EventFunc, opts ...pintle.Option) *Handler {
	return NewRemote(onEvent.function(), isComplete.function(), opts...)
}

// NewRemote is [New] for functions in another process, another language or another Lambda function. It panics without an
// onEvent.
func NewRemote(onEvent, isComplete Function, opts ...pintle.Option) *Handler {
	if onEvent == nil {
		panic("cdkprovider: there is no function onEvent")
	}
	f := framework{onEvent: onEvent, isComplete: isComplete}
	if isComplete == nil {
		return &Handler{pintle.New(f, opts...)}
	}
	return &Handler{pintle.New(pollingFramework{f}, opts...)}
}

// object is a JSON object, member by member.
type object map[string]json.RawMessage

// attributes have any names.
type attributes = map[string]any

type response = pintle.Response[attributes]

// framework is a provider without isComplete.
type framework struct{ onEvent, isComplete Function }

// pollingFramework is a provider with isComplete.
type pollingFramework struct{ framework }

func (f framework) Create(ctx context.Context, r *pintle.CreateRequest[json.RawMessage]) (response, error) {
	return f.begin(ctx, &r.Request)
}

func (f framework) Update(ctx context.Context, r *pintle.UpdateRequest[json.RawMessage]) (response, error) {
	answer, err := f.begin(ctx, &r.Request)
	if errors.Is(err, pintle.ErrGone) {
		err = presentError{err} // the contract has no such case, so the Update fails
	}
	return answer, err
}

// presentError is an error that never matches [pintle.ErrGone], even if it wraps that. It has no Unwrap, so [errors.Is]
// does not look into it.
type presentError struct{ err error }

func (e presentError) Error() string { return e.err.Error() }

// As finds types in the wrapped error: the log needs the type of [pintle.Hide].
func (e presentError) As(target any) bool { return errors.As(e.err, target) }

func (f framework) Delete(ctx context.Context, r *pintle.DeleteRequest[json.RawMessage]) error {
	_, err := f.begin(ctx, &r.Request)
	return err
}

// begin calls onEvent.
func (f framework) begin(ctx context.Context, r *pintle.Request) (response, error) {
	result, err := call(ctx, r, f.onEvent, eventOf(r))
	unencodable, ran := errors.AsType[*unencodableError](err)
	if err != nil && !ran {
		return response{}, err
	}
	// After this point something was made.
	made := response{ID: r.ID}
	if r.Type == pintle.Create {
		made.ID = pintle.PhysicalID(r.RequestID)
	}
	if ran {
		if id := pintle.PhysicalID(unencodable.id); id != "" && r.Type != pintle.Delete {
			made.ID, made.Replaces = id, r.Type == pintle.Update && id != r.ID
		}
		return made, err
	}
	dropForbidden(r, result)
	id, err := idIn(r, result, made.ID)
	if err != nil {
		return made, err
	}
	made.ID, made.Replaces = id, r.Type == pintle.Update && id != r.ID
	answer, err := answerOf(r, result, id)
	if err != nil {
		return made, err
	}
	answer.Replaces, answer.State = made.Replaces, result
	return answer, nil
}

// Delete passes the result of onEvent to isComplete.
func (f pollingFramework) Delete(ctx context.Context, r *pintle.DeleteRequest[json.RawMessage]) error {
	answer, err := f.begin(ctx, &r.Request)
	r.SetState(answer.State)
	return err
}

// Poll calls isComplete.
func (f pollingFramework) Poll(ctx context.Context, r *pintle.PollRequest[json.RawMessage]) (pintle.Progress[attributes], error) {
	progress, err := f.poll(ctx, r)
	if err != nil {
		err = verbatimError{err}
	}
	return progress, err
}

// verbatimError is an error of isComplete. As in the framework, its text is the reason, without a prefix about Poll.
type verbatimError struct{ error }

// Verbatim marks the error for the package that polls.
func (verbatimError) Verbatim() {}

// Unwrap returns the error of isComplete.
func (e verbatimError) Unwrap() error { return e.error }

func (f pollingFramework) poll(ctx context.Context, r *pintle.PollRequest[json.RawMessage]) (p pintle.Progress[attributes], err error) {
	begun := object{}
	if err := r.DecodeState(&begun); err != nil {
		return p, errors.New("the result of onEvent cannot be read any more")
	}
	event := eventOf(&r.Request)
	maps.Copy(event, begun)
	event["PhysicalResourceId"] = text(string(r.ID))
	result, err := call(ctx, &r.Request, f.isComplete, event)
	if err != nil {
		return p, err
	}
	dropForbidden(&r.Request, result)
	complete, err := boolean(result["IsComplete"])
	if err != nil {
		return p, fmt.Errorf(`"IsComplete" from isComplete is %w`, err)
	}
	if !complete {
		var data object
		if given := result["Data"]; isGiven(given) && (json.Unmarshal(given, &data) != nil || len(data) > 0) {
			return p, errors.New(`"Data" is not allowed if "IsComplete" is "False"`)
		}
		p.Reason = reasonIn(result)
		return p, nil
	}
	whole := maps.Clone(begun)
	maps.Copy(whole, result)
	if whole["Data"], err = mergedData(begun["Data"], result["Data"]); err != nil {
		return p, err
	}
	if noEcho, err := boolean(begun["NoEcho"]); err != nil || noEcho {
		whole["NoEcho"] = json.RawMessage("true")
	}
	id, err := idIn(&r.Request, whole, r.ID)
	if err != nil {
		return p, err
	}
	answer, err := answerOf(&r.Request, whole, id)
	if err != nil {
		return p, err
	}
	return pintle.Progress[attributes]{
		Done: true, ID: id, Replaces: r.Type == pintle.Update && id != r.ID,
		Attributes: answer.Attributes, NoEcho: answer.NoEcho, Reason: answer.Reason,
	}, nil
}
