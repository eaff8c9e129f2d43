package delivery_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const localTopic = "arn:aws:sns:eu-west-1:84969EXAMPLE:Thing"
const laterTopic = "arn:aws:sns:us-west-2:84969EXAMPLE:Thing" // of the provider whose answers come later
const briefTopic = "arn:aws:sns:sa-east-1:84969EXAMPLE:Thing" // of the provider with a short timeout
const localFunction = "arn:aws:lambda:eu-west-1:84969EXAMPLE:function:Thing:live"

// startLocal is start with a provider named Thing, which is this test binary in the given mode.
func startLocal(t *testing.T, mode, collector string, change func(*delivery.Config, *local.Config)) *world {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	target, err := local.ParseTarget("", binary)
	if err != nil {
		t.Fatal(err)
	}
	var w *world
	ready := make(chan struct{})
	config := local.Config{
		Providers: []local.Provider{{
			Name: "Thing", Target: target, Concurrency: 1,
			Env: map[string]string{"PROVIDER_MODE": mode, "COLLECTOR": collector},
		}},
		Done: func(id string, outcome local.Outcome) {
			<-ready
			w.Done(id, outcome)
		},
	}
	var runtime *local.Runtime
	w = start(t, func(c *delivery.Config, _ *world) {
		c.Look = time.Hour // most tests are not about silent returns
		if change != nil {
			change(c, &config)
		}
		if runtime, err = local.New(config); err != nil {
			t.Fatal(err)
		}
		c.Local = delivery.NewLocal(runtime, func(token wire.ServiceToken) (delivery.Provider, bool) {
			if token == "Thing" {
				return delivery.Provider{Name: "Thing"}, true
			}
			name, ok := local.Match(token, runtime.Has)
			p := delivery.Provider{Name: name, Later: token == laterTopic}
			if token == briefTopic {
				p.Timeout = 300 * time.Millisecond
			}
			return p, ok
		})
	})
	close(ready)
	t.Cleanup(func() { runtime.Close() })
	return w
}

func TestLocalDeaths(t *testing.T) {
	tests := map[string]struct {
		mode string
		died delivery.Died
	}{
		"exits": {"exits", delivery.Died{Text: "exited with code 3", Delivered: true, Log: []string{"the password is *****"}}},
		"errs":  {"errs", delivery.Died{Text: "provider Thing: the handler reported an error: Oops: bad password *****", Delivered: true}},
		"init":  {"init", delivery.Died{Text: "provider Thing: it could not be started: ", Log: []string{"no database at *****"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := startLocal(t, test.mode, "", nil)
			w.Dispatch([]store.Request{request("a", 1, localTopic)})
			if diff := cmp.Diff(reported{"a", delivery.Accepted{Local: true}}, w.next(t)); diff != "" {
				t.Error(diff)
			}
			got, ok := w.next(t).Outcome.(delivery.Died)
			if !ok || !strings.Contains(got.Text, test.died.Text) || got.Delivered != test.died.Delivered {
				t.Fatalf("%+v, want %+v", got, test.died)
			}
			for i, line := range test.died.Log {
				if i >= len(got.Log) || got.Log[i] != line {
					t.Errorf("log %q, want it to begin with %q", got.Log, test.died.Log)
				}
			}
		})
	}
}

func TestLocalEnvelopes(t *testing.T) {
	events := make(chan [2]string, 2)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		events <- [2]string{r.URL.Query().Get("arn"), string(body)}
	}))
	defer collector.Close()
	w := startLocal(t, "collects", collector.URL, nil)

	w.Dispatch([]store.Request{request("a", 1, localFunction)})
	event := <-events
	if event[0] != localFunction {
		t.Errorf("invoked as %s", event[0])
	}
	checkDocument(t, event[1])

	w.Dispatch([]store.Request{request("a2", 1, localTopic)})
	var notification struct {
		Records []struct {
			EventSource string
			Sns         struct{ TopicArn, Subject, Message string }
		}
	}
	if err := json.Unmarshal([]byte((<-events)[1]), &notification); err != nil || len(notification.Records) != 1 {
		t.Fatalf("%v, %d records", err, len(notification.Records))
	}
	sns := notification.Records[0].Sns
	if sns.TopicArn != localTopic || sns.Subject != "AWS CloudFormation custom resource request" {
		t.Errorf("%s %s", sns.TopicArn, sns.Subject)
	}
	checkDocument(t, strings.Replace(sns.Message, `"a2"`, `"a"`, 1))
}

// TestReturnIsNotReportedAsDeath checks that a handler's return is not reported as a death, and that with FidelityAWS an exit is not
// either.
func TestReturnIsNotReportedAsDeath(t *testing.T) {
	for mode, fidelity := range map[string]bool{"returns": false, "exits": true} {
		t.Run(mode, func(t *testing.T) {
			ended := make(chan struct{}, 1)
			w := startLocal(t, mode, "", func(c *delivery.Config, l *local.Config) {
				c.FidelityAWS = fidelity
				done := l.Done
				l.Done = func(id string, o local.Outcome) {
					done(id, o)
					ended <- struct{}{}
				}
			})
			w.Dispatch([]store.Request{request("a", 1, localTopic)})
			w.next(t)
			<-ended
			w.stop()
			<-w.ended
			if len(w.outcomes) > 0 {
				t.Errorf("reported %+v", <-w.outcomes)
			}
		})
	}
}

// TestExecutionEndsWithFunction checks that this node stops executing a request when its function has returned. The node does not wait for
// the first look, because nothing runs any more.
func TestExecutionEndsWithFunction(t *testing.T) {
	w := startLocal(t, "returns", "", func(_ *delivery.Config, l *local.Config) {
		done := l.Done
		l.Done = func(id string, o local.Outcome) {
			o.Over = true // as for a Lambda function
			done(id, o)
		}
	})
	w.Dispatch([]store.Request{request("a", 1, localTopic)})
	for _, want := range []delivery.Outcome{delivery.Accepted{Local: true}, delivery.Silent{Settle: local.Settle, Over: true}} {
		if diff := cmp.Diff(reported{"a", want}, w.next(t)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestBusyProviderIsWaitedFor sends one process more requests than its queue holds, and more than may wait for it.
func TestBusyProviderIsWaitedFor(t *testing.T) {
	const n = 20
	w := startLocal(t, "returns", "", func(c *delivery.Config, l *local.Config) { c.Queue, l.Queue = 8, 1 })
	var rows []store.Request
	for i := range n {
		rows = append(rows, request(fmt.Sprint(i), store.StackKey(i+1), localTopic))
	}
	w.table.add(rows...)
	w.Dispatch(rows)
	seen := map[wire.RequestID]bool{}
	for range n {
		got := w.next(t)
		if got.Outcome != (delivery.Accepted{Local: true}) || seen[got.ID] {
			t.Errorf("%+v", got)
		}
		seen[got.ID] = true
	}
	if text := <-w.progress; text != "all processes of Thing are busy, waiting" {
		t.Errorf("progress %q", text)
	}
}

// TestRunningInvocationIsNotRepeated takes over a request while this node's own process still executes it.
func TestRunningInvocationIsNotRepeated(t *testing.T) {
	arrived, leave := make(chan struct{}, 2), make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-leave
		fmt.Fprint(w, "exit")
	}))
	defer collector.Close()
	var node atomic.Int64
	node.Store(1)
	w := startLocal(t, "collects", collector.URL, func(c *delivery.Config, _ *local.Config) {
		c.Node = func() store.Incarnation { return store.Incarnation(node.Load()) }
	})
	r := request("a", 1, localTopic)
	w.Dispatch([]store.Request{r})
	w.next(t)
	<-arrived
	node.Store(2)
	r.Owner = 2
	w.Dispatch([]store.Request{r})
	if diff := cmp.Diff(reported{"a", delivery.Accepted{Local: true}}, w.next(t)); diff != "" {
		t.Error(diff)
	}
	close(leave)
	if got, ok := w.next(t).Outcome.(delivery.Died); !ok || !got.Delivered {
		t.Errorf("%+v", got)
	}
	if len(arrived) > 0 {
		t.Error("it was invoked twice")
	}
}

// TestProviderTheRuntimeDoesNotKnow matches a provider before the runtime knows it.
func TestProviderTheRuntimeDoesNotKnow(t *testing.T) {
	w := startLocal(t, "returns", "", func(c *delivery.Config, l *local.Config) { l.Providers = nil })
	w.Dispatch([]store.Request{request("a", 1, "Thing")})
	got, ok := w.next(t).Outcome.(delivery.Refused)
	if !ok || got.Delivered || !strings.Contains(got.Text, "Thing") {
		t.Errorf("%+v", got)
	}
}

// TestQueuedRequestIsNotAccepted keeps one process busy. A waiting request has not begun, so its time must not run.
func TestQueuedRequestIsNotAccepted(t *testing.T) {
	arrived, leave := make(chan struct{}, 3), make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-leave
	}))
	defer collector.Close()
	queued := make(chan struct{}, 3)
	w := startLocal(t, "collects", collector.URL, func(c *delivery.Config, _ *local.Config) {
		sign := c.ResponseURL
		c.ResponseURL = func(r store.Request) (string, error) {
			queued <- struct{}{}
			return sign(r)
		}
	})
	w.Dispatch([]store.Request{request("a", 1, localTopic)})
	if diff := cmp.Diff(reported{"a", delivery.Accepted{Local: true}}, w.next(t)); diff != "" {
		t.Error(diff)
	}
	<-arrived
	w.Dispatch([]store.Request{request("b", 1, localTopic), request("c", 2, localTopic)})
	for range 3 {
		<-queued
	}
	leave <- struct{}{} // a finishes, and only then the next one begins
	<-arrived
	if len(arrived) > 0 {
		t.Fatal("two events are in one process")
	}
	first := w.next(t)
	if first.Outcome != (delivery.Accepted{Local: true}) || len(w.outcomes) > 0 {
		t.Errorf("%+v was reported, and %d more, want one that was accepted", first, len(w.outcomes))
	}
	close(leave)
	<-arrived
	if second := w.next(t); second.Outcome != (delivery.Accepted{Local: true}) || second.ID == first.ID {
		t.Errorf("%+v", second)
	}
}

// TestWaitingForAProcessEndsWithRun checks that a waiting request stays in the table when Run ends.
func TestWaitingForAProcessEndsWithRun(t *testing.T) {
	arrived, leave := make(chan struct{}, 1), make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-leave
	}))
	defer collector.Close()
	defer close(leave)
	queued := make(chan struct{}, 2)
	w := startLocal(t, "collects", collector.URL, func(c *delivery.Config, _ *local.Config) {
		sign := c.ResponseURL
		c.ResponseURL = func(r store.Request) (string, error) {
			queued <- struct{}{}
			return sign(r)
		}
	})
	w.Dispatch([]store.Request{request("a", 1, localTopic)})
	w.next(t)
	<-arrived
	w.Dispatch([]store.Request{request("b", 1, localTopic)})
	<-queued
	<-queued
	w.stop()
	<-w.ended
	if len(w.outcomes) > 0 {
		t.Errorf("reported %+v", <-w.outcomes)
	}
}
