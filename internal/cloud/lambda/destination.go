package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// Limits of the configuration of asynchronous calls. Source: Lambda API Reference, PutFunctionEventInvokeConfig.
const (
	minEventAge = 60
	maxEventAge = 6 * 60 * 60
	maxRetries  = 2
)

// destinationForm matches the ARN of a destination: service, region and account.
var destinationForm = regexp.MustCompile(`^arn:aws[a-zA-Z-]*:(lambda|sns|sqs|events):([a-z0-9-]+):([0-9]{12}):[^\s]{1,256}$`)

// Result is the result of an asynchronous call that its destination gets.
type Result struct {
	// Scope is the account and region of the function.
	registry.Scope
	// Function is the ARN of the function with its qualifier.
	Function string
	// Destination is the ARN of the function, topic, queue or event bus that gets the record.
	Destination string
	// Success reports whether this is the destination for successful calls.
	Success bool
	// Record is the invocation record as JSON.
	Record []byte
}

// settings stores what belongs to a function but is no part of its definition: the configuration of events, and the policy.
type settings struct {
	*finder
}

// PutEventConfig replaces the retry settings and the destinations of asynchronous calls of a function. holder is the
// stack resource that sets them, or empty for a client. A configuration of another holder is [ErrExists].
func (se *settings) PutEventConfig(
	ctx context.Context, r Reference, holder string, of registry.EventConfig,
) (registry.Item[registry.EventConfig], error) {
	item := registry.Item[registry.EventConfig]{Scope: r.Scope, Name: eventConfigName(r), Owner: holder, Of: of}
	if err := se.exists(ctx, r); err != nil {
		return item, err
	}
	if err := checkEventConfig(r.Scope, of); err != nil {
		return item, err
	}
	item.Of.Modified = se.config.Now().UTC()
	made, err := se.config.Catalog.EventConfigs.Put(ctx, item)
	if !errors.Is(err, registry.ErrExists) {
		return made, err
	}
	return se.config.Catalog.EventConfigs.Change(ctx, item.Scope, item.Name, func(there *registry.Item[registry.EventConfig]) error {
		if holder != "" && there.Owner != holder {
			return registry.ErrExists
		}
		there.Of = item.Of
		return nil
	})
}

// UpdateEventConfig changes an existing configuration. It returns [ErrNotFound] if it does not exist.
func (se *settings) UpdateEventConfig(
	ctx context.Context, r Reference, change func(*registry.EventConfig),
) (registry.Item[registry.EventConfig], error) {
	made, err := se.config.Catalog.EventConfigs.Change(ctx, r.Scope, eventConfigName(r), func(there *registry.Item[registry.EventConfig]) error {
		change(&there.Of)
		there.Of.Modified = se.config.Now().UTC()
		return checkEventConfig(r.Scope, there.Of)
	})
	return made, noEventConfig(err, r)
}

// EventConfig returns the configuration of the asynchronous calls of a function. It returns [ErrNotFound] if it does
// not exist.
func (se *settings) EventConfig(ctx context.Context, r Reference) (registry.Item[registry.EventConfig], error) {
	item, err := se.config.Catalog.EventConfigs.Get(ctx, r.Scope, eventConfigName(r))
	return item, noEventConfig(err, r)
}

// EventConfigs returns the configurations of a function and its versions.
func (se *settings) EventConfigs(ctx context.Context, r Reference) ([]registry.Item[registry.EventConfig], error) {
	if err := se.exists(ctx, Reference{Scope: r.Scope, Name: r.Name}); err != nil {
		return nil, err
	}
	const limit = 100
	var list []registry.Item[registry.EventConfig]
	prefix := r.Name + ":"
	for after := prefix; ; {
		page, err := se.config.Catalog.EventConfigs.List(ctx, r.Scope, after, limit)
		if err != nil {
			return nil, err
		}
		for _, item := range page {
			if after = item.Name; !strings.HasPrefix(item.Name, prefix) {
				return list, nil
			}
			list = append(list, item)
		}
		if len(page) < limit {
			return list, nil
		}
	}
}

// RemoveEventConfig removes the configuration. It returns [ErrNotFound] if it does not exist.
func (se *settings) RemoveEventConfig(ctx context.Context, r Reference) error {
	return noEventConfig(se.config.Catalog.EventConfigs.Delete(ctx, r.Scope, eventConfigName(r), 0), r)
}

// dropEventConfigs removes all configurations of a function that is being deleted.
func (se *settings) dropEventConfigs(ctx context.Context, r Reference) error {
	list, err := se.EventConfigs(ctx, r)
	for _, item := range list {
		if err := se.config.Catalog.EventConfigs.Delete(ctx, item.Scope, item.Name, 0); err != nil && !errors.Is(err, registry.ErrNotFound) {
			return err
		}
	}
	return err
}

// EventConfigARN returns the ARN of a configuration's function, with its qualifier.
func EventConfigARN(item registry.Item[registry.EventConfig]) string {
	name, qualifier, _ := strings.Cut(item.Name, ":")
	return Reference{Scope: item.Scope, Name: name, Qualifier: qualifier}.ARN()
}

func eventConfigName(r Reference) string {
	if r.Qualifier == "" {
		r.Qualifier = Latest
	}
	return r.Name + ":" + r.Qualifier
}

func noEventConfig(err error, r Reference) error {
	if !errors.Is(err, registry.ErrNotFound) {
		return err
	}
	if r.Qualifier == "" {
		r.Qualifier = Latest
	}
	return &Error{
		Code: "ResourceNotFoundException", Status: http.StatusNotFound, kind: ErrNotFound,
		Message: "The function " + r.ARN() + " doesn't have an EventInvokeConfig",
	}
}

// checkEventConfig rejects values outside the limits, and destinations to which no record can be sent.
func checkEventConfig(place registry.Scope, of registry.EventConfig) error {
	if n := of.Retries; n != nil && (*n < 0 || *n > maxRetries) {
		return constraint("maximumRetryAttempts", fmt.Sprint(*n), "Member must have value from 0 to 2")
	}
	if of.Age != 0 && (of.Age < minEventAge || of.Age > maxEventAge) {
		return constraint("maximumEventAgeInSeconds", fmt.Sprint(of.Age), "Member must have value from 60 to 21600")
	}
	for _, arn := range []string{of.OnSuccess, of.OnFailure} {
		parts := destinationForm.FindStringSubmatch(arn)
		switch {
		case arn == "":
		case strings.Contains(arn, ":s3:::"):
			return invalid("The destination %.300s is a bucket. The destinations here are functions, topics, queues and event buses.", arn)
		case parts == nil:
			return invalid("The provided destination config is invalid: %.300s is not the ARN of a function, a topic, a queue or an event bus.", arn)
		case parts[3] != place.Account: // no policy allows functions of another account to send here
			return invalid("The destination %.300s is in another account than the function, %s.", arn, place.Account)
		case parts[1] == "events" && !strings.HasSuffix(arn, ":event-bus/default"):
			return invalid("The destination %.300s does not exist: there is only the event bus default.", arn)
		case (parts[1] == "sns" || parts[1] == "sqs") && strings.HasSuffix(arn, ".fifo"):
			return invalid("The provided destination config is invalid: %.300s is FIFO, and destinations are standard topics and queues.", arn)
		}
	}
	return nil
}

// Conditions of an invocation record. Source: Lambda developer guide, "Capturing records of Lambda asynchronous
// invocations".
const (
	conditionSuccess   = "Success"
	conditionExhausted = "RetriesExhausted"
	conditionTooOld    = "EventAgeExceeded"
)

// invocation is an event and its last attempt.
type invocation struct {
	id    string
	call  Call
	hops  int // number of functions that led to it
	tries int // that reached the function
	last  tried
}

// tried is the result of one attempt.
type tried struct {
	item    registry.Item[registry.Function]
	version string
	// payload is the result of the function, or its error. failure is the kind of the error, or empty.
	payload []byte
	failure string
	kind    string // of the failure; only logged
}

type recordContext struct {
	ID        string `json:"requestId"`
	Function  string `json:"functionArn"`
	Condition string `json:"condition"`
	Tries     int    `json:"approximateInvokeCount"`
}

type responseContext struct {
	Status        int    `json:"statusCode"`
	Version       string `json:"executedVersion"`
	FunctionError string `json:"functionError,omitempty"`
}

// conclude sends the record of a finished event to its destination, if it has one.
func (f *Functions) conclude(of registry.EventConfig, i invocation, condition string) {
	success := condition == conditionSuccess
	destination := of.OnFailure
	if success {
		destination = of.OnSuccess
	}
	if destination == "" || f.config.Deliver == nil || i.last.item.Name == "" {
		return
	}
	function := functionOf(i.last.item)
	function.Qualifier = i.last.version
	record := struct {
		Version   string           `json:"version"`
		Timestamp string           `json:"timestamp"`
		Request   recordContext    `json:"requestContext"`
		Payload   json.RawMessage  `json:"requestPayload"`
		Response  *responseContext `json:"responseContext,omitempty"`
		Result    json.RawMessage  `json:"responsePayload,omitempty"`
	}{
		Version: "1.0", Timestamp: f.config.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		Request: recordContext{i.id, function.ARN(), condition, i.tries}, Payload: i.call.Payload,
	}
	if i.tries > 0 {
		record.Response = &responseContext{http.StatusOK, i.last.version, i.last.failure}
		record.Result = i.last.payload
		if !json.Valid(record.Result) {
			record.Result = json.RawMessage("null")
		}
	}
	text, err := json.Marshal(record)
	if err == nil {
		err = f.config.Deliver(trace.WithHops(f.ctx, i.hops+1), Result{
			Scope: function.Scope, Function: function.ARN(), Destination: destination, Success: success, Record: text,
		})
	}
	if err != nil && f.ctx.Err() == nil {
		f.config.Log.Warn("the record of an event was not delivered", "function", i.call.Function, "event", i.id, "to", destination, "error", err)
	}
}

// eventConfig returns the configuration for events of a function, with defaults.
func (f *Functions) eventConfig(t tried) (of registry.EventConfig) {
	if f.config.DeclaredOnly || t.item.Name == "" {
		return of
	}
	function := functionOf(t.item)
	function.Qualifier = t.version
	item, err := f.config.Catalog.EventConfigs.Get(f.ctx, function.Scope, eventConfigName(function))
	if err != nil && !errors.Is(err, registry.ErrNotFound) && f.ctx.Err() == nil {
		f.config.Log.Warn("the configuration of events cannot be read", "function", function.ARN(), "error", err)
	}
	return item.Of
}

// functionOf returns the reference of a function item.
func functionOf(i registry.Item[registry.Function]) Reference {
	r := of(i)
	return Reference{Scope: r.Scope, Name: r.Name}
}

// age returns the maximum age of an event.
func age(of registry.EventConfig) time.Duration {
	if of.Age == 0 {
		return maxAge
	}
	return time.Duration(of.Age) * time.Second
}
