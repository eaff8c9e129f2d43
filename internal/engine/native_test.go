package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// shelf is a native type with a property for every kind of change. The property Name is the name of the resource.
type shelf struct{}

// Schema implements [native.Type].
func (shelf) Schema() *native.Schema {
	return &native.Schema{
		Name: "Test::Shelf", Attributes: []string{"Arn"},
		Properties: []native.Property{
			{Name: "Name", Required: true, Change: native.Replaces}, {Name: "Width", Kind: native.Integer, Max: 10},
			{Name: "Owner", Change: native.Refused},
		},
	}
}

// Serve implements [native.Type]. A width of 9 fails.
func (shelf) Serve(_ context.Context, r *store.Request) (native.Result, error) {
	name, _ := r.Body.Properties.Get("Name")
	if width, _ := r.Body.Properties.Get("Width"); r.Type != wire.Delete && width.Text() == "9" {
		return native.Result{}, errors.New("too wide")
	}
	if r.Type != wire.Create {
		return native.Result{Attributes: value.Object(value.Member{Key: "Arn", Value: value.Str("arn:" + name.Text())})}, nil
	}
	return native.Result{
		PhysicalID: wire.PhysicalID(name.Text()),
		Attributes: value.Object(value.Member{Key: "Arn", Value: value.Str("arn:" + name.Text())}),
	}, nil
}

func newShelves(t *testing.T) *waiting {
	t.Helper()
	types, err := native.New(shelf{})
	if err != nil {
		t.Fatal(err)
	}
	return &waiting{world: newWorldOf(t, engine.FidelityPintle, types), types: types}
}

func shelved(properties string, attributes ...string) string {
	return `{"Type": "Test::Shelf", "Properties": {` + properties + `}` + strings.Join(append([]string{""}, attributes...), ", ") + `}`
}

// stand creates a stack of a shelf a and the given resources, and returns the number of events so far.
func (w *waiting) stand(resources map[string]string) int {
	w.t.Helper()
	w.must(w.create(body(resources)))
	for len(w.inbox) > 0 {
		if w.inbox[0].Body.Native() {
			w.serve(string(w.inbox[0].Logical))
		} else {
			w.succeed(string(w.inbox[0].Logical), "x")
		}
	}
	if w.status() != "CREATE_COMPLETE" {
		w.t.Fatalf("the stack is not created:\n%s", w.history())
	}
	return len(w.events())
}

func TestNativeUpdate(t *testing.T) {
	w := newShelves(t)
	at := w.stand(map[string]string{"A": shelved(`"Name": "a", "Width": 1`)})
	w.must(w.update(body(map[string]string{"A": shelved(`"Name": "a", "Width": 2`)})))
	w.serveAll()
	w.want(at, `S UPDATE_IN_PROGRESS "User Initiated"`, `A UPDATE_IN_PROGRESS id=a`, `A UPDATE_COMPLETE id=a`,
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_COMPLETE`)

	at = len(w.events())
	w.must(w.update(body(map[string]string{"A": shelved(`"Name": "a", "Width": 2`, `"Metadata": {"k": "v"}`)})))
	w.want(at, `S UPDATE_IN_PROGRESS "User Initiated"`, `A UPDATE_IN_PROGRESS id=a`, `A UPDATE_COMPLETE id=a`,
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_COMPLETE`)

	at = len(w.events())
	w.must(w.update(body(map[string]string{"A": shelved(`"Name": "a", "Width": 2, "Owner": "o"`)})))
	w.want(at, `S UPDATE_IN_PROGRESS "User Initiated"`, `A UPDATE_IN_PROGRESS id=a`,
		`A UPDATE_FAILED id=a "Updates are not allowed for property - Owner."`,
		`S UPDATE_ROLLBACK_IN_PROGRESS "The following resource(s) failed to update: [A]."`, `A UPDATE_COMPLETE id=a`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_ROLLBACK_COMPLETE`)

	at = len(w.events())
	w.must(w.update(body(map[string]string{"A": shelved(`"Name": "a", "Width": 9`)})))
	w.serveAll()
	w.want(at, `S UPDATE_IN_PROGRESS "User Initiated"`, `A UPDATE_IN_PROGRESS id=a`, `A UPDATE_FAILED id=a "too wide"`,
		`S UPDATE_ROLLBACK_IN_PROGRESS "The following resource(s) failed to update: [A]."`,
		`A UPDATE_IN_PROGRESS id=a`, `A UPDATE_COMPLETE id=a`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_ROLLBACK_COMPLETE`)
}

func TestNativeReplacement(t *testing.T) {
	w := newShelves(t)
	custom := resource(`"Shelf": {"Ref": "A"}, "Arn": {"Fn::GetAtt": ["A", "Arn"]}`)
	at := w.stand(map[string]string{"A": shelved(`"Name": "a"`), "C": custom})
	w.must(w.update(body(map[string]string{"A": shelved(`"Name": "b"`), "C": custom})))
	r := w.take("A")
	if r.Type != wire.Create || r.Body.PhysicalID != "" {
		t.Errorf("%s of %q was asked for", r.Type, r.Body.PhysicalID)
	}
	w.report(r)
	asked := w.take("C")
	if got := short(asked.Body.Properties.JSON()); got != `{"Shelf":"b","Arn":"arn:b"}` {
		t.Errorf("C gets %s", got)
	}
	w.answer(asked, success("x"))
	deleted := w.take("A")
	if got := short(deleted.Body.Properties.JSON()); deleted.Type != wire.Delete || deleted.Body.PhysicalID != "a" || got != `{"Name":"a"}` {
		t.Errorf("%s of %q with %s", deleted.Type, deleted.Body.PhysicalID, got)
	}
	w.report(deleted)
	w.want(at, `S UPDATE_IN_PROGRESS "User Initiated"`,
		`A UPDATE_IN_PROGRESS id=a "Requested update requires the creation of a new physical resource; hence creating one."`,
		`A UPDATE_IN_PROGRESS id=b "Resource creation Initiated"`,
		`A UPDATE_COMPLETE id=b`,
		`C UPDATE_IN_PROGRESS id=x`, `C UPDATE_COMPLETE id=x`,
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`, `A DELETE_IN_PROGRESS id=a`, `A DELETE_COMPLETE id=a`, `S UPDATE_COMPLETE`)
}

// TestNativeReplacementFails checks that a failed replacement does not touch the old resource, and deletes the
// remains of the new one.
func TestNativeReplacementFails(t *testing.T) {
	w := newShelves(t)
	at := w.stand(map[string]string{"A": shelved(`"Name": "a"`)})
	w.must(w.update(body(map[string]string{"A": shelved(`"Name": "b", "Width": 9`)})))
	w.serveAll()
	made := ""
	for _, line := range w.events() {
		if id, ok := strings.CutPrefix(line, "A DELETE_COMPLETE id="); ok {
			made = id
		}
	}
	if !strings.HasPrefix(made, "S-A-") || len(made) != len("S-A-")+12 {
		t.Errorf("what failed is called %q", made)
	}
	w.want(at, `S UPDATE_IN_PROGRESS "User Initiated"`,
		`A UPDATE_IN_PROGRESS id=a "Requested update requires the creation of a new physical resource; hence creating one."`,
		`A UPDATE_FAILED id=a "too wide"`,
		`S UPDATE_ROLLBACK_IN_PROGRESS "The following resource(s) failed to update: [A]."`, `A UPDATE_COMPLETE id=a`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`, `A DELETE_IN_PROGRESS id=`+made, `A DELETE_COMPLETE id=`+made,
		`S UPDATE_ROLLBACK_COMPLETE`)
}

// TestNativeReplacementIsUndone checks a failure after the replacement: the old resource is restored without a
// request, and the new one is deleted.
func TestNativeReplacementIsUndone(t *testing.T) {
	for _, left := range []bool{false, true} {
		w := newShelves(t)
		at := w.stand(map[string]string{"A": shelved(`"Name": "a"`), "C": resource(`"V": 1`, `"DependsOn": "A"`)})
		_, err := w.engine.Update(w.ctx, engine.UpdateStack{
			Stack: w.ref(), Options: engine.Options{DisableRollback: left},
			Template: body(map[string]string{"A": shelved(`"Name": "b"`), "C": resource(`"V": 2`, `"DependsOn": "A"`)}),
		})
		w.must(err)
		w.serve("A")
		w.fail("C", "x", "r")
		if left {
			at = len(w.events())
			_, err := w.engine.Rollback(w.ctx, engine.RollbackStack{Stack: w.ref()})
			w.must(err)
		} else {
			at += 7
		}
		w.succeed("C", "x")
		w.serveAll()
		lines := w.events()[at:]
		if got := strings.Join(lines, "\n"); !strings.Contains(got, "A UPDATE_COMPLETE id=a\n") || strings.Contains(got, "A UPDATE_IN_PROGRESS") ||
			!strings.Contains(got, "A DELETE_COMPLETE id=b") || strings.Contains(got, "A DELETE_IN_PROGRESS id=a") ||
			w.status() != "UPDATE_ROLLBACK_COMPLETE" {
			t.Errorf("left as it failed: %t\n%s", left, w.history())
		}
		w.delete()
		w.succeed("C", "x")
		w.serveAll()
		if !strings.Contains(w.history(), "A DELETE_COMPLETE id=a") || w.status() != "DELETE_COMPLETE" {
			t.Errorf("left as it failed: %t\n%s", left, w.history())
		}
	}
}

// TestNativeReplacementIsCancelled checks a cancel during the Create of the new resource, which is deleted by the ID
// in the answer.
func TestNativeReplacementIsCancelled(t *testing.T) {
	for _, fidelity := range []engine.Fidelity{engine.FidelityPintle, engine.FidelityAWS} {
		w := newShelves(t)
		w.world = newWorldOf(t, fidelity, w.types)
		at := w.stand(map[string]string{"A": shelved(`"Name": "a"`)})
		w.must(w.update(body(map[string]string{"A": shelved(`"Name": "b"`)})))
		r := w.take("A")
		w.must(w.engine.CancelUpdate(w.ctx, engine.CancelUpdate{Stack: w.ref()}))
		w.report(r)
		w.serveAll()
		w.want(at, `S UPDATE_IN_PROGRESS "User Initiated"`,
			`A UPDATE_IN_PROGRESS id=a "Requested update requires the creation of a new physical resource; hence creating one."`,
			`A UPDATE_FAILED id=a "Resource update cancelled"`,
			`S UPDATE_ROLLBACK_IN_PROGRESS "Stack update cancelled"`, `A UPDATE_COMPLETE id=a`,
			`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`, `A DELETE_IN_PROGRESS id=b`, `A DELETE_COMPLETE id=b`,
			`S UPDATE_ROLLBACK_COMPLETE`)
	}
}

// TestNativeReplacementIsNeverBegun checks a sibling that fails in the decision that would have created the new
// resource.
func TestNativeReplacementIsNeverBegun(t *testing.T) {
	w := newShelves(t)
	at := w.stand(map[string]string{"A": shelved(`"Name": "a"`), "B": shelved(`"Name": "z"`)})
	w.must(w.update(body(map[string]string{"A": shelved(`"Name": "b"`), "B": shelved(`"Name": "z", "Owner": "o"`)})))
	w.serveAll()
	w.want(at, `S UPDATE_IN_PROGRESS "User Initiated"`,
		`A UPDATE_IN_PROGRESS id=a "Requested update requires the creation of a new physical resource; hence creating one."`,
		`B UPDATE_IN_PROGRESS id=z`, `B UPDATE_FAILED id=z "Updates are not allowed for property - Owner."`,
		`A UPDATE_FAILED id=a "Resource update cancelled"`,
		`S UPDATE_ROLLBACK_IN_PROGRESS "The following resource(s) failed to update: [B, A]."`,
		`A UPDATE_COMPLETE id=a`, `B UPDATE_COMPLETE id=z`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_ROLLBACK_COMPLETE`)
}

func TestNativeReplacePolicy(t *testing.T) {
	w := newShelves(t)
	w.stand(map[string]string{"A": shelved(`"Name": "a"`)})
	w.must(w.update(body(map[string]string{"A": shelved(`"Name": "b"`, `"UpdateReplacePolicy": "Retain"`)})))
	w.serveAll()
	if got := w.history(); !strings.Contains(got, "A DELETE_SKIPPED id=a") || w.status() != "UPDATE_COMPLETE" {
		t.Errorf("events:\n%s", got)
	}
}

func TestWaitConditionIsFixed(t *testing.T) {
	w := newWaiting(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"H": handle, "W": condition("")})))
	w.serveAll()
	w.must(w.signal("H", "SUCCESS", "a", ""))
	at := len(w.events())
	w.must(w.update(body(map[string]string{"H": handle, "W": condition(`"Count": 2`)})))
	w.serveAll()
	w.want(at, `S UPDATE_IN_PROGRESS "User Initiated"`, `W UPDATE_IN_PROGRESS id=ARN/H`,
		`W UPDATE_FAILED id=ARN/H "Update to resource type AWS::CloudFormation::WaitCondition is not supported."`,
		`S UPDATE_ROLLBACK_IN_PROGRESS "The following resource(s) failed to update: [W]."`,
		`W UPDATE_COMPLETE id=ARN/H`, `S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_ROLLBACK_COMPLETE`)
}

func TestMetadataOfTheCDK(t *testing.T) {
	w := newWaiting(t, engine.FidelityPintle)
	analytics := func(text string) string {
		return `{"Type": "AWS::CDK::Metadata", "Properties": {"Analytics": "` + text + `"}, "Metadata": {"aws:cdk:path": "S/CDKMetadata"}}`
	}
	w.must(w.create(body(map[string]string{"M": analytics("v2:deflate64:H4s")})))
	w.serveAll()
	at := len(w.events())
	w.must(w.update(body(map[string]string{"M": analytics("v2:deflate64:AAA")})))
	w.serveAll()
	instances, err := w.engine.Resources(w.ctx, w.stack())
	w.must(err)
	id := string(instances[0].PhysicalID)
	w.want(at, `S UPDATE_IN_PROGRESS "User Initiated"`, `M UPDATE_IN_PROGRESS id=`+id, `M UPDATE_COMPLETE id=`+id,
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_COMPLETE`)
	if !strings.HasPrefix(id, "S-M-") || len(id) != len("S-M-")+12 {
		t.Errorf("physical id %q", id)
	}
}

func TestNativeDeclarations(t *testing.T) {
	const runs = `. This version runs custom resources and AWS::CDK::Metadata, AWS::CloudFormation::Macro, AWS::CloudFormation::Stack, ` +
		`AWS::CloudFormation::WaitCondition, AWS::CloudFormation::WaitConditionHandle.`
	for _, test := range []struct{ name, resource, more, want string }{
		{"unsupported property", `{"Type": "AWS::CloudFormation::WaitConditionHandle", "Properties": {"Foo": 1}}`, "",
			"Template error: resource X at line 1, column 96: Encountered unsupported property Foo"},
		{"missing", `{"Type": "AWS::CloudFormation::WaitCondition", "Properties": {"Handle": "h"}}`, "",
			"Template error: resource X at line 1, column 16: Property validation failure: [The property {/Timeout} is required]"},
		{"range", `{"Type": "AWS::CloudFormation::WaitCondition", "Properties": {"Handle": "h", "Timeout": 43201, "Count": "x"}}`, "",
			"Template error: resource X at line 1, column 109: Value of property Timeout must be from 0 to 43200; " +
				"resource X at line 1, column 125: Value of property Count must be of type Integer"},
		{"policy", `{"Type": "AWS::CloudFormation::WaitCondition", "CreationPolicy": {"ResourceSignal": {"Timeout": "5m"}}}`, "",
			"Template error: resource X at line 1, column 86: CreationPolicy: Value of property Timeout must be a time in ISO 8601 " +
				"format, as PT#H#M#S, of at most PT12H"},
		{"policy of another type", `{"Type": "AWS::CDK::Metadata", "CreationPolicy": {}}`, "",
			"Template error: resource X at line 1, column 70: CreationPolicy is not for resources of type AWS::CDK::Metadata"},
		{"policy of a custom resource", resource("", `"CreationPolicy": {}`), "",
			"Template error: resource X at line 1, column 16: CreationPolicy is not for custom resources"},
		{"attribute", handle, `"Outputs": {"O": {"Value": {"Fn::GetAtt": ["X", "Url"]}}}`,
			"Template error: resource X does not support attribute type Url in Fn::GetAtt (line 1, column 118)"},
		{"unknown type", `{"Type": "AWS::S3::Bucket"}`, "",
			`Template format error: Unrecognized resource types: [AWS::S3::Bucket]: X at line 1, column 16: AWS::S3::Bucket has no provider, because this engine does not run code from templates: start it with --run-functions or --dev. With --unknown-types record, Pintle stores the declaration and creates nothing in AWS` + runs},
		{"misspelt type", `{"Type": "AWS::CDK::Metadate"}`, "",
			`Template format error: Unrecognized resource types: [AWS::CDK::Metadate]: X at line 1, column 16: AWS::CDK::Metadate has no provider, did you mean AWS::CDK::Metadata? ` +
				`With --unknown-types record, Pintle stores the declaration and creates nothing in AWS` + runs},
		{"type of the service itself", `{"Type": "AWS::CloudFormation::StackSet"}`, "",
			`Template format error: Unrecognized resource types: [AWS::CloudFormation::StackSet]: X at line 1, column 16: custom resource type must be AWS::CloudFormation::CustomResource or begin with "Custom::", got "AWS::CloudFormation::StackSet"` + runs},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWaiting(t, engine.FidelityPintle)
			var more []string
			if test.more != "" {
				more = append(more, test.more)
			}
			refused(t, w.create(body(map[string]string{"X": test.resource}, more...)), test.want)
		})
	}
}

// TestNativeDeclarationsLate checks that problems that only evaluation shows fail the resource; with FidelityAWS all
// problems do.
func TestNativeDeclarationsLate(t *testing.T) {
	parameters := `"Parameters": {"P": {"Type": "String", "Default": "x"}}`
	for _, test := range []struct {
		name, resource, more, want string
		fidelity                   engine.Fidelity
	}{
		{"computed", strings.Replace(condition(""), `"60"`, `{"Ref": "P"}`, 1), parameters,
			`W CREATE_FAILED id= "Value of property Timeout must be of type Integer"`, engine.FidelityPintle},
		{"computed policy", strings.Replace(policy, `"PT1M"`, `{"Ref": "P"}`, 1), parameters,
			`W CREATE_FAILED id= "CreationPolicy: Value of property Timeout must be a time in ISO 8601 format, as PT#H#M#S, of at most PT12H"`,
			engine.FidelityPintle},
		{"both", strings.Replace(policy, `"CreationPolicy"`, `"Properties": {"Timeout": 5}, "CreationPolicy"`, 1), parameters,
			`W CREATE_FAILED id= "A WaitCondition with a CreationPolicy has no properties: remove Handle, Timeout and Count"`,
			engine.FidelityPintle},
		{"property", condition(`"Foo": 1`), parameters, `W CREATE_FAILED id= "Encountered unsupported property Foo"`, engine.FidelityAWS},
		{"attribute", handle, parameters + `, "Outputs": {"O": {"Value": {"Fn::GetAtt": ["H", "Url"]}}}`,
			`S ROLLBACK_IN_PROGRESS "[Error] /Outputs/O/Value/Fn::GetAtt: Resource type AWS::CloudFormation::WaitConditionHandle ` +
				`does not support attribute {Url}. Rollback requested by user."`, engine.FidelityAWS},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWaiting(t, test.fidelity)
			resources := map[string]string{"H": handle}
			if test.resource != handle {
				resources["W"] = test.resource
			}
			w.must(w.create(body(resources, test.more)))
			w.serveAll()
			if got := w.history(); !strings.Contains(got, test.want) || w.status() != "ROLLBACK_COMPLETE" {
				t.Errorf("events, want %s:\n%s", test.want, got)
			}
		})
	}
}

// TestNativeReplacementIsDenied checks that the stack policy denies a native replacement before any request is sent.
func TestNativeReplacementIsDenied(t *testing.T) {
	w := newShelves(t)
	at := w.stand(map[string]string{"A": shelved(`"Name": "a"`)})
	w.must(w.engine.SetPolicy(w.ctx, w.ref(), `{"Statement": [
		{"Effect": "Allow", "Action": "Update:Modify", "Principal": "*", "Resource": "*"}]}`))
	w.must(w.update(body(map[string]string{"A": shelved(`"Name": "b"`)})))
	w.serveAll()
	lines := w.events()[at:]
	if !strings.HasPrefix(lines[2], `A UPDATE_FAILED id=a "Action denied by stack policy: `) || !strings.Contains(lines[2], "Update:Replace") ||
		w.status() != "UPDATE_ROLLBACK_COMPLETE" || strings.Contains(strings.Join(lines, "\n"), "DELETE") {
		t.Errorf("events:\n%s", w.history())
	}
	at = len(w.events())
	w.must(w.update(body(map[string]string{"A": shelved(`"Name": "a", "Width": 3`)})))
	w.serveAll()
	w.want(at, `S UPDATE_IN_PROGRESS "User Initiated"`, `A UPDATE_IN_PROGRESS id=a`, `A UPDATE_COMPLETE id=a`,
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_COMPLETE`)
}

// TestNativeChangeSet checks that a change set shows the effect on native types: a change, a replacement or a
// refusal.
func TestNativeChangeSet(t *testing.T) {
	w := newShelves(t)
	w.stand(map[string]string{
		"A": shelved(`"Name": "a", "Width": 1`), "K": shelved(`"Name": "k"`, `"UpdateReplacePolicy": "Retain"`),
		"O": shelved(`"Name": "o", "Owner": "me"`), "X": resource(`"Of": {"Ref": "A"}`),
	})
	set, err := w.planned(engine.CreateChangeSet{Name: "u", Kind: store.KindUpdate, Template: body(map[string]string{
		"A": shelved(`"Name": "a", "Width": 2`), "K": shelved(`"Name": "other"`, `"UpdateReplacePolicy": "Retain"`),
		"O": shelved(`"Name": "o", "Owner": "you"`), "X": resource(`"Of": {"Ref": "A"}`), "N": shelved(`"Name": {"Ref": "K"}, "Width": 1`),
	})})
	w.must(err)
	changes, err := set.Changes()
	w.must(err)
	var got []string
	for _, c := range changes {
		got = append(got, strings.TrimSpace(strings.Join([]string{string(c.Action), c.LogicalID, string(c.Replacement), c.PolicyAction}, " ")))
	}
	want := []string{"Modify A False", "Modify K True ReplaceAndRetain", "Add N", "Modify O False"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if want := `O: Owner cannot be changed: the update of this resource will fail with "Updates are not allowed for property - Owner`; !strings.Contains(set.Reason, want) {
		t.Errorf("reason %q, want %q in it", set.Reason, want)
	}
}
