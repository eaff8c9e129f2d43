package pintle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/wire"
)

// TestMain makes this binary also a provider process: see start.
func TestMain(m *testing.M) {
	if os.Getenv("PINTLE_TEST_PROVIDER") != "" {
		pintle.Main(pintle.HandlerFunc(site))
	}
	os.Exit(m.Run())
}

// site is the provider under test. The property Do selects its behaviour.
func site(ctx context.Context, r *pintle.Request) (pintle.Answer, error) {
	var props struct {
		Do     string
		Secret string
	}
	if err := r.Decode(&props); err != nil {
		return pintle.Answer{}, err
	}
	if r.ID == pintle.CreateFailed {
		return pintle.Answer{}, errors.New("the handler was called for a Create that failed")
	}
	r.Log().Info("at work")
	switch props.Do {
	case "fail":
		return pintle.Answer{}, errors.New("disk full")
	case "panic":
		panic("assignment to entry in nil map")
	case "heed":
		<-ctx.Done()
		return pintle.Answer{ID: "half-made"}, ctx.Err()
	case "hang":
		select {}
	}
	return pintle.Answer{ID: "site-1", Attributes: map[string]any{"URL": "http://site-1", "Secret": props.Secret}}, nil
}

// result is a result of an event that the runtime API received.
type result struct{ path, body string }

// lambda is a runtime API and the bucket for the responses, on one server.
type lambda struct {
	*httptest.Server
	events  chan string
	results chan result
	puts    chan []byte
	timeout time.Duration
	waits   bool          // the engine keeps waits
	trace   string        // the trace of the events, in X-Ray format
	polls   chan struct{} // one value for each call that waits for an event
}

func newLambda(t *testing.T) *lambda {
	l := &lambda{
		events: make(chan string), results: make(chan result, 10), puts: make(chan []byte, 10),
		polls: make(chan struct{}, 10), timeout: time.Minute,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, r *http.Request) {
		l.polls <- struct{}{}
		select {
		case event := <-l.events:
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "i-1")
			w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(l.timeout).UnixMilli(), 10))
			w.Header().Set("Lambda-Runtime-Trace-Id", l.trace)
			if l.waits {
				w.Header().Set(wire.HeaderWaits, wire.Waits)
			}
			fmt.Fprint(w, event)
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST /2018-06-01/runtime/", func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if _, err := body.ReadFrom(r.Body); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusAccepted)
		l.results <- result{strings.TrimPrefix(r.URL.Path, "/2018-06-01/runtime/"), body.String()}
	})
	mux.HandleFunc("PUT /response/", func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if _, err := body.ReadFrom(r.Body); err != nil {
			t.Error(err)
		}
		if r.URL.Query().Get("refuse") != "" {
			w.WriteHeader(http.StatusForbidden)
		}
		l.puts <- body.Bytes()
	})
	l.Server = httptest.NewServer(mux)
	t.Cleanup(l.Close)
	return l
}

func (l *lambda) api() string { return strings.TrimPrefix(l.URL, "http://") }

// event returns a request in JSON.
func (l *lambda) event(t *testing.T, kind wire.RequestType, id wire.PhysicalID, do, query string) string {
	t.Helper()
	text, err := wire.Request{
		RequestType: kind, ServiceToken: "arn:aws:lambda:us-east-1:123456789012:function:site",
		ResponseURL: l.URL + "/response/key?X-Amz-Signature=5ec2e7" + query,
		StackID:     wire.NewStackID("us-east-1", "123456789012", "web", "5f1a"),
		RequestID:   "r-1", LogicalResourceID: "Site", PhysicalResourceID: id, ResourceType: "Custom::Site",
		ResourceProperties: []byte(`{"Do":"` + do + `","Secret":"hunter2"}`),
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// process is a running provider.
type process struct {
	*exec.Cmd
	log bytes.Buffer
}

func start(t *testing.T, runtimeAPI string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.CommandContext(t.Context(), self)}
	p.Env = append(os.Environ(), "PINTLE_TEST_PROVIDER=site", "PINTLE_WEBHOOK_SECRET=short", "AWS_LAMBDA_RUNTIME_API="+runtimeAPI)
	p.Stderr = &p.log
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProcess(t *testing.T) {
	l := newLambda(t)
	p := start(t, l.api())
	sns := func(messages ...string) string {
		var records []string
		for _, m := range messages {
			records = append(records, `{"EventSource":"aws:sns","Sns":{"Type":"Notification","Message":`+strconv.Quote(m)+`}}`)
		}
		return `{"Records":[` + strings.Join(records, ",") + `]}`
	}
	for _, tt := range []struct {
		name, event string
		puts        []string // parts of each response
		result      string   // a part of path and body
	}{
		{"create", l.event(t, pintle.Create, "", "", ""),
			[]string{`{"Status":"SUCCESS","PhysicalResourceId":"site-1","StackId":"arn:aws:cloudformation:us-east-1:123456789012:stack/web/5f1a",` +
				`"RequestId":"r-1","LogicalResourceId":"Site","Data":{"Secret":"hunter2","URL":"http://site-1"}}`}, "invocation/i-1/response {}"},
		{"create fails", l.event(t, pintle.Create, "", "fail", ""),
			[]string{`"FAILED","Reason":"disk full","PhysicalResourceId":"Pintle::CreateFailed"`}, "invocation/i-1/response {}"},
		{"delete after a failed create", l.event(t, pintle.Delete, pintle.CreateFailed, "fail", ""),
			[]string{`"SUCCESS","PhysicalResourceId":"Pintle::CreateFailed"`}, "invocation/i-1/response {}"},
		{"panic", l.event(t, pintle.Update, "site-1", "panic", ""),
			[]string{`"FAILED","Reason":"panic: assignment to entry in nil map","PhysicalResourceId":"site-1"`}, "invocation/i-1/response {}"},
		{"delete", l.event(t, pintle.Delete, "site-1", "", ""),
			[]string{`{"Status":"SUCCESS","PhysicalResourceId":"site-1","StackId":"arn:aws:cloudformation:us-east-1:123456789012:stack/web/5f1a",` +
				`"RequestId":"r-1","LogicalResourceId":"Site"}`}, "invocation/i-1/response {}"},
		{"SNS", sns(l.event(t, pintle.Create, "", "", ""), l.event(t, pintle.Create, "", "fail", "")),
			[]string{`"SUCCESS"`, `"FAILED","Reason":"disk full"`}, "invocation/i-1/response {}"},
		{"unknown type", l.event(t, "Move", "site-1", "", ""),
			[]string{`"FAILED","Reason":"request is not valid: RequestType is \"Move\", not Create, Update or Delete","PhysicalResourceId":"site-1"`}, "invocation/i-1/response {}"},
		{"no request", `{"hello":1}`, nil, `invocation/i-1/error {"errorMessage":"request is not valid: RequestType is missing`},
		{"other records", `{"Records":[{"s3":{}}]}`, nil, `invocation/i-1/error {"errorMessage":"record 0 of the event is not an SNS notification","errorType":"Pintle.BadEvent"`},
		{"answer refused", l.event(t, pintle.Create, "", "", "&refuse=1"), []string{"SUCCESS"},
			`invocation/i-1/error {"errorMessage":"send response to ` + l.api() + `, try 1: 403 Forbidden","errorType":"Pintle.NotAnswered"`},
	} {
		<-l.polls
		l.events <- tt.event
		got := <-l.results
		if text := got.path + " " + got.body; !strings.HasPrefix(text, tt.result) {
			t.Errorf("%s: the runtime received %s, want %s", tt.name, text, tt.result)
		}
		if len(l.puts) != len(tt.puts) {
			t.Errorf("%s: %d responses, want %d", tt.name, len(l.puts), len(tt.puts))
		}
		for _, want := range tt.puts {
			if len(l.puts) > 0 {
				if body := <-l.puts; !strings.Contains(string(body), want) {
					t.Errorf("%s: response %s, want %s", tt.name, body, want)
				}
			}
		}
		for len(l.puts) > 0 {
			<-l.puts
		}
	}
	<-l.polls
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	for _, secret := range []string{"5ec2e7", "hunter2"} {
		if strings.Contains(p.log.String(), secret) {
			t.Errorf("the log shows %s:\n%s", secret, &p.log)
		}
	}
	for _, want := range []string{"at work", "disk full", "main_test.go:", " Site: at work"} {
		if !strings.Contains(p.log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, &p.log)
		}
	}
}

func TestProcessRunsOutOfTime(t *testing.T) {
	l := newLambda(t)
	l.timeout = 2 * time.Second
	p := start(t, l.api())
	<-l.polls
	l.events <- l.event(t, pintle.Create, "", "heed", "")
	if body := <-l.puts; !strings.Contains(string(body), `"Reason":"ran out of time: context deadline exceeded","PhysicalResourceId":"half-made"`) {
		t.Errorf("a handler that heeds its context: %s", body)
	}
	<-l.results
	<-l.polls
	l.events <- l.event(t, pintle.Create, "", "hang", "")
	if body := <-l.puts; !strings.Contains(string(body), `"Reason":"ran out of time: the handler did not return within`) ||
		!strings.Contains(string(body), `"PhysicalResourceId":"r-1"`) {
		t.Errorf("a handler that hangs: %s", body)
	}
	if got := <-l.results; got != (result{"invocation/i-1/response", "{}"}) {
		t.Errorf("the runtime received %v", got)
	}
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(p.log.String(), "does not stop") {
		t.Errorf("end of the process: %v\n%s", err, &p.log)
	}
}

func TestProcessByHand(t *testing.T) {
	p := start(t, "")
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(p.log.String(), "pintle deploy") {
		t.Errorf("%v\n%s", err, &p.log)
	}
}

func TestRunWithoutHandler(t *testing.T) {
	l := newLambda(t)
	err := pintle.Run(t.Context(), pintle.RunConfig{LambdaRuntimeAPI: l.api()})
	if err == nil || !strings.Contains(err.Error(), "no handler") {
		t.Errorf("error = %v", err)
	}
	if got := <-l.results; got.path != "init/error" || !strings.Contains(got.body, "no handler") {
		t.Errorf("the runtime received %v", got)
	}
}

func TestRunWithoutAPI(t *testing.T) {
	l := newLambda(t)
	api := l.api()
	l.Close()
	if err := pintle.Run(t.Context(), pintle.RunConfig{ServerConfig: pintle.ServerConfig{Handlers: []pintle.Handler{pintle.HandlerFunc(site)}}, LambdaRuntimeAPI: api}); err == nil {
		t.Error("no error without a runtime API")
	}
}

// TestRunFinishesRequestsInProgress checks that requests in progress are finished and answered after the program gets a signal
// to stop.
func TestRunFinishesRequestsInProgress(t *testing.T) {
	l := newLambda(t)
	ctx, stop := context.WithCancel(t.Context())
	began, goOn := make(chan struct{}), make(chan struct{})
	handler := func(ctx context.Context, _ *pintle.Request) (pintle.Answer, error) {
		close(began)
		<-goOn
		return pintle.Answer{}, ctx.Err()
	}
	done := make(chan error)
	go func() {
		done <- pintle.Run(ctx, pintle.RunConfig{ServerConfig: pintle.ServerConfig{Handlers: []pintle.Handler{pintle.HandlerFunc(handler)}, Client: l.Client()}, LambdaRuntimeAPI: l.api()})
	}()
	l.events <- l.event(t, pintle.Update, "site-1", "", "")
	<-began
	stop()
	close(goOn)
	if body := <-l.puts; !strings.Contains(string(body), "SUCCESS") {
		t.Errorf("response %s", body)
	}
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}
