package server_test

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// signals is notified of events that may have changed a stack.
type signals chan struct{}

func (s signals) notify() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// RoundTrip signals each sent answer.
func (s signals) RoundTrip(r *http.Request) (*http.Response, error) {
	defer s.notify()
	return http.DefaultTransport.RoundTrip(r)
}

// hosted provides local providers, by name.
type hosted struct {
	names  map[wire.ServiceToken]delivery.Provider
	invoke func(event []byte)
}

func (h hosted) Match(token wire.ServiceToken) (delivery.Provider, bool) {
	provider, ok := h.names[token]
	return provider, ok
}

func (hosted) Cancel(string, time.Duration) {}

func (h hosted) Invoke(_ string, event local.Event) error {
	event.Started(time.Minute)
	h.invoke(event.Payload)
	return nil
}

// summing adds X and Y, like ROS's example, and fails on request.
func summing(_ context.Context, r *pintle.Request) (pintle.Answer, error) {
	var p struct {
		X, Y int
		Fail bool
	}
	if err := r.Decode(&p); err != nil {
		return pintle.Answer{}, err
	}
	if p.Fail {
		return pintle.Answer{}, fmt.Errorf("cannot %s", r.Type)
	}
	return pintle.Answer{ID: "sum-1", Attributes: map[string]any{"z": p.X + p.Y}}, nil
}

// TestROSProviders tests a provider made with the SDK, which gets requests of ROS and answers them, with every kind
// of service token.
func TestROSProviders(t *testing.T) {
	const key = "a key of the test"
	const (
		function = "acs:fc:cn-beijing:1234567890123456:functions/sum"
		older    = "acs:fc:cn-beijing:1234567890123456:services/s/functions/sum"
		queue    = "acs:mns:cn-beijing:1234567890123456:queues/sum"
		topic    = "acs:mns:cn-beijing:1234567890123456:topics/sum"
	)
	tests := map[string]struct {
		token string // URL is replaced with the provider's URL
		here  bool   // the token names a local provider
		more  string
	}{
		"URL":             {token: "web:URL/hook"},
		"reply":           {token: "web[sync]:URL/sync"},
		"URL with header": {token: "web[idempotent]:URL/hook", more: `, "Headers": {"X-A": "b"}`},
		"function":        {token: function},
		"older function":  {token: older},
		"queue":           {token: queue},
		"topic":           {token: topic},
		"local function":  {token: function, here: true},
		"local queue":     {token: queue, here: true},
		"local topic":     {token: topic, here: true},
		"mapped URL":      {token: "mapped"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			happened := make(signals, 1)
			config := pintle.ServerConfig{
				Handlers:       []pintle.Handler{pintle.HandlerFunc(summing)},
				WebhookSecrets: []string{"correct horse battery staple"},
				Client:         &http.Client{Transport: happened},
				ROS:            pintle.ROSConfig{SignKeys: []string{key}},
				Logger:         slog.New(slog.DiscardHandler),
			}
			if strings.Contains(test.more, "X-A") {
				config.ROS.SignHeaders = []string{"X-A"}
			}
			provider, err := pintle.NewServer(config)
			if err != nil {
				t.Fatal(err)
			}
			var events sync.WaitGroup
			defer events.Wait()
			invoke := func(event []byte) {
				events.Go(func() {
					if err := provider.ServeEvent(context.Background(), event); err != nil {
						t.Error(err)
					}
				})
			}
			behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "" {
					provider.ServeHTTP(w, r)
					return
				}
				body, _ := io.ReadAll(r.Body) // a service call, which is forwarded
				var message struct{ MessageBody string }
				if xml.Unmarshal(body, &message) == nil {
					body = []byte(message.MessageBody)
				}
				w.WriteHeader(http.StatusAccepted)
				invoke(body)
			}))
			defer behind.Close()
			for _, variable := range []string{"FC_ENDPOINT", "FC3_ENDPOINT", "MNS_ENDPOINT"} {
				t.Setenv("ALIBABA_CLOUD_"+variable, behind.URL)
			}
			t.Setenv("ALIBABA_CLOUD_ACCESS_KEY_ID", "AK")
			t.Setenv("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "secret")

			here := hosted{names: map[wire.ServiceToken]delivery.Provider{"mapped": {Name: "mapped", URL: behind.URL}}, invoke: invoke}
			if test.here {
				here.names[wire.ServiceToken(test.token)] = delivery.Provider{Name: "sum"}
			}
			w := newWorld(t, func(w *world, c *server.Config) {
				takesROS(func(a *server.ROSAnswers) { a.NeedHeaders = true })(w, c)
			})
			w.deliverROS(here, happened)

			token := strings.Replace(test.token, "URL", behind.URL, 1)
			template := func(parameters string) string {
				return `{"ROSTemplateFormatVersion": "2015-09-01", "Resources": {"R": {"Type": "Custom::Sum", "Properties": {"ServiceToken": "` + token +
					`", "Timeout": 60, "Parameters": ` + parameters + `, "HttpConfig": {"SignKey": "` + key + `"` + test.more + `}}}},
					"Outputs": {"Z": {"Value": {"Fn::GetAtt": ["R", "z"]}}}}`
			}
			stack := w.createROS("s", template(`{"X": 1, "Y": 2}`))
			w.become(stack, "CREATE_COMPLETE", happened)
			w.outputIs(stack, "3")
			_, err = w.engine.Update(t.Context(), engine.UpdateStack{Stack: stack, Template: template(`{"X": 40, "Y": 2}`)})
			w.must(err)
			w.become(stack, "UPDATE_COMPLETE", happened)
			w.outputIs(stack, "42")
			_, err = w.engine.Update(t.Context(), engine.UpdateStack{Stack: stack, Template: template(`{"X": 40, "Y": 3, "Fail": true}`)})
			w.must(err)
			w.become(stack, "ROLLBACK_COMPLETE", happened)
			_, err = w.engine.Delete(t.Context(), engine.DeleteStack{Stack: stack})
			w.must(err)
			w.become(stack, "DELETE_COMPLETE", happened)
		})
	}
}

// deliverROS connects delivery to the engine, with local providers.
func (w *world) deliverROS(here delivery.Local, happened signals) {
	w.t.Helper()
	d, err := delivery.New(delivery.Config{
		Table: w.store, Node: w.engine.Node, Report: func(ctx context.Context, id wire.RequestID, o delivery.Outcome) error {
			defer happened.notify()
			return w.engine.Report(ctx, id, reported(o))
		},
		ResponseURL:   func(r store.Request) (string, error) { return w.rosURL(r, time.Now()), nil },
		WebhookSecret: []byte("correct horse battery staple"), AllowPrivate: true, Native: w.types, Local: here,
	})
	w.must(err)
	w.mu.Lock()
	w.dispatch = d.Dispatch
	w.mu.Unlock()
	ctx, stop := context.WithCancel(w.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = d.Run(ctx) })
	w.t.Cleanup(func() {
		stop()
		wg.Wait()
	})
}

// become waits until a ROS stack has a status.
func (w *world) become(ref engine.Ref, want string, happened signals) {
	w.t.Helper()
	for {
		stack, err := w.engine.Find(w.t.Context(), ref)
		w.must(err)
		got := engine.ROS.StackStatus(stack.Kind, stack.Phase)
		switch {
		case got == want:
			return
		case !strings.HasSuffix(got, "_IN_PROGRESS"):
			w.t.Fatalf("the stack is %s, want %s", got, want)
		}
		select {
		case <-happened:
		case <-w.t.Context().Done():
			w.t.Fatalf("the stack is %s, want %s", got, want)
		}
	}
}

func (w *world) outputIs(ref engine.Ref, want string) {
	w.t.Helper()
	stack, err := w.engine.Find(w.t.Context(), ref)
	w.must(err)
	if z, _ := stack.OutputValues.Get("Z"); z.Text() != want {
		w.t.Errorf("Z is %s, want %s", z.JSON(), want)
	}
}
