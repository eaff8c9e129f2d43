package forward_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/forward"
	"github.com/pintle-dev/pintle/internal/dev/forwardtest"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
)

func TestLife(t *testing.T) {
	w := newWorld(t)
	w.endpoint.Steps = 2
	one := template(map[string]string{"A": thing(`"Size": 1`), "B": thing(`"Size": {"Fn::GetAtt": ["A", "Arn"]}`)}, `{"Ref": "A"}`, `{"Fn::GetAtt": ["B", "Size"]}`)
	w.wantStatus("s", w.create("s", one, store.Tag{Key: "team", Value: "web"}), "CREATE_COMPLETE")
	if got, want := w.outputs("s"), "thing-2 arn:aws:test:::thing-2"; got != want {
		t.Errorf("outputs %q, want %q", got, want)
	}
	tags := w.endpoint.Ledger()[0].Tags
	if tags["team"] != "web" || tags["pintle:stack"] != string(w.stack("s").ID) || tags["pintle:resource"] != "A" {
		t.Errorf("tags %v", tags)
	}
	w.wantRows(4)

	t.Log("in place")
	two := template(map[string]string{"A": thing(`"Size": 2`), "B": thing(`"Size": {"Fn::GetAtt": ["A", "Size"]}`)},
		`{"Ref": "A"}`, `{"Fn::GetAtt": ["B", "Size"]}`, `{"Fn::Join": ["|", {"Fn::GetAtt": ["A", "Arn"]}]}`)
	two = strings.Replace(two, `{"Fn::Join": ["|", {"Fn::GetAtt": ["A", "Arn"]}]}`, `{"Fn::GetAtt": ["A", "Arn"]}`, 1)
	w.wantStatus("s", w.update("s", two), "UPDATE_COMPLETE")
	if got, want := w.outputs("s"), "thing-2 2 arn:aws:test:::thing-2"; got != want {
		t.Errorf("outputs %q, want %q", got, want)
	}
	w.wantMade(2)

	t.Log("only a new attribute")
	calls := w.endpoint.Calls("CreateChangeSet")
	more := template(map[string]string{"A": thing(`"Size": 2`), "B": thing(`"Size": {"Fn::GetAtt": ["A", "Size"]}`)},
		`{"Fn::GetAtt": ["B", "Arn"]}`)
	w.wantStatus("s", w.update("s", more), "UPDATE_COMPLETE")
	if got, want := w.outputs("s"), "arn:aws:test:::thing-4"; got != want {
		t.Errorf("outputs %q, want %q", got, want)
	}
	if got := w.endpoint.Calls("CreateChangeSet"); got != calls {
		t.Errorf("%d change sets for an update that changes no resource", got-calls)
	}

	t.Log("replacement")
	three := template(map[string]string{"A": thing(`"Name": "n", "Size": 2`), "B": thing(`"Size": {"Fn::GetAtt": ["A", "Size"]}`)}, `{"Ref": "A"}`)
	w.wantStatus("s", w.update("s", three), "UPDATE_COMPLETE")
	w.wantEvent("s", "A DELETE_COMPLETE thing-2")
	w.wantLive("n", "thing-4")
	w.wantMade(3)

	t.Log("delete")
	w.wantStatus("s", w.delete("s"), "DELETE_COMPLETE")
	w.wantLive()
	w.wantRows(0)
	if stacks := w.endpoint.Stacks(); stacks != nil {
		t.Errorf("stacks are left: %q", stacks)
	}
}

// A rollback after a replacement returns to the old resource, whose stack was not touched.
func TestRollbackKeepsOldResource(t *testing.T) {
	w := newWorld(t)
	w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "old"`)}, `{"Ref": "A"}`)), "CREATE_COMPLETE")
	bad := template(map[string]string{"A": thing(`"Name": "new"`), "B": thing(`"Size": {"Ref": "A"}, "Fail": "B is out of stock"`)}, `{"Ref": "A"}`)
	w.wantStatus("s", w.update("s", bad), "UPDATE_ROLLBACK_COMPLETE")
	w.wantEvent("s", "B CREATE_FAILED", "Forwarded to", "B is out of stock")
	w.wantLive("old")
	w.wantMade(2)
	if w.endpoint.Ledger()[0].Deleted {
		t.Error("the old resource was deleted")
	}
	w.wantStatus("s", w.delete("s"), "DELETE_COMPLETE")
	w.wantLive()
	w.wantRows(0)
}

// A failed update that the endpoint rolled back needs no further update.
func TestFailedUpdate(t *testing.T) {
	w := newWorld(t)
	w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Size": 1`)})), "CREATE_COMPLETE")
	w.wantStatus("s", w.update("s", template(map[string]string{"A": thing(`"Size": 2, "Fail": "no more room"`)})), "UPDATE_ROLLBACK_COMPLETE")
	w.wantEvent("s", "A UPDATE_FAILED", "no more room", "UPDATE_ROLLBACK_COMPLETE")
	if n := w.endpoint.Calls("UpdateStack"); n != 1 {
		t.Errorf("%d updates, want 1", n)
	}
	if got := fmt.Sprint(w.endpoint.Ledger()[0].Properties["Size"]); got != "1" {
		t.Errorf("size %s", got)
	}
}

func TestPolicies(t *testing.T) {
	const retain, replaceRetain = `"DeletionPolicy": "Retain"`, `"UpdateReplacePolicy": "Retain"`
	t.Run("deletion", func(t *testing.T) {
		w := newWorld(t)
		w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "a"`, retain)})), "CREATE_COMPLETE")
		if _, text := w.endpoint.Parameters("s-A-"); !strings.Contains(text, `"DeletionPolicy":"Retain"`) {
			t.Errorf("the template lacks the policy: %s", text)
		}
		w.wantStatus("s", w.delete("s"), "DELETE_COMPLETE")
		w.wantLive("a")
	})
	t.Run("replacement", func(t *testing.T) {
		w := newWorld(t)
		w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "a"`, replaceRetain)})), "CREATE_COMPLETE")
		w.wantStatus("s", w.update("s", template(map[string]string{"A": thing(`"Name": "b"`, replaceRetain)})), "UPDATE_COMPLETE")
		w.wantLive("a", "b")
		w.wantStatus("s", w.delete("s"), "DELETE_COMPLETE")
		w.wantLive("a")
	})
	t.Run("replaced with DeletionPolicy", func(t *testing.T) { // which does not apply to replaced resources
		w := newWorld(t)
		w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "a"`, retain)})), "CREATE_COMPLETE")
		w.wantStatus("s", w.update("s", template(map[string]string{"A": thing(`"Name": "b"`, retain)})), "UPDATE_COMPLETE")
		w.wantLive("b")
	})
	t.Run("changed", func(t *testing.T) {
		w := newWorld(t)
		w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "a"`, retain)}, `"1"`)), "CREATE_COMPLETE")
		w.wantStatus("s", w.update("s", template(map[string]string{"A": thing(`"Name": "a"`)}, `"2"`)), "UPDATE_COMPLETE")
		if _, text := w.endpoint.Parameters("s-A-"); strings.Contains(text, `DeletionPolicy`) {
			t.Errorf("the template has the policy: %s", text)
		}
		w.wantStatus("s", w.delete("s"), "DELETE_COMPLETE")
		w.wantLive()
	})
}

// A secret value reaches the endpoint as a NoEcho parameter, and nothing else does.
func TestSecret(t *testing.T) {
	w := newWorld(t)
	text := template(map[string]string{"A": thing(`"Size": {"Fn::Sub": "x-${Secret}"}, "Fail": {"Fn::Sub": "cannot use x-${Secret}"}`), "B": thing(`"Size": {"Ref": "Secret"}`)})
	w.wantStatus("s", w.create("s", text), "ROLLBACK_COMPLETE")
	w.events("s") // which contain no secret
	w = newWorld(t)
	w.wantStatus("s", w.create("s", template(map[string]string{"B": thing(`"Size": {"Ref": "Secret"}`)})), "CREATE_COMPLETE")
	parameters, sent := w.endpoint.Parameters("s-B-")
	if strings.Contains(sent, "hunter2") || !strings.Contains(sent, `"NoEcho":true`) {
		t.Errorf("template %s", sent)
	}
	if parameters["PintleSecret0"] != "hunter2&more" || len(parameters) != 1 {
		t.Errorf("parameters %v", parameters)
	}
}

// An endpoint that reports success without a resource is not believed.
func TestCompleteWithoutResource(t *testing.T) {
	w := newWorld(t)
	w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Empty": 1`)})), "ROLLBACK_COMPLETE")
	w.wantEvent("s", "A CREATE_FAILED", "has no value of Ref")
	w.wantRows(0)
	if stacks := w.endpoint.Stacks(); stacks != nil {
		t.Errorf("stacks are left: %q", stacks)
	}
}

func TestFailedDelete(t *testing.T) {
	w := newWorld(t)
	w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "a", "Keep": "a is in use"`)})), "CREATE_COMPLETE")
	w.wantStatus("s", w.delete("s"), "DELETE_FAILED")
	w.wantEvent("s", "A DELETE_FAILED", "a is in use")
	w.wantLive("a")
}

// A stack at the endpoint with the name of an inner stack and other tags is not touched.
func TestTakenName(t *testing.T) {
	w := newWorld(t)
	w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "a"`)})), "CREATE_COMPLETE")
	name, _, _ := strings.Cut(w.endpoint.Stacks()[0], " ")
	again := newWorld(t)
	again.endpoint.Take(name)
	again.wantStatus("s", again.create("s", template(map[string]string{"A": thing(`"Name": "a"`)})), "ROLLBACK_COMPLETE")
	again.wantEvent("s", "A CREATE_FAILED", name, "does not belong to this resource")
	if got := again.endpoint.Stacks(); len(got) != 1 {
		t.Errorf("stacks %q", got)
	}
}

// An endpoint that adopts a resource by its name does not lose it when the second owner is given up.
func TestAdopted(t *testing.T) {
	w := newWorld(t)
	w.endpoint.Adopt = true
	w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "a"`)})), "CREATE_COMPLETE")
	w.wantStatus("t", w.create("t", template(map[string]string{"A": thing(`"Name": "a"`)})), "ROLLBACK_COMPLETE")
	w.wantEvent("t", "A CREATE_FAILED", "a is already the resource of the stack s-A-")
	w.wantLive("a")
}

// An endpoint that does not say whether it replaces is told to retain the old resource.
func TestUnannouncedReplacement(t *testing.T) {
	for _, blind := range []bool{true, false} {
		w := newWorld(t)
		w.endpoint.Blind, w.endpoint.Conditional = blind, !blind
		w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "a"`)}, `{"Ref": "A"}`)), "CREATE_COMPLETE")
		w.wantStatus("s", w.update("s", template(map[string]string{"A": thing(`"Name": "b"`)}, `{"Ref": "A"}`)), "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
		w.wantLive("a", "b")
		if got := w.outputs("s"); got != "b" {
			t.Errorf("Ref is %s", got)
		}
		w.wantEvent("s", "A DELETE_FAILED a", "the endpoint replaced a")
	}
}

// Types that the endpoint lacks are refused before anything is created.
func TestUnknownType(t *testing.T) {
	w := newWorld(t)
	w.config.Rules = []forward.Rule{{Types: []string{"AWS::Test::*", "AWS::Else::*"}, Endpoint: w.endpoint.URL}}
	w.open()
	_, err := w.engine.Create(t.Context(), engine.CreateStack{
		Name: store.StackName{Account: w.account, Region: region, Name: "s"}, Template: template(map[string]string{"A": thing(``), "B": `{"Type": "AWS::Else::Thing"}`}),
	})
	if err == nil || !strings.Contains(err.Error(), "does not provide these resource types: [AWS::Else::Thing]. Nothing was changed.") {
		t.Errorf("error %v", err)
	}
	w.wantMade(0)
	w.endpoint.Fault = func(action string, _ int) forwardtest.Fault {
		if action == "ValidateTemplate" {
			return forwardtest.Break
		}
		return forwardtest.None
	}
	_, err = w.engine.Create(t.Context(), engine.CreateStack{
		Name: store.StackName{Account: w.account, Region: "eu-west-1", Name: "s"}, Template: template(map[string]string{"A": thing(``)}),
	})
	if err == nil || !strings.Contains(err.Error(), "HTTP 500") {
		t.Errorf("error %v", err)
	}
}

func TestVerify(t *testing.T) {
	w := newWorld(t)
	f, err := forward.New(w.config)
	w.must(err)
	w.must(f.Verify(t.Context(), region))
	w.endpoint.Account = "999999999999"
	if err := f.Verify(t.Context(), region); err == nil || !strings.Contains(err.Error(), `has account "999999999999", and stacks here have AWS::AccountId 000000000000`) {
		t.Errorf("error %v", err)
	}
	w.config.Own = w.endpoint.URL
	if _, err := forward.New(w.config); err == nil || !strings.Contains(err.Error(), "is Pintle itself") {
		t.Errorf("error %v", err)
	}
}

// A stack whose server runs without the flag, or with another endpoint, keeps its resources.
func TestFlagChanged(t *testing.T) {
	w := newWorld(t)
	w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "a"`)})), "CREATE_COMPLETE")
	other := forwardtest.Start(t)
	w.config.Rules = []forward.Rule{{Types: []string{"AWS::Test::Thing"}, Endpoint: other.URL}}
	w.open()
	w.wantStatus("s", w.delete("s"), "DELETE_FAILED")
	w.wantEvent("s", "A DELETE_FAILED", "was created at "+w.endpoint.URL)
	w.wantLive("a")

	w.config.Rules = nil
	w.open()
	_, err := w.engine.Delete(t.Context(), engine.DeleteStack{Stack: w.ref("s")})
	w.must(err)
	if _, err := w.types.Serve(t.Context(), &w.inbox[0]); !errors.Is(err, native.ErrAgain) || !strings.Contains(err.Error(), "start Pintle with that flag") {
		t.Errorf("error %v", err)
	}
	w.wantLive("a")
}

// Resources that Pintle provided before the flag was set are its own until they change.
func TestFlagAdded(t *testing.T) {
	w := newWorld(t)
	rules := w.config.Rules
	w.config.Rules, w.unknown = nil, engine.UnknownRecorded
	w.open()
	text := template(map[string]string{"A": thing(`"Name": "a"`), "B": thing(`"Name": "b"`)}, `{"Ref": "A"}`)
	w.wantStatus("s", w.create("s", text), "CREATE_COMPLETE")
	w.wantMade(0)
	w.config.Rules = rules
	w.open()
	w.wantStatus("s", w.update("s", template(map[string]string{"A": thing(`"Name": "a", "Size": 1`)}, `{"Ref": "A"}`)), "UPDATE_COMPLETE")
	if got := w.outputs("s"); got != "a" {
		t.Errorf("Ref is %s", got)
	}
	w.wantLive("a")
	w.wantStatus("s", w.delete("s"), "DELETE_COMPLETE")
	w.wantLive()
}

func TestRules(t *testing.T) {
	for text, want := range map[string]string{
		"AWS::SQS::*,AWS::SNS::Topic=http://127.0.0.1:4566/": "AWS::SQS::*,AWS::SNS::Topic=http://127.0.0.1:4566",
		"AWS::SQS::Queue=aws":                                "AWS::SQS::Queue=aws",
		"AWS::SQS::Queue":                                    "want TYPE[,TYPE…]=URL, such as AWS::SQS::*=http://127.0.0.1:4566",
		"*=aws":                                              `"*" is neither a resource type nor a pattern such as AWS::SQS::*`,
		"AWS::*=aws":                                         `"AWS::*" is neither a resource type nor a pattern such as AWS::SQS::*`,
		"AWS::S*::Queue=aws":                                 `"AWS::S*::Queue" is neither a resource type nor a pattern such as AWS::SQS::*`,
		"AWS::CloudFormation::Stack=aws":                     "AWS::CloudFormation::Stack cannot be forwarded: types of CloudFormation act on the stack itself",
		"ALIYUN::OSS::Bucket=aws":                            "ALIYUN::OSS::Bucket cannot be forwarded: only types of AWS can",
		"AWS::SQS::Queue=ftp://x":                            "the endpoint must be aws, or an http(s) URL without a user and a query",
		"AWS::SQS::Queue=http://u:p@x":                       "the endpoint must be aws, or an http(s) URL without a user and a query",
	} {
		rule, err := forward.ParseRule(text)
		got := rule.String()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
