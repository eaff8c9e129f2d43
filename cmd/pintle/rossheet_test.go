package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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
	"github.com/pintle-dev/pintle/internal/near"
	"github.com/pintle-dev/pintle/internal/rosclient"
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
	_ = json.Unmarshal(a.fields[name], &text) // what is no text is empty, and compared
	return text
}

// rosAnswer is what a provider says: its HTTP status, the members of its answer, and whether it says that in the body of its reply.
// Without members it is silent.
type rosAnswer struct {
	status  int
	members string
	inBody  bool
}

// rosPlay decides what a provider says to its nth request.
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
	posts map[string]string // what came of an answer, by the request's id
}

func newROSSheet(t *testing.T) *rosSheet {
	s := &rosSheet{served: serve(t, t.TempDir()), plays: map[string]rosPlay{}, asked: map[string][]rosAsked{}, posts: map[string]string{}}
	var err error
	s.client, err = rosclient.New(rosclient.Config{
		Endpoint: s.url, Region: "cn-beijing", HTTP: near.Client(),
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
	_ = json.Unmarshal(raw, &asked.fields) // a form is none
	name := strings.Trim(r.URL.Path, "/")
	s.mu.Lock()
	s.asked[name] = append(s.asked[name], asked)
	n, play := len(s.asked[name]), s.plays[name]
	s.mu.Unlock()
	answer := play(n, asked)
	if answer.status != 0 {
		w.WriteHeader(answer.status)
	}
	if answer.members == "" {
		return
	}
	if answer.inBody {
		fmt.Fprint(w, s.document(asked, answer.members))
		return
	}
	code, body := s.answer(http.MethodPost, asked.text("ResponseURL"), s.document(asked, answer.members))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts[asked.text("RequestId")] = fmt.Sprint(code, " ", body)
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
	request, err := http.NewRequest(method, to, strings.NewReader(document))
	if err != nil {
		s.t.Error(err)
		return 0, ""
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
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

// template returns a template with the resource R, whose properties are JSON members beside the token; more are further sections.
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

// call calls an action of the API about the row's stack, and returns the code of what it was refused for.
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
	if told, ok := errors.AsType[*rosclient.Error](err); ok {
		return told.Code, told.Message
	} else if err != nil {
		r.Fatal(err)
	}
	if action == "CreateStack" {
		r.id = out.StackID
	}
	return "", ""
}

// done calls an action and waits until the stack is at rest in a status.
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

const (
	goesWell = `"Status": "SUCCESS", "PhysicalResourceId": "one"`
	goesBad  = `"Status": "FAILED", "Reason": "no luck"`
)

// TestROSSheet holds a whole server against what is known of the protocol of ROS, subject by subject: a real engine, real requests
// over sockets, and the API by which a client sees what comes of them.
func TestROSSheet(t *testing.T) {
	s := newROSSheet(t)
	rows := []struct {
		subject string
		play    rosPlay
		check   func(r *rosRow)
	}{
		{"request/fields of each type", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"Timeout": 60, "Parameters": {"N": 1}`))
			r.update("UPDATE_COMPLETE", r.template(`"Timeout": 60, "Parameters": {"N": 2}`))
			r.done("DELETE_COMPLETE", "DeleteStack")
			common := []string{"CallerId", "IntranetResponseURL", "LogicalResourceId", "RegionId", "RequestId", "RequestType",
				"ResourceOwnerId", "ResourceProperties", "ResourceType", "ResponseURL", "StackId", "StackName"}
			want := [][]string{
				common,
				slices.Sorted(slices.Values(append([]string{"OldResourceProperties", "PhysicalResourceId"}, common...))),
				slices.Sorted(slices.Values(append([]string{"PhysicalResourceId"}, common...))),
			}
			var got [][]string
			for _, a := range r.requests() {
				got = append(got, slices.Sorted(maps.Keys(a.fields)))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				r.Error(diff)
			}
			r.sent(`Create  {"N":1}`, `Update "one" {"N":2} | {"N":1}`, `Delete "one" {"N":2}`)
		}},
		{"request/forms of the fields", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			a := r.requests()[0]
			for name, form := range map[string]string{
				"StackId": `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, "RequestId": `^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$`,
				"ResourceOwnerId": `^[0-9]{16}$`, "CallerId": `^[0-9]{16,18}$`, "RegionId": `^cn-beijing$`, "StackName": "^" + r.name + "$",
				"ResourceType": `^Custom::Row$`, "LogicalResourceId": `^R$`, "RequestType": `^Create$`,
				"ResponseURL":         `^http://127\.0\.0\.1:[0-9]+/ros/response\?.*expire=[0-9]+.*signature=[0-9a-f]{40}`,
				"IntranetResponseURL": `^http://127\.0\.0\.1:[0-9]+/ros/response\?.*signature=[0-9a-f]{40}`,
			} {
				if text := a.text(name); !regexp.MustCompile(form).MatchString(text) {
					r.Errorf("%s is %q, want %s", name, text, form)
				}
			}
			if a.text("ResourceOwnerId") != "0000000000000000" { // what docs say of accounts
				r.Errorf("the account is %s", a.text("ResourceOwnerId"))
			}
			r.sent(`Create  {}`) // there are no Parameters
		}},
		{"request/types of Parameters survive", says(goesWell), func(r *rosRow) {
			const given = `{"n":1,"f":1.50,"t":true,"s":"1","l":[1,"a",[false]],"m":{"k":"","o":{}}}`
			r.create("CREATE_COMPLETE", r.template(`"Parameters": `+given))
			r.sent("Create  " + given)
		}},
		{"request/HTTP", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"HttpConfig": {"Headers": {"X-Own": "yes"}}`))
			a := r.requests()[0]
			if a.method != http.MethodPost || a.header.Get("Content-Type") != "application/json" || a.header.Get("X-Own") != "yes" {
				r.Errorf("%s with %v", a.method, a.header)
			}
		}},
		{"request/SignKey", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"HttpConfig": {"SignKey": "key"}`))
			if signature := string(r.requests()[0].fields["Signature"]); !regexp.MustCompile(
				`^\{"Date":\s?"20[0-9T:-]+Z",\s?"Value":\s?"[0-9a-f]{40}"\}$`).MatchString(signature) {
				r.Errorf("signature %s", signature)
			}
		}},
		{"request/a Create is not sent again", func(int, rosAsked) rosAnswer { return rosAnswer{status: 500} }, func(r *rosRow) {
			r.create("CREATE_FAILED", r.template(`"Timeout": 60`), "DisableRollback", "true")
			r.sent(`Create  {}`)
		}},
		{"request/an idempotent Create is", func(n int, _ rosAsked) rosAnswer {
			if n == 1 {
				return rosAnswer{status: 500}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(fmt.Sprintf(`"ServiceToken": %q`, r.token("[idempotent]"))))
			r.sent(`Create  {}`, `Create  {}`)
			if asked := r.requests(); asked[0].text("RequestId") != asked[1].text("RequestId") {
				r.Error("the RequestId is another one")
			}
		}},
		{"request/Update is always sent again", func(n int, _ rosAsked) rosAnswer {
			if n == 2 {
				return rosAnswer{status: 500}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"Parameters": {"N": 1}`))
			r.update("UPDATE_COMPLETE", r.template(`"Parameters": {"N": 2}`))
			r.sent(`Create  {"N":1}`, `Update "one" {"N":2} | {"N":1}`, `Update "one" {"N":2} | {"N":1}`)
		}},

		{"response/POST and no other", says(``), func(r *rosRow) {
			if code, message := r.call("CreateStack", "StackName", r.name, "TemplateBody", r.template(``)); code != "" {
				r.Fatal(code, message)
			}
			r.sheet.until("the provider was asked", func() bool { return len(r.requests()) == 1 })
			a := r.requests()[0]
			good, to := r.sheet.document(a, goesWell), a.text("ResponseURL")
			if code, text := r.sheet.answer(http.MethodPut, to, good); code != http.StatusMethodNotAllowed || !strings.Contains(text, "POST") {
				r.Errorf("PUT: %d %s", code, text)
			}
			broken := regexp.MustCompile(`signature=[0-9a-f]{4}`).ReplaceAllString(to, "signature=0000")
			if code, _ := r.sheet.answer(http.MethodPost, broken, good); code != http.StatusForbidden {
				r.Errorf("a broken signature: %d", code)
			}
			if code, text := r.sheet.answer(http.MethodPost, a.text("IntranetResponseURL"), good); code != http.StatusOK || !json.Valid([]byte(text)) {
				r.Errorf("POST: %d %s", code, text)
			}
			r.rests("CREATE_COMPLETE")
			if code, text := r.sheet.answer(http.MethodPost, to, r.sheet.document(a, goesBad)); code != http.StatusOK || !json.Valid([]byte(text)) {
				r.Errorf("twice: %d %s", code, text)
			}
			r.rests("CREATE_COMPLETE")
		}},
		{"response/Status", says(`"Status": "DONE", "PhysicalResourceId": "one"`), refused("InvalidResponse")},
		{"response/Reason with FAILED", says(`"Status": "FAILED"`), refused("")},
		{"response/FAILED needs no id", says(goesBad), refused("CustomResourceFailed: resources.R: no luck")},
		{"response/id with SUCCESS", says(`"Status": "SUCCESS"`), refused("InvalidResponse")},
		{"response/id of 255 bytes", says(`"Status": "SUCCESS", "PhysicalResourceId": "` + strings.Repeat("i", 255) + `"`), accepted},
		{"response/id of 256 bytes", says(`"Status": "SUCCESS", "PhysicalResourceId": "` + strings.Repeat("i", 256) + `"`), refused("InvalidResponse")},
		// The URL says what is answered, so that these count too.
		{"response/StackId is no copy", says(goesWell + `, "StackId": "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"`), accepted},
		{"response/LogicalResourceId is no copy", says(goesWell + `, "LogicalResourceId": "Other"`), accepted},
		{"response/RequestId is no copy", says(goesWell + `, "RequestId": "B288A0BE-D927-4888-B0F7-B35EF84B6E6F"`), accepted},
		{"response/4096 bytes", says(goesWell + `, "Data": {"x": "` + strings.Repeat("x", 3800) + `"}`), accepted},
		{"response/more than 4096 bytes", says(goesWell + `, "Data": {"x": "` + strings.Repeat("x", 4096) + `"}`), refused("InvalidResponse")},
		{"response/Data of any type", says(goesWell + `, "Data": {"z": 3.5, "l": [1, true]}`), func(r *rosRow) {
			stack := r.create("CREATE_COMPLETE", r.template(``, `"Outputs": {"O": {"Value": {"Fn::GetAtt": ["R", "l"]}}}`))
			r.output(stack, `[1,true]`)
			stack = r.update("UPDATE_COMPLETE", r.template(``, `"Outputs": {"O": {"Value": {"Fn::GetAtt": ["R", "Outputs"]}}}`))
			r.output(stack, `{"z":3.5,"l":[1,true]}`)
		}},
		{"response/NoEcho does not exist", says(goesWell + `, "NoEcho": true, "Data": {"z": "seen"}`), func(r *rosRow) {
			stack := r.create("CREATE_COMPLETE", r.template(``, `"Outputs": {"O": {"Value": {"Fn::GetAtt": ["R", "z"]}}}`))
			r.output(stack, "seen")
		}},
		{"response/Ref is the id", says(goesWell), func(r *rosRow) {
			r.output(r.create("CREATE_COMPLETE", r.template(``, `"Outputs": {"O": {"Value": {"Ref": "R"}}}`)), "one")
		}},
		{"response/sync", func(int, rosAsked) rosAnswer { return rosAnswer{members: goesWell, inBody: true} }, func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(fmt.Sprintf(`"ServiceToken": %q, "Timeout": 60`, r.token("[sync]"))))
		}},
		{"response/a body without sync is none", func(int, rosAsked) rosAnswer {
			return rosAnswer{members: goesWell, inBody: true}
		}, func(r *rosRow) {
			r.create("CREATE_FAILED", r.template(`"Timeout": 1`), "DisableRollback", "true")
			if why := r.failure(); !strings.HasPrefix(why, "Timeout: resources.R: ") {
				r.Error(why)
			}
		}},
		{"response/sync without a document", func(int, rosAsked) rosAnswer { return rosAnswer{status: 200} }, func(r *rosRow) {
			r.create("CREATE_FAILED", r.template(fmt.Sprintf(`"ServiceToken": %q`, r.token("[sync]"))), "DisableRollback", "true")
		}},

		{"semantics/a failed create is rolled back", func(_ int, a rosAsked) rosAnswer {
			if a.text("RequestType") == "Create" {
				return rosAnswer{members: goesBad}
			}
			return rosAnswer{members: `"Status": "SUCCESS", "PhysicalResourceId": null`} // as the official helper has it
		}, func(r *rosRow) {
			r.create("CREATE_ROLLBACK_COMPLETE", r.template(``))
			r.sent(`Create  {}`, `Delete  {}`)
		}},
		{"semantics/DisableRollback and ContinueCreateStack", func(n int, _ rosAsked) rosAnswer {
			if n == 1 {
				return rosAnswer{members: goesBad}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			r.create("CREATE_FAILED", r.template(``), "DisableRollback", "true")
			r.done("CREATE_COMPLETE", "ContinueCreateStack", "Mode", "Recreate")
		}},
		{"semantics/a failed update is rolled back, swapped", func(n int, _ rosAsked) rosAnswer {
			if n == 2 {
				return rosAnswer{members: goesBad}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"Parameters": {"N": 1}`))
			r.update("ROLLBACK_COMPLETE", r.template(`"Parameters": {"N": 2}`))
			r.sent(`Create  {"N":1}`, `Update "one" {"N":2} | {"N":1}`, `Update "one" {"N":1} | {"N":2}`)
		}},
		{"semantics/an id does not change", func(n int, _ rosAsked) rosAnswer {
			if n == 2 {
				return rosAnswer{members: `"Status": "SUCCESS", "PhysicalResourceId": "two"`}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"Parameters": {"N": 1}`))
			r.update("ROLLBACK_COMPLETE", r.template(`"Parameters": {"N": 2}`))
			if why := r.failure(); !strings.HasPrefix(why, "PhysicalResourceIdChanged: resources.R: ") {
				r.Error(why)
			}
			r.sent(`Create  {"N":1}`, `Update "one" {"N":2} | {"N":1}`, `Update "one" {"N":1} | {"N":2}`)
		}},
		{"semantics/a ServiceToken does not change", says(goesWell), func(r *rosRow) {
			other := r.template(fmt.Sprintf(`"ServiceToken": %q`, r.token("[idempotent]")))
			r.create("CREATE_COMPLETE", r.template(``))
			r.update("ROLLBACK_COMPLETE", other)
			r.sent(`Create  {}`)
			r.update("UPDATE_COMPLETE", other, "ReplacementOption", "Enabled")
			r.sent(`Create  {}`, `Delete "one" {}`, `Create  {}`) // the old one first
		}},
		{"semantics/TaintResources", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			r.update("UPDATE_COMPLETE", r.template(``), "TaintResources.1", "R")
			r.sent(`Create  {}`, `Delete "one" {}`, `Create  {}`)
		}},
		{"semantics/Update only on a change", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"Timeout": 60`))
			r.update("UPDATE_COMPLETE", r.template(`"Timeout": 61`))
			r.sent(`Create  {}`)
		}},
		{"semantics/the same stack", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			code, message := r.call("UpdateStack", "TemplateBody", r.template(``))
			if code != "NotSupported" || !strings.HasPrefix(message, "Update the completely same stack") {
				r.Errorf("%s: %s", code, message)
			}
		}},
		{"semantics/Timeout", says(``), func(r *rosRow) {
			r.create("CREATE_FAILED", r.template(`"Timeout": 1`), "DisableRollback", "true")
			if why := r.failure(); !strings.HasPrefix(why, "Timeout: resources.R: ") {
				r.Error(why)
			}
		}},
		{"semantics/Timeout out of range", says(goesWell), func(r *rosRow) {
			r.create("CREATE_FAILED", r.template(`"Timeout": 43201`), "DisableRollback", "true")
			r.sent()
			if why := r.failure(); !strings.Contains(why, "43200") {
				r.Error(why)
			}
		}},
		{"semantics/a Delete must succeed", func(n int, _ rosAsked) rosAnswer {
			if n == 2 {
				return rosAnswer{members: goesBad}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			r.done("DELETE_FAILED", "DeleteStack")
			r.done("DELETE_COMPLETE", "DeleteStack")
		}},
		{"semantics/RetainResources", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			r.done("DELETE_COMPLETE", "DeleteStack", "RetainResources.1", "R")
			r.sent(`Create  {}`)
		}},
		{"semantics/DeletionPolicy Retain", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", strings.Replace(r.template(``), `"Type"`, `"DeletionPolicy": "Retain", "Type"`, 1))
			r.done("DELETE_COMPLETE", "DeleteStack", "RetainAllResources", "false")
			r.sent(`Create  {}`)
		}},
		{"semantics/type name of 68 characters", says(goesWell), func(r *rosRow) {
			long := strings.Replace(r.template(``), "Custom::Row", "Custom::"+strings.Repeat("x", 60), 1)
			r.create("CREATE_COMPLETE", long)
		}},
		{"semantics/type name of 69 characters", says(goesWell), func(r *rosRow) {
			long := strings.Replace(r.template(``), "Custom::Row", "Custom::"+strings.Repeat("x", 61), 1)
			if code, _ := r.call("CreateStack", "StackName", r.name, "TemplateBody", long); code == "" {
				r.Error("it was taken")
			}
		}},
		{"semantics/a type does not change", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			other := strings.Replace(r.template(``), "Custom::Row", "Custom::Other", 1)
			if code, message := r.call("UpdateStack", "TemplateBody", other); code != "StackValidationFailed" {
				r.Errorf("%s: %s", code, message)
			}
			r.sent(`Create  {}`)
		}},
		{"semantics/a deleted stack is still described", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			r.done("DELETE_COMPLETE", "DeleteStack")
			if stack := r.rests("DELETE_COMPLETE"); stack.Name != r.name {
				r.Errorf("its name is %q", stack.Name)
			}
		}},
		{"semantics/an action while another one runs", says(``), func(r *rosRow) {
			if code, message := r.call("CreateStack", "StackName", r.name, "TemplateBody", r.template(``)); code != "" {
				r.Fatal(code, message)
			}
			if code, _ := r.call("UpdateStack", "TemplateBody", r.template(`"Timeout": 61`)); code != "ActionInProgress" {
				r.Errorf("the code is %q", code)
			}
		}},
		{"semantics/the plain type", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", strings.Replace(r.template(``), "Custom::Row", "ALIYUN::ROS::CustomResource", 1))
		}},
		{"semantics/Count makes names with an index", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", strings.Replace(r.template(`"Parameters": {"I": {"Ref": "ALIYUN::Index"}}`), `"Type"`, `"Count": 2, "Type"`, 1))
			var names []string
			for _, a := range r.requests() {
				names = append(names, a.text("LogicalResourceId")+" "+compact(a.fields["ResourceProperties"]))
			}
			slices.Sort(names)
			if diff := cmp.Diff([]string{`R[0] {"I":0}`, `R[1] {"I":1}`}, names); diff != "" {
				r.Error(diff)
			}
		}},
	}
	for _, row := range rows {
		t.Run(row.subject, func(t *testing.T) { row.check(s.row(t, row.play)) })
	}
}

// refused checks that the answer to a Create makes it fail, with a reason that begins so.
func refused(reason string) func(r *rosRow) {
	return func(r *rosRow) {
		r.Helper()
		r.create("CREATE_FAILED", r.template(``), "DisableRollback", "true")
		if why := r.failure(); why == "" || !strings.HasPrefix(why, reason) {
			r.Errorf("the reason is %q, want %q", why, reason)
		}
		r.taken()
	}
}

// accepted checks that the answer to a Create makes it succeed.
func accepted(r *rosRow) {
	r.Helper()
	r.create("CREATE_COMPLETE", r.template(``))
	r.taken()
}

// taken checks that the provider was told that its answer had come: what it is worth is another thing.
func (r *rosRow) taken() {
	r.Helper()
	id := r.requests()[0].text("RequestId")
	r.sheet.until("the provider knows", func() bool {
		r.sheet.mu.Lock()
		defer r.sheet.mu.Unlock()
		return r.sheet.posts[id] != ""
	})
	r.sheet.mu.Lock()
	defer r.sheet.mu.Unlock()
	if came := r.sheet.posts[id]; !strings.HasPrefix(came, "200 ") {
		r.Errorf("the answer was taken with %s", came)
	}
}
