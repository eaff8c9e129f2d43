package pintle_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle"
)

const (
	parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	xray   = "Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7;Sampled=1"
)

// replies answers with the trace of the request as the ID.
func replies(ctx context.Context, _ *pintle.Request) (pintle.Answer, error) {
	return pintle.Answer{ID: pintle.PhysicalID("in:" + pintle.Traceparent(ctx))}, nil
}

func TestTraceOverHTTP(t *testing.T) {
	l := newLambda(t)
	server, _ := provide(t, pintle.ServerConfig{Handlers: []pintle.Handler{pintle.HandlerFunc(replies)}})
	for header, want := range map[string]string{parent: parent, "": "", "00-nonsense": ""} {
		event := strings.Replace(l.event(t, pintle.Create, "", "", ""), "r-1", "r-"+header, 1) // otherwise it would be the same request
		status, text := post(t, server.URL, webhookSecret, event, func(h http.Header) {
			if header != "" {
				h.Set("traceparent", header)
			}
		})
		if status != http.StatusOK || !strings.Contains(text, `"PhysicalResourceId":"in:`+want+`"`) {
			t.Errorf("asked with %q: %d %s, want %q", header, status, text, want)
		}
	}
}

func TestTraceOnLambda(t *testing.T) {
	l := newLambda(t)
	l.trace = xray
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- pintle.Run(ctx, pintle.RunConfig{ServerConfig: pintle.ServerConfig{Handlers: []pintle.Handler{pintle.HandlerFunc(replies)}, Client: l.Client()}, LambdaRuntimeAPI: l.api()})
	}()
	<-l.polls
	l.events <- l.event(t, pintle.Create, "", "", "")
	if body := <-l.puts; !strings.Contains(string(body), `"PhysicalResourceId":"in:`+parent+`"`) {
		t.Errorf("answered %s", body)
	}
	<-l.results
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// aws-lambda-go stores the trace elsewhere.
func TestTraceBehindAWSLambdaGo(t *testing.T) {
	for text, want := range map[string]string{xray: parent, "Root=1-4bf92f35-77b34da6a3ce929d0e0e4736": "", "": ""} {
		ctx := context.WithValue(t.Context(), "x-amzn-trace-id", text) //nolint:staticcheck // the key is a string in aws-lambda-go
		if got := pintle.Traceparent(ctx); got != want {
			t.Errorf("in %q: %q, want %q", text, got, want)
		}
	}
}

func ExampleTraceparent() {
	pintle.Main(pintle.HandlerFunc(func(ctx context.Context, _ *pintle.Request) (pintle.Answer, error) {
		call, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://disks.example.com/", nil)
		if err != nil {
			return pintle.Answer{}, err
		}
		if parent := pintle.Traceparent(ctx); parent != "" {
			call.Header.Set("traceparent", parent) // the other service's spans join the trace of the deployment
		}
		response, err := http.DefaultClient.Do(call)
		if err != nil {
			return pintle.Answer{}, err
		}
		return pintle.Answer{ID: "disk-1"}, response.Body.Close()
	}))
}
