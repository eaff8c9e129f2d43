package delivery_test

import (
	"encoding/json"
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

// poll returns a ready row of node 1 that polls about request(about, 1, token).
func poll(id, about, token string, try int, pending string) store.Request {
	r := request(id, 1, token)
	r.Type, r.Body.Asked, r.Body.Pending = store.TypeIsComplete, r.Type, value.SecretStr(pending)
	r.Wait = &store.Wait{For: wire.RequestID(about), Try: try}
	return r
}

const notDone = `{"pintleWaiting": {"afterSeconds": 2, "until": "2026-11-21T10:00:00Z", "reason": "at hunter2&more", "physicalResourceId": "it", "pending": {"n": 1}}}`

func waitingOf(n string) delivery.Waiting {
	return delivery.Waiting{
		After: 2 * time.Second, Until: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), Reason: "at *****",
		ID: "it", Pending: json.RawMessage(n),
	}
}

// TestWaiting sends a request whose process is not done, and then the polls.
func TestWaiting(t *testing.T) {
	for name, token := range map[string]string{"topic": localTopic, "function": localFunction, "subscriber": subscribedTopic} {
		t.Run(name, func(t *testing.T) {
			events := make(chan [2]string, 2)
			collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				events <- [2]string{r.URL.Query().Get("arn"), string(body)}
				_, _ = io.WriteString(w, notDone)
			}))
			defer collector.Close()
			w := startLocal(t, "waits", collector.URL, func(c *delivery.Config, _ *local.Config) {
				c.Topics = &someTopics{functions: []string{subscriber}}
			})
			w.Dispatch([]store.Request{request("a", 1, token)})
			<-events
			for _, want := range []reported{{"a", delivery.Accepted{Local: true}}, {"a", waitingOf(`{"n": 1}`)}} {
				if diff := cmp.Diff(want, w.next(t)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			for try := 1; try <= 3; try++ { // one row, ready again for each try
				w.Dispatch([]store.Request{poll("p", "a", token, try, `{"n": 7}`)})
				event := <-events
				if token == localFunction && event[0] != token {
					t.Errorf("invoked as %s", event[0])
				}
				resume, ok, err := wire.ParseResume([]byte(event[1]))
				if !ok || err != nil || resume.Try != try || string(resume.Pending) != `{"n":7}` {
					t.Fatalf("it got %s, error %v", event[1], err)
				}
				document, err := resume.Request.Encode()
				if err != nil {
					t.Fatal(err)
				}
				checkDocument(t, string(document))
				for _, want := range []delivery.Outcome{delivery.Accepted{Local: true}, waitingOf(`{"n": 1}`)} {
					want := reported{"p", delivery.Poll{For: "a", Try: try, Outcome: want}}
					if diff := cmp.Diff(want, w.next(t)); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				}
				w.Dispatch([]store.Request{poll("p", "a", token, try, `{"n": 7}`)}) // read from the table before the try was recorded
			}
			w.stop()
			<-w.ended
			if len(w.outcomes) > 0 || len(events) > 0 {
				t.Errorf("%d more events, %d more outcomes", len(events), len(w.outcomes))
			}
		})
	}
}

// TestWaitingNeedsAProcess checks that polls are sent to no cloud and to no URL.
func TestWaitingNeedsAProcess(t *testing.T) {
	w := start(t, func(c *delivery.Config, _ *world) {
		c.Local = nil
	})
	for _, token := range []string{"https://127.0.0.1:1/hunter2&more", "arn:aws:lambda:eu-west-1:84969EXAMPLE:function:Else"} {
		w.Dispatch([]store.Request{poll(token, "a", token, 1, `{}`)})
		got, ok := w.next(t).Outcome.(delivery.Poll)
		refused, is := got.Outcome.(delivery.Refused)
		if !ok || !is || !strings.Contains(refused.Text, "no process serves ") || refused.Delivered {
			t.Errorf("%+v", got)
		}
	}
}

// TestDeathOfPollIsReported checks that the death of a poll's process is reported even with FidelityAWS, because the
// service knows no polls.
func TestDeathOfPollIsReported(t *testing.T) {
	w := startLocal(t, "exits", "", func(c *delivery.Config, _ *local.Config) { c.FidelityAWS = true })
	w.Dispatch([]store.Request{poll("p", "a", localTopic, 1, `{}`)})
	w.next(t)
	got, _ := w.next(t).Outcome.(delivery.Poll)
	if died, ok := got.Outcome.(delivery.Died); !ok || !strings.Contains(died.Text, "exited with code 3") || len(died.Log) == 0 {
		t.Errorf("%+v", got)
	}
}

// TestRunningRequestIsNotAskedAbout checks a poll that arrives while a process still executes its request, because
// another node owned the request in between. The outcome of the process is reported for the poll.
func TestRunningRequestIsNotAskedAbout(t *testing.T) {
	arrived, leave := make(chan struct{}, 2), make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-leave
		_, _ = io.WriteString(w, notDone)
	}))
	defer collector.Close()
	var node atomic.Int64
	node.Store(1)
	w := startLocal(t, "waits", collector.URL, func(c *delivery.Config, _ *local.Config) {
		c.Node = func() store.Incarnation { return store.Incarnation(node.Load()) }
	})
	w.Dispatch([]store.Request{request("a", 1, localTopic)})
	w.next(t)
	<-arrived
	node.Store(2)
	p := poll("p", "a", localTopic, 4, `{}`)
	p.Owner = 2
	w.Dispatch([]store.Request{p})
	want := reported{"p", delivery.Poll{For: "a", Try: 4, Outcome: delivery.Accepted{Local: true}}}
	if diff := cmp.Diff(want, w.next(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	close(leave)
	want.Outcome = delivery.Poll{For: "a", Try: 4, Outcome: waitingOf(`{"n": 1}`)}
	if diff := cmp.Diff(want, w.next(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(arrived) > 0 {
		t.Error("it was invoked twice")
	}
}
