package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
)

// rosTree is a world with nested ROS stacks: S is the root.
type rosTree struct {
	*rosWorld
	types     *native.Registry
	templates map[string]string
}

func newROSTree(t *testing.T) *rosTree {
	t.Helper()
	f := &rosTree{templates: map[string]string{}}
	types, err := native.New(native.ROSStack(
		func(_ context.Context, url string) (string, error) {
			if text, ok := f.templates[url]; ok {
				return text, nil
			}
			return "", errors.New("no template is there")
		},
		func(ctx context.Context, r *store.Request, template func(context.Context) (string, error)) (native.Result, bool, error) {
			return f.engine.Nest(ctx, r, template)
		},
	))
	if err != nil {
		t.Fatal(err)
	}
	f.types, f.rosWorld = types, newROS(t, engine.Config{Native: types})
	return f
}

// nest serves requests for nested stacks, as delivery does.
func (f *rosTree) nest() {
	f.t.Helper()
	for {
		at := slices.IndexFunc(f.inbox, func(r store.Request) bool { return r.Body.Native() })
		if at < 0 {
			return
		}
		r := f.inbox[at]
		f.inbox = slices.Delete(f.inbox, at, at+1)
		if outcome, ok := nestedOutcome(f.ctx, f.types, &r); ok {
			f.must(f.engine.Report(f.ctx, r.ID, outcome))
		}
	}
}

// say answers for the provider of a resource of any of the stacks; with FAILED if the ID is empty.
func (f *rosTree) say(logical, id string) {
	f.t.Helper()
	f.nest()
	if !slices.ContainsFunc(f.inbox, func(r store.Request) bool { return string(r.Logical) == logical }) {
		n := f.nested("N")
		f.t.Fatalf("%s is not asked: the root is %s (%s), the nested stack %s (%s)", logical, f.rosStatus(), f.reasonOf(store.PhaseRevert),
			engine.ROS.StackStatus(n.Kind, n.Phase), n.Reason)
	}
	if r := f.take(logical); id == "" {
		f.answer(r, `"Status": "FAILED", "Reason": "no"`)
	} else {
		f.answer(r, `"Status": "SUCCESS", "PhysicalResourceId": "`+id+`", "Data": {"id": "`+id+`", "list": ["`+id+`"]}`)
	}
	f.nest()
}

// nested returns the newest stack that is nested as a resource.
func (f *rosTree) nested(logical string) store.Stack {
	f.t.Helper()
	stacks, err := f.store.Stacks(f.ctx, rosAccount, rosRegion, true, 0, 100)
	f.must(err)
	for _, s := range stacks {
		if strings.Contains(s.Name, "-"+logical+"-") {
			return s
		}
	}
	f.t.Fatalf("there is no stack nested as %s", logical)
	return store.Stack{}
}

func (f *rosTree) is(root, nested string) {
	f.t.Helper()
	n := f.nested("N")
	if got := engine.ROS.StackStatus(n.Kind, n.Phase); f.rosStatus() != root || got != nested {
		f.t.Errorf("the root is %s, want %s: %s; the nested stack is %s, want %s: %s", f.rosStatus(), root, f.row().Reason, got, nested, n.Reason)
	}
}

const rosInner = `{"ROSTemplateFormatVersion": "2015-09-01",
	"Parameters": {"Name": {"Type": "String"}, "List": {"Type": "CommaDelimitedList", "Default": ""}, "Map": {"Type": "Json", "Default": {}}},
	"Resources": {"C": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + rosToken + `",
		"Parameters": {"Name": {"Ref": "Name"}, "List": {"Ref": "List"}, "Map": {"Ref": "Map"}}}}},
	"Outputs": {"Id": {"Value": {"Fn::GetAtt": ["C", "id"]}}, "All": {"Value": {"Fn::GetAtt": ["C", "Outputs"]}}}}`

// rosOuter returns a template that nests a stack and uses its outputs in a resource.
func rosOuter(properties string) string {
	return rosBody(map[string]string{
		"N": `{"Type": "ALIYUN::ROS::Stack", "Properties": {` + properties + `}}`,
		"D": rosResource(`"Of": {"Fn::GetAtt": ["N", "Outputs.Id"]}`, ""),
	}, `"Outputs": {"List": {"Value": {"Fn::Select": ["list", {"Fn::GetAtt": ["N", "Outputs.All"]}]}}}`)
}

func byURL(parameters string) string {
	return rosOuter(`"TemplateURL": "https://templates.example.com/inner.json", "Parameters": {` + parameters + `}`)
}

// TestROSNestedStack checks that a nested ROS stack is created, updated and deleted with its parent, and that outputs
// keep their types.
func TestROSNestedStack(t *testing.T) {
	f := newROSTree(t)
	f.templates["https://templates.example.com/inner.json"] = rosInner
	f.must(f.begin(engine.CreateStack{
		Template: byURL(`"Name": "a", "List": ["x", "y"], "Map": {"k": [1, true]}`), Options: engine.Options{Caller: "42"},
	}))
	f.nest()
	r := f.inbox[0]
	if got := string(r.Body.Properties.JSON()); r.Body.Caller != "42" || got != `{"Name":"a","List":["x","y"],"Map":{"k":["1","true"]}}` {
		t.Errorf("the request of the nested stack is by %s, of %s", r.Body.Caller, got)
	}
	f.say("C", "c-1")
	if d := f.inbox[0]; string(d.Body.Properties.JSON()) != `{"Of":"c-1"}` {
		t.Errorf("the outer resource gets %s", d.Body.Properties.JSON())
	}
	f.say("D", "d-1")
	f.is("CREATE_COMPLETE", "CREATE_COMPLETE")
	n := f.nested("N")
	if n.Parent != f.id || n.Root != f.id || n.Dialect != "ros" || n.TimeoutMinutes != 60 {
		t.Errorf("the nested stack is %+v", n)
	}
	if got := string(f.row().OutputValues.JSON()); got != `{"List":["c-1"]}` {
		t.Errorf("outputs %s", got)
	}

	// An update of only the parent does not change the nested stack. An update of a parameter changes both.
	f.must(f.change(engine.UpdateStack{Template: strings.Replace(byURL(`"Name": "a", "List": ["x", "y"], "Map": {"k": [1, true]}`),
		`"Of"`, `"More": 1, "Of"`, 1)}))
	f.say("D", "d-1")
	f.is("UPDATE_COMPLETE", "CREATE_COMPLETE")
	f.must(f.change(engine.UpdateStack{Template: byURL(`"Name": "b"`)}))
	f.say("C", "c-1")
	f.say("D", "d-1")
	f.is("UPDATE_COMPLETE", "UPDATE_COMPLETE")

	f.must(f.remove(engine.DeleteStack{}))
	f.say("D", "d-1")
	f.say("C", "c-1")
	f.is("DELETE_COMPLETE", "DELETE_COMPLETE")
}

// TestROSNestedStackFails checks that a failure inside the nested stack, or after it, rolls it back.
func TestROSNestedStackFails(t *testing.T) {
	standing := func(t *testing.T) *rosTree {
		f := newROSTree(t)
		f.templates["https://templates.example.com/inner.json"] = rosInner
		f.must(f.begin(engine.CreateStack{Template: byURL(`"Name": "a"`)}))
		f.say("C", "c-1")
		f.say("D", "d-1")
		f.is("CREATE_COMPLETE", "CREATE_COMPLETE")
		return f
	}
	t.Run("create", func(t *testing.T) {
		f := newROSTree(t)
		f.templates["https://templates.example.com/inner.json"] = rosInner
		f.must(f.begin(engine.CreateStack{Template: byURL(`"Name": "a"`)}))
		f.say("C", "")
		f.say("C", "gone") // the Delete of the created resource
		f.is("CREATE_ROLLBACK_COMPLETE", "DELETE_COMPLETE")
		if reason := f.reasonOf(store.PhaseRevert); !strings.Contains(reason, "The nested stack S-N-") {
			t.Errorf("the root fails with %s", reason)
		}
	})
	t.Run("update within", func(t *testing.T) {
		f := standing(t)
		f.must(f.change(engine.UpdateStack{Template: byURL(`"Name": "b"`)}))
		f.say("C", "")
		f.say("C", "c-1") // rolled back
		f.is("ROLLBACK_COMPLETE", "ROLLBACK_COMPLETE")
	})
	t.Run("update after", func(t *testing.T) {
		f := standing(t)
		f.must(f.change(engine.UpdateStack{Template: strings.Replace(byURL(`"Name": "b"`), `"Of"`, `"More": 1, "Of"`, 1)}))
		f.say("C", "c-1")
		f.say("D", "")
		f.say("C", "c-1") // rolled back
		f.say("D", "d-1")
		f.is("ROLLBACK_COMPLETE", "ROLLBACK_COMPLETE")
	})
	t.Run("an output that is not there", func(t *testing.T) {
		f := newROSTree(t)
		f.templates["https://templates.example.com/inner.json"] = rosInner
		f.must(f.begin(engine.CreateStack{Template: strings.Replace(byURL(`"Name": "a"`), "Outputs.Id", "Outputs.No", 1)}))
		f.say("C", "c-1")
		f.say("C", "c-1")
		if reason := f.reasonOf(store.PhaseRevert); !strings.Contains(reason, "The Referenced Attribute (N Outputs.No) is incorrect.") {
			t.Errorf("the root fails with %s", reason)
		}
	})
}

// TestROSNestedStackIsRetained checks that a nested stack with the policy Retain outlives its parent.
func TestROSNestedStackIsRetained(t *testing.T) {
	f := newROSTree(t)
	var body any
	f.must(json.Unmarshal([]byte(rosInner), &body))
	written, err := json.Marshal(body)
	f.must(err)
	f.must(f.begin(engine.CreateStack{Template: rosBody(map[string]string{
		"N": `{"Type": "ALIYUN::ROS::Stack", "DeletionPolicy": "Retain", "Properties": {"TemplateBody": ` + string(written) +
			`, "TimeoutMins": 10, "Parameters": {"Name": "a"}, "Tags": [{"Key": "k", "Value": "v"}]}}`,
	})}))
	f.say("C", "c-1")
	f.is("CREATE_COMPLETE", "CREATE_COMPLETE")
	if n := f.nested("N"); n.TimeoutMinutes != 10 {
		t.Errorf("the nested stack has %d minutes", n.TimeoutMinutes)
	}
	f.must(f.remove(engine.DeleteStack{}))
	f.nest()
	f.is("DELETE_COMPLETE", "CREATE_COMPLETE")
}

// TestROSNestedStackRefused checks that a stack that cannot be nested fails the resource with a reason.
func TestROSNestedStackRefused(t *testing.T) {
	const url = "https://templates.example.com/inner.json"
	for name, test := range map[string]struct{ inner, outer, want string }{
		"itself":            {"", byURL(""), "it would nest itself without end"},
		"CloudFormation":    {`{"Resources": {}}`, byURL(""), "ROSTemplateFormatVersion is missing"},
		"Locals":            {`{"ROSTemplateFormatVersion": "2015-09-01", "Locals": {"L": {"Value": "x"}}}`, byURL(""), "cannot have Locals"},
		"a missing value":   {rosInner, byURL(""), "The Parameter Name was not provided."},
		"an unknown value":  {rosInner, byURL(`"Name": "a", "Other": 1`), "The Parameter (Other) was not defined in template."},
		"no template":       {rosInner, rosOuter(`"Parameters": {}`), "give TemplateURL or TemplateBody"},
		"a stored template": {rosInner, rosOuter(`"TemplateId": "t-1"`), "there are no stored templates here"},
		"missing template":  {rosInner, rosOuter(`"TemplateURL": "https://templates.example.com/none.json"`), "no template is there"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newROSTree(t)
			f.templates[url] = test.inner
			if test.inner == "" {
				f.templates[url] = test.outer
			}
			err := f.begin(engine.CreateStack{Template: test.outer})
			if err == nil {
				f.nest()
				err = errors.New(f.reasonOf(store.PhaseRevert))
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("it fails with %v", err)
			}
		})
	}
}

// TestROSNestedStackIsOutOfTime checks that TimeoutMins limits an operation of the nested stack.
func TestROSNestedStackIsOutOfTime(t *testing.T) {
	f := newROSTree(t)
	f.templates["https://templates.example.com/inner.json"] = rosInner
	f.must(f.begin(engine.CreateStack{Template: rosOuter(`"TimeoutMins": 1, "TemplateURL": "https://templates.example.com/inner.json", "Parameters": {"Name": "a"}`)}))
	f.nest()
	f.accept(f.take("C"))
	f.pass(61 * time.Second)
	f.nest()
	if diff := cmp.Diff("CREATE_ROLLBACK_IN_PROGRESS", f.rosStatus()); diff != "" {
		t.Errorf("the root (-want +got):\n%s\n%s", diff, f.row().Reason)
	}
}
