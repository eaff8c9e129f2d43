package delivery_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// TestRequestsWaitForNodeWithFunctions checks that requests for functions and local topics, and the tasks of executions, wait for a node that has
// these, and do not go to AWS.
func TestRequestsWaitForNodeWithFunctions(t *testing.T) {
	server, calls := fakeAWS(t, func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) })
	configureAWS(t, server.URL, "AKIDEXAMPLE")
	const (
		topic = "arn:aws:sns:us-east-1:000000000000:T"
		ofROS = "acs:fc:cn-hangzhou:0000000000000000:functions/f"
	)
	ros := request("ros", 1, ofROS)
	ros.Body.Dialect = "ros"
	progress := make(chan string, 10)
	w := start(t, func(c *delivery.Config, _ *world) {
		c.Away = func(_ context.Context, token wire.ServiceToken) bool {
			return token == localTask || token == topic || token == ofROS
		}
		c.Progress = func(id wire.RequestID, text string) { progress <- string(id) + ": " + text }
	})
	for _, r := range []store.Request{taskRequest(function, 1), request("here", 1, localTask), request("topic", 1, topic), ros} {
		w.Dispatch([]store.Request{r})
		if said := <-progress; !strings.HasPrefix(said, string(r.ID)+": ") || !strings.Contains(said, "--run-functions") {
			t.Errorf("it was said: %s", said)
		}
	}
	w.Dispatch([]store.Request{request("there", 1, function)})
	if got := w.next(t); got.ID != "there" {
		t.Errorf("%+v", got)
	}
	if call := <-calls; !strings.Contains(call.path, function) || len(calls) > 0 || len(w.outcomes) > 0 {
		t.Errorf("AWS was asked too: %+v, and %d more", call, len(calls))
	}
}
