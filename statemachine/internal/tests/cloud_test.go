package tests_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/statemachine"
	"github.com/pintle-dev/pintle/wire"
)

const (
	functionARN = "arn:aws:lambda:eu-west-1:123456789012:function:jobs"
	machineARN  = "arn:aws:states:eu-west-1:123456789012:stateMachine:jobs-wait"
	stateKey    = "a-key-of-sixty-four-characters-that-a-secrets-manager-has-made-up"
	patience    = time.Minute
)

// cloud simulates Lambda, Step Functions, Secrets Manager and the bucket of the answers.
type cloud struct {
	*testing.T
	server   *httptest.Server
	runtime  *local.Runtime
	outcomes chan local.Outcome
	puts     chan wire.Response
	started  chan *started
	verifier *sigv4.Verifier

	mu         sync.Mutex
	log        bytes.Buffer
	calls      []string
	executions map[string]*started
	ledger     map[string]int
	broken     int // number of calls that will still fail
	invoked    int
}

// started is a started execution.
type started struct {
	name, input, status string
}

// newCloud returns a cloud whose function runs on the named loop, with env in its environment.
func newCloud(t *testing.T, loop string, env map[string]string) *cloud {
	t.Helper()
	c := &cloud{T: t, outcomes: make(chan local.Outcome, 1), puts: make(chan wire.Response, 10), started: make(chan *started, 10),
		executions: map[string]*started{}, ledger: map[string]int{}}
	var err error
	c.verifier, err = sigv4.New(sigv4.Config{Lookup: func(id string) (sigv4.Key, bool) { return sigv4.Key{ID: id, Secret: "test-secret"}, id == "test-id" }})
	c.must(err)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{$}", c.api)
	mux.HandleFunc("POST /ledger/", func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.ledger[r.URL.Path]++; c.ledger[r.URL.Path] == 1 {
			w.WriteHeader(http.StatusCreated)
		}
	})
	mux.HandleFunc("PUT /response", func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		response, err := wire.ParseResponse(body)
		if err != nil {
			t.Error(err)
		}
		c.puts <- response
	})
	c.server = httptest.NewServer(mux)
	t.Cleanup(c.server.Close)
	target, err := local.ParseTarget("", os.Args[0])
	c.must(err)
	all := map[string]string{"TEST_FUNCTION": loop, "TEST_LEDGER": c.server.URL, "AWS_ENDPOINT_URL": c.server.URL,
		"AWS_ACCESS_KEY_ID": "test-id", "AWS_SECRET_ACCESS_KEY": "test-secret", "AWS_SESSION_TOKEN": ""}
	for name, value := range env {
		all[name] = value
	}
	c.runtime, err = local.New(local.Config{
		Done:   func(_ string, o local.Outcome) { c.outcomes <- o },
		Logger: slog.New(slog.DiscardHandler),
		Log: func(_, _, line string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			fmt.Fprintln(&c.log, line)
		},
		Providers: []local.Provider{{Name: "jobs", Target: target, Env: all}},
		Region:    "eu-west-1",
	})
	c.must(err)
	t.Cleanup(func() { c.runtime.Close() })
	return c
}

func (c *cloud) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// api answers AWS calls.
func (c *cloud) api(w http.ResponseWriter, r *http.Request) {
	who, err := c.verifier.Verify(r)
	if err != nil {
		c.Errorf("a call is not signed as it should be: %v", err)
	}
	var in struct{ StateMachineARN, Name, Input, ExecutionARN, SecretID string }
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	if err != nil {
		c.Error(err)
	}
	call := r.Header.Get("X-Amz-Target")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
	if c.broken > 0 {
		c.broken--
		refuse(w, http.StatusInternalServerError, "InternalFailure")
		return
	}
	var out any
	switch call {
	case "AWSStepFunctions.StartExecution":
		arn := strings.Replace(machineARN, ":stateMachine:", ":execution:", 1) + ":" + in.Name
		if who.Service != "states" || who.Region != "eu-west-1" || in.StateMachineARN != machineARN {
			c.Errorf("%+v starts %+v", who, in)
		}
		if c.executions[arn] != nil {
			refuse(w, http.StatusBadRequest, "com.amazonaws.swf.service.v2.model#ExecutionAlreadyExists")
			return
		}
		s := &started{in.Name, in.Input, "RUNNING"}
		c.executions[arn] = s
		c.started <- s
		out = map[string]any{"executionArn": arn, "startDate": 1.7e9}
	case "AWSStepFunctions.DescribeExecution":
		s := c.executions[in.ExecutionARN]
		if s == nil {
			refuse(w, http.StatusBadRequest, "ExecutionDoesNotExist")
			return
		}
		out = map[string]any{"status": s.status}
	case "secretsmanager.GetSecretValue":
		if who.Service != "secretsmanager" || in.SecretID != "the-key" {
			c.Errorf("%+v asks for %+v", who, in)
		}
		out = map[string]any{"SecretString": stateKey}
	case "AmazonSSM.GetParameter":
		if !bytes.Contains(body, []byte(`"WithDecryption":true`)) || in.Name != "/the/key" {
			c.Errorf("%s", body)
		}
		out = map[string]any{"Parameter": map[string]any{"Value": stateKey}}
	default:
		refuse(w, http.StatusBadRequest, "UnknownOperation")
		return
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		c.Error(err)
	}
}

func refuse(w http.ResponseWriter, status int, kind string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"__type":%q,"message":"no"}`, kind)
}

// invoke invokes the function. It returns its result, or its error in Lambda's form.
func (c *cloud) invoke(payload []byte) (result []byte, failure string) {
	c.Helper()
	c.mu.Lock()
	c.invoked++
	id := fmt.Sprint("i-", c.invoked)
	c.mu.Unlock()
	c.must(c.runtime.Invoke("jobs", local.Event{ID: id, Payload: payload, WantResult: true, FunctionARN: functionARN}))
	select {
	case o := <-c.outcomes:
		if o.Kind != local.Returned {
			return nil, o.Kind.String() + ": " + o.Type + " " + o.Message
		}
		return o.Result, ""
	case <-time.After(patience):
		c.Fatalf("no outcome\n%s", c.logged())
		return nil, ""
	}
}

// request invokes the function with a Create.
func (c *cloud) request(do string) {
	c.Helper()
	text, err := wire.Request{
		RequestType: wire.Create, ServiceToken: functionARN, ResponseURL: c.server.URL + "/response?X-Amz-Signature=" + mark,
		StackID: "arn:aws:cloudformation:eu-west-1:123456789012:stack/s/1", RequestID: "r-1", ResourceType: "Custom::Job", LogicalResourceID: "Job",
		ResourceProperties: json.RawMessage(fmt.Sprintf(`{"ServiceToken":%q,"Do":%q,"Secret":%q}`, functionARN, do, secret)),
	}.Encode()
	c.must(err)
	if result, failure := c.invoke(text); string(result) != "{}" {
		c.Fatalf("the request: %s %s\n%s", result, failure, c.logged())
	}
}

// execution returns the machine and the started execution, ready to run.
func (c *cloud) execution() (*execution, *started) {
	c.Helper()
	text, err := statemachine.Definition(functionARN)
	c.must(err)
	x := &execution{invoke: func(resource string, payload []byte) ([]byte, string) {
		if resource != functionARN {
			c.Errorf("%s is invoked", resource)
		}
		return c.invoke(payload)
	}}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	c.must(decoder.Decode(&x.machine))
	select {
	case s := <-c.started:
		return x, s
	default:
		c.Fatalf("no execution was started\n%s", c.logged())
		return nil, nil
	}
}

// run runs the started execution to its end.
func (c *cloud) run() (*execution, string) {
	c.Helper()
	x, s := c.execution()
	end := x.run([]byte(s.input))
	c.mu.Lock()
	s.status = "SUCCEEDED"
	if end != "SUCCEEDED" {
		s.status = "FAILED"
	}
	c.mu.Unlock()
	c.hides(x)
	return x, end
}

// hides looks for secrets in everything that someone may read.
func (c *cloud) hides(x *execution) {
	c.Helper()
	for place, text := range map[string]string{"history": strings.Join(x.history, "\n"), "log": c.logged()} {
		for _, what := range []string{secret, mark, stateKey, "ResponseURL"} {
			if strings.Contains(text, what) {
				c.Errorf("the %s shows %s", place, what)
			}
		}
	}
}

func (c *cloud) logged() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.String()
}

// answer returns the only answer.
func (c *cloud) answer() wire.Response {
	c.Helper()
	select {
	case r := <-c.puts:
		if len(c.puts) > 0 {
			c.Errorf("%d answers more", len(c.puts))
		}
		return r
	default:
		c.Fatalf("no answer\n%s", c.logged())
		return wire.Response{}
	}
}
