package sns_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sns"
	"github.com/pintle-dev/pintle/internal/cloud/sqs"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

var home = registry.Scope{Account: "111122223333", Region: "eu-west-1"}

const (
	topicARN    = "arn:aws:sns:eu-west-1:111122223333:T"
	functionARN = "arn:aws:lambda:eu-west-1:111122223333:function:f"
	queueARN    = "arn:aws:sqs:eu-west-1:111122223333:q"
	publicURL   = "http://127.0.0.1:4600/base"
)

type invoked struct {
	function string
	payload  []byte
}

// world is topics with their dependencies.
type world struct {
	*sns.Topics
	catalog *registry.Catalog
	invoked chan invoked
	log     *logs
}

type logs struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newWorld(t *testing.T, change func(*sns.Config)) *world {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{catalog: registry.New(rows), invoked: make(chan invoked, 100), log: &logs{}}
	config := sns.Config{
		Catalog: w.catalog, PublicURL: publicURL, AllowPrivate: true, Backoff: time.Microsecond,
		Log: slog.New(slog.NewTextHandler(w.log, nil)),
		Invoke: func(_ context.Context, function string, payload []byte) error {
			w.invoked <- invoked{function, payload}
			return nil
		},
	}
	if change != nil {
		change(&config)
	}
	if w.Topics, err = sns.New(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func (w *world) topic(t *testing.T, attributes map[string]string) {
	t.Helper()
	if _, err := w.Create(t.Context(), registry.Item[registry.Topic]{Scope: home, Name: "T", Of: registry.Topic{Attributes: attributes}}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) subscribe(t *testing.T, protocol, endpoint string, attributes map[string]string) string {
	t.Helper()
	arn, err := w.Subscribe(t.Context(), subscription(protocol, endpoint, attributes))
	if err != nil {
		t.Fatal(err)
	}
	return arn
}

func subscription(protocol, endpoint string, attributes map[string]string) registry.Item[registry.Subscription] {
	return registry.Item[registry.Subscription]{Of: registry.Subscription{Topic: topicARN, Protocol: protocol, Endpoint: endpoint, Attributes: attributes}}
}

func refused(t *testing.T, what string, err error, code, message string) {
	t.Helper()
	reported, ok := errors.AsType[*sns.Error](err)
	if !ok || reported.Code != code || reported.Message != message {
		t.Errorf("%s: %v, want %s: %s", what, err, code, message)
	}
}

func TestNew(t *testing.T) {
	invoke := func(context.Context, string, []byte) error { return nil }
	for name, config := range map[string]sns.Config{
		"nothing":  {},
		"no URL":   {Catalog: &registry.Catalog{}, Invoke: invoke},
		"negative": {Catalog: &registry.Catalog{}, Invoke: invoke, PublicURL: "x", Backoff: -1},
	} {
		if _, err := sns.New(config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCreate(t *testing.T) {
	w, ctx := newWorld(t, nil), t.Context()
	item := func(holder, name string, attributes, tags map[string]string) registry.Item[registry.Topic] {
		return registry.Item[registry.Topic]{Scope: home, Name: name, Owner: holder, Of: registry.Topic{Attributes: attributes, Tags: tags}}
	}
	type m = map[string]string
	made, err := w.Create(ctx, item("stack|T|1", "T", m{"DisplayName": "one"}, m{"a": "b"}))
	if err != nil || made.Version != 1 {
		t.Fatalf("%+v %v", made, err)
	}
	again, err := w.Create(ctx, item("stack|T|1", "T", m{"DisplayName": "two"}, nil))
	if err != nil || again.Of.Attributes["DisplayName"] != "two" || again.Of.ID != made.Of.ID {
		t.Errorf("once more by its holder: %+v %v", again, err)
	}
	if _, err := w.Create(ctx, item("stack|T|2", "T", nil, nil)); !errors.Is(err, registry.ErrExists) {
		t.Errorf("by another holder: %v", err)
	}
	if there, err := w.Create(ctx, item("", "T", nil, nil)); err != nil || there.Owner != "stack|T|1" || there.Version != 2 {
		t.Errorf("by a client: %+v %v", there, err)
	}
	_, err = w.Create(ctx, item("", "T", m{"DisplayName": "three"}, nil))
	refused(t, "other attributes", err, "InvalidParameter", "Invalid parameter: Attributes Reason: Topic already exists with different attributes")
	_, err = w.Create(ctx, item("", "T", nil, m{"a": "c"}))
	refused(t, "other tags", err, "InvalidParameter", "Invalid parameter: Tags Reason: Topic already exists with different tags")
	for name, test := range map[string]struct {
		item registry.Item[registry.Topic]
		want string
	}{
		"name":      {item("", "a b", nil, nil), "Topic Name"},
		"fifo name": {item("", "a.fifo", nil, nil), "Topic Name"},
		"long name": {item("", strings.Repeat("a", 257), nil, nil), "Topic Name"},
		"fifo":      {item("", "f", m{"FifoTopic": "true"}, nil), "Attributes Reason: FifoTopic: this version of Pintle has no FIFO topics"},
		"unknown":   {item("", "f", m{"Color": "red"}, nil), "Attributes Reason: there is no such attribute"},
		"version":   {item("", "f", m{"SignatureVersion": "3"}, nil), "Attributes Reason: SignatureVersion: Invalid value. Must be 1 or 2"},
		"policy":    {item("", "f", m{"Policy": "{"}, nil), "Attributes Reason: Policy: failed to parse JSON"},
	} {
		_, err := w.Create(ctx, test.item)
		refused(t, name, err, "InvalidParameter", "Invalid parameter: "+test.want)
	}
	updated, err := w.Update(ctx, item("", "T", m{"SignatureVersion": "2"}, m{"c": "d"}))
	if diff := cmp.Diff(registry.Topic{ID: made.Of.ID, Attributes: m{"SignatureVersion": "2"}, Tags: m{"c": "d"}}, updated.Of); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if err := w.SetAttribute(ctx, topicARN, "DisplayName", "four"); err != nil {
		t.Error(err)
	}
	refused(t, "set unknown", w.SetAttribute(ctx, topicARN, "Color", "red"), "InvalidParameter", "Invalid parameter: AttributeName")
	w.subscribe(t, "lambda", functionARN, nil)
	all, err := w.Attributes(ctx, topicARN)
	if err != nil {
		t.Fatal(err)
	}
	delete(all, "Policy")
	if diff := cmp.Diff(m{
		"TopicArn": topicARN, "Owner": home.Account, "DisplayName": "four", "SignatureVersion": "2",
		"SubscriptionsPending": "0", "SubscriptionsConfirmed": "1", "SubscriptionsDeleted": "0",
	}, all); diff != "" {
		t.Error(diff)
	}
}

// TestDelete checks that a topic is deleted with its subscriptions, and that one left behind by a crash does not
// belong to a later topic.
func TestDelete(t *testing.T) {
	w, ctx := newWorld(t, nil), t.Context()
	w.topic(t, nil)
	first := w.subscribe(t, "lambda", functionARN, nil)
	left, err := w.Subscription(ctx, first)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(ctx, topicARN); err != nil {
		t.Fatal(err)
	}
	_, err = w.Topic(ctx, topicARN)
	refused(t, "the topic", err, "NotFound", "Topic does not exist")
	_, err = w.Subscription(ctx, first)
	refused(t, "the subscription", err, "NotFound", "Subscription does not exist")
	if !errors.Is(err, registry.ErrNotFound) {
		t.Error("it is not catalog.ErrNotFound")
	}
	left.Version = 0
	if _, err := w.catalog.Subscriptions.Put(ctx, left); err != nil {
		t.Fatal(err)
	}
	w.topic(t, nil)
	if list, err := w.Subscriptions(ctx, topicARN); len(list) != 0 || err != nil {
		t.Errorf("a new topic has the subscriptions %+v, %v", list, err)
	}
	if second := w.subscribe(t, "lambda", functionARN, nil); second == first {
		t.Error("a new topic's subscription has the ARN of an old one's")
	}
	for range 2 { // the second time there is nothing
		if err := w.Delete(ctx, topicARN); err != nil {
			t.Error(err)
		}
	}
	if list, err := w.AllSubscriptions(ctx, home, "", 10); len(list) != 0 || err != nil {
		t.Errorf("left behind: %+v %v", list, err)
	}
}

func TestSubscribe(t *testing.T) {
	w, ctx := newWorld(t, nil), t.Context()
	_, err := w.Subscribe(ctx, subscription("lambda", functionARN, nil))
	refused(t, "without a topic", err, "NotFound", "Topic does not exist")
	w.topic(t, nil)
	arn := w.subscribe(t, "lambda", functionARN, nil)
	if again := w.subscribe(t, "lambda", functionARN, nil); again != arn {
		t.Errorf("subscribed twice: %s and %s", arn, again)
	}
	item := subscription("lambda", functionARN, map[string]string{"DeliveryPolicy": "{}"})
	_, err = w.Subscribe(ctx, item)
	refused(t, "other attributes", err, "InvalidParameter", "Invalid parameter: Attributes Reason: Subscription already exists with different attributes")
	item.Owner = "stack|S|1"
	if again, err := w.Subscribe(ctx, item); again != arn || err != nil {
		t.Errorf("by a stack: %s %v", again, err)
	}
	if s, err := w.Subscription(ctx, arn); err != nil || s.Owner != item.Owner || s.Of.Attributes["DeliveryPolicy"] != "{}" {
		t.Errorf("it is %+v, %v", s, err)
	}
	type m = map[string]string
	for name, test := range map[string]struct {
		item registry.Item[registry.Subscription]
		want string
	}{
		"protocol":    {subscription("smoke", "x", nil), "Amazon SNS does not support this protocol string: smoke"},
		"email":       {subscription("email", "a@example.com", nil), "Protocol Reason: this version of Pintle delivers to lambda, sqs, http and https, not to email"},
		"function":    {subscription("lambda", "f", nil), "Lambda endpoint ARN"},
		"queue":       {subscription("sqs", queueARN, nil), "Protocol Reason: these topics have no queues"},
		"scheme":      {subscription("https", "http://example.com", nil), "Endpoint must match the specified protocol"},
		"URL":         {subscription("http", "http://", nil), "Endpoint Reason: it is not a URL"},
		"blank":       {subscription("http", "http://a/ b", nil), "Endpoint Reason: it is not a URL"},
		"raw lambda":  {subscription("lambda", functionARN, m{"RawMessageDelivery": "true"}), "Attributes Reason: RawMessageDelivery: Delivery protocol [lambda] does not support raw message delivery"},
		"raw maybe":   {subscription("http", "http://a/", m{"RawMessageDelivery": "maybe"}), "Attributes Reason: RawMessageDelivery: Invalid value [maybe]. Must be true or false"},
		"filter":      {subscription("lambda", functionARN, m{"FilterPolicy": `{"a":["b"]}`}), "Attributes Reason: FilterPolicy: not supported by this version of Pintle"},
		"unknown":     {subscription("lambda", functionARN, m{"Color": "red"}), "Attributes Reason: there is no such attribute"},
		"other topic": {registry.Item[registry.Subscription]{Of: registry.Subscription{Topic: "T", Protocol: "lambda"}}, "TopicArn Reason: An ARN must have at least 6 elements, not 1"},
	} {
		_, err := w.Subscribe(ctx, test.item)
		refused(t, name, err, "InvalidParameter", "Invalid parameter: "+test.want)
	}
	refused(t, "set", w.SetSubscriptionAttribute(ctx, arn, "Color", "red"), "InvalidParameter", "Invalid parameter: AttributeName")
	refused(t, "set of none", w.SetSubscriptionAttribute(ctx, topicARN+":x", "DeliveryPolicy", "{}"), "NotFound", "Subscription does not exist")
	for range 2 {
		if err := w.Unsubscribe(ctx, arn); err != nil {
			t.Error(err)
		}
	}
	refused(t, "no ARN", w.Unsubscribe(ctx, topicARN), "InvalidParameter", "Invalid parameter: SubscriptionArn")
}

func TestSubscribeQueue(t *testing.T) {
	sent := make(chan sqs.Message, 1)
	w := newWorld(t, func(c *sns.Config) {
		c.Queue = func(_ context.Context, place registry.Scope, arn string, m sqs.Message) error {
			if place != home || arn != queueARN {
				t.Errorf("%s of %v gets a message", arn, place)
			}
			sent <- m
			return nil
		}
	})
	w.topic(t, nil)
	for name, test := range map[string]struct{ endpoint, want string }{
		"no ARN":          {"q", "SQS endpoint ARN"},
		"FIFO":            {queueARN + ".fifo", "Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics"},
		"another account": {"arn:aws:sqs:eu-west-1:999999999999:q", "Endpoint Reason: the queue is another account's"},
	} {
		_, err := w.Subscribe(t.Context(), subscription("sqs", test.endpoint, nil))
		refused(t, name, err, "InvalidParameter", "Invalid parameter: "+test.want)
	}
	arn := w.subscribe(t, "sqs", queueARN, map[string]string{"RawMessageDelivery": "true"})
	if a, err := w.SubscriptionAttributes(t.Context(), arn); err != nil || a["PendingConfirmation"] != "false" {
		t.Errorf("%v %v", a, err)
	}
	_, err := w.Publish(t.Context(), topicARN, sns.Message{Message: "hot", Attributes: map[string]sns.Attribute{"key": {Type: "Binary", String: "AP8="}}})
	if err != nil {
		t.Fatal(err)
	}
	if m := <-sent; m.Body != "hot" || !bytes.Equal(m.Attributes["key"].Binary, []byte{0, 255}) {
		t.Errorf("%+v", m)
	}
}

// TestSubscribeAtOnce checks that two concurrent calls for one endpoint create one subscription.
func TestSubscribeAtOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.topic(t, nil)
	arns := make(chan string, 8)
	for range cap(arns) {
		go func() {
			arn, err := w.Subscribe(context.Background(), subscription("lambda", functionARN, nil))
			if err != nil {
				t.Error(err)
			}
			arns <- arn
		}()
	}
	first := <-arns
	for range cap(arns) - 1 {
		if arn := <-arns; arn != first {
			t.Errorf("%s and %s", first, arn)
		}
	}
	known, functions, others, err := w.Subscribers(t.Context(), topicARN)
	if diff := cmp.Diff([]string{functionARN}, functions); !known || others != 0 || err != nil || diff != "" {
		t.Errorf("%v %d %v %s", known, others, err, diff)
	}
}

// TestManySubscriptions checks that all subscriptions of a topic are found, and none of topics whose names begin with
// its name.
func TestManySubscriptions(t *testing.T) {
	w, ctx := newWorld(t, nil), t.Context()
	for _, name := range []string{"S", "T", "T-2", "T0", "Ta"} {
		if _, err := w.Create(ctx, registry.Item[registry.Topic]{Scope: home, Name: name}); err != nil {
			t.Fatal(err)
		}
		for i := range 120 {
			s := subscription("lambda", fmt.Sprintf("%s%d", functionARN, i), nil)
			s.Of.Topic = sns.ARN(home, name)
			if _, err := w.Subscribe(ctx, s); err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err := w.Subscriptions(ctx, topicARN)
	if err != nil || len(list) != 120 {
		t.Errorf("%d subscriptions, %v", len(list), err)
	}
	if err := w.Delete(ctx, topicARN); err != nil {
		t.Fatal(err)
	}
	if list, err = w.Subscriptions(ctx, topicARN+"-2"); err != nil || len(list) != 120 {
		t.Errorf("after the deletion of another topic: %d subscriptions, %v", len(list), err)
	}
}

type post struct {
	header http.Header
	body   string
}

// serve returns a URL that passes every request to the test.
func serve(t *testing.T, status func(n int) int) (url string, posts chan post) {
	t.Helper()
	posts = make(chan post, 100)
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		n++
		if status != nil {
			w.WriteHeader(status(n))
		}
		posts <- post{r.Header, string(body)}
	}))
	t.Cleanup(server.Close)
	return server.URL, posts
}

func TestSubscriptionLimit(t *testing.T) {
	w := newWorld(t, nil)
	w.topic(t, nil)
	for i := range 200 {
		w.subscribe(t, "lambda", fmt.Sprint(functionARN, i), nil)
	}
	_, err := w.Subscribe(t.Context(), subscription("lambda", functionARN, nil))
	refused(t, "one more", err, "SubscriptionLimitExceeded", "a topic has 200 subscriptions at most")
	w.subscribe(t, "lambda", fmt.Sprint(functionARN, 7), nil) // exists
}
