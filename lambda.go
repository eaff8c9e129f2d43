package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// maxEvent is the size of the largest event in bytes: what Lambda allows for a synchronous call.
const maxEvent = 6 << 20

// lambdaAPI is a client of the Lambda Runtime API, which hands events to this program and takes their results.
// Source: Lambda, custom runtimes, runtime API.
type lambdaAPI struct {
	base   string
	client *http.Client
}

// invocation is one event.
type invocation struct {
	id       string
	deadline time.Time
	event    []byte
	waits    bool // the engine waits for operations that go on
}

func newLambdaAPI(hostPort string) lambdaAPI {
	return lambdaAPI{
		base: "http://" + hostPort + "/2018-06-01/runtime/",
		// No timeout: waiting for the next event may take for ever. No proxy: the API is on this machine.
		client: &http.Client{Transport: &http.Transport{}},
	}
}

// next waits for an event.
func (a lambdaAPI) next(ctx context.Context) (invocation, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+"invocation/next", nil)
	if err != nil {
		return invocation{}, fmt.Errorf("runtime API: %w", err)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return invocation{}, fmt.Errorf("runtime API: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return invocation{}, fmt.Errorf("runtime API: next event: %s", response.Status)
	}
	event, err := io.ReadAll(io.LimitReader(response.Body, maxEvent+1))
	if err != nil {
		return invocation{}, fmt.Errorf("runtime API: next event: %w", err)
	}
	i := invocation{id: response.Header.Get("Lambda-Runtime-Aws-Request-Id"), event: event, waits: response.Header.Get(wire.HeaderWaits) == wire.Waits}
	millis, err := strconv.ParseInt(response.Header.Get("Lambda-Runtime-Deadline-Ms"), 10, 64)
	switch {
	case i.id == "":
		return invocation{}, errors.New("runtime API: next event has no Lambda-Runtime-Aws-Request-Id")
	case err != nil:
		return invocation{}, errors.New("runtime API: next event has no Lambda-Runtime-Deadline-Ms")
	}
	i.deadline = time.UnixMilli(millis)
	return i, nil
}

// succeed reports that the event was dealt with.
func (a lambdaAPI) succeed(ctx context.Context, id string, result []byte) error {
	return a.post(ctx, "invocation/"+id+"/response", "", result)
}

// fail reports that it was not, so that Lambda repeats it.
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

func (a lambdaAPI) post(ctx context.Context, path, errorKind string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("runtime API: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if errorKind != "" {
		request.Header.Set("Lambda-Runtime-Function-Error-Type", errorKind)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("runtime API: %w", err)
	}
	defer response.Body.Close()
	// The body is read so that the connection can be used again.
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("runtime API: %s: %s", path, response.Status)
	}
	return nil
}

// unwrap returns the custom resource requests in an event: the event itself, or the messages of the SNS notifications
// that it holds.
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
		return [][]byte{event}, nil //nolint:nilerr // the request parser says it better
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
			return nil, fmt.Errorf("record %d of the event is no SNS notification", i)
		}
		requests = append(requests, []byte(record.Sns.Message))
	}
	return requests, nil
}
