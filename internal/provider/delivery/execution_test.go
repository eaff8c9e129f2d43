package delivery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	executionID = "arn:aws:states:us-east-1:000000000000:execution:M:e"
	taskText    = `{"n": 1.50, "hush": "<é>"}`
)

// taskRequest returns an execution whose task is ready.
func taskRequest(token string, try int) store.Request {
	r := request(executionID, 1, token)
	r.Type, r.Logical, r.Body.ResourceType = store.TypeExecution, "arn:aws:states:us-east-1:000000000000:stateMachine:M", ""
	r.Execution = &store.Execution{Name: "e", Status: store.ExecutionRunning, State: "A", Try: try}
	r.Body.Properties = value.Object(value.Member{Key: "Payload", Value: value.SecretStr(taskText)})
	return r
}

func polled(try int, outcome delivery.Outcome) reported {
	return reported{executionID, delivery.Poll{For: executionID, Try: try, Outcome: outcome}}
}

func TestTaskInLambda(t *testing.T) {
	returned := func(w http.ResponseWriter) { fmt.Fprint(w, `{"m": 2.0}`) }
	thrown := `{"errorType": "Retry", "errorMessage": "{\"n\": 1.50}", "trace": []}`
	throws := func(text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			fmt.Fprint(w, text)
		}
	}
	for name, test := range map[string]struct {
		token, path string
		reply       func(http.ResponseWriter)
		want        delivery.Outcome
	}{
		"returned":            {function, function, returned, delivery.Returned{Body: []byte(`{"m": 2.0}`)}},
		"of a version":        {function + ":7", function, returned, delivery.Returned{Body: []byte(`{"m": 2.0}`)}},
		"failed":              {function, function, throws(thrown), delivery.Died{Text: "Retry", Delivered: true, Error: "Retry", Cause: thrown}},
		"failed with rubbish": {function, function, throws(`what`), delivery.Died{Text: "Lambda.Unknown", Delivered: true, Error: "Lambda.Unknown", Cause: `what`}},
		"throttled": {function, function, lambdaFails(429, "TooManyRequestsException", "Rate"), delivery.Died{
			Text: "Lambda.TooManyRequestsException", Delivered: true, Error: "Lambda.TooManyRequestsException", Cause: "Rate"}},
		"not there": {function, function, lambdaFails(404, "ResourceNotFoundException", "Function not found: f"), delivery.Died{
			Text: "Lambda.ResourceNotFoundException", Delivered: true, Error: "Lambda.ResourceNotFoundException", Cause: "Function not found: f"}},
		"no function": {"arn:aws:sns:us-east-1:000000000000:T", "", returned, delivery.Died{
			Text: "Lambda.ResourceNotFoundException", Delivered: true, Error: "Lambda.ResourceNotFoundException",
			Cause: "arn:aws:sns:us-east-1:000000000000:T is not a known function"}},
	} {
		t.Run(name, func(t *testing.T) {
			server, calls := fakeAWS(t, test.reply)
			configureAWS(t, server.URL, "AKIDEXAMPLE")
			w := start(t, nil)
			w.Dispatch([]store.Request{taskRequest(test.token, 3)})
			if diff := cmp.Diff(polled(3, test.want), w.next(t)); diff != "" {
				t.Error(diff)
			}
			if test.path == "" {
				return
			}
			got := <-calls
			if want := "/2015-03-31/functions/" + test.path + "/invocations"; got.path != want || got.kind != "RequestResponse" || got.body != taskText {
				t.Errorf("called was %+v", got)
			}
		})
	}
}

// TestTaskThatTakesTooLong checks that the state's timeout is reported by the error name of state machines.
func TestTaskThatTakesTooLong(t *testing.T) {
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-done:
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(done) })
	configureAWS(t, server.URL, "AKIDEXAMPLE")
	w := start(t, nil)
	r := taskRequest(function, 1)
	r.Body.Timeout = 20 * time.Millisecond
	w.Dispatch([]store.Request{r})
	died, ok := w.next(t).Outcome.(delivery.Poll).Outcome.(delivery.Died)
	if !ok || died.Error != "States.Timeout" || died.Cause != "" {
		t.Errorf("it ended with %+v", died)
	}
}

func TestTaskWithUnreachableEndpoint(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	configureAWS(t, server.URL, "AKIDEXAMPLE")
	w := start(t, func(c *delivery.Config, _ *world) { c.RetryFor = time.Nanosecond })
	w.Dispatch([]store.Request{taskRequest(function, 1)})
	died, ok := w.next(t).Outcome.(delivery.Poll).Outcome.(delivery.Died)
	if !ok || died.Error != "Lambda.SdkClientException" || !strings.Contains(died.Cause, "connection refused") {
		t.Errorf("it ended with %+v", died)
	}
}

func TestTaskBehindURL(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(server.Close)
	w := start(t, func(c *delivery.Config, _ *world) { c.Local = named{"thing": {Name: "thing", URL: server.URL}} })
	w.Dispatch([]store.Request{taskRequest(function, 1)})
	if diff := cmp.Diff(polled(1, delivery.Returned{Body: []byte(taskText)}), w.next(t)); diff != "" {
		t.Error(diff)
	}
}

const localTask = "arn:aws:lambda:us-east-1:000000000000:function:Thing"

func TestTaskInProcess(t *testing.T) {
	for mode, check := range map[string]func(delivery.Outcome) bool{
		"echoes": func(o delivery.Outcome) bool {
			returned, ok := o.(delivery.Returned)
			return ok && string(returned.Body) == taskText
		},
		"throws": func(o delivery.Outcome) bool {
			died, ok := o.(delivery.Died)
			var cause struct{ ErrorType, ErrorMessage string }
			return ok && died.Error == "Retry" && json.Unmarshal([]byte(died.Cause), &cause) == nil && cause.ErrorType == "Retry" && cause.ErrorMessage == taskText
		},
		"init": func(o delivery.Outcome) bool {
			died, ok := o.(delivery.Died)
			return ok && died.Error == "Runtime.ExitError"
		},
	} {
		t.Run(mode, func(t *testing.T) {
			w := startLocal(t, mode, "", nil)
			for try := 1; try <= 2; try++ { // each try is independent
				w.Dispatch([]store.Request{taskRequest(localTask, try)})
				got := w.next(t)
				if diff := cmp.Diff(polled(try, delivery.Accepted{Local: true}), got); diff == "" {
					got = w.next(t)
				}
				poll, ok := got.Outcome.(delivery.Poll)
				if !ok || poll.Try != try || poll.For != executionID || got.ID != executionID || !check(poll.Outcome) {
					t.Errorf("it ended with %+v", got)
				}
			}
		})
	}
}

// processes are processes that the test controls.
type processes struct{ events chan local.Event }

func (p processes) Match(token wire.ServiceToken) (delivery.Provider, bool) {
	return delivery.Provider{Name: "Thing"}, token == localTask
}

func (processes) Cancel(string, time.Duration) {}

func (p processes) Invoke(_ string, event local.Event) error {
	event.Started(time.Minute)
	p.events <- event
	return nil
}

// TestAbandonedTryDoesNotAffectNext checks that the end of an abandoned try does not affect the next one, which may run on another
// node. A try that is sent again does not start again.
func TestAbandonedTryDoesNotAffectNext(t *testing.T) {
	p := processes{make(chan local.Event, 10)}
	var node atomic.Int64
	node.Store(1)
	w := start(t, func(c *delivery.Config, _ *world) {
		c.Local = p
		c.Node = func() store.Incarnation { return store.Incarnation(node.Load()) }
	})
	accepted := func(try int) local.Event {
		t.Helper()
		w.Dispatch([]store.Request{taskRequest(localTask, try)})
		if diff := cmp.Diff(polled(try, delivery.Accepted{Local: true}), w.next(t)); diff != "" {
			t.Fatal(diff)
		}
		return <-p.events
	}
	first := accepted(1)
	if first.FunctionARN != localTask || string(first.Payload) != taskText || !first.WantResult || first.Waits || first.Resource != "" || len(first.Secrets) > 0 {
		t.Errorf("the event is %+v", first)
	}
	second := accepted(2)
	if first.ID == second.ID || len(first.ID) != 36 {
		t.Errorf("the tries are %s and %s", first.ID, second.ID)
	}
	node.Store(2) // the node was declared dead, rejoined, and took over its own rows
	again := taskRequest(localTask, 2)
	again.Owner = 2
	for len(w.outcomes) == 0 { // it is not taken until its first send has been forgotten; an engine reads it from the table again
		w.Dispatch([]store.Request{again})
		time.Sleep(time.Millisecond)
	}
	if diff := cmp.Diff(polled(2, delivery.Accepted{Local: true}), w.next(t)); diff != "" {
		t.Fatal(diff)
	}
	w.Done(first.ID, local.Outcome{Kind: local.Returned, Result: []byte(`1`), Delivered: true})
	if diff := cmp.Diff(polled(1, delivery.Returned{Body: []byte(`1`)}), w.next(t)); diff != "" {
		t.Error(diff)
	}
	w.Done(second.ID, local.Outcome{Kind: local.Errored, Type: "T", Message: "cut…", Result: []byte(`{"errorType":"T","errorMessage":"whole"}`)})
	want := delivery.Died{Text: "T", Delivered: true, Error: "T", Cause: `{"errorType":"T","errorMessage":"whole"}`}
	if diff := cmp.Diff(polled(2, want), w.next(t)); diff != "" {
		t.Error(diff)
	}
	node.Store(1)
	third := accepted(3)
	w.Done(third.ID, local.Outcome{Kind: local.TimedOut, Message: "it took longer than 3s"})
	want = delivery.Died{Text: "Sandbox.Timedout", Delivered: true, Error: "Sandbox.Timedout",
		Cause: `{"errorMessage":"RequestId: ` + third.ID + ` Error: it took longer than 3s","errorType":"Sandbox.Timedout"}`}
	if diff := cmp.Diff(polled(3, want), w.next(t)); diff != "" {
		t.Error(diff)
	}
	if len(p.events) > 0 {
		t.Error("a try was begun twice")
	}
}

// TestNextTryIsDelivered checks that the next try is delivered immediately, although the report of the previous one
// makes it ready while that is still in the queue.
func TestNextTryIsDelivered(t *testing.T) {
	server, calls := fakeAWS(t, func(w http.ResponseWriter) { fmt.Fprint(w, `1`) })
	configureAWS(t, server.URL, "AKIDEXAMPLE")
	const tries = 20
	end := make(chan struct{})
	w := start(t, func(c *delivery.Config, w *world) {
		c.Poll = time.Hour
		c.Report = func(_ context.Context, _ wire.RequestID, o delivery.Outcome) error {
			poll := o.(delivery.Poll)
			if poll.Try == tries {
				close(end)
				return nil
			}
			w.Dispatch([]store.Request{taskRequest(function, poll.Try+1)})
			return nil
		}
	})
	w.Dispatch([]store.Request{taskRequest(function, 1)})
	select {
	case <-end:
	case <-t.Context().Done():
	}
	if len(calls) != tries {
		t.Errorf("it was called %d times, want %d", len(calls), tries)
	}
}
