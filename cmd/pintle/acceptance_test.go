package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/dev/awshttp"
	"github.com/pintle-dev/pintle/internal/protocol/statusreason"
)

// These tests drive the program as its users do: a real process, real clients, real providers.

// served is a `pintle serve` in a process of its own.
type served struct {
	t    *testing.T
	dir  string
	url  string
	args []string
	env  []string // in addition to the environment of the test
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

// serve starts `pintle serve --dev` and waits until it is ready. It is stopped when the test ends.
func serve(t *testing.T, dir string, args ...string) *served {
	t.Helper()
	s := begin(t, dir, args...)
	s.ready()
	return s
}

// begin starts a server as serve does, and does not wait for it.
func begin(t *testing.T, dir string, args ...string) *served {
	t.Helper()
	return beginIn(t, nil, dir, args...)
}

// beginIn is begin with additional environment of the server.
func beginIn(t *testing.T, env []string, dir string, args ...string) *served {
	t.Helper()
	s := &served{t: t, dir: dir, env: env, url: "http://" + freeAddress(t)}
	s.args = append([]string{
		"serve", "--dev", "--listen", strings.TrimPrefix(s.url, "http://"), "--data", dir, "--log-level", "debug",
	}, args...)
	s.begin()
	t.Cleanup(s.kill)
	return s
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func (s *served) start() {
	s.t.Helper()
	s.begin()
	s.ready()
}

func (s *served) begin() {
	s.t.Helper()
	s.cmd = exec.Command("pintle", s.args...)
	s.cmd.Env = append(os.Environ(), s.env...)
	output, input, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd.Stdout, s.cmd.Stderr = input, input
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	input.Close()
	s.done = make(chan struct{})
	go func() { // ends when the process and its children have closed the pipe
		defer close(s.done)
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			s.mu.Lock()
			s.log.WriteString(lines.Text() + "\n")
			s.mu.Unlock()
		}
	}()
}

func (s *served) ready() {
	s.t.Helper()
	s.until("the server is ready", func() bool {
		response, err := http.Get(s.url + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

// kill ends the process as a power cut would.
func (s *served) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGKILL)
	_ = s.cmd.Wait()
	<-s.done
	s.cmd = nil
}

func (s *served) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// until waits for something that another process does.
func (s *served) until(what string, is func() bool) {
	s.t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			s.t.Fatalf("waited a minute in vain until %s; the server's log:\n%s", what, s.output())
		}
	}
}

func (s *served) client() *cloudformation.Client {
	return cloudformation.New(cloudformation.Options{
		BaseEndpoint: aws.String(s.url), Region: "us-east-1", HTTPClient: awshttp.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

func (s *served) create(name, template string, parameters ...types.Parameter) {
	s.t.Helper()
	_, err := s.client().CreateStack(s.t.Context(), &cloudformation.CreateStackInput{
		StackName: &name, TemplateBody: &template, Parameters: parameters,
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// settled waits for the end of a stack's operation and returns its status.
func (s *served) settled(name string) types.StackStatus {
	s.t.Helper()
	var status types.StackStatus
	s.until(name+" has settled", func() bool {
		out, err := s.client().DescribeStacks(s.t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
		if err != nil {
			s.t.Fatal(err)
		}
		status = out.Stacks[0].StackStatus
		return !strings.HasSuffix(string(status), "_IN_PROGRESS")
	})
	return status
}

func (s *served) events(name string) []types.StackEvent {
	s.t.Helper()
	out, err := s.client().DescribeStackEvents(s.t.Context(), &cloudformation.DescribeStackEventsInput{StackName: &name})
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Reverse(out.StackEvents)
	return out.StackEvents
}

func thing(token, properties string) string {
	if properties != "" {
		properties = ", " + properties
	}
	return `{"Resources": {"C": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + token + `"` + properties + `}}}}`
}

func TestMisbehavingProviders(t *testing.T) {
	const token = "arn:aws:lambda:us-east-1:000000000000:function:Bad"
	t.Setenv("LATE_DIR", t.TempDir())
	s := serve(t, t.TempDir(), "--provider", "Bad=testdata/bad")
	const rest = `(?s:.*)`
	requestID := `[0-9a-f-]{36}`
	silence := regexp.QuoteMeta(statusreason.Returned) + rest
	cases := []struct {
		mode, more string
		status     types.StackStatus
		reason     string // of CREATE_FAILED
		id         string // of the created or deleted resource
	}{
		{"exit", "", types.StackStatusRollbackComplete, rest + "3" + rest + "these are my last words" + rest, ""},
		{"panic", "", types.StackStatusRollbackComplete, rest + "panic: out of cheese" + rest, ""},
		{"failed", "", types.StackStatusRollbackComplete,
			regexp.QuoteMeta("Received response status [FAILED] from custom resource. Message returned: no luck (RequestId: ") + requestID + `\)`, "a"},
		{"large", "", types.StackStatusRollbackComplete, regexp.QuoteMeta("Response object is too long.") + rest, ""},
		{"garbage", "", types.StackStatusRollbackComplete, regexp.QuoteMeta("Invalid Response object: JSON not well-formed.") + rest, ""},
		{"twice", "", types.StackStatusCreateComplete, "", "first"},
		{"late", "", types.StackStatusRollbackComplete, silence, ""},
		{"never", "", types.StackStatusRollbackComplete, silence, ""},
	}
	for _, c := range cases { // all at once
		s.create("bad-"+c.mode, strings.Replace(thing(token, join(`"Mode": "`+c.mode+`"`, c.more)), `"C"`, `"`+c.mode+`"`, 1))
	}
	for _, c := range cases {
		t.Run(c.mode, func(t *testing.T) {
			if status := s.settled("bad-" + c.mode); status != c.status {
				t.Errorf("status %s, want %s", status, c.status)
			}
			var reason, id string
			for _, e := range s.events("bad-" + c.mode) {
				if aws.ToString(e.LogicalResourceId) != c.mode {
					continue
				}
				id = aws.ToString(e.PhysicalResourceId)
				if e.ResourceStatus == types.ResourceStatusCreateFailed {
					reason = aws.ToString(e.ResourceStatusReason)
				}
			}
			if !regexp.MustCompile("^" + c.reason + "$").MatchString(reason) {
				t.Errorf("reason\n%s\nwant\n%s", reason, c.reason)
			}
			if c.id != "" && id != c.id {
				t.Errorf("physical id %s, want %s", id, c.id)
			}
		})
	}
}

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// httpProvider is an independent provider without Pintle code. On request it answers as Lambda's cfn-response does, by a
// PUT with an empty content type.
type httpProvider struct {
	*httptest.Server
	t        *testing.T
	mu       sync.Mutex
	requests []map[string]any
}

func newHTTPProvider(t *testing.T) *httpProvider {
	t.Helper()
	p := &httpProvider{t: t}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request map[string]any
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.requests = append(p.requests, request)
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(p.Close)
	return p
}

// got returns the requests so far.
func (p *httpProvider) got() []map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

func (p *httpProvider) answer(request map[string]any, more map[string]any) error {
	body := map[string]any{
		"Status": "SUCCESS", "Reason": "See the details in CloudWatch Log Stream: x", "PhysicalResourceId": "thing-1",
		"StackId": request["StackId"], "RequestId": request["RequestId"], "LogicalResourceId": request["LogicalResourceId"],
		"NoEcho": false,
	}
	for key, value := range more {
		body[key] = value
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	put, err := http.NewRequest(http.MethodPut, fmt.Sprint(request["ResponseURL"]), bytes.NewReader(text))
	if err != nil {
		return err
	}
	put.Header["Content-Type"] = []string{""}
	response, err := http.DefaultClient.Do(put)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the response URL answered %s", response.Status)
	}
	return nil
}

// The engine is killed between the request and its answer, and again between the answer and the end of the stack.
func TestKilledBetweenRequestAndAnswer(t *testing.T) {
	p := newHTTPProvider(t)
	s := serve(t, t.TempDir())
	s.create("kept", `{"Resources": {
		"A": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "`+p.URL+`"}},
		"B": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "`+p.URL+`", "After": {"Ref": "A"}}}},
		"Outputs": {"Out": {"Value": {"Fn::GetAtt": ["B", "name"]}}}}`)
	s.until("A was asked for", func() bool { return len(p.got()) == 1 })
	s.until("the delivery is on record", func() bool {
		out, err := exec.CommandContext(t.Context(), "pintle", "describe", "kept", "--data", s.dir, "-o", "json").Output()
		return err == nil && bytes.Contains(out, []byte(`"state": "waiting"`))
	})
	s.kill()
	first := p.got()[0]
	if err := p.answer(first, nil); err == nil {
		t.Error("an answer was taken while nobody was there")
	}
	s.start()
	if err := p.answer(first, nil); err != nil {
		t.Fatalf("the URL of a request that was sent before the kill: %v", err)
	}
	s.until("B was asked for", func() bool { return len(p.got()) >= 2 })
	if err := p.answer(p.got()[1], map[string]any{"PhysicalResourceId": "thing-2", "Data": map[string]any{"name": "b"}}); err != nil {
		t.Fatal(err)
	}
	s.kill() // its commit was acknowledged
	s.start()
	if status := s.settled("kept"); status != types.StackStatusCreateComplete {
		t.Errorf("status %s", status)
	}
	out, err := s.client().DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("kept")})
	if err != nil {
		t.Fatal(err)
	}
	if outputs := out.Stacks[0].Outputs; len(outputs) != 1 || *outputs[0].OutputValue != "b" {
		t.Errorf("outputs %v", outputs)
	}
	if n := len(p.got()); n != 2 {
		t.Errorf("%d requests were sent, want 2: nothing is sent needlessly twice", n)
	}
}

// Nothing that a whole life leaves behind holds a secret or a way to answer for the provider.
func TestNoSecretIsLeftBehind(t *testing.T) {
	const parameter, attribute, number, path = "hunter2-parameter", "hunter2-attribute", "8675309421", "hunter2-path"
	p := newHTTPProvider(t)
	dir := t.TempDir()
	s := serve(t, dir)
	template := `{"Parameters": {"P": {"Type": "String", "NoEcho": true}, "N": {"Type": "Number", "NoEcho": true},
		"U": {"Type": "String", "NoEcho": true}}, "Resources": {
		"A": {"Type": "Custom::Thing", "Properties": {"ServiceToken": {"Ref": "U"}, "Password": {"Ref": "P"}, "Pin": {"Ref": "N"}, "V": "%s"}},
		"B": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + p.URL + `", "Key": {"Fn::Sub": "key=${A.key}"}, "V": "%[1]s"}}},
		"Outputs": {"Key": {"Value": {"Fn::GetAtt": ["A", "key"]}}, "P": {"Value": {"Ref": "P"}}}}`
	answered := 0
	serveAll := func() bool { // plays the provider
		for _, request := range p.got()[answered:] {
			answered++
			more := map[string]any{"NoEcho": true, "Data": map[string]any{"key": attribute}}
			properties, _ := json.Marshal(request["ResourceProperties"])
			if request["LogicalResourceId"] == "A" && !bytes.Contains(properties, []byte(parameter)) {
				t.Errorf("the provider of A did not get its secret: %s", properties)
			}
			if request["LogicalResourceId"] == "B" && request["RequestType"] == "Update" {
				more = map[string]any{"Status": "FAILED", "Reason": "bad key " + attribute + ", bad password " + parameter + " for " + fmt.Sprint(request["ResponseURL"])}
			}
			if err := p.answer(request, more); err != nil {
				t.Error(err)
			}
		}
		out, err := s.client().DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("secret")})
		return err != nil || !strings.HasSuffix(string(out.Stacks[0].StackStatus), "_IN_PROGRESS")
	}
	parameters := []types.Parameter{
		{ParameterKey: aws.String("P"), ParameterValue: aws.String(parameter)},
		{ParameterKey: aws.String("N"), ParameterValue: aws.String(number)},
		{ParameterKey: aws.String("U"), ParameterValue: aws.String(p.URL + "/" + path)},
	}
	s.create("secret", fmt.Sprintf(template, "1"), parameters...)
	s.until("the stack is created", serveAll)
	seen := describe(t, s, "secret")
	if _, err := s.client().UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
		StackName: aws.String("secret"), TemplateBody: aws.String(fmt.Sprintf(template, "2")), Parameters: parameters,
	}); err != nil {
		t.Fatal(err)
	}
	s.until("the update is rolled back", serveAll)
	seen += describe(t, s, "secret")
	if !strings.Contains(seen, "UPDATE_ROLLBACK_IN_PROGRESS") || !strings.Contains(seen, "****") {
		t.Errorf("the update did not fail as it should:\n%s", seen)
	}
	if _, err := s.client().DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("secret")}); err != nil {
		t.Fatal(err)
	}
	s.until("the stack is deleted", serveAll)
	s.kill()

	places := map[string]string{"API": seen, "log": s.output()}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		places[filepath.Base(path)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	signature := regexp.MustCompile(`X-Amz-Signature=[0-9a-f]{8}`)
	for place, text := range places {
		for _, secret := range []string{parameter, attribute, number, path} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %s", place, secret)
			}
		}
		if found := signature.FindString(text); found != "" {
			t.Errorf("%s holds a signature: %s", place, found)
		}
	}
	if len(places) < 4 {
		t.Errorf("only %d places were searched", len(places))
	}
}

// describe returns everything that the API reports about a stack.
func describe(t *testing.T, s *served, name string) string {
	t.Helper()
	stacks, err := s.client().DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil {
		t.Fatal(err)
	}
	resources, err := s.client().DescribeStackResources(t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: &name})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal([]any{stacks.Stacks, s.events(name), resources.StackResources})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
