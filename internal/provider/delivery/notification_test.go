package delivery_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/snstest"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// stackEvent returns a ready row that notifies a topic of an event.
func stackEvent(topic string) store.Request {
	r := request("n", 1, topic)
	r.Type, r.Logical = store.TypeNotification, ""
	r.Body.Properties = value.Object(value.Member{Key: "Message", Value: value.Str("StackName='s'\n")})
	return r
}

func TestNotificationToSNS(t *testing.T) {
	server, calls := fakeAWS(t, snsAccepts)
	configureAWS(t, server.URL, "AKIDEXAMPLE")
	w := start(t, nil)
	w.Dispatch([]store.Request{stackEvent(topic)})
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

// TestNotificationToURL checks that a URL mapped to a topic gets the events of stacks in the form of SNS.
func TestNotificationToURL(t *testing.T) {
	url, posts := endpoint(t, func(int, http.ResponseWriter) {})
	w := start(t, func(c *delivery.Config, _ *world) { c.Local, c.Notifications = atURL(url), signedBy(t) })
	w.Dispatch([]store.Request{stackEvent(topic)})
	if r := w.next(t); r.Outcome != (delivery.Accepted{}) {
		t.Errorf("outcome %+v", r.Outcome)
	}
	got := snstest.Verify(t, (<-posts).body)
	want := maps.Clone(got)
	want["Type"], want["MessageId"], want["TopicArn"] = "Notification", "n", topic
	want["Subject"], want["Message"] = "AWS CloudFormation Notification", "StackName='s'\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNotificationToWebhook checks that with delivery: webhook, events come as a webhook without SNS's signature.
func TestNotificationToWebhook(t *testing.T) {
	url, posts := endpoint(t, func(int, http.ResponseWriter) {})
	w := start(t, func(c *delivery.Config, _ *world) {
		c.Local, c.Notifications = mapped{delivery.Provider{URL: url, Webhook: true}}, signedBy(t)
	})
	w.Dispatch([]store.Request{stackEvent(topic)})
	if r := w.next(t); r.Outcome != (delivery.Accepted{}) {
		t.Errorf("outcome %+v", r.Outcome)
	}
	post := <-posts
	var got struct{ Type, MessageId, TopicArn, Subject, Message string }
	if err := json.Unmarshal(post.body, &got); err != nil {
		t.Fatal(err)
	}
	if got.TopicArn != topic || got.Message != "StackName='s'\n" || post.header.Get("webhook-id") != "n" {
		t.Errorf("%+v %v", got, post.header)
	}
}

// atURL serves every token by one URL.
type atURL string

func (u atURL) Match(wire.ServiceToken) (delivery.Provider, bool) {
	return delivery.Provider{Name: "topic", URL: string(u)}, true
}

func (atURL) Invoke(string, local.Event) error { return local.ErrUnknown }
func (atURL) Cancel(string, time.Duration)     {}
