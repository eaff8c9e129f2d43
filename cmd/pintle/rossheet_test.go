package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/api/rosclient"
	"github.com/pintle-dev/pintle/internal/dev/awshttp"
)

// rosAsked is a request that a provider of ROS got.
type rosAsked struct {
	method string
	header http.Header
	raw    string
	fields map[string]json.RawMessage
}

func (a rosAsked) text(name string) string {
	var text string
	_ = json.Unmarshal(a.fields[name], &text) // other types give an empty text, which is compared
	return text
}

// rosAnswer is the answer of a provider: its HTTP status, its members, and whether they are in the body of the HTTP response.
// Without members the provider is silent.
type rosAnswer struct {
	status  int
	members string
	inBody  bool
	// method is that of the answer; empty is POST.
	method string
	// size is how many bytes the answer has, filled up with Data; 0 is as many as it takes.
	size int
	// raw is the body of the reply as it is, instead of an answer.
	raw string
	// broken says that the connection breaks before there is a reply.
	broken bool
}

// rosPlay returns the answer of a provider to its nth request.
type rosPlay func(n int, asked rosAsked) rosAnswer

// rosSheet is a server with providers, one for each row of the sheet of facts.
type rosSheet struct {
	*served
	client   *rosclient.Client
	service  *stacks.ROS
	provider *httptest.Server

	mu    sync.Mutex
	plays map[string]rosPlay
	asked map[string][]rosAsked
	posts map[string]string // the result of an answer, by request ID
}

func newROSSheet(t *testing.T, args ...string) *rosSheet {
	t.Helper()
	s := &rosSheet{served: serve(t, t.TempDir(), args...), plays: map[string]rosPlay{}, asked: map[string][]rosAsked{}, posts: map[string]string{}}
	var err error
	s.client, err = rosclient.New(rosclient.Config{
		Endpoint: s.url, Region: "cn-beijing", HTTP: awshttp.Client(),
		Keys: func(context.Context) (rosclient.Keys, error) { return rosclient.Keys{ID: "test", Secret: "test"}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.service = stacks.NewROS(s.client)
	s.provider = httptest.NewServer(http.HandlerFunc(s.provide))
	t.Cleanup(s.provider.Close)
	return s
}

func (s *rosSheet) provide(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		s.t.Error(err)
		return
	}
	asked := rosAsked{r.Method, r.Header, string(raw), nil}
	if json.Unmarshal(raw, &asked.fields) != nil {
		asked.fields = formFields(asked.raw)
	}
	name := strings.Trim(r.URL.Path, "/")
	s.mu.Lock()
	s.asked[name] = append(s.asked[name], asked)
	n, play := len(s.asked[name]), s.plays[name]
	s.mu.Unlock()
	answer := play(n, asked)
	if answer.broken {
		panic(http.ErrAbortHandler)
	}
	if answer.status != 0 {
		w.WriteHeader(answer.status)
	}
	if answer.members == "" {
		fmt.Fprint(w, answer.raw)
		return
	}
	document := s.document(asked, answer.members)
	if answer.size > 0 {
		document = strings.TrimSuffix(document, "}") + `,"Data":{"x":""}}`
		document = strings.Replace(document, `""}}`, `"`+strings.Repeat("x", answer.size-len(document))+`"}}`, 1)
	}
	if answer.inBody {
		fmt.Fprint(w, document)
		return
	}
	method := http.MethodPost
	if answer.method != "" {
		method = answer.method
	}
	code, body := s.answer(method, asked.text("ResponseURL"), document)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts[asked.text("RequestId")] = fmt.Sprint(code, " ", body)
}

// formFields returns the fields of a form as those of a document are: texts as they are there, everything else as JSON.
func formFields(raw string) map[string]json.RawMessage {
	form, _ := url.ParseQuery(raw) // other bodies have no fields, and are compared
	fields := map[string]json.RawMessage{}
	for name := range form {
		text, _ := json.Marshal(form.Get(name)) // a string always marshals
		if strings.HasSuffix(name, "Properties") || name == "Signature" {
			text = []byte(form.Get(name))
		}
		fields[name] = text
	}
	return fields
}

// document returns an answer with the fields that are copied, and its members, which win.
func (s *rosSheet) document(asked rosAsked, members string) string {
	all := map[string]json.RawMessage{}
	for _, name := range []string{"StackId", "RequestId", "LogicalResourceId"} {
		all[name] = asked.fields[name]
	}
	if err := json.Unmarshal([]byte("{"+members+"}"), &all); err != nil {
		s.t.Error(err)
	}
	text, err := json.Marshal(all)
	if err != nil {
		s.t.Error(err)
	}
	return string(text)
}

// answer sends an answer as a provider does.
func (s *rosSheet) answer(method, to, document string) (int, string) {
	return s.send(method, to, document, http.Header{"Content-Type": {"application/json"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}})
}

func (s *rosSheet) send(method, to, document string, header http.Header) (int, string) {
	request, err := http.NewRequest(method, to, strings.NewReader(document))
	if err != nil {
		s.t.Error(err)
		return 0, ""
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		s.t.Error(err)
	}
	return response.StatusCode, string(body)
}

// rosRow is one row: a stack of its own, with a resource R whose provider does as the row has it.
type rosRow struct {
	*testing.T
	sheet *rosSheet
	name  string
	id    string
}

var rowLetters = regexp.MustCompile(`[^a-z0-9]+`)

func (s *rosSheet) row(t *testing.T, play rosPlay) *rosRow {
	r := &rosRow{T: t, sheet: s, name: "r" + rowLetters.ReplaceAllString(strings.ToLower(t.Name()), "-")}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plays[r.name] = play
	return r
}

// token is the service token of the row's provider, with options as they stand in it.
func (r *rosRow) token(options string) string {
	return "web" + options + ":" + r.sheet.provider.URL + "/" + r.name
}

// template returns a template with the resource R, whose properties are JSON members next to the token; more are further sections.
func (r *rosRow) template(properties string, more ...string) string {
	if !strings.Contains(properties, `"ServiceToken"`) {
		properties = fmt.Sprintf(`"ServiceToken": %q, %s`, r.token(""), properties)
	}
	text := `{"ROSTemplateFormatVersion": "2015-09-01", "Resources": {"R": {"Type": "Custom::Row", "Properties": {` +
		strings.TrimSuffix(strings.TrimSpace(properties), ",") + `}}}`
	for _, section := range more {
		text += ", " + section
	}
	return text + "}"
}

// call calls an action of the API about the row's stack, and returns the code and message of a refusal.
func (r *rosRow) call(action string, parameters ...string) (code, message string) {
	r.Helper()
	form := url.Values{}
	if r.id != "" {
		form.Set("StackId", r.id)
	}
	for i := 0; i < len(parameters); i += 2 {
		form.Set(parameters[i], parameters[i+1])
	}
	var out struct{ StackID string }
	err := r.sheet.client.Call(r.Context(), action, form, &out)
	if reported, ok := errors.AsType[*rosclient.Error](err); ok {
		return reported.Code, reported.Message
	} else if err != nil {
		r.Fatal(err)
	}
	if action == "CreateStack" {
		r.id = out.StackID
	}
	return "", ""
}

// done calls an action and waits until the stack is idle in a status.
func (r *rosRow) done(want, action string, parameters ...string) stacks.Stack {
	r.Helper()
	if code, message := r.call(action, parameters...); code != "" {
		r.Fatalf("%s: %s: %s", action, code, message)
	}
	return r.rests(want)
}

func (r *rosRow) rests(want string) (stack stacks.Stack) {
	r.Helper()
	r.sheet.until("stack "+r.name+" is at rest", func() bool {
		var err error
		if stack, err = r.sheet.service.Stack(r.Context(), r.id); err != nil {
			r.Fatal(err)
		}
		return stack.State != stacks.Working
	})
	if stack.Status != want {
		r.Fatalf("the stack is in %s, want %s: %s", stack.Status, want, stack.Reason)
	}
	return stack
}

func (r *rosRow) create(want, template string, more ...string) stacks.Stack {
	r.Helper()
	return r.done(want, "CreateStack", append([]string{"StackName", r.name, "TemplateBody", template}, more...)...)
}

// refuses checks that the call which would create a stack is refused, with words that say why.
func (r *rosRow) refuses(template, why string) {
	r.Helper()
	code, message := r.call("CreateStack", "StackName", r.name, "TemplateBody", template)
	if code != "StackValidationFailed" || !strings.Contains(message, why) {
		r.Errorf("CreateStack: %s: %s, want %s", code, message, why)
	}
	if asked := r.requests(); len(asked) > 0 {
		r.Errorf("a provider was sent %v", asked)
	}
}

func (r *rosRow) update(want, template string, more ...string) stacks.Stack {
	r.Helper()
	return r.done(want, "UpdateStack", append([]string{"TemplateBody", template}, more...)...)
}

// requests returns the requests that the row's provider got.
func (r *rosRow) requests() []rosAsked {
	r.sheet.mu.Lock()
	defer r.sheet.mu.Unlock()
	return slices.Clone(r.sheet.asked[r.name])
}

// sent compares the requests: type, id, and properties, with the old ones behind a bar.
func (r *rosRow) sent(want ...string) {
	r.Helper()
	var got []string
	for _, a := range r.requests() {
		line := a.text("RequestType") + " " + string(a.fields["PhysicalResourceId"]) + " " + compact(a.fields["ResourceProperties"])
		if old := a.fields["OldResourceProperties"]; old != nil {
			line += " | " + compact(old)
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("requests (-want +got):\n%s", diff)
	}
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// failure returns the reason for which R failed at last.
func (r *rosRow) failure() string {
	r.Helper()
	events, err := r.sheet.service.Events(r.Context(), r.id, "", func(stacks.Event) bool { return false })
	if err != nil {
		r.Fatal(err)
	}
	for _, e := range slices.Backward(events) {
		if e.Logical == "R" && strings.HasSuffix(e.Status, "_FAILED") {
			return e.Reason
		}
	}
	return ""
}

func (r *rosRow) output(stack stacks.Stack, want string) {
	r.Helper()
	if len(stack.Outputs) != 1 || stack.Outputs[0].Text != want {
		r.Errorf("outputs %v, want %s", stack.Outputs, want)
	}
}

// says returns a play that answers everything with members.
func says(members string) rosPlay {
	return func(int, rosAsked) rosAnswer { return rosAnswer{members: members} }
}

// breaksFirst returns a play that breaks the first connection, and answers members in the body of its reply from then on.
func breaksFirst(members string) rosPlay {
	return func(n int, _ rosAsked) rosAnswer { return rosAnswer{broken: n == 1, members: members, inBody: true} }
}

// sized returns a play whose answers have so many bytes.
func sized(bytes int) rosPlay {
	return func(int, rosAsked) rosAnswer { return rosAnswer{members: goesWell, size: bytes} }
}

const (
	goesWell = `"Status": "SUCCESS", "PhysicalResourceId": "one"`
	goesBad  = `"Status": "FAILED", "Reason": "no luck"`
)

// rosSubject is a row of a test: the subject and a fact about it.
type rosSubject struct {
	subject string
	play    rosPlay
	check   func(r *rosRow)
}

func (s *rosSheet) run(t *testing.T, rows []rosSubject) {
	for _, row := range rows {
		t.Run(row.subject, func(t *testing.T) { row.check(s.row(t, row.play)) })
	}
}
