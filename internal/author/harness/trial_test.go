package harness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/dev/snstest"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// releaseVar names a file: with the behaviour process, the request r-first waits until it exists.
const behaviourVar, releaseVar = "TEST_PROVIDER", "TEST_RELEASE"

func TestMain(m *testing.M) {
	if os.Getenv(behaviourVar) == "" {
		os.Exit(m.Run())
	}
	if os.Getenv(behaviourVar) == "typed" {
		pintle.Main(pintle.For("Custom::Thing", pintle.New(things{})))
	}
	pintle.Main(pintle.HandlerFunc(behave))
}

type properties struct {
	Key pintle.Secret
}

type things struct{}

func (things) Create(_ context.Context, r *pintle.CreateRequest[properties]) (pintle.Response[struct{}], error) {
	fmt.Println("printed", r.Properties.Key.Reveal())
	return pintle.Response[struct{}]{ID: "thing"}, nil
}

func (things) Update(_ context.Context, r *pintle.UpdateRequest[properties]) (pintle.Response[struct{}], error) {
	return pintle.Response[struct{}]{ID: r.ID}, nil
}

func (things) Delete(context.Context, *pintle.DeleteRequest[properties]) error { return nil }

func behave(ctx context.Context, r *pintle.Request) (pintle.Answer, error) {
	switch os.Getenv(behaviourVar) {
	case "exit":
		fmt.Println("last words")
		os.Exit(3)
	case "fail":
		return pintle.Answer{ID: "x"}, errors.New("there is no such thing")
	case "hang":
		<-ctx.Done()
		select {}
	case "process":
		for r.RequestID == "r-first" {
			if _, err := os.Stat(os.Getenv(releaseVar)); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		return pintle.Answer{ID: "x", Attributes: map[string]any{"Process": os.Getpid()}}, nil
	}
	return pintle.Answer{ID: "x", Attributes: map[string]any{"Type": string(r.Type), "Token": string(r.ServiceToken)}}, nil
}

func request() wire.Request {
	return wire.Request{
		RequestType: wire.Create, ServiceToken: "arn:aws:sns:us-east-1:000000000000:Thing", ResourceType: "Custom::Thing",
		StackID: "arn:aws:cloudformation:us-east-1:000000000000:stack/s/1", RequestID: "r-1", LogicalResourceID: "L",
		ResourceProperties: json.RawMessage(`{"Key": "hunter22"}`),
	}
}

// process returns the configuration of a trial of this program.
func process(t *testing.T, behaviour string) harness.Config {
	t.Helper()
	target, err := local.ParseTarget("", os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	return harness.Config{
		Provider: local.Provider{Name: "P", Target: target, Env: map[string]string{behaviourVar: behaviour}},
		Request:  request(),
	}
}

func run(t *testing.T, c harness.Config) harness.Result {
	t.Helper()
	result, err := harness.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestProcess(t *testing.T) {
	for _, test := range []struct {
		behaviour string
		sns       bool
		status    wire.Status
		problem   string
		reason    string
	}{
		{"answer", false, wire.Success, "", ""},
		{"answer", true, wire.Success, "", ""},
		{"fail", false, wire.Failed, "", "there is no such thing"},
		{"exit", false, "", "exited with code 3 while it handled the event", ""},
	} {
		c := process(t, test.behaviour)
		c.SNS = test.sns
		var log []string
		c.Log = func(line string) { log = append(log, line) }
		r := run(t, c)
		if r.Response.Status != test.status || r.Response.Reason != test.reason || r.Answered != (test.status != "") {
			t.Errorf("%s: got %+v", test.behaviour, r)
		}
		if got := fmt.Sprint(r.Problem); (r.Problem != nil) != (test.problem != "") || !strings.Contains(got, test.problem) {
			t.Errorf("%s: problem %v, want %q", test.behaviour, r.Problem, test.problem)
		}
		if test.problem == "" && (r.Size == 0 || len(r.Mismatches) > 0 || r.Again > 0) {
			t.Errorf("%s: got %+v", test.behaviour, r)
		}
		if len(log) == 0 {
			t.Errorf("%s: nothing is logged", test.behaviour)
		}
	}
}

func TestLearn(t *testing.T) {
	c := process(t, "typed")
	c.Request.ResourceType = ""
	c.Learn = func(schema []byte, r *wire.Request) []string {
		if !bytes.Contains(schema, []byte("Custom::Thing")) {
			t.Errorf("the schema is %s", schema)
		}
		r.ResourceType = "Custom::Thing"
		return []string{"hunter22"}
	}
	var log []string
	c.Log = func(line string) { log = append(log, line) }
	if r := run(t, c); r.Response.Status != wire.Success || r.Response.PhysicalResourceID != "thing" {
		t.Errorf("got %+v", r)
	}
	if text := strings.Join(log, "\n"); !strings.Contains(text, "printed *****") || strings.Contains(text, "hunter22") {
		t.Errorf("the log is\n%s", text)
	}
}

func TestSilence(t *testing.T) {
	c := process(t, "hang")
	c.Timeout = time.Second // the SDK answers before that, and no time remains
	r := run(t, c)
	if r.Answered && r.Response.Status != wire.Failed || !r.Answered && r.Problem == nil {
		t.Errorf("got %+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := harness.Run(ctx, process(t, "answer")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}

// behind returns a trial of a URL.
func behind(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, event wire.Request)) harness.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		event, err := wire.ParseRequest(body)
		if err != nil {
			t.Error(err)
		}
		handle(w, r, event)
	}))
	t.Cleanup(server.Close)
	target, err := local.ParseTarget("", server.URL+"/hook?key=hunter22")
	if err != nil {
		t.Fatal(err)
	}
	return harness.Config{Provider: local.Provider{Name: "P", Target: target}, Request: request(), Timeout: time.Second}
}

// signature is that of a response URL.
var signature = regexp.MustCompile(`X-Amz-Signature=[0-9a-f]{64}`)

func put(t *testing.T, target, method, body string) int {
	t.Helper()
	r, err := http.NewRequest(method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

func TestURL(t *testing.T) {
	good := `{"Status": "SUCCESS", "PhysicalResourceId": "x", "StackId": "other", "RequestId": "r-1", "LogicalResourceId": "L"}`
	for _, test := range []struct {
		name    string
		handle  func(http.ResponseWriter, *http.Request, wire.Request)
		want    harness.Result
		problem string
	}{
		{"in the reply", func(w http.ResponseWriter, _ *http.Request, _ wire.Request) { fmt.Fprint(w, good) },
			harness.Result{Answered: true, Size: len(good), Mismatches: []string{"StackId"}}, ""},
		{"by the URL", func(_ http.ResponseWriter, _ *http.Request, e wire.Request) {
			if status := put(t, e.ResponseURL, http.MethodPost, good); status != http.StatusMethodNotAllowed {
				t.Errorf("a POST gets %d", status)
			}
			if status := put(t, e.ResponseURL+"0", http.MethodPut, good); status != http.StatusForbidden {
				t.Errorf("another signature gets %d", status)
			}
			for range 2 {
				if status := put(t, e.ResponseURL, http.MethodPut, good); status != http.StatusOK {
					t.Errorf("got %d", status)
				}
			}
		}, harness.Result{Answered: true, Size: len(good), Mismatches: []string{"StackId"}, Again: 1}, ""},
		{"too long", func(_ http.ResponseWriter, _ *http.Request, e wire.Request) {
			put(t, e.ResponseURL, http.MethodPut, `{"Reason": "`+strings.Repeat("x", 5000))
		}, harness.Result{Answered: true, Size: 5012}, "The response has 5012 bytes, 4096 are allowed"},
		{"without an ID", func(w http.ResponseWriter, _ *http.Request, _ wire.Request) { fmt.Fprint(w, `{"Status": "SUCCESS"}`) },
			harness.Result{Answered: true, Size: 21}, "Invalid PhysicalResourceId"},
		{"refused", func(w http.ResponseWriter, _ *http.Request, e wire.Request) {
			http.Error(w, "no: "+e.ResponseURL, http.StatusTeapot)
		}, harness.Result{}, "/hook: 418 I'm a teapot: no: http://127.0.0.1:"},
		{"silent", func(http.ResponseWriter, *http.Request, wire.Request) {}, harness.Result{}, "no answer within 1s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := behind(t, test.handle)
			c.WebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
			waited := 0
			c.Waiting = func() { waited++ }
			got := run(t, c)
			text := fmt.Sprint(got.Problem)
			if (got.Problem != nil) != (test.problem != "") || !strings.Contains(text, test.problem) {
				t.Errorf("problem %v, want %q", got.Problem, test.problem)
			}
			if strings.Contains(text, "hunter22") || signature.MatchString(text) {
				t.Errorf("the problem shows a secret: %s", text)
			}
			got.Response, got.Took, got.Problem = wire.Response{}, 0, nil
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if (waited > 0) != (test.name == "silent") {
				t.Errorf("reported %d times that an answer is pending", waited)
			}
		})
	}
}

// With SNS a URL gets a notification, whose certificate is where the answers go. Its reply counts for nothing.
func TestURLBehindTopic(t *testing.T) {
	const good = `{"Status": "SUCCESS", "PhysicalResourceId": "x", "StackId": "arn:aws:cloudformation:us-east-1:000000000000:stack/s/1", ` +
		`"RequestId": "r-1", "LogicalResourceId": "L"}`
	for name, test := range map[string]struct {
		answer  func(w http.ResponseWriter, request wire.Request)
		problem string
	}{
		"by the URL": {func(_ http.ResponseWriter, request wire.Request) { put(t, request.ResponseURL, http.MethodPut, good) }, ""},
		"in the reply": {func(w http.ResponseWriter, _ wire.Request) { fmt.Fprint(w, good) },
			"/hook: the reply is a response document, which SNS ignores: PUT it to the ResponseURL"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				document := snstest.Verify(t, body)
				if r.Header.Get("x-amz-sns-message-type") != "Notification" || document["TopicArn"] != string(request().ServiceToken) {
					t.Errorf("%v %v", r.Header, document)
				}
				sent, err := wire.ParseRequest([]byte(document["Message"]))
				if err != nil {
					t.Error(err)
				}
				test.answer(w, sent)
			}))
			defer server.Close()
			target, err := local.ParseTarget("", server.URL+"/hook?key=hunter22")
			if err != nil {
				t.Fatal(err)
			}
			c := harness.Config{Provider: local.Provider{Name: "P", Target: target}, Request: request(), SNS: true, Timeout: time.Minute}
			got := run(t, c)
			if text := fmt.Sprint(got.Problem); (got.Problem != nil) != (test.problem != "") || !strings.Contains(text, test.problem) ||
				strings.Contains(text, "hunter22") {
				t.Errorf("problem %v, want %q", got.Problem, test.problem)
			}
			if got.Answered != (test.problem == "") || len(got.Mismatches) > 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A request to a URL is signed as the engine signs it.
func TestSigned(t *testing.T) {
	secret := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	server, err := pintle.NewServer(pintle.ServerConfig{Handlers: []pintle.Handler{pintle.HandlerFunc(behave)}, WebhookSecrets: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	target, err := local.ParseTarget("", web.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := harness.Config{Provider: local.Provider{Name: "P", Target: target}, Request: request(), WebhookSecret: secret}
	if r := run(t, c); r.Response.Status != wire.Success {
		t.Errorf("got %+v", r)
	}
	c.WebhookSecret = ""
	if r := run(t, c); r.Problem == nil || !strings.Contains(r.Problem.Error(), "401") {
		t.Errorf("got %+v, want 401", r)
	}
}
