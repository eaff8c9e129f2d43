package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// EventFunc is a function over events as the provider framework of the CDK has them: onEvent, or isComplete.
//
// The event has the members of the request, RequestType, RequestId, PhysicalResourceId, ResourceProperties and so on, but
// ResponseURL is "..." in it; for isComplete also those of the result of onEvent. It is decoded as by [encoding/json], with
// numbers of the type [json.Number]. The function may change it. A [Secret] in the result is sent in clear, and makes the
// answer NoEcho. A nil result is an empty one.
type EventFunc func(ctx context.Context, event map[string]any) (map[string]any, error)

// Function is a function somewhere that takes an event and returns a result, both JSON objects; nothing is an empty
// object. [LambdaFunction] makes one of the name of a Lambda function.
type Function func(ctx context.Context, event []byte) ([]byte, error)

// FunctionError is the error of a [Function] that ran and failed.
type FunctionError struct {
	// Message is what the function says. People see it.
	Message string
	// Logs says where to look for more, e.g. "/aws/lambda/NAME". People see it too. It may be empty.
	Logs string
	// Trace is for the log of this program. It may be empty.
	Trace []string
}

// Error returns the message and where the logs are.
func (e *FunctionError) Error() string {
	if e.Logs == "" {
		return e.Message
	}
	return e.Message + "\n\nLogs: " + e.Logs
}

// Events is a [Handler] made of one function or two by [OnEvent] or [Remote].
type Events struct {
	onEvent, isComplete Function // isComplete may be nil
	waiting             Waiting
}

// OnEvent returns a handler made of two functions by the contract of the CDK's provider framework:
//
//	pintle.Main(pintle.OnEvent(onEvent, isComplete))
//
// onEvent begins what the request asks for. It returns PhysicalResourceId, Data and NoEcho, each if it likes, and whatever
// isComplete shall find in its event. Without an ID, that is the one of the request for a Create and the present one
// otherwise; a Delete cannot change it. isComplete says in IsComplete whether the operation is done; Data may come with
// it then, and is added to that of onEvent. It is asked at once and again after a while, see [Events.WithWaiting]. Without
// an isComplete, which may be nil, the operation is done when onEvent returns.
//
// An error fails the request. If onEvent returns it for a Create, nothing has been made, and the Delete that the service
// sends is answered without a call; if isComplete returns it, onEvent gets that Delete. For a Delete [Gone] is no error.
//
// A few things differ from that framework on purpose; docs/cdk-provider-framework.md has them all, beside each other.
func OnEvent(onEvent, isComplete EventFunc) *Events {
	return Remote(onEvent.function(), isComplete.function())
}

// Remote is [OnEvent] for functions that are elsewhere: in another process, another language, another Lambda function. It
// panics without an onEvent.
func Remote(onEvent, isComplete Function) *Events {
	if onEvent == nil {
		panic("pintle: there is no function onEvent")
	}
	return &Events{onEvent: onEvent, isComplete: isComplete}
}

// WithWaiting returns the handler with other times for asking isComplete. It panics if they make no sense.
func (e *Events) WithWaiting(w Waiting) *Events {
	if err := w.check(); err != nil {
		panic("pintle: " + err.Error())
	}
	with := *e
	with.waiting = w
	return &with
}

// function makes a [Function] of f, nil of nil.
func (f EventFunc) function() Function {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, event []byte) ([]byte, error) {
		dec := json.NewDecoder(bytes.NewReader(event))
		dec.UseNumber()
		var decoded map[string]any
		if err := dec.Decode(&decoded); err != nil {
			return nil, fmt.Errorf("read event: %w", err)
		}
		result, err := f(ctx, decoded)
		if err != nil || result == nil {
			return nil, err
		}
		_, secrets, err := clearJSON(result["Data"])
		if err != nil {
			return nil, fmt.Errorf("the result cannot be encoded: %w", err)
		}
		if len(secrets) > 0 {
			result = maps.Clone(result)
			result["NoEcho"] = true
		}
		text, _, err := clearJSON(result)
		if err != nil {
			return nil, fmt.Errorf("the result cannot be encoded: %w", err)
		}
		return text, nil
	}
}

// object is a JSON object, member by member.
type object map[string]json.RawMessage

// Handle answers one request by the functions.
func (e *Events) Handle(ctx context.Context, r *Request) (Answer, error) {
	if r.wait != nil && r.wait.resumed != nil {
		return e.resume(ctx, r)
	}
	result, err := e.call(ctx, r, e.onEvent, eventOf(r))
	if err != nil {
		return Answer{}, unlessGone(r.Type, err)
	}
	r.dropForbidden(result)
	// From here on something has been made.
	made := Answer{ID: r.ID}
	if r.Type == Create {
		made.ID = PhysicalID(r.RequestID)
	}
	id, err := r.idIn(result, made.ID)
	if err != nil {
		return made, err
	}
	made.ID = id
	answer, err := r.answerOf(result, id)
	if err != nil || e.isComplete == nil {
		return orMade(answer, made, err)
	}
	w := newWait(r, e.waiting)
	if w.State, err = marshal(result); err != nil {
		return made, fmt.Errorf("the result of onEvent cannot be encoded: %w", err)
	}
	return e.await(ctx, r, w, id)
}

// resume goes on with a request that waits.
func (e *Events) resume(ctx context.Context, r *Request) (Answer, error) {
	w := r.wait.resumed
	made := Answer{ID: w.ID}
	switch {
	case r.wait.overtaken != nil:
		err := r.wait.overtaken.err()
		if r.Type == Create && r.wait.overtaken.leaves(w.ID) {
			remove := *r
			remove.Type, remove.ID = Delete, w.ID
			if _, undo := e.call(ctx, r, e.onEvent, eventOf(&remove)); undo != nil && !errors.Is(undo, Gone) {
				r.Log.Error("what an operation that failed had made was not deleted", "physicalId", w.ID, "error", logText(undo))
				err = fmt.Errorf("%w; and %s, which it had made, is left behind: %w", err, w.ID, undo)
			}
		}
		return made, err
	case e.isComplete == nil:
		return made, errors.New("the provider has no isComplete any more, which the operation had been begun for")
	}
	return e.await(ctx, r, w, w.ID)
}

// await asks isComplete until the operation is done, fails, or its time is over.
func (e *Events) await(ctx context.Context, r *Request, w *wait, id PhysicalID) (Answer, error) {
	made := Answer{ID: id}
	var begun object
	if err := json.Unmarshal(w.State, &begun); err != nil {
		return made, errors.New("what onEvent had returned cannot be read any more")
	}
	r.hideData(begun)
	event := eventOf(r)
	maps.Copy(event, begun)
	event["PhysicalResourceId"] = text(string(id))
	progress := made // with what isComplete says on the way
	var answer Answer
	err := r.await(ctx, e.waiting, w, &progress, func(ctx context.Context) (bool, time.Duration, error) {
		result, err := e.call(ctx, r, e.isComplete, event)
		if err != nil {
			return r.Type == Delete && errors.Is(err, Gone), 0, unlessGone(r.Type, err)
		}
		r.dropForbidden(result)
		complete, err := boolean(result["IsComplete"])
		if err != nil {
			return false, 0, fmt.Errorf(`"IsComplete" from isComplete is %w`, err)
		}
		if !complete {
			var data object
			if given := result["Data"]; isGiven(given) && (json.Unmarshal(given, &data) != nil || len(data) > 0) {
				return false, 0, errors.New(`"Data" is not allowed if "IsComplete" is "False"`)
			}
			progress.Reason = reasonIn(result)
			return false, 0, nil
		}
		whole := maps.Clone(begun)
		maps.Copy(whole, result)
		if whole["Data"], err = mergedData(begun["Data"], result["Data"]); err != nil {
			return false, 0, err
		}
		if noEcho, err := boolean(begun["NoEcho"]); err != nil || noEcho {
			whole["NoEcho"] = json.RawMessage("true")
		}
		if made.ID, err = r.idIn(whole, id); err != nil {
			made.ID = id
			return false, 0, err
		}
		answer, err = r.answerOf(whole, made.ID)
		return true, 0, err
	})
	if answer.ID == "" {
		answer.ID = made.ID // a Delete that found nothing
	}
	return orMade(answer, made, err)
}

// orMade is what a failure is answered with: the ID alone.
func orMade(answer, made Answer, err error) (Answer, error) {
	if err != nil {
		return made, err
	}
	return answer, nil
}

// call calls one of the functions.
func (e *Events) call(ctx context.Context, r *Request, f Function, event object) (object, error) {
	text, err := marshal(event)
	if err != nil {
		return nil, fmt.Errorf("the event cannot be encoded: %w", err)
	}
	result, err := f(ctx, text)
	if failed, ok := errors.AsType[*FunctionError](err); ok && len(failed.Trace) > 0 {
		r.Log.Error("the function failed", "error", failed.Message, "trace", strings.Join(failed.Trace, "\n"))
	}
	if err != nil {
		return nil, err
	}
	parsed := object{}
	if result = bytes.TrimSpace(result); len(result) == 0 || string(result) == "null" {
		return parsed, nil
	}
	if json.Unmarshal(result, &parsed) != nil {
		const most = 100
		shown := string(result)
		if len(shown) > most {
			shown = strings.ToValidUTF8(shown[:most], "") + "…"
		}
		return nil, fmt.Errorf(`return values from user-handlers must be JSON objects. got: "%s"`, shown)
	}
	return parsed, nil
}

// hiddenURL stands for the response URL, with which a function could answer, or let others do it.
const hiddenURL = "..."

// eventOf is the event of a request, for onEvent.
func eventOf(r *Request) object {
	e := object{
		"RequestType": text(string(r.Type)), "ResponseURL": text(hiddenURL), "StackId": text(string(r.StackID)),
		"RequestId": text(string(r.RequestID)), "LogicalResourceId": text(string(r.LogicalID)),
		"ResourceType": text(r.ResourceType), "ResourceProperties": r.Properties,
	}
	if r.ServiceToken != "" {
		e["ServiceToken"] = text(string(r.ServiceToken))
	}
	if r.Type != Create {
		e["PhysicalResourceId"] = text(string(r.ID))
	}
	if r.Type == Update {
		e["OldResourceProperties"] = r.OldProperties
	}
	return e
}

// forbidden are the members of a request that a result cannot change: an answer to another request would be the end.
var forbidden = []string{"RequestType", "ResponseURL", "StackId", "RequestId", "LogicalResourceId"}

// dropForbidden takes them off a result. Functions that return their event with something added are common.
func (r *Request) dropForbidden(result object) {
	event := eventOf(r)
	for _, name := range forbidden {
		given, there := result[name]
		if there && !bytes.Equal(bytes.TrimSpace(given), event[name]) {
			r.Log.Warn("a function cannot change the request, so a member of its result is passed over", "member", name)
		}
		delete(result, name)
	}
}

// idIn returns the physical ID in a result.
func (r *Request) idIn(result object, present PhysicalID) (PhysicalID, error) {
	given := result["PhysicalResourceId"]
	if !isGiven(given) {
		return present, nil
	}
	var id string
	if json.Unmarshal(given, &id) != nil {
		return "", errors.New(`"PhysicalResourceId" in the result is no string`)
	}
	if id == "" {
		return present, nil
	}
	if r.Type == Delete && PhysicalID(id) != present {
		return "", fmt.Errorf("DELETE: cannot change the physical resource ID from %q to %q during deletion", present, id)
	}
	if r.Type == Update && PhysicalID(id) != r.ID {
		r.Log.Info("the resource is replaced", "physicalId", r.ID, "by", id)
	}
	return PhysicalID(id), nil
}

// answerOf is the answer that a result makes.
func (r *Request) answerOf(result object, id PhysicalID) (Answer, error) {
	answer := Answer{ID: id}
	var err error
	if answer.NoEcho, err = boolean(result["NoEcho"]); err != nil {
		answer.NoEcho = true // rather that than to show what may be secret
		r.Log.Warn(`"NoEcho" in the result is neither true nor false, it is taken for true`)
	}
	answer.Reason = reasonIn(result)
	data, err := mergedData(result["Data"], nil)
	if err != nil || !isGiven(data) {
		return answer, err
	}
	var attributes object
	if err := json.Unmarshal(data, &attributes); err != nil {
		return Answer{ID: id}, errors.New(`"Data" in the result is no JSON object`)
	}
	answer.Attributes = make(map[string]any, len(attributes))
	for name, value := range attributes {
		answer.Attributes[name] = value
	}
	r.hideData(result)
	return answer, nil
}

// hideData keeps the values of secret attributes out of texts.
func (r *Request) hideData(result object) {
	if noEcho, err := boolean(result["NoEcho"]); err == nil && !noEcho {
		return
	}
	dec := json.NewDecoder(bytes.NewReader(result["Data"]))
	dec.UseNumber()
	var data any
	if dec.Decode(&data) != nil {
		return
	}
	d := decoder{}
	d.hide(data)
	r.hide.add(d.secrets...)
}

// mergedData adds one object to another. Either may be missing.
func mergedData(first, second json.RawMessage) (json.RawMessage, error) {
	var all object
	for _, raw := range []json.RawMessage{first, second} {
		if !isGiven(raw) {
			continue
		}
		var data object
		if json.Unmarshal(raw, &data) != nil {
			return nil, errors.New(`"Data" in the result is no JSON object`)
		}
		if all == nil {
			all = object{}
		}
		maps.Copy(all, data)
	}
	if all == nil {
		return nil, nil
	}
	return marshal(all)
}

// reasonIn returns the text for people in a result. Anything but a text is the author's, for isComplete.
func reasonIn(result object) string {
	var reason string
	if json.Unmarshal(orEmpty(result["Reason"]), &reason) != nil {
		return ""
	}
	return reason
}

// boolean reads true and false, also as strings in any case. What is not there is false.
func boolean(raw json.RawMessage) (bool, error) {
	if !isGiven(raw) {
		return false, nil
	}
	switch strings.ToLower(string(bytes.Trim(raw, `"`))) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%.20s, want true or false", raw)
}

// isGiven reports whether a member is there and not null.
func isGiven(raw json.RawMessage) bool {
	return len(raw) > 0 && !slices.Equal(raw, []byte("null"))
}

// text is a string in JSON.
func text(s string) json.RawMessage {
	raw, _ := marshal(s) // never fails: a string
	return raw
}
