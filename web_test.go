package pintle_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle"
)

const webhookSecret = "correct horse battery staple"

// post posts a body to a provider, signed with the secret unless it is empty.
func post(t *testing.T, url, secret string, body string, edit func(http.Header)) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if secret != "" {
		stamp := strconv.FormatInt(time.Now().Unix(), 10)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte("r-1." + stamp + "." + body))
		request.Header.Set("webhook-id", "r-1")
		request.Header.Set("webhook-timestamp", stamp)
		request.Header.Set("webhook-signature", "v1a,eA== v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if edit != nil {
		edit(request.Header)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(text))
}

// provide serves a handler over HTTP.
func provide(t *testing.T, c pintle.ServerConfig) (*httptest.Server, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	c.Logger = slog.New(slog.NewTextHandler(log, nil))
	if c.WebhookSecrets == nil {
		c.WebhookSecrets = []string{webhookSecret}
	}
	s, err := pintle.NewServer(c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.Close()
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server, log
}

func TestHTTP(t *testing.T) {
	l := newLambda(t)
	server, log := provide(t, pintle.ServerConfig{Handlers: []pintle.Handler{pintle.HandlerFunc(site)}})
	create := l.event(t, pintle.Create, "", "", "")
	set := func(name, value string) func(http.Header) { return func(h http.Header) { h.Set(name, value) } }
	for _, tt := range []struct {
		name, secret, body string
		edit               func(http.Header)
		status             int
		want               string
	}{
		{"create", webhookSecret, create, nil, 200, `{"Status":"SUCCESS","PhysicalResourceId":"site-1",`},
		{"again", webhookSecret, create, nil, 200, `{"Status":"SUCCESS","PhysicalResourceId":"site-1",`},
		{"failure", webhookSecret, l.event(t, pintle.Update, "site-1", "fail", ""), nil, 200, `{"Status":"FAILED","Reason":"disk full","PhysicalResourceId":"site-1",`},
		{"panic", webhookSecret, l.event(t, pintle.Update, "site-1", "panic", ""), nil, 200, `{"Status":"FAILED","Reason":"panic: assignment`},
		{"not valid, but can be answered", webhookSecret, l.event(t, "Move", "site-1", "", ""), nil, 200, `{"Status":"FAILED","Reason":"request is not valid: RequestType is`},
		{"no request", webhookSecret, "{}", nil, 400, "request is not valid: RequestType is missing;"},
		{"not signed", "", create, nil, 401, "the request is not signed"},
		{"signed with another secret", "incorrect horse battery staple", create, nil, 401, "webhook-signature does not fit"},
		{"signed for another time", webhookSecret, create, set("webhook-timestamp", strconv.FormatInt(time.Now().Add(-4*time.Minute).Unix(), 10)), 401, "webhook-signature does not fit"},
		{"old", webhookSecret, create, set("webhook-timestamp", "1700000000"), 401, "webhook-timestamp is more than 5m0s from now"},
		{"no time", webhookSecret, create, set("webhook-timestamp", "soon"), 401, "webhook-timestamp is not a number"},
		{"other signature", webhookSecret, create, set("webhook-signature", "v1,eA==, v2,eA=="), 401, "webhook-signature does not fit"},
		{"too long", webhookSecret, strings.Repeat("x", 1<<20), nil, 413, "the request is longer than"},
		{"SNS that is not wanted", "", `{"TopicArn":"arn:aws:sns:us-east-1:123456789012:T"}`, set("x-amz-sns-message-type", "Notification"), 403, "is not allowed"},
	} {
		status, text := post(t, server.URL, tt.secret, tt.body, tt.edit)
		if status != tt.status || !strings.HasPrefix(text, tt.want) && !strings.Contains(text, tt.want) {
			t.Errorf("%s: %d %s, want %d %s", tt.name, status, text, tt.status, tt.want)
		}
	}
	if len(l.puts) != 0 {
		t.Errorf("%d answers went to the response URL as well", len(l.puts))
	}
	if n := strings.Count(log.String(), `msg="at work"`); n != 3 {
		t.Errorf("the handler was at work %d times, want 3: the Create was delivered twice", n)
	}
	if strings.Contains(log.String(), "5ec2e7") || strings.Contains(log.String(), "hunter2") {
		t.Errorf("the log shows a secret:\n%s", log)
	}
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 405 || response.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %s, %v", response.Status, response.Header)
	}
}

// A slow answer goes to the response URL.
func TestHTTPAnswersLater(t *testing.T) {
	l := newLambda(t)
	goOn := make(chan struct{})
	handler := pintle.HandlerFunc(func(ctx context.Context, r *pintle.Request) (pintle.Answer, error) {
		<-goOn
		return pintle.Answer{ID: "slow"}, ctx.Err()
	})
	server, _ := provide(t, pintle.ServerConfig{Handlers: []pintle.Handler{handler}, Hold: -1, Concurrency: 1})
	if status, text := post(t, server.URL, webhookSecret, l.event(t, pintle.Create, "", "", ""), nil); status != 202 || text != "" {
		t.Errorf("%d %s", status, text)
	}
	if status, text := post(t, server.URL, webhookSecret, l.event(t, pintle.Delete, "x", "", ""), nil); status != 503 || text == "" {
		t.Errorf("beyond the concurrency: %d %s", status, text)
	}
	close(goOn)
	if body := <-l.puts; !strings.Contains(string(body), `"SUCCESS","PhysicalResourceId":"slow"`) {
		t.Errorf("answer %s", body)
	}
}

// A client that disconnects does not stop its request.
func TestHTTPClientGoesAway(t *testing.T) {
	l := newLambda(t)
	began, goOn := make(chan struct{}), make(chan struct{})
	handler := pintle.HandlerFunc(func(ctx context.Context, _ *pintle.Request) (pintle.Answer, error) {
		close(began)
		<-goOn
		return pintle.Answer{ID: "made"}, ctx.Err()
	})
	server, _ := provide(t, pintle.ServerConfig{Handlers: []pintle.Handler{handler}, AllowUnsigned: true})
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(l.event(t, pintle.Create, "", "", "")))
	if err != nil {
		t.Fatal(err)
	}
	left := make(chan error)
	go func() {
		_, err := http.DefaultClient.Do(request) //nolint:bodyclose // the request fails
		left <- err
	}()
	<-began
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	server.CloseClientConnections()
	close(goOn)
	// Whether the server has noticed the disconnect by then is chance. In either case the next delivery gets the answer.
	status, text := post(t, server.URL, "", l.event(t, pintle.Create, "", "", ""), nil)
	if status != 200 || !strings.Contains(text, `"SUCCESS","PhysicalResourceId":"made"`) {
		t.Errorf("the next delivery: %d %s", status, text)
	}
}

func TestRunHTTP(t *testing.T) {
	l := newLambda(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	began, goOn := make(chan struct{}), make(chan struct{})
	handler := pintle.HandlerFunc(func(ctx context.Context, _ *pintle.Request) (pintle.Answer, error) {
		close(began)
		<-goOn
		return pintle.Answer{ID: "made"}, ctx.Err()
	})
	go func() {
		done <- pintle.Run(ctx, pintle.RunConfig{ServerConfig: pintle.ServerConfig{
			Handlers:       []pintle.Handler{handler},
			Logger:         slog.New(slog.DiscardHandler),
			WebhookSecrets: []string{"whsec_" + base64.StdEncoding.EncodeToString([]byte(webhookSecret))},
		}, Listener: listener})
	}()
	answered := make(chan string, 1)
	go func() {
		status, text := post(t, "http://"+listener.Addr().String(), webhookSecret, l.event(t, pintle.Create, "", "", ""), nil)
		answered <- fmt.Sprint(status, " ", text)
	}()
	<-began
	stop() // a request in progress is finished
	close(goOn)
	if got := <-answered; !strings.HasPrefix(got, `200 {"Status":"SUCCESS","PhysicalResourceId":"made"`) {
		t.Error(got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRunHTTPRefuses(t *testing.T) {
	handlers := []pintle.Handler{pintle.HandlerFunc(site)}
	type server = pintle.ServerConfig
	for want, c := range map[string]pintle.RunConfig{
		"requests over HTTP could not be verified": {Listen: "127.0.0.1:0"},
		"webhook secret 1 has 5 bytes":             {Listen: "127.0.0.1:0", ServerConfig: server{WebhookSecrets: []string{"short"}}},
		"webhook secret 2 is not base64":           {Listen: "127.0.0.1:0", ServerConfig: server{WebhookSecrets: []string{webhookSecret, "whsec_*"}}},
		`"T" is not a topic, want arn:aws:sns`:     {Listen: "127.0.0.1:0", ServerConfig: server{Topics: []string{"T"}}},
		"taken on a loopback address only":         {Listen: "0.0.0.0:0", ServerConfig: server{AllowUnsigned: true}},
		"missing port in address":                  {Listen: "127.0.0.1", ServerConfig: server{AllowUnsigned: true}},
		"provider has no handler: one is nil":      {Listen: "127.0.0.1:0", ServerConfig: server{Handlers: []pintle.Handler{nil}}},
	} {
		if c.Handlers == nil {
			c.Handlers = handlers
		}
		if err := pintle.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// The runtime API of Lambda takes precedence over the address in the environment, and an explicit address over both.
func TestRunChoosesTransport(t *testing.T) {
	l := newLambda(t)
	nobody := l.api()
	l.Close()
	t.Setenv("PINTLE_WEBHOOK_SECRET", "whsec_"+base64.StdEncoding.EncodeToString([]byte(webhookSecret)))
	for _, tt := range []struct{ listen, api, env, want string }{
		{"", "", "", pintle.ErrNoRuntime.Error()},
		{"", "", "no-port", "address no-port: missing port"},
		{"", nobody, "no-port", "runtime API: "},
		{"other", nobody, "no-port", "address other: missing port"},
	} {
		t.Setenv("AWS_LAMBDA_RUNTIME_API", tt.api)
		t.Setenv("PINTLE_PROVIDER_LISTEN", tt.env)
		c, err := pintle.RunConfigFromEnvironment(pintle.HandlerFunc(site))
		if err != nil {
			t.Fatal(err)
		}
		if tt.listen != "" {
			c.Listen = tt.listen
		}
		if err := pintle.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
