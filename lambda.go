package pintle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/wire"
)

// maxEvent is the size of the largest event in bytes: Lambda's limit for a synchronous call.
const maxEvent = 6 << 20

// lambdaAPI is the Lambda Runtime API. Source: Lambda, custom runtimes, runtime API.
type lambdaAPI struct{ runtimeAPI }

// invocation is one event.
type invocation struct {
	id       string
	deadline time.Time
	event    []byte
	waits    bool // the engine waits for operations in progress
	trace    trace.Parent
}

func newLambdaAPI(hostPort string) lambdaAPI {
	return lambdaAPI{newRuntimeAPI("http://" + hostPort + "/2018-06-01/runtime/")}
}

// next waits for an event.
func (a lambdaAPI) next(ctx context.Context) (invocation, error) {
	header, event, err := a.runtimeAPI.next(ctx, "invocation/next")
	if err != nil {
		return invocation{}, err
	}
	i := invocation{id: header.Get("Lambda-Runtime-Aws-Request-Id"), event: event, waits: header.Get(wire.HeaderWaits) == wire.Waits}
	i.trace = trace.FromXRay(header.Get("Lambda-Runtime-Trace-Id"))
	millis, err := strconv.ParseInt(header.Get("Lambda-Runtime-Deadline-Ms"), 10, 64)
	switch {
	case i.id == "":
		return invocation{}, errors.New("runtime API: next event has no Lambda-Runtime-Aws-Request-Id")
	case err != nil:
		return invocation{}, errors.New("runtime API: next event has no Lambda-Runtime-Deadline-Ms")
	}
	i.deadline = time.UnixMilli(millis)
	return i, nil
}

// succeed reports that the event was handled.
func (a lambdaAPI) succeed(ctx context.Context, id string, result []byte) error {
	return a.post(ctx, "invocation/"+id+"/response", "", result)
}

// fail reports that the event was not handled, so that Lambda retries it.
func (a lambdaAPI) fail(ctx context.Context, id, kind string, cause error) error {
	return a.postError(ctx, "invocation/"+id+"/error", kind, cause)
}

// failInit reports that this program cannot take events at all.
func (a lambdaAPI) failInit(ctx context.Context, kind string, cause error) error {
	return a.postError(ctx, "init/error", kind, cause)
}

func (a lambdaAPI) postError(ctx context.Context, path, kind string, cause error) error {
	body, err := json.Marshal(struct {
		Message string   `json:"errorMessage"`
		Type    string   `json:"errorType"`
		Trace   []string `json:"stackTrace"`
	}{cause.Error(), kind, []string{}})
	if err != nil {
		return fmt.Errorf("runtime API: %w", err)
	}
	return a.post(ctx, path, kind, body)
}

// unwrap returns the custom resource requests in an event: the event itself, or the messages of the SNS notifications
// in it.
func unwrap(event []byte) ([][]byte, error) {
	if len(event) > maxEvent {
		return nil, fmt.Errorf("event is longer than %d bytes", maxEvent)
	}
	var envelope struct {
		Records []struct {
			Sns *struct{ Message string }
		}
		Type    string
		Message string
	}
	if err := json.Unmarshal(event, &envelope); err != nil {
		return [][]byte{event}, nil //nolint:nilerr // the request parser reports a better error
	}
	if envelope.Type == "Notification" {
		return [][]byte{[]byte(envelope.Message)}, nil
	}
	if len(envelope.Records) == 0 {
		return [][]byte{unwrapMNS(event)}, nil
	}
	var requests [][]byte
	for i, record := range envelope.Records {
		if record.Sns == nil {
			return nil, fmt.Errorf("record %d of the event is not an SNS notification", i)
		}
		requests = append(requests, []byte(record.Sns.Message))
	}
	return requests, nil
}
