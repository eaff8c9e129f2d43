package delivery_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/sns/notification"
	"github.com/pintle-dev/pintle/internal/dev/snstest"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// subscriberPost is a request that an endpoint received.
type subscriberPost struct {
	header http.Header
	body   []byte
}

// endpoint serves an HTTP endpoint that replies with a status and a text. It sends each received request to posts.
func endpoint(t *testing.T, reply func(n int, w http.ResponseWriter)) (url string, posts chan subscriberPost) {
	t.Helper()
	posts = make(chan subscriberPost, 10)
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		posts <- subscriberPost{r.Header, body}
		reply(n, w)
		n++
	}))
	t.Cleanup(server.Close)
	return server.URL, posts
}

// signedBy returns a signer and serves its certificate.
func signedBy(t *testing.T) *notification.Signer {
	t.Helper()
	var signer *notification.Signer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { signer.Certificate().ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	signer, err := notification.NewSigner(notification.Config{PublicURL: server.URL + "/base/"})
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func TestURLBehindTopic(t *testing.T) {
	url, posts := endpoint(t, func(n int, w http.ResponseWriter) {
		if n == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	w := start(t, func(c *delivery.Config, _ *world) { c.Local, c.Notifications = atURL(url), signedBy(t) })
	w.Dispatch([]store.Request{request("a", 1, topic)})
	if r := w.next(t); r.Outcome != (delivery.Accepted{}) {
		t.Errorf("outcome %+v", r.Outcome)
	}
	for range 2 { // the second is the same message
		post := <-posts
		document := snstest.Verify(t, post.body)
		checkDocument(t, document["Message"])
		subscription := post.header.Get("x-amz-sns-subscription-arn")
		if !strings.HasPrefix(subscription, topic+":") || !strings.HasSuffix(document["UnsubscribeURL"], strings.ReplaceAll(subscription, ":", "%3A")) {
			t.Errorf("subscription %s, %s", subscription, document["UnsubscribeURL"])
		}
		for _, name := range []string{"Message", "Timestamp", "Signature", "SigningCertURL", "UnsubscribeURL"} {
			if document[name] == "" {
				t.Errorf("%s is empty", name)
			}
			delete(document, name)
		}
		if diff := cmp.Diff(map[string]string{
			"Type": "Notification", "MessageId": "a", "TopicArn": topic, "Subject": "AWS CloudFormation custom resource request",
			"SignatureVersion": "1",
		}, document); diff != "" {
			t.Error(diff)
		}
		for name, want := range map[string]string{
			"Content-Type": "text/plain; charset=UTF-8", "User-Agent": "Amazon Simple Notification Service Agent",
			"x-amz-sns-message-type": "Notification", "x-amz-sns-message-id": "a", "x-amz-sns-topic-arn": topic,
			"x-amz-sns-rawdelivery": "", "webhook-signature": "",
		} {
			if got := post.header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

// TestURLBehindTopicAnswersInReply checks that an endpoint's reply is ignored, as by SNS.
func TestURLBehindTopicAnswersInReply(t *testing.T) {
	url, posts := endpoint(t, func(_ int, w http.ResponseWriter) {
		_, _ = io.WriteString(w, `{"Status":"SUCCESS","PhysicalResourceId":"p"}`)
	})
	w := start(t, func(c *delivery.Config, _ *world) { c.Local, c.Notifications = atURL(url), signedBy(t) })
	w.Dispatch([]store.Request{request("a", 1, topic)})
	if r := w.next(t); r.Outcome != (delivery.Accepted{}) {
		t.Errorf("outcome %+v", r.Outcome)
	}
	<-posts
	want := "POST " + url + ": its reply is a response document, which SNS ignores: PUT it to the ResponseURL, or give the provider " +
		"delivery: webhook in pintle.yaml"
	if got := <-w.progress; got != want {
		t.Errorf("progress %q, want %q", got, want)
	}
}

// TestURLGetsDocument checks that other URLs get the request document: for other tokens, and with delivery: webhook.
func TestURLGetsDocument(t *testing.T) {
	for name, test := range map[string]struct {
		token   string
		webhook bool
	}{
		"behind a function":         {function, false},
		"behind a topic, as wanted": {topic, true},
	} {
		t.Run(name, func(t *testing.T) {
			url, posts := endpoint(t, func(int, http.ResponseWriter) {})
			w := start(t, func(c *delivery.Config, _ *world) {
				c.Local, c.Notifications = mapped{delivery.Provider{Name: "x", URL: url, Webhook: test.webhook}}, signedBy(t)
			})
			w.Dispatch([]store.Request{request("a", 1, test.token)})
			if r := w.next(t); r.Outcome != (delivery.Accepted{}) {
				t.Errorf("outcome %+v", r.Outcome)
			}
			post := <-posts
			checkDocument(t, string(post.body))
			if post.header.Get("webhook-signature") == "" || post.header.Get("x-amz-sns-message-type") != "" {
				t.Errorf("%v", post.header)
			}
		})
	}
}

// TestURLBehindTopicWithoutKey checks that a temporary failure to read the key only delays a request.
func TestURLBehindTopicWithoutKey(t *testing.T) {
	url, posts := endpoint(t, func(int, http.ResponseWriter) {})
	w := start(t, func(c *delivery.Config, _ *world) {
		c.Local, c.Notifications = atURL(url), &hesitant{Signer: signedBy(t)}
	})
	w.Dispatch([]store.Request{request("a", 1, topic)})
	if r := w.next(t); r.Outcome != (delivery.Accepted{}) {
		t.Errorf("outcome %+v", r.Outcome)
	}
	snstest.Verify(t, (<-posts).body)
	if got := <-w.progress; !strings.HasPrefix(got, "sign the notification: the store is away, retrying") {
		t.Errorf("progress %q", got)
	}
}

// hesitant fails on the first call.
type hesitant struct {
	*notification.Signer
	asked bool
}

func (h *hesitant) Post(ctx context.Context, topicARN, id, subject, message string) ([]byte, http.Header, error) {
	if !h.asked {
		h.asked = true
		return nil, nil, errors.New("the store is away")
	}
	return h.Signer.Post(ctx, topicARN, id, subject, message)
}

// mapped serves every token with one provider.
type mapped struct{ delivery.Provider }

func (m mapped) Match(wire.ServiceToken) (delivery.Provider, bool) { return m.Provider, true }

func (mapped) Invoke(string, local.Event) error { return local.ErrUnknown }

func (mapped) Cancel(string, time.Duration) {}
