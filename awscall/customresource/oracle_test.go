package customresource_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/awscall/customresource"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// canned is a prepared response of the stand-in for AWS.
type canned struct {
	status int // 200 if zero
	header map[string]string
	body   string
}

// stage is one server for three roles: AWS, the response URL, and the Runtime API of the CDK's handler.
type stage struct {
	url    string
	events chan string   // for the CDK's handler
	done   chan struct{} // the handler has finished an event
	gone   chan struct{} // closed when the handler's process exits

	mu      sync.Mutex
	replies []canned // to the requests of a case, in order
	asked   []lines
	answer  lines // at the response URL; nil: none
}

// newStage starts the server, and the CDK's handler under node.
func newStage(t *testing.T) *stage {
	t.Helper()
	dir, node := require.CDK(t), require.Tool(t, "node")
	s := &stage{events: make(chan string), done: make(chan struct{}, 1), gone: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, r *http.Request) {
		select {
		case event := <-s.events:
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "invocation")
			_, _ = io.WriteString(w, event)
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/invocation/{outcome}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("outcome") != "response" {
			text, _ := io.ReadAll(r.Body)
			t.Errorf("the CDK's handler died: %s", text)
		}
		w.WriteHeader(http.StatusAccepted)
		s.done <- struct{}{}
	})
	mux.HandleFunc("PUT /response", func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.answer = answerLines(t, bytes.ReplaceAll(text, []byte(strings.TrimPrefix(s.url, "http://")), []byte("HOST")))
		s.mu.Unlock()
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		request := requestLines(t, r, s.url)
		s.mu.Lock()
		reply := canned{status: http.StatusTeapot, body: "there is no answer to this request"}
		if n := len(s.asked); n < len(s.replies) {
			reply = s.replies[n]
		}
		s.asked = append(s.asked, request)
		s.mu.Unlock()
		for name, value := range reply.header {
			w.Header().Set(name, value)
		}
		if reply.status != 0 {
			w.WriteHeader(reply.status)
		}
		_, _ = io.WriteString(w, reply.body)
	})
	server := httptest.NewServer(mux)
	s.url = server.URL

	script, err := filepath.Abs("../../tools/cdk/runtime.js")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command(node, script, dir)
	cmd.Dir = t.TempDir()
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(s.url, "http://"), "AWS_ENDPOINT_URL=" + s.url,
		"AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=OWN", "AWS_SECRET_ACCESS_KEY=secret", "AWS_MAX_ATTEMPTS=1", "AWS_EC2_METADATA_DISABLED=true"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ended error
	go func() {
		ended = cmd.Wait()
		close(s.gone)
	}()
	t.Cleanup(func() {
		select {
		case <-s.gone:
			t.Errorf("the CDK's handler ended: %v\n%s", ended, &log)
		default:
			_ = cmd.Process.Kill()
			<-s.gone
		}
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

// begin prepares the server for one side of a case.
func (s *stage) begin(replies []canned) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies, s.asked, s.answer = replies, nil, nil
}

// end returns everything that was recorded for one side.
func (s *stage) end(t *testing.T, side string) lines {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := lines{}
	for i, request := range s.asked {
		for name, value := range request {
			all[fmt.Sprintf("request %d: %s", i+1, name)] = value
		}
	}
	if s.answer == nil {
		t.Fatalf("%s sends no answer", side)
	}
	maps.Copy(all, s.answer)
	return all
}

// event returns the event of a case.
func (s *stage) event(t *testing.T, test *oracleCase, request string) string {
	t.Helper()
	properties := map[string]any{"ServiceToken": "arn:aws:lambda:eu-west-1:123456789012:function:f", "InstallLatestAwsSdk": "false"}
	for name, call := range test.calls {
		properties[name] = call
		if _, isText := call.(string); !isText && !test.objects {
			properties[name] = asText(t, call)
		}
	}
	kind := test.kind
	if kind == "" {
		kind = pintle.Create
	}
	event := map[string]any{"RequestType": kind, "ServiceToken": properties["ServiceToken"], "ResponseURL": s.url + "/response?X-Amz-Signature=s",
		"StackId": "arn:aws:cloudformation:eu-west-1:123456789012:stack/s/1", "RequestId": request, "LogicalResourceId": "Logical",
		"ResourceType": "Custom::AWS", "ResourceProperties": properties}
	if kind != pintle.Create {
		event["PhysicalResourceId"] = "old"
	}
	if kind == pintle.Update {
		event["OldResourceProperties"] = properties
	}
	return strings.ReplaceAll(asText(t, event), endpoint, s.url)
}

// TestOracle sends the same events to the CDK's handler, as shipped in aws-cdk-lib 2.276.0, and to the provider of this
// package. Both call one stand-in for AWS. Their requests and answers must be equal, except for the differences listed in
// a case and those of all cases.
func TestOracle(t *testing.T) {
	s := newStage(t)
	client, err := awscall.New(awscall.Config{Region: "eu-west-1", Endpoint: s.url, MaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("OWN", "secret", "")})
	if err != nil {
		t.Fatal(err)
	}
	provider, err := customresource.New(customresource.Config{Client: client, AllowAll: true})
	if err != nil {
		t.Fatal(err)
	}
	server, err := pintle.NewServer(pintle.ServerConfig{Handlers: []pintle.Handler{provider}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	used := map[why]int{}
	ran := 0
	for i, test := range oracleCases {
		t.Run(test.name, func(t *testing.T) {
			ran++
			s.begin(test.replies)
			select {
			case s.events <- s.event(t, &test, fmt.Sprint("theirs-", i)):
			case <-s.gone:
				t.Fatal("the CDK's handler has ended")
			}
			select {
			case <-s.done:
			case <-s.gone:
				t.Fatal("the CDK's handler has ended")
			}
			theirs := s.end(t, "the CDK's handler")

			s.begin(test.replies)
			if err := server.ServeEvent(t.Context(), []byte(s.event(t, &test, fmt.Sprint("ours-", i)))); err != nil {
				t.Fatal(err)
			}
			compare(t, &test, theirs, s.end(t, "this package"), used)
		})
	}
	if t.Failed() || ran < len(oracleCases) {
		return
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		if used[reason] == 0 {
			t.Errorf("no case shows the difference %q", reason)
		}
	}
}

// compare compares the requests and answers of both sides.
func compare(t *testing.T, test *oracleCase, theirs, ours lines, used map[why]int) {
	t.Helper()
	general(theirs, ours, used)
	if len(test.differ) > 0 && test.differ[0].at == whole {
		theirs, ours = lines{whole: theirs.summary()}, lines{whole: ours.summary()}
	}
	expected := map[string]difference{}
	for _, d := range test.differ {
		if _, twice := expected[d.at]; twice || reasons[d.why] == "" {
			t.Errorf("%s: it is listed twice, or has no reason", d.at)
		}
		expected[d.at] = d
		used[d.why]++
	}
	names := maps.Clone(theirs)
	maps.Copy(names, ours)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		got := difference{at: name, cdk: theirs.get(name), ours: ours.get(name)}
		want, listed := expected[name]
		delete(expected, name)
		got.why = want.why
		if want.cdk == anything && got.cdk != got.ours {
			got.cdk = anything
		}
		switch {
		case got.cdk == got.ours && listed:
			t.Errorf("%s: it does not differ any more, it is %s", name, got.ours)
		case got.cdk != got.ours && !listed:
			t.Errorf("it differs: {%q, %s, %s, }", got.at, quoted(got.cdk), quoted(got.ours))
		case listed && got != want:
			t.Errorf("it differs in another way: {%q, %s, %s, }", got.at, quoted(got.cdk), quoted(got.ours))
		}
	}
	for name := range expected {
		t.Errorf("%s: it is listed, and neither has it", name)
	}
}

func quoted(text string) string {
	if !strings.Contains(text, "`") {
		return "`" + text + "`"
	}
	encoded, err := json.Marshal(text)
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}
