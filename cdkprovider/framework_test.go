package cdkprovider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/wire"
)

var update = flag.Bool("update", false, "write the generated documents")

// script is a function that returns the texts in order and then repeats the last one. A text that begins with "throw " is
// an error.
type script struct {
	texts  []string
	events []map[string]any
}

func (s *script) call(_ context.Context, event []byte) ([]byte, error) {
	var decoded map[string]any
	if err := json.Unmarshal(event, &decoded); err != nil {
		return nil, err
	}
	s.events = append(s.events, decoded)
	text := s.texts[min(len(s.events), len(s.texts))-1]
	if message, ok := strings.CutPrefix(text, "throw "); ok {
		return nil, &FunctionError{Message: message, Logs: "/aws/lambda/onEvent", Trace: []string{"Error: " + message, "at /var/task/index.js:7"}}
	}
	return []byte(text), nil
}

// scene is a world with a provider made of two scripts.
type scene struct {
	*world
	handler             *Handler
	onEvent, isComplete *script
}

func newScene(t *testing.T, onEvent, isComplete string) *scene {
	t.Helper()

	s := &scene{onEvent: &script{texts: strings.Split(onEvent, " then ")}}
	var second Function
	if isComplete != "" {
		s.isComplete = &script{texts: strings.Split(isComplete, " then ")}
		second = s.isComplete.call
	}
	s.handler = NewRemote(s.onEvent.call, second)
	s.world = newWorld(t, s.handler)
	return s
}

// waitWith gives the provider a waiter.
func (s *scene) waitWith(t *testing.T, waiter pintle.Waiter) {
	t.Helper()
	s.world = newWaitingWorld(t, waiter, s.handler)
}

// behaviour is a behaviour of the CDK's provider framework (aws-cdk-lib 2.276.0), and the corresponding one of this
// package.
type behaviour struct {
	what       string
	kind       pintle.RequestType
	onEvent    string // its result
	isComplete string // its result; empty: no isComplete
	cdk        string // the answer that the service receives, formatted by short, without the reason of a success
	ours       string // empty: the same; only the beginning if it ends with "…"
	why        string // the reason of the difference
	// play sends further requests if the case needs more than one, and returns the result.
	play func(t *testing.T, s *scene) string
}

const (
	complete    = `{"IsComplete":true}`
	notComplete = `{"IsComplete":false}`
)

func behaviours() []behaviour {
	again := func(t *testing.T, s *scene) string {
		t.Helper()
		r := s.event(pintle.Create, "", "{}", "")
		s.deliver(t, r)
		s.deliver(t, r)
		return fmt.Sprintf("onEvent is called %d×", len(s.onEvent.events))
	}
	return []behaviour{
		{what: "Create without an ID gets that of the request", kind: pintle.Create, onEvent: `{}`, cdk: "SUCCESS r-1"},
		{what: "Create with an ID", kind: pintle.Create, onEvent: `{"PhysicalResourceId":"new"}`, cdk: "SUCCESS new"},
		{what: "an empty ID is none", kind: pintle.Update, onEvent: `{"PhysicalResourceId":""}`, cdk: "SUCCESS old"},
		{what: "Update without an ID keeps it", kind: pintle.Update, onEvent: `{}`, cdk: "SUCCESS old"},
		{what: "Update with another ID replaces", kind: pintle.Update, onEvent: `{"PhysicalResourceId":"new"}`, cdk: "SUCCESS new"},
		{what: "Delete without an ID keeps it", kind: pintle.Delete, onEvent: `{}`, cdk: "SUCCESS old"},
		{what: "Delete cannot change the ID", kind: pintle.Delete, onEvent: `{"PhysicalResourceId":"new"}`,
			cdk: `FAILED old (DELETE: cannot change the physical resource ID from "old" to "new" during deletion)`},
		{what: "an ID that is no string", kind: pintle.Create, onEvent: `{"PhysicalResourceId":7}`, cdk: "nothing: Invalid PhysicalResourceId",
			ours: `FAILED r-1 ("PhysicalResourceId" in the result is not a string)`, why: "the reason says what to change"},
		{what: "onEvent returns nothing", kind: pintle.Update, onEvent: ``, cdk: "SUCCESS old"},
		{what: "onEvent returns null", kind: pintle.Update, onEvent: `null`, cdk: "SUCCESS old"},
		{what: "a result that is not JSON", kind: pintle.Update, onEvent: `done`,
			cdk: `FAILED old (return values from user-handlers must be JSON objects. got: "done")`},
		{what: "a result that is JSON but no object", kind: pintle.Update, onEvent: `["a"]`, cdk: "SUCCESS old",
			ours: `FAILED old (return values from user-handlers must be JSON objects. got: "["a"]")`, why: "the result violates the rule in the message"},
		{what: "Data", kind: pintle.Create, onEvent: `{"PhysicalResourceId":"new","Data":{"A":1}}`, cdk: `SUCCESS new {"A":1}`},
		{what: "Data with NoEcho", kind: pintle.Create, onEvent: `{"PhysicalResourceId":"new","Data":{"A":1},"NoEcho":true}`, cdk: `SUCCESS new {"A":1} NoEcho`},
		{what: "NoEcho is the text false", kind: pintle.Create, onEvent: `{"PhysicalResourceId":"new","Data":{"A":1},"NoEcho":"false"}`,
			cdk: `SUCCESS new {"A":1} NoEcho`, ours: `SUCCESS new {"A":1}`, why: "CloudFormation turns false in properties into this text"},
		{what: "Data that is no object", kind: pintle.Update, onEvent: `{"Data":"a"}`, cdk: "nothing: the service refuses the response",
			ours: `FAILED old ("Data" in the result is not a JSON object)`, why: "the reason says what to change"},
		{what: "Data of a Delete", kind: pintle.Delete, onEvent: `{"Data":{"A":1}}`, cdk: `SUCCESS old {"A":1}`, ours: "SUCCESS old",
			why: "no template can read it, and it counts against the limit"},
		{what: "Data that is too large", kind: pintle.Update, onEvent: `{"Data":{"A":"` + strings.Repeat("x", 5000) + `"}}`, cdk: "nothing: Response object is too long.",
			ours: "FAILED old (the response is 5181 bytes long, 4096 are allowed: …", why: "the reason names what is too large"},
		{what: "onEvent throws at a Create", kind: pintle.Create, onEvent: "throw no quota",
			cdk:  "FAILED AWSCDK::CustomResourceProviderFramework::CREATE_FAILED (no quota\n\nLogs: /aws/lambda/onEvent\n\nat /var/task/index.js:7)",
			ours: "FAILED Pintle::CreateFailed (no quota\n\nLogs: /aws/lambda/onEvent)", why: "the trace is in the log; uncut it can exceed the limit of 4,096 bytes"},
		{what: "onEvent throws at an Update", kind: pintle.Update, onEvent: "throw no quota",
			cdk:  "FAILED old (no quota\n\nLogs: /aws/lambda/onEvent\n\nat /var/task/index.js:7)",
			ours: "FAILED old (no quota\n\nLogs: /aws/lambda/onEvent)", why: "as above"},
		{what: "onEvent throws at a Delete", kind: pintle.Delete, onEvent: "throw no quota",
			cdk:  "FAILED old (no quota\n\nLogs: /aws/lambda/onEvent\n\nat /var/task/index.js:7)",
			ours: "FAILED old (no quota\n\nLogs: /aws/lambda/onEvent)", why: "as above"},
		{what: "the Delete after a Create that threw", onEvent: "throw never called", cdk: "SUCCESS with either marker, 0 calls",
			play: func(t *testing.T, s *scene) string {
				for _, marker := range []pintle.PhysicalID{pintle.CreateFailed, "AWSCDK::CustomResourceProviderFramework::CREATE_FAILED"} {
					if got := s.ask(t, pintle.Delete, marker, "{}", ""); got != "SUCCESS "+string(marker) {
						return got
					}
				}
				return fmt.Sprintf("SUCCESS with either marker, %d calls", len(s.onEvent.events))
			}},
		{what: "a result with another RequestId", kind: pintle.Update, onEvent: `{"RequestId":"x","StackId":"y","LogicalResourceId":"z","RequestType":"Delete","ResponseURL":"https://elsewhere"}`,
			cdk: "nothing: the response is for another request, and may go elsewhere", ours: "SUCCESS old",
			why: "in the CDK a result overrides the request; Pintle ignores these five members"},
		{what: "and isComplete after that", onEvent: `{"RequestId":"x","RequestType":"Delete"}`, isComplete: complete, cdk: "it gets a Delete x", ours: "it gets a Create r-1",
			why: "as above", play: func(t *testing.T, s *scene) string {
				s.ask(t, pintle.Create, "", "{}", "")
				e := s.isComplete.events[0]
				return fmt.Sprintf("it gets a %v %v", e["RequestType"], e["RequestId"])
			}},
		{what: "the response URL in the event", onEvent: `{}`, isComplete: complete, cdk: "it is there, and in the history of the state machine", ours: "...",
			why: "anyone who has it can answer", play: func(t *testing.T, s *scene) string {
				s.ask(t, pintle.Create, "", "{}", "")
				return strings.ReplaceAll(fmt.Sprint(s.onEvent.events[0]["ResponseURL"], s.isComplete.events[0]["ResponseURL"]), "......", "...")
			}},
		{what: "properties that are missing", onEvent: `{}`, cdk: "an empty object", play: func(t *testing.T, s *scene) string {
			r := s.event(pintle.Create, "", "", "")
			r.ResourceProperties = nil
			s.deliver(t, r)
			if p, ok := s.onEvent.events[0]["ResourceProperties"].(map[string]any); !ok || len(p) > 0 {
				return fmt.Sprint(s.onEvent.events[0])
			}
			return "an empty object"
		}},
		{what: "an unknown request type", kind: "Move", onEvent: `{}`, cdk: `FAILED old (Invalid "RequestType" in request "{…}")`,
			ours: `FAILED old (request is not valid: RequestType is "Move", not Create, Update or Delete)`, why: "the CDK's reason contains the request with its secrets"},
		{what: "isComplete is asked at once", kind: pintle.Create, onEvent: `{}`, isComplete: complete, cdk: "SUCCESS r-1"},
		{what: "isComplete gets all that onEvent returned", kind: pintle.Create, onEvent: `{"Job":12345678901234567890,"Data":{"A":1}}`, isComplete: complete,
			cdk: `SUCCESS r-1 {"A":1}`, play: func(t *testing.T, s *scene) string {
				got := s.ask(t, pintle.Create, "", `{"P":"1"}`, "")
				e := s.isComplete.events[0]
				picked, err := json.Marshal([]any{e["RequestType"], e["PhysicalResourceId"], e["ResourceProperties"], e["Job"], e["Data"]})
				if want := `["Create","r-1",{"P":"1"},12345678901234567000,{"A":1}]`; err != nil || string(picked) != want {
					return fmt.Sprintf("%s, %v", picked, err)
				}
				return got
			}},
		{what: "and nothing of what it returned itself", onEvent: `{}`, isComplete: `{"N":1} then ` + complete, cdk: "it is gone at the next call",
			play: func(t *testing.T, s *scene) string {
				s.ask(t, pintle.Create, "", "{}", "")
				if _, there := s.isComplete.events[1]["N"]; there {
					return "it is there at the next call"
				}
				return "it is gone at the next call"
			}},
		{what: "Data of both is merged", kind: pintle.Create, onEvent: `{"Data":{"A":1,"B":1}}`, isComplete: `{"IsComplete":true,"Data":{"B":2}}`, cdk: `SUCCESS r-1 {"A":1,"B":2}`},
		{what: "NoEcho of isComplete counts", kind: pintle.Create, onEvent: `{"Data":{"A":1}}`, isComplete: `{"IsComplete":true,"NoEcho":true}`, cdk: `SUCCESS r-1 {"A":1} NoEcho`},
		{what: "NoEcho of onEvent cannot be taken back", kind: pintle.Create, onEvent: `{"Data":{"A":1},"NoEcho":true}`, isComplete: `{"IsComplete":true,"NoEcho":false}`,
			cdk: `SUCCESS r-1 {"A":1} NoEcho`},
		{what: "Data while it is not complete", kind: pintle.Create, onEvent: `{"PhysicalResourceId":"new"}`, isComplete: `{"IsComplete":false,"Data":{"A":1}}`,
			cdk: `FAILED new ("Data" is not allowed if "IsComplete" is "False")`},
		{what: "empty Data while it is not complete", kind: pintle.Create, onEvent: `{}`, isComplete: `{"IsComplete":false,"Data":{}} then ` + complete, cdk: "SUCCESS r-1"},
		{what: "isComplete throws after a Create", kind: pintle.Create, onEvent: `{"PhysicalResourceId":"new"}`, isComplete: "throw no quota",
			cdk:  "FAILED new (no quota\n\nLogs: /aws/lambda/onEvent\n\nat /var/task/index.js:7)",
			ours: "FAILED new (no quota\n\nLogs: /aws/lambda/onEvent)", why: "the trace is in the log; the ID is kept, so a Delete follows, as with the CDK"},
		{what: "isComplete throws once and would not again", kind: pintle.Update, onEvent: `{}`, isComplete: "throw no quota then " + complete,
			cdk:  "FAILED old (no quota\n\nLogs: /aws/lambda/onEvent\n\nat /var/task/index.js:7)",
			ours: "FAILED old (no quota\n\nLogs: /aws/lambda/onEvent)", why: "as above"},
		{what: "IsComplete is the text false", kind: pintle.Update, onEvent: `{}`, isComplete: `{"IsComplete":"false"} then ` + complete, cdk: "SUCCESS old, at once",
			ours: "SUCCESS old", why: "isComplete is called again, because the text is not true"},
		{what: "IsComplete is something else", kind: pintle.Update, onEvent: `{}`, isComplete: `{"IsComplete":"ready"}`, cdk: "SUCCESS old",
			ours: `FAILED old ("IsComplete" from isComplete is "ready", want true or false)`, why: "a typo should not count as complete"},
		{what: "isComplete returns nothing", kind: pintle.Update, onEvent: `{}`, isComplete: ` then ` + complete, cdk: "SUCCESS old"},
		{what: "it never is complete", kind: pintle.Create, onEvent: `{"PhysicalResourceId":"new"}`, isComplete: notComplete, cdk: "FAILED new (Operation timed out)",
			ours: "FAILED new (Operation timed out: not ready after …", why: "the same message, with the time and the number of calls"},
		{what: "a Delete never is complete", kind: pintle.Delete, onEvent: `{}`, isComplete: notComplete, cdk: "FAILED old (Operation timed out)",
			ours: "FAILED old (Operation timed out: not ready after …", why: "as above"},
		{what: "how long it is waited for", onEvent: `{}`, isComplete: notComplete, cdk: "361 calls, with 5 s between them in addition to their own time",
			ours: "30 minutes, or until the service stops listening", why: "the setting is an elapsed time", play: func(t *testing.T, s *scene) string {
				kept := &shelf{}
				s.waitWith(t, kept)
				start := s.clock.Now()
				hand(t, s.world, s.event(pintle.Create, "", "{}", ""))
				for kept.settle(t, s.world) {
				}
				if took := s.clock.Now().Sub(start); took < 29*time.Minute || took > 30*time.Minute {
					return took.String()
				}
				return "30 minutes, or until the service stops listening"
			}},
		{what: "isComplete with another ID at a Delete", kind: pintle.Delete, onEvent: `{}`, isComplete: `{"IsComplete":true,"PhysicalResourceId":"new"}`,
			cdk: "SUCCESS new", ours: `FAILED old (DELETE: cannot change the physical resource ID from "old" to "new" during deletion)`, why: "the rule holds for both functions"},
		{what: "isComplete knows the ID only", kind: pintle.Create, onEvent: `{}`, isComplete: notComplete + ` then {"IsComplete":true,"PhysicalResourceId":"new"}`, cdk: "SUCCESS new"},
		{what: "a request that comes again", onEvent: `{}`, cdk: "onEvent is called 2×", ours: "onEvent is called 1×", why: "it gets the recorded answer, without a call", play: again},
		{what: "a request that comes again while it is waited for", onEvent: `{}`, isComplete: notComplete, cdk: "onEvent is called 2×, 2 waits", ours: "onEvent is called 1×, 1 waits",
			why: "executions of the CDK no longer have a name, so each delivery starts another", play: func(t *testing.T, s *scene) string {
				kept := &shelf{}
				s.waitWith(t, kept)
				r := s.event(pintle.Create, "", "{}", "")
				hand(t, s.world, r)
				hand(t, s.world, r)
				return fmt.Sprintf("onEvent is called %d×, %d waits", len(s.onEvent.events), kept.began)
			}},
		{what: "the answer does not arrive", onEvent: `{}`, cdk: "6 tries, then Lambda calls onEvent again", ours: "8 tries, then it is sent again without a call",
			why: "completed work is not repeated", play: func(t *testing.T, s *scene) string {
				r := s.event(pintle.Create, "", "{}", "")
				text, err := r.Encode()
				if err != nil {
					t.Fatal(err)
				}
				s.refuse = 8
				if err := s.ServeEvent(t.Context(), text); err == nil {
					return "it arrived"
				}
				if s.deliver(t, r); len(s.onEvent.events) != 1 || s.refuse != 0 {
					return fmt.Sprintf("onEvent is called %d×", len(s.onEvent.events))
				}
				return "8 tries, then it is sent again without a call"
			}},
		{what: "the response URL in the log", onEvent: `{}`, cdk: "it is cut", play: func(t *testing.T, s *scene) string {
			s.ask(t, pintle.Create, "", "{}", "")
			if strings.Contains(s.log.String(), "5ec2e7") {
				return s.log.String()
			}
			return "it is cut"
		}},
	}
}

// TestFramework plays the known behaviour of the CDK's framework, and compares the results with
// docs/cdk-provider-framework.md. With -v it prints that page, and with -update it writes it.
func TestFramework(t *testing.T) {
	var doc bytes.Buffer
	doc.WriteString(frameworkHead)
	cell := func(text string) string {
		return strings.NewReplacer("\n", " ⏎ ", "|", `\|`, strings.Repeat("x", 5000), "x…x").Replace(text)
	}
	all := behaviours()
	if len(all) < 20 {
		t.Errorf("%d behaviours", len(all))
	}
	for _, b := range all {
		s := newScene(t, b.onEvent, b.isComplete)
		var got string
		if b.play != nil {
			got = b.play(t, s)
		} else {
			id := pintle.PhysicalID("old")
			if b.kind == pintle.Create {
				id = ""
			}
			got = s.ask(t, b.kind, id, "{}", "")
		}
		want := b.ours
		if want == "" {
			want = b.cdk
		}
		if head, open := strings.CutSuffix(want, "…"); got != want && (!open || !strings.HasPrefix(got, head)) {
			t.Errorf("%s: %s\nwant %s", b.what, got, want)
		}
		if (b.ours == "") != (b.why == "") {
			t.Errorf("%s: a difference and its reason go together", b.what)
		}
		ours := "the same"
		if b.ours != "" {
			ours = "`" + cell(b.ours) + "`; " + b.why
		}
		fmt.Fprintf(&doc, "| %s | `%s` | %s |\n", b.what, cell(b.cdk), ours)
	}
	t.Log("\n" + doc.String())
	const path = "../docs/cdk-provider-framework.md"
	if *update {
		if err := os.WriteFile(path, doc.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := os.ReadFile(path); err != nil || !bytes.Equal(there, doc.Bytes()) {
		t.Errorf("%s is not what the test says (%v): run go test -run TestFramework -update ./cdkprovider", path, err)
	}
}

const frameworkHead = `# Compared with the CDK's provider framework

<!-- Generated by go test -run TestFramework -update ./cdkprovider -->

` + "`cdkprovider.New` and `cdkprovider.NewRemote`" + ` accept the same two functions as the provider framework of the AWS CDK. This table
compares that framework (aws-cdk-lib 2.276.0) with Pintle. It shows the response that the service gets, with its status, physical ID,
data and reason, or another observable result. The reason of a success is the word SUCCESS in the CDK and missing in Pintle, unless the
result has a ` + "`Reason`" + `; the table leaves it out. The request is r-1, and an Update or Delete is for the resource "old".

| | the CDK | Pintle |
|---|---|---|
`

// The trace of a function is only in the log. Secrets are not even there.
func TestRemoteTrace(t *testing.T) {
	s := newScene(t, "throw no quota", "")
	got := s.ask(t, pintle.Update, "old", "{}", "{}")
	if strings.Contains(got, "index.js") || !strings.Contains(s.log.String(), "index.js:7") || strings.Contains(s.log.String(), "5ec2e7") {
		t.Errorf("%s\n%s", got, &s.log)
	}
}

func TestOnEvent(t *testing.T) {
	w := newWorld(t, New(func(_ context.Context, event map[string]any) (map[string]any, error) {
		if event["RequestType"] == "Delete" {
			return nil, pintle.ErrGone
		}
		n, err := event["ResourceProperties"].(map[string]any)["N"].(json.Number).Int64()
		event["Data"] = map[string]any{"Password": pintle.NewSecret("pa55word"), "N": n}
		return event, err // including all members of the event
	}, func(_ context.Context, event map[string]any) (map[string]any, error) {
		if event["Data"].(map[string]any)["Password"] != "pa55word" {
			return nil, fmt.Errorf("event %v", event)
		}
		return map[string]any{"IsComplete": true, "Reason": "it has pa55word"}, nil
	}, pintle.WithPollPolicy(pintle.PollPolicy{Interval: time.Second, Timeout: time.Minute})))
	if got, want := w.ask(t, pintle.Create, "", `{"N":9007199254740993}`, ""), `SUCCESS r-1 {"N":9007199254740993,"Password":"pa55word"} NoEcho (it has ****)`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := w.ask(t, pintle.Delete, "r-1", `{}`, ""); got != "SUCCESS r-1" {
		t.Error(got)
	}
	if got := w.ask(t, pintle.Create, "", `{"N":"x"}`, ""); !strings.HasPrefix(got, "FAILED Pintle::CreateFailed (panic: ") {
		t.Error(got)
	}
	for name, f := range map[string]func(){
		"no onEvent": func() { New(nil, nil) },
		"negative timeout": func() {
			New(func(context.Context, map[string]any) (map[string]any, error) { return nil, nil }, nil,
				pintle.WithPollPolicy(pintle.PollPolicy{Timeout: -1}))
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// The values that isComplete marks with NoEcho are redacted in the reason and in the log.
func TestNoEchoOfIsComplete(t *testing.T) {
	s := newScene(t, `{}`, `{"IsComplete":true,"NoEcho":true,"Data":{"Password":"s3cretpw"},"Reason":"password is s3cretpw"}`)
	got := s.ask(t, pintle.Create, "", "{}", "")
	if want := `SUCCESS r-1 {"Password":"s3cretpw"} NoEcho (password is ****)`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if strings.Contains(s.log.String(), "s3cretpw") {
		t.Errorf("the log shows the password:\n%s", &s.log)
	}
}

// upper is a map that encodes itself.
type upper map[string]any

func (u upper) MarshalText() ([]byte, error) { return []byte(fmt.Sprint("upper ", len(u))), nil }

// A Go function may return any values that encoding/json encodes, including secrets at any depth.
func TestOnEventValues(t *testing.T) {
	type endpoint struct {
		Host  string            `json:"host"`
		Port  int               `json:",string"`
		Tags  map[string]any    `json:"tags,omitempty"`
		Extra []any             `json:",omitempty"`
		Key   pintle.Secret     `json:"key,omitzero"`
		Keys  map[string]string `json:"-"`
	}
	type outer struct {
		endpoint
		Next *endpoint
	}
	key := pintle.NewSecret("pa55word")
	for _, tt := range []struct {
		name string
		data map[string]any
		want string
	}{
		{"struct", map[string]any{"E": endpoint{Host: "h", Tags: map[string]any{"a": 1}}}, `{"E":{"host":"h","Port":"0","tags":{"a":1}}}`},
		{"pointer", map[string]any{"E": &endpoint{Extra: []any{1}}}, `{"E":{"host":"","Port":"0","Extra":[1]}}`},
		{"map of numbers", map[string]any{"M": map[int]any{2: "x"}}, `{"M":{"2":"x"}}`},
		{"nil list", map[string]any{"L": []any(nil)}, `{"L":null}`},
		{"own encoding", map[string]any{"U": upper{"a": 1}}, `{"U":"upper 1"}`},
		{"secret in a struct", map[string]any{"E": outer{endpoint{Key: key}, &endpoint{Tags: map[string]any{"k": key}}}},
			`{"E":{"host":"","Port":"0","key":"pa55word","Next":{"host":"","Port":"0","tags":{"k":"pa55word"}}}} NoEcho`},
		{"secret in a map of numbers", map[string]any{"M": map[int]any{1: key, 2: nil}}, `{"M":{"1":"pa55word","2":null}} NoEcho`},
		{"secret in a list", map[string]any{"L": []any{&key, nil}}, `{"L":["pa55word",null]} NoEcho`},
	} {
		w := newWorld(t, New(func(context.Context, map[string]any) (map[string]any, error) {
			return map[string]any{"Data": tt.data}, nil
		}, nil))
		r := w.deliver(t, w.event(pintle.Create, "", "{}", ""))
		got, want := map[string]any{}, map[string]any{}
		text, secret := strings.CutSuffix(tt.want, " NoEcho")
		if json.Unmarshal(r.Data, &got) != nil || json.Unmarshal([]byte(text), &want) != nil || fmt.Sprint(got) != fmt.Sprint(want) ||
			r.NoEcho != secret {
			t.Errorf("%s: %s, want %s", tt.name, short(r), tt.want)
		}
	}
}

// A function whose result cannot be encoded has made something, so its Delete must follow.
func TestOnEventUnencodable(t *testing.T) {
	loop := map[string]any{}
	loop["loop"] = loop
	for id, want := range map[string]string{"": "FAILED r-1 (the result cannot be encoded: ", "new": "FAILED new (the result cannot be encoded: "} {
		for _, value := range []any{loop, func() {}} {
			w := newWorld(t, New(func(context.Context, map[string]any) (map[string]any, error) {
				return map[string]any{"PhysicalResourceId": id, "Data": map[string]any{"V": value}}, nil
			}, nil))
			if got := w.ask(t, pintle.Create, "", "{}", ""); !strings.HasPrefix(got, want) {
				t.Errorf("%s, want %s", got, want)
			}
		}
	}
}

// An Update of a missing resource fails, and the log contains the details that Hide keeps out of the reason.
func TestOnEventUpdateOfMissingResource(t *testing.T) {
	w := newWorld(t, New(func(context.Context, map[string]any) (map[string]any, error) {
		return nil, pintle.Hide(fmt.Errorf("no table t7: %w", pintle.ErrGone))
	}, nil))
	if got, want := w.ask(t, pintle.Update, "old", "{}", "{}"), "FAILED old (the details are in the log of the provider)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !strings.Contains(w.log.String(), "no table t7") {
		t.Errorf("the log lacks the details:\n%s", &w.log)
	}
}

// The waits of the adapter are handed over with all their state.
func TestOnEventHandedOver(t *testing.T) {
	s := newScene(t, `{"PhysicalResourceId":"new","Job":12345678901234567890,"Data":{"A":"pa55word"},"NoEcho":true}`,
		notComplete+` then {"Reason":"copying pa55word"} then {"IsComplete":true,"Data":{"B":2}}`)
	kept := &shelf{}
	s.waitWith(t, kept)
	hand(t, s.world, s.event(pintle.Create, "", `{"P":"1"}`, ""))
	functions := s.handler
	for n := range 3 {
		p := kept.only(t)
		if want := []string{"", "copying ****"}[n]; p.Reason != want {
			t.Errorf("progress %q, want %q", p.Reason, want)
		}
		now := s.clock.Now()
		s.world = newWaitingWorld(t, kept, functions) // another process
		s.clock.now = now
		if !kept.settle(t, s.world) {
			break
		}
	}
	if got, want := short(s.answers[0]), `SUCCESS new {"A":"pa55word","B":2} NoEcho`; got != want || len(s.onEvent.events) != 1 {
		t.Errorf("%s, want %s; onEvent was called %d times", got, want, len(s.onEvent.events))
	}
	first, last := s.isComplete.events[0], s.isComplete.events[2]
	if fmt.Sprint(first) != fmt.Sprint(last) {
		t.Errorf("isComplete got %v, then %v", first, last)
	}

	// A Create that timed out is rolled back if its Delete is for another ID.
	s = newScene(t, `{"PhysicalResourceId":"new"} then {}`, notComplete)
	s.waitWith(t, kept)
	hand(t, s.world, s.event(pintle.Create, "", "{}", ""))
	s.isComplete.texts = []string{complete}
	if got := s.ask(t, pintle.Delete, "made-up", "{}", ""); got != "SUCCESS made-up" {
		t.Error(got)
	}
	if kept.settle(t, s.world) || !strings.HasPrefix(short(s.answers[1]), "FAILED new (abandoned") {
		t.Errorf("%v", s.answers)
	}
	if e := s.onEvent.events[len(s.onEvent.events)-1]; len(s.onEvent.events) != 3 || e["RequestType"] != "Delete" || e["PhysicalResourceId"] != "new" {
		t.Errorf("onEvent got %v", s.onEvent.events)
	}
}

// If a new version of the program has no isComplete, the request fails and keeps the ID.
func TestOnEventLosesIsComplete(t *testing.T) {
	kept := &shelf{}
	s := newScene(t, `{"PhysicalResourceId":"new"}`, notComplete)
	s.waitWith(t, kept)
	hand(t, s.world, s.event(pintle.Create, "", "{}", ""))
	now := s.clock.Now()
	w := newWaitingWorld(t, kept, NewRemote(s.onEvent.call, nil))
	w.clock.now = now
	if kept.settle(t, w) || short(w.answers[0]) != "FAILED new (the provider has no method Poll any more, which this operation needs)" {
		t.Errorf("%v", w.answers)
	}
}

func FuzzEvents(f *testing.F) {
	for _, b := range behaviours() {
		f.Add([]byte(b.onEvent), []byte(b.isComplete))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		w := newWorld(t, NewRemote(
			func(context.Context, []byte) ([]byte, error) { return first, nil },
			func(context.Context, []byte) ([]byte, error) { return second, errors.ErrUnsupported }))
		r := w.event(pintle.Update, "old", "{}", "{}")
		got := w.deliver(t, r)
		if got.RequestID != r.RequestID || got.StackID != r.StackID || got.LogicalResourceID != r.LogicalResourceID || got.Status != wire.Failed {
			t.Errorf("%v", got)
		}
	})
}
