package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestDestinations compares records with those in the Lambda developer guide.
func TestDestinations(t *testing.T) {
	require.Tool(t, "python3")
	results := make(chan lambda.Result, 10)
	w := newWorld(t, func(c *lambda.Config) {
		c.Pauses = []time.Duration{time.Millisecond, time.Millisecond}
		c.Deliver = func(_ context.Context, r lambda.Result) error {
			results <- r
			return nil
		}
	})
	w.create("f", python("index.handler"), inline(`
def handler(event, context):
  if event.get("fail"):
    raise ValueError("no")
  return {"got": event["a"]}`))
	f := lambda.Reference{Scope: home, Name: "f"}
	const success, failure = "arn:aws:sqs:us-east-1:000000000000:good", "arn:aws:sns:us-east-1:000000000000:bad"
	one := 1
	of := registry.EventConfig{Retries: &one, Age: 60, OnSuccess: success, OnFailure: failure}
	if _, err := w.PutEventConfig(t.Context(), f, "", of); err != nil {
		t.Fatal(err)
	}
	send := func(payload string) lambda.Result {
		t.Helper()
		if err := w.InvokeEvent(t.Context(), lambda.Call{Scope: home, Function: "f", Payload: []byte(payload)}); err != nil {
			t.Fatal(err)
		}
		select {
		case r := <-results:
			return r
		case <-time.After(patience):
			t.Fatal("no record")
			return lambda.Result{}
		}
	}
	record := func(r lambda.Result) map[string]any {
		t.Helper()
		var v map[string]any
		if err := json.Unmarshal(r.Record, &v); err != nil {
			t.Fatal(err)
		}
		request, _ := v["requestContext"].(map[string]any)
		at, _ := v["timestamp"].(string)
		if _, err := time.Parse("2006-01-02T15:04:05.000Z", at); err != nil || request["requestId"] == "" {
			t.Errorf("timestamp %q, request %v", at, request)
		}
		delete(v, "timestamp")
		delete(request, "requestId")
		return v
	}
	const arn = "arn:aws:lambda:us-east-1:000000000000:function:f:$LATEST"
	got := send(`{"a": 1}`)
	if got.Destination != success || !got.Success || got.Function != arn || got.Scope != home {
		t.Errorf("success: %+v", got)
	}
	if diff := cmp.Diff(map[string]any{
		"version": "1.0", "requestPayload": map[string]any{"a": 1.0}, "responsePayload": map[string]any{"got": 1.0},
		"requestContext":  map[string]any{"functionArn": arn, "condition": "Success", "approximateInvokeCount": 1.0},
		"responseContext": map[string]any{"statusCode": 200.0, "executedVersion": "$LATEST"},
	}, record(got)); diff != "" {
		t.Errorf("success (-want +got):\n%s", diff)
	}
	got = send(`{"fail": true}`)
	if got.Destination != failure || got.Success {
		t.Errorf("failure: %+v", got)
	}
	v := record(got)
	payload, _ := v["responsePayload"].(map[string]any)
	if payload["errorType"] != "ValueError" || payload["errorMessage"] != "no" {
		t.Errorf("payload of a failure: %v", payload)
	}
	delete(v, "responsePayload")
	if diff := cmp.Diff(map[string]any{
		"version": "1.0", "requestPayload": map[string]any{"fail": true},
		"requestContext":  map[string]any{"functionArn": arn, "condition": "RetriesExhausted", "approximateInvokeCount": 2.0},
		"responseContext": map[string]any{"statusCode": 200.0, "executedVersion": "$LATEST", "functionError": "Unhandled"},
	}, v); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
	// Deleting the function deletes the configuration.
	if err := w.Delete(t.Context(), home, "f"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.EventConfig(t.Context(), f); !errors.Is(err, lambda.ErrNotFound) {
		t.Errorf("after the function: %v", err)
	}
}

// TestOldEvents sends the record of an event that became too old, without a result.
func TestOldEvents(t *testing.T) {
	results := make(chan lambda.Result, 1)
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	w := newWorld(t, func(c *lambda.Config) {
		calls := 0
		c.Now = func() time.Time { // advances with every call
			calls++
			return now.Add(time.Duration(calls) * time.Minute)
		}
		c.Deliver = func(_ context.Context, r lambda.Result) error {
			results <- r
			return nil
		}
	})
	none := 0
	of := node("index.handler")
	of.Concurrency = &none
	w.create("f", of, inline("exports.handler = async () => 1"))
	f := lambda.Reference{Scope: home, Name: "f"}
	config := registry.EventConfig{Age: 60, OnFailure: "arn:aws:sqs:us-east-1:000000000000:bad"}
	if _, err := w.PutEventConfig(t.Context(), f, "", config); err != nil {
		t.Fatal(err)
	}
	if err := w.InvokeEvent(t.Context(), lambda.Call{Scope: home, Function: "f"}); err != nil {
		t.Fatal(err)
	}
	select {
	case r := <-results:
		text := string(r.Record)
		if !strings.Contains(text, `"condition":"EventAgeExceeded","approximateInvokeCount":0`) || strings.Contains(text, "response") {
			t.Errorf("record %s", text)
		}
	case <-time.After(patience):
		t.Fatal("no record")
	}
}

func TestEventConfigs(t *testing.T) {
	w := newWorld(t, nil)
	w.create("f", node("index.handler"), inline("exports.handler = async () => 1"))
	f := lambda.Reference{Scope: home, Name: "f"}
	three := 3
	for name, of := range map[string]registry.EventConfig{
		"retries": {Retries: &three}, "age": {Age: 59}, "bucket": {OnFailure: "arn:aws:s3:::b"}, "no ARN": {OnSuccess: "q"},
		"fifo": {OnSuccess: "arn:aws:sqs:us-east-1:000000000000:q.fifo"}, "bus": {OnSuccess: "arn:aws:events:us-east-1:000000000000:event-bus/b"},
		"service": {OnSuccess: "arn:aws:dynamodb:us-east-1:000000000000:table/t"},
		"account": {OnSuccess: "arn:aws:sns:us-east-1:000000000009:t"},
	} {
		if _, err := w.PutEventConfig(t.Context(), f, "", of); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := w.PutEventConfig(t.Context(), lambda.Reference{Scope: home, Name: "g"}, "", registry.EventConfig{}); !errors.Is(err, lambda.ErrNotFound) {
		t.Errorf("of no function: %v", err)
	}
	if _, err := w.UpdateEventConfig(t.Context(), f, func(*registry.EventConfig) {}); !errors.Is(err, lambda.ErrNotFound) {
		t.Errorf("update of nothing: %v", err)
	}
	if _, err := w.PutEventConfig(t.Context(), f, "stack|A|1", registry.EventConfig{Age: 60}); err != nil {
		t.Error(err)
	}
	if _, err := w.PutEventConfig(t.Context(), f, "stack|B|2", registry.EventConfig{}); !errors.Is(err, lambda.ErrExists) {
		t.Errorf("of another holder: %v", err)
	}
	got, err := w.UpdateEventConfig(t.Context(), f, func(of *registry.EventConfig) { of.OnFailure = "arn:aws:sns:us-east-1:000000000000:t" })
	if err != nil || got.Of.Age != 60 || got.Owner != "stack|A|1" {
		t.Errorf("updated to %+v, %v", got, err)
	}
	list, err := w.EventConfigs(t.Context(), f)
	if err != nil || len(list) != 1 || lambda.EventConfigARN(list[0]) != "arn:aws:lambda:us-east-1:000000000000:function:f:$LATEST" {
		t.Errorf("list %+v, %v", list, err)
	}
	if err := w.RemoveEventConfig(t.Context(), f); err != nil {
		t.Error(err)
	}
	if err := w.RemoveEventConfig(t.Context(), f); !errors.Is(err, lambda.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
}

// TestDestinationLoop checks that functions that call each other forever through their destinations are stopped, as
// on Lambda.
func TestDestinationLoop(t *testing.T) {
	require.Tool(t, "python3")
	ended := make(chan error, 1)
	runs := 0 // each waits for the previous one
	var w *world
	w = newWorld(t, func(c *lambda.Config) {
		c.Deliver = func(ctx context.Context, r lambda.Result) error {
			runs++
			err := w.InvokeEvent(ctx, lambda.Call{Scope: r.Scope, Function: "f", Payload: []byte(`{}`)})
			if err != nil || runs > 2*trace.MaxHops {
				ended <- err
			}
			return err
		}
	})
	w.create("f", python("index.handler"), inline("def handler(event, context): return 1"))
	of := registry.EventConfig{OnSuccess: "arn:aws:events:us-east-1:000000000000:event-bus/default"}
	if _, err := w.PutEventConfig(t.Context(), lambda.Reference{Scope: home, Name: "f"}, "", of); err != nil {
		t.Fatal(err)
	}
	if err := w.InvokeEvent(t.Context(), lambda.Call{Scope: home, Function: "f"}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		var reported *lambda.Error
		if runs != trace.MaxHops || !errors.As(err, &reported) || reported.Code != "RecursiveInvocationException" || !errors.Is(err, trace.ErrLoop) {
			t.Errorf("after %d calls: %v", runs, err)
		}
	case <-time.After(patience):
		t.Fatal("no call was refused")
	}
}
