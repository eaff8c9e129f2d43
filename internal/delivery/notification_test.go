package delivery_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/delivery"
	"github.com/pintle-dev/pintle/internal/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/value"
	"github.com/pintle-dev/pintle/wire"
)

// notification returns a ready row that tells a topic of an event.
func notification(topic string) store.Request {
	r := request("n", 1, topic)
	r.Type, r.Logical = store.TypeNotification, ""
	r.Body.Properties = value.Object(value.Member{Key: "Message", Value: value.Str("StackName='s'\n")})
	return r
}

func TestNotificationToSNS(t *testing.T) {
	server, calls := fakeAWS(t, snsAccepts)
	configureAWS(t, server.URL, "AKIDEXAMPLE")
	w := start(t, nil)
	w.Dispatch([]store.Request{notification(topic)})
	if r := w.next(t); r.Outcome != (delivery.Accepted{}) {
		t.Errorf("outcome %+v", r.Outcome)
	}
	form, err := url.ParseQuery((<-calls).body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(url.Values{
		"Action": {"Publish"}, "Version": {"2010-03-31"}, "TopicArn": {topic},
		"Subject": {"AWS CloudFormation Notification"}, "Message": {"StackName='s'\n"},
	}, form); diff != "" {
		t.Error(diff)
	}
}

// A URL that stands in for a topic gets what SNS posts to its subscribers.
func TestNotificationToURL(t *testing.T) {
	posted := make(chan []byte, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posted <- body
	}))
	defer server.Close()
	w := start(t, func(c *delivery.Config, _ *world) { c.Local = atURL(server.URL) })
	w.Dispatch([]store.Request{notification(topic)})
	if r := w.next(t); r.Outcome != (delivery.Accepted{}) {
		t.Errorf("outcome %+v", r.Outcome)
	}
	var got struct{ Type, MessageId, TopicArn, Subject, Message string }
	if err := json.Unmarshal(<-posted, &got); err != nil {
		t.Fatal(err)
	}
	want := got
	want.Type, want.MessageId, want.TopicArn = "Notification", "n", topic
	want.Subject, want.Message = "AWS CloudFormation Notification", "StackName='s'\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// atURL serves every token behind one URL.
type atURL string

func (u atURL) Match(wire.ServiceToken) (delivery.Provider, bool) {
	return delivery.Provider{Name: "topic", URL: string(u)}, true
}

func (atURL) Invoke(string, local.Event) error { return local.ErrUnknown }
