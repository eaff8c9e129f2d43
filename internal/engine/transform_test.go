package engine_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// looped is a template that creates a resource for every name. Each has the value of Size, and the number of names.
const looped = `Transform: AWS::LanguageExtensions
Parameters:
  Names: {Type: CommaDelimitedList}
  Size: {Type: String, Default: small}
  Policy: {Type: String, Default: Delete}
Resources:
  Fn::ForEach::Things:
    - Name
    - !Ref Names
    - "Thing${Name}":
        Type: Custom::Thing
        DeletionPolicy: !Ref Policy
        Properties: {ServiceToken: "` + token + `", Size: !Ref Size, Of: {"Fn::Length": !Ref Names}}
Outputs:
  Fn::ForEach::Ids: [Name, !Ref Names, {"Id${Name}": {Value: !Ref {"Fn::Sub": "Thing${Name}"}}}]
`

var expand = []string{"CAPABILITY_AUTO_EXPAND"}

func (w *world) createLooped(names string) {
	w.t.Helper()
	_, err := w.engine.Create(w.ctx, engine.CreateStack{
		Name: store.StackName{Account: account, Region: region, Name: "S"}, Template: looped,
		Options: engine.Options{Parameters: []engine.Parameter{{Key: "Names", Value: names}}, Capabilities: expand},
	})
	w.must(err)
}

func (w *world) processed() string {
	w.t.Helper()
	revision, err := w.engine.Revision(w.ctx, w.stack())
	w.must(err)
	if revision.Template != looped {
		w.t.Errorf("the template is kept as\n%s", revision.Template)
	}
	return revision.Processed
}

func TestTransformLife(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.createLooped("A,B")
	w.succeed("ThingA", "a")
	w.succeed("ThingB", "b")
	w.want(0, []string{
		`S CREATE_IN_PROGRESS "User Initiated"`, "ThingA CREATE_IN_PROGRESS id=", "ThingB CREATE_IN_PROGRESS id=",
		`ThingA CREATE_IN_PROGRESS id=a "Resource creation Initiated"`, "ThingA CREATE_COMPLETE id=a",
		`ThingB CREATE_IN_PROGRESS id=b "Resource creation Initiated"`, "ThingB CREATE_COMPLETE id=b", "S CREATE_COMPLETE",
	}, `-> Create ThingA id= {"Size":"small","Of":"2"}`, `-> Create ThingB id= {"Size":"small","Of":"2"}`)
	if outputs := w.stack().Outputs; len(outputs) != 2 || outputs[0].Key != "IdA" {
		t.Errorf("outputs %+v", outputs)
	}
	before := w.processed()
	if !strings.Contains(before, `"ThingB"`) || strings.Contains(before, "Transform") {
		t.Errorf("processed:\n%s", before)
	}

	// The previous template is the processed one: it does not loop over new names, but Size is still a parameter.
	update := func(names, size string, more ...func(*engine.UpdateStack)) error {
		in := engine.UpdateStack{Stack: named("S"), Template: looped, Options: engine.Options{Parameters: []engine.Parameter{
			{Key: "Names", Value: names}, {Key: "Size", Value: size},
		}, Capabilities: expand}}
		for _, m := range more {
			m(&in)
		}
		_, err := w.engine.Update(w.ctx, in)
		return err
	}
	previous := func(in *engine.UpdateStack) { in.Template, in.UsePrevious, in.Capabilities = "", true, nil }
	w.must(update("A,C", "large", previous))
	w.succeed("ThingA", "a")
	w.succeed("ThingB", "b")
	if w.status() != "UPDATE_COMPLETE" || w.processed() != before {
		t.Errorf("%s with\n%s", w.status(), w.processed())
	}
	w.inbox = nil

	// An update with the template's text runs the transforms again.
	wantCode(t, update("A,C", "large", func(in *engine.UpdateStack) { in.Capabilities = nil }), engine.CodeInsufficientRights,
		"Requires capabilities : [CAPABILITY_AUTO_EXPAND]")
	w.must(update("A,C", "large"))
	w.succeed("ThingC", "c")
	w.succeed("ThingB", "b")
	if w.status() != "UPDATE_COMPLETE" || !strings.Contains(w.processed(), `"ThingC"`) {
		t.Errorf("%s with\n%s", w.status(), w.processed())
	}
	wantCode(t, update("A,C", "large"), engine.CodeValidation, "No updates are to be performed.")

	// A failed update restores the output of the previous template.
	w.must(update("A,C,D", "huge"))
	w.succeed("ThingA", "a")
	w.succeed("ThingC", "c")
	w.fail("ThingD", "d", "no")
	w.succeed("ThingA", "a")
	w.succeed("ThingC", "c")
	w.succeed("ThingD", "d")
	if w.status() != "UPDATE_ROLLBACK_COMPLETE" || strings.Contains(w.processed(), `"ThingD"`) {
		t.Errorf("%s with\n%s\n%s", w.status(), w.processed(), w.history())
	}
}

func TestTransformRefusals(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	wantCode(t, w.create(looped), engine.CodeInsufficientRights, "Requires capabilities : [CAPABILITY_AUTO_EXPAND]")
	create := func(text string, parameters ...engine.Parameter) error {
		_, err := w.engine.Create(w.ctx, engine.CreateStack{
			Name: store.StackName{Account: account, Region: region, Name: "S"}, Template: text,
			Options: engine.Options{Parameters: parameters, Capabilities: expand},
		})
		return err
	}
	wantCode(t, create(looped), engine.CodeValidation, "Parameters: [Names] must have values")
	wantCode(t, create(looped, engine.Parameter{Key: "Names", Value: "a-b"}), engine.CodeValidation,
		"Template format error: Resource name Thinga-b is non alphanumeric.")
	wantCode(t, create(strings.Replace(looped, "Custom::Thing", "AWS::S3::Bucket", 1), engine.Parameter{Key: "Names", Value: "A"}), engine.CodeValidation,
		"Unrecognized resource types: [AWS::S3::Bucket]")
	if stacks, err := w.store.Stacks(w.ctx, account, region, true, 0, 1); err != nil || len(stacks) > 0 {
		t.Errorf("something was made: %v, %v", stacks, err)
	}
}

func TestTransformChangeSets(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	plan := func(name string, kind store.Kind, names string, previous bool) engine.ChangeSet {
		in := engine.CreateChangeSet{Name: name, Kind: kind, Template: looped, Options: engine.Options{
			Parameters: []engine.Parameter{{Key: "Names", Value: names}},
		}}
		if previous {
			in.Template, in.UsePrevious = "", true
		}
		set, err := w.planned(in) // it needs no capability, because it shows the result of the transforms
		w.must(err)
		return set
	}
	set := plan("make", store.KindCreate, "A,B", false)
	if got := changed(t, set); !strings.Contains(got, "ThingA") || !strings.Contains(got, "ThingB") {
		t.Errorf("changes:\n%s", got)
	}
	if set.Body.Revision.Template != looped || !strings.Contains(set.Body.Revision.Processed, "ThingB") {
		t.Errorf("the set has %s", set.Body.Revision.Processed)
	}
	w.must(w.execute("make"))
	w.succeed("ThingA", "a")
	w.succeed("ThingB", "b")
	if w.status() != "CREATE_COMPLETE" || w.processed() != set.Body.Revision.Processed {
		t.Errorf("%s with\n%s", w.status(), w.processed())
	}
	if set := plan("same", store.KindUpdate, "A,B", false); set.State != store.ChangeSetFailed || set.Reason != "No updates are to be performed." {
		t.Errorf("a set without changes: %s %q", set.State, set.Reason)
	}
	if set := plan("previous", store.KindUpdate, "A,B,C", true); set.Body.Revision.Processed != w.processed() {
		t.Errorf("the previous template was processed anew:\n%s", set.Body.Revision.Processed)
	}
	set = plan("less", store.KindUpdate, "B", false)
	if got := changed(t, set); !strings.Contains(got, "ThingA") {
		t.Errorf("changes:\n%s", got)
	}
	w.must(w.execute("less"))
	w.succeed("ThingB", "b") // one resource less
	w.succeed("ThingA", "a") // deleted
	if w.status() != "UPDATE_COMPLETE" {
		t.Errorf("%s\n%s", w.status(), w.history())
	}
}

func TestGetAZs(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"C": resource(`"Zones": {"Fn::GetAZs": ""}`)})))
	if got := short(w.take("C").Body.Properties.JSON()); got != `{"Zones":["`+region+`a","`+region+`b","`+region+`c"]}` {
		t.Errorf("zones %s", got)
	}
}
