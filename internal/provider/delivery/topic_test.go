package delivery_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// subscribedTopic is a local topic with a different name than any local provider.
	subscribedTopic = "arn:aws:sns:us-east-1:000000000000:Requests"
	subscriber      = "arn:aws:lambda:us-east-1:000000000000:function:Thing"
)

// someTopics are the local topics. For each message, they report the subscribers first, and then accept it.
type someTopics struct {
	functions []string
	others    int
	fails     []error

	mu        sync.Mutex
	published []string
}

func (s *someTopics) next() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.fails) == 0 {
		return nil
	}
	err := s.fails[0]
	s.fails = s.fails[1:]
	return err
}

func (s *someTopics) Subscribers(_ context.Context, arn string) (bool, []string, int, error) {
	if err := s.next(); err != nil {
		return false, nil, 0, err
	}
	return strings.HasSuffix(arn, ":Requests"), s.functions, s.others, nil
}

func (s *someTopics) Publish(_ context.Context, arn, subject, message string) error {
	if err := s.next(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.published = append(s.published, arn+" "+subject+" "+message)
	return nil
}

// lasting is an error that may be permanent.
type lasting bool

func (lasting) Error() string     { return "hunter2&more is wrong" }
func (l lasting) Temporary() bool { return !bool(l) }

// TestTopicOfOneFunction checks that a single function gets the notification like a local provider, so that its death
// is reported.
func TestTopicOfOneFunction(t *testing.T) {
	events := make(chan [2]string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		events <- [2]string{r.URL.Query().Get("arn"), string(body)}
		_, _ = io.WriteString(w, "exit")
	}))
	defer collector.Close()
	w := startLocal(t, "collects", collector.URL, func(c *delivery.Config, _ *local.Config) {
		c.Topics = &someTopics{functions: []string{subscriber}, fails: []error{errors.New("the store is busy")}}
	})
	w.Dispatch([]store.Request{request("a", 1, subscribedTopic)})
	if diff := cmp.Diff(reported{"a", delivery.Accepted{Local: true}}, w.next(t)); diff != "" {
		t.Error(diff)
	}
	event := <-events
	if event[0] != subscriber || !strings.Contains(event[1], `"TopicArn":"`+subscribedTopic+`"`) || !strings.Contains(event[1], `"Subject":"AWS CloudFormation custom resource request"`) {
		t.Errorf("%s got %s", event[0], event[1])
	}
	if died, ok := w.next(t).Outcome.(delivery.Died); !ok || !died.Delivered || !strings.Contains(died.Text, "exited with code 4") {
		t.Errorf("%+v", died)
	}
}

func TestTopics(t *testing.T) {
	ask := func(r *store.Request) { *r = poll("a", "b", subscribedTopic, 1, "{}") }
	notify := func(r *store.Request) { *r = stackEvent(subscribedTopic) }
	accepted := delivery.Accepted{}
	for name, test := range map[string]struct {
		topics   *someTopics
		change   func(*store.Request)
		fidelity bool
		region   string
		want     delivery.Outcome
		texts    int
	}{
		"several":              {topics: &someTopics{functions: []string{subscriber, "f"}}, want: accepted, texts: 1},
		"a URL":                {topics: &someTopics{others: 1}, want: accepted, texts: 1},
		"a function and a URL": {topics: &someTopics{functions: []string{subscriber}, others: 1}, want: accepted, texts: 1},
		"temporary errors":     {topics: &someTopics{others: 1, fails: []error{nil, errors.New("busy"), lasting(false)}}, want: accepted, texts: 1},
		"permanent error":      {topics: &someTopics{others: 1, fails: []error{nil, lasting(true)}}, want: delivery.Refused{Text: subscribedTopic + ": ***** is wrong"}},
		"none": {want: delivery.Refused{Text: subscribedTopic + " has no confirmed subscription, so nothing would receive the request: " +
			"subscribe a function to the topic"}},
		"none, as on AWS":             {fidelity: true, want: accepted},
		"none, cancellation":          {change: notify, want: accepted},
		"several, cancellation":       {topics: &someTopics{others: 2}, change: notify, want: accepted, texts: 1},
		"another function":            {topics: &someTopics{functions: []string{"arn:aws:lambda:us-east-1:1:function:f"}}, want: delivery.Refused{Text: subscribedTopic + " has one subscription, for arn:aws:lambda:us-east-1:1:function:f, and no local function has this name"}},
		"another function, as on AWS": {topics: &someTopics{functions: []string{"arn:aws:lambda:us-east-1:1:function:f"}}, fidelity: true, want: accepted},
		"no process to poll": {topics: &someTopics{others: 1}, change: ask, want: delivery.Poll{For: "b", Try: 1, Outcome: delivery.Refused{
			Text: "no process serves " + subscribedTopic + " any more, one of which said that it was to be asked again"}}},
		"another region": {topics: &someTopics{others: 1}, region: "eu-west-1", want: delivery.Refused{Text: "Invalid parameter: TopicArn (Service: AmazonSNS; " +
			"Status Code: 400; Error Code: InvalidParameter; Request ID: a): " + subscribedTopic + " is in us-east-1, and a service token must be in the region of its stack, eu-west-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := request("a", 1, subscribedTopic)
			if test.topics == nil {
				test.topics = &someTopics{}
			}
			if test.change != nil {
				test.change(&r)
			}
			if test.region != "" {
				r.Body.Region = test.region
			}
			w := startLocal(t, "exits", "", func(c *delivery.Config, _ *local.Config) { c.Topics, c.FidelityAWS = test.topics, test.fidelity })
			w.Dispatch([]store.Request{r})
			if diff := cmp.Diff(test.want, w.next(t).Outcome); diff != "" {
				t.Error(diff)
			}
			if len(test.topics.published) != test.texts {
				t.Fatalf("published %q", test.topics.published)
			}
			for _, text := range test.topics.published {
				rest, ok := strings.CutPrefix(text, subscribedTopic+" AWS CloudFormation custom resource request ")
				if r.Type == store.TypeNotification {
					rest, ok = strings.CutPrefix(text, subscribedTopic+" AWS CloudFormation Notification ")
					ok = ok && rest == "StackName='s'\n"
				} else if ok {
					checkDocument(t, rest)
				}
				if !ok {
					t.Errorf("published %s", text)
				}
			}
		})
	}
}

// TestTopicElsewhere checks that a topic that is not local is called through SNS.
func TestTopicElsewhere(t *testing.T) {
	server, calls := fakeAWS(t, snsAccepts)
	configureAWS(t, server.URL, "AKIDEXAMPLE")
	w := start(t, func(c *delivery.Config, _ *world) { c.Topics = &someTopics{} })
	w.Dispatch([]store.Request{request("a", 1, topic)})
	if r := w.next(t); r.Outcome != (delivery.Accepted{}) {
		t.Errorf("outcome %+v", r.Outcome)
	}
	if call := <-calls; !strings.Contains(call.body, "Action=Publish") {
		t.Errorf("%+v", call)
	}
}

// TestTopicToURL checks that a function that is mapped to a URL gets the request there.
func TestTopicToURL(t *testing.T) {
	posted := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posted <- string(body)
	}))
	defer server.Close()
	w := start(t, func(c *delivery.Config, _ *world) {
		c.Topics = &someTopics{functions: []string{subscriber}}
		c.Local = onlyAt{subscriber, server.URL}
	})
	w.Dispatch([]store.Request{request("a", 1, subscribedTopic)})
	if r := w.next(t); r.Outcome != (delivery.Accepted{}) {
		t.Errorf("outcome %+v", r.Outcome)
	}
	checkDocument(t, <-posted)
}

// onlyAt serves one token by a URL.
type onlyAt struct {
	token wire.ServiceToken
	url   string
}

func (o onlyAt) Match(token wire.ServiceToken) (delivery.Provider, bool) {
	return delivery.Provider{Name: "Thing", URL: o.url}, token == o.token
}

func (onlyAt) Invoke(string, local.Event) error { return local.ErrUnknown }
func (onlyAt) Cancel(string, time.Duration)     {}
