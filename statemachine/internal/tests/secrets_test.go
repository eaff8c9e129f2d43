package tests_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awslambda"
	"github.com/pintle-dev/pintle/wire"
)

// Runs one provider behind each transport, with operations that succeed, fail and panic, and with answers that are
// refused. No log line at any level, and no error of a transport, contains a secret or the signature of a response URL.
func TestNothingSecretIsLogged(t *testing.T) {
	var shown notes
	log := slog.New(slog.NewTextHandler(&shown, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}))
	var mu sync.Mutex
	answers := 0
	bucket := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		answers++
		if r.URL.Query().Get("refuse") != "" {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, "<Error><Code>AccessDenied</Code><Message>%s</Message></Error>", r.URL)
		}
	}))
	defer bucket.Close()
	handlers := []pintle.Handler{pintle.New(talker{})}
	config := pintle.ServerConfig{Handlers: handlers, Logger: log, WebhookSecrets: []string{"whsec_" + strings.Repeat("bWFya2Vk", 5)}}
	server, err := pintle.NewServer(config)
	if err != nil {
		t.Fatal(err)
	}
	golang, err := awslambda.New(config)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		open := pintle.RunConfig{ServerConfig: config, Listener: listener}
		open.AllowUnsigned, open.WebhookSecrets = true, nil
		ended <- pintle.Run(ctx, open)
	}()
	post := func(url string, event []byte) error {
		response, err := http.Post(url, "application/json", bytes.NewReader(event))
		if err != nil {
			return err
		}
		defer response.Body.Close()
		var body bytes.Buffer
		_, err = body.ReadFrom(response.Body)
		if response.StatusCode >= 300 {
			return errors.Join(err, errors.New(response.Status+" "+body.String()))
		}
		return err // a reply with the answer goes to the service, which has the secret anyway
	}
	signed := httptest.NewServer(server)
	defer signed.Close()
	transports := map[string]func(event []byte) error{
		"Lambda":        func(event []byte) error { return server.ServeEvent(ctx, event) },
		"aws-lambda-go": func(event []byte) error { _, err := golang.Invoke(ctx, event); return err },
		"SNS":           func(event []byte) error { return server.ServeEvent(ctx, notification(t, event)) },
		"HTTP":          func(event []byte) error { return post("http://"+listener.Addr().String(), event) },
		"HTTP unsigned": func(event []byte) error { return post(signed.URL, event) }, // refused
	}
	for name, deliver := range transports {
		for n, do := range []string{"", "fail", "panic", "cut", "large", "wrong"} {
			for _, query := range []string{"", "&refuse=1"} {
				id := fmt.Sprintf("%s-%d%s", name, n, query)
				event, err := wire.Request{
					RequestType: wire.Create, ServiceToken: functionARN, ResponseURL: bucket.URL + "/key?X-Amz-Signature=" + mark + query,
					StackID: "arn:aws:cloudformation:eu-west-1:123456789012:stack/s/1", RequestID: wire.RequestID(id), ResourceType: "Custom::Job",
					LogicalResourceID: wire.LogicalID(fmt.Sprint("Job", n)), ResourceProperties: json.RawMessage(fmt.Sprintf(`{"ServiceToken":"x","Do":%q,"Secret":%q}`, do, secret)),
				}.Encode()
				if err != nil {
					t.Fatal(err)
				}
				if do == "cut" {
					event = event[:len(event)-2]
				}
				if err := deliver(event); err != nil {
					fmt.Fprintln(&shown, "error:", name, err)
				}
			}
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	text := shown.text()
	for _, what := range []string{secret, mark, "X-Amz-Signature"} {
		if at := strings.Index(text, what); at >= 0 {
			t.Errorf("the log shows %s: …%s", what, text[max(0, at-300):at+len(what)])
		}
	}
	// The log is not just empty.
	for _, what := range []string{"handler failed", "the password is ****", "403", "answered", "panic"} {
		if !strings.Contains(text, what) {
			t.Errorf("the log lacks %q:\n%s", what, text)
		}
	}
	if mu.Lock(); answers < 30 { // over HTTP, the answers are in the replies
		t.Errorf("%d answers only", answers)
	}
	mu.Unlock()
}

// talker is a provider that reveals its secret wherever it can.
type talker struct{ jobs }

func (talker) Create(_ context.Context, r *pintle.CreateRequest[properties]) (pintle.Response[attributes], error) {
	r.Log().Info("the password is "+r.Properties.Secret.Reveal(), "properties", r.Properties, "request", r)
	switch r.Properties.Do {
	case "fail":
		return pintle.Response[attributes]{Reason: secret}, fmt.Errorf("the password is %s", r.Properties.Secret.Reveal())
	case "panic":
		panic("panic with " + r.Properties.Secret.Reveal())
	case "large":
		return pintle.Response[attributes]{ID: "it", Attributes: attributes{pintle.NewSecret(strings.Repeat(secret, 400))}}, nil
	case "wrong":
		return pintle.Response[attributes]{ID: pintle.PhysicalID(strings.Repeat("x", 2000)), Reason: secret}, nil
	}
	return pintle.Response[attributes]{ID: "it", Reason: "done with " + secret, Attributes: attributes{r.Properties.Secret}}, nil
}

func (talker) Poll(context.Context, *pintle.PollRequest[properties]) (pintle.Progress[attributes], error) {
	return pintle.Progress[attributes]{Done: true}, nil
}

func notification(t *testing.T, event []byte) []byte {
	text, err := json.Marshal(map[string]any{"Records": []any{map[string]any{"EventSource": "aws:sns", "Sns": map[string]any{"Type": "Notification", "Message": string(event)}}}})
	if err != nil {
		t.Error(err)
	}
	return text
}

// notes is a log that is safe for concurrent writers.
type notes struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (n *notes) Write(line []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all.Write(line)
}

func (n *notes) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all.String()
}
