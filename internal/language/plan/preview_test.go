package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// present is a stack as its template created it: every resource has the ID "id-" + its name, and its attribute "x" is
// "x-" + its name.
type present struct {
	t    *testing.T
	side plan.Side
}

func (p present) PhysicalID(logical string) (value.Value, bool) {
	return value.Str("id-" + logical), true
}

func (p present) Attribute(logical, name string) (value.Value, error) {
	if name != "x" {
		return value.Value{}, fmt.Errorf("%s has no %s", logical, name)
	}
	return value.Str("x-" + logical), nil
}

func (p present) now(logical string) *plan.Now {
	r := p.side.Template.Resource(logical)
	if r == nil || r.Condition != "" && !p.side.Scope.Conditions[r.Condition] {
		return nil
	}
	properties, err := template.Evaluate(r.Properties, p.side.Scope, p)
	if err != nil {
		p.t.Fatal(err)
	}
	if properties.IsNull() {
		properties = value.Object()
	}
	metadata, err := template.Evaluate(r.Metadata, p.side.Scope, p)
	if err != nil {
		p.t.Fatal(err)
	}
	return &plan.Now{PhysicalID: "id-" + logical, Type: r.Type, Properties: properties.Stringified(), Metadata: metadata}
}

func form(_ *template.Resource, v value.Value) (value.Value, error) {
	if v.IsNull() {
		v = value.Object()
	}
	return v.Stringified(), nil
}

func preview(t *testing.T, before, after plan.Side) []plan.Change {
	t.Helper()
	candidates, err := plan.Update(before, after)
	if err != nil {
		t.Fatal(err)
	}
	there := present{t, before}
	return plan.Preview(&before, after, candidates, plan.World{Now: there.now, Resources: there, Form: form, Consequence: consequence})
}

// consequence rejects a changed Token of any resource, and knows more about the type Native.
func consequence(resourceType string, before, after value.Value) (plan.Consequence, string) {
	differ := func(name string) bool {
		was, _ := before.Get(name)
		is, _ := after.Get(name)
		return !was.Equal(is)
	}
	switch {
	case differ("Token"):
		return plan.Refused, "no way"
	case resourceType != "Native":
		return plan.Decided, ""
	case differ("Name"):
		return plan.Replaces, ""
	}
	return plan.InPlace, ""
}

// changeLines writes changes, each followed by its details.
func changeLines(list []plan.Change) []string {
	var lines []string
	for _, c := range list {
		line := fmt.Sprintf("%s %s", c.Action, c.LogicalID)
		for _, more := range []string{c.PhysicalID, c.PolicyAction, string(c.Replacement), strings.Join(c.Scope, "+"), c.Problem} {
			if more != "" {
				line += " " + more
			}
		}
		if c.KeepsReplaced {
			line += " keeps"
		}
		if c.Again {
			line += " again"
		}
		if c.May() {
			line += " may"
		}
		lines = append(lines, line)
		for _, d := range c.Details {
			line := "  " + d.Path + " " + string(d.Source)
			if d.Cause != "" {
				line += " " + d.Cause
			}
			for _, flag := range []struct {
				name string
				is   bool
			}{{"dynamic", d.Dynamic}, {"conditional", d.Recreation == plan.RecreationConditional}, {"always", d.Recreation == plan.RecreationAlways}} {
				if flag.is {
					line += " " + flag.name
				}
			}
			show := func(s *string) string {
				if s == nil {
					return "-"
				}
				return strings.ReplaceAll(*s, plan.Unknown, "?")
			}
			lines = append(lines, line+" "+show(d.Before)+" > "+show(d.After))
		}
	}
	return lines
}

func TestPreview(t *testing.T) {
	for _, test := range []struct {
		name, before, after string
		parameters          string // of the second side
		want                []string
	}{
		{
			"nothing", `{A: {Type: Custom::T, Properties: {P: 1}}}`, `{A: {Type: Custom::T, Properties: {P: "1"}}}`, "",
			nil, // providers get text
		},
		{
			"added and removed",
			`{A: {Type: Custom::T}, K: {Type: Custom::T, DeletionPolicy: Retain}, E: {Type: Custom::T, DeletionPolicy: RetainExceptOnCreate}, S: {Type: Custom::T, DeletionPolicy: Snapshot}}`,
			`{B: {Type: Custom::T, Properties: {P: 1}}}`, "",
			[]string{"Add B", "Remove A id-A Delete", "Remove K id-K Retain", "Remove E id-E Retain", "Remove S id-S Delete"},
		},
		{
			"literals, as deep as they differ",
			`{A: {Type: Custom::T, Properties: {P: a, Gone: x, L: [1, {k: v, same: s}], M: {a/b: 1, "~": 1}, Whole: [1]}}}`,
			`{A: {Type: Custom::T, UpdateReplacePolicy: Retain, Properties: {P: b, New: {k: 1}, L: [1, {k: w, same: s}], M: {a/b: 2, "~": 1}, Whole: [1, 2]}}}`, "",
			[]string{
				"Modify A id-A Conditional Properties+UpdateReplacePolicy keeps",
				"  /Properties/P DirectModification conditional a > b",
				"  /Properties/Gone DirectModification conditional x > -",
				"  /Properties/L/1/k DirectModification conditional v > w",
				"  /Properties/M/a~1b DirectModification conditional 1 > 2",
				`  /Properties/Whole DirectModification conditional ["1"] > ["1","2"]`,
				`  /Properties/New DirectModification conditional - > {"k":"1"}`,
				"  /UpdateReplacePolicy DirectModification - > Retain",
			},
		},
		{
			"parameters",
			`{A: {Type: Custom::T, Properties: {P: !Ref Open, Q: !Sub "${Open} ${Other}", R: !If [IsX, 1, 2], S: !Ref Other}}}`,
			`{A: {Type: Custom::T, Properties: {P: !Ref Open, Q: !Sub "${Open}-${Other}", R: !If [IsX, 1, 2], S: !Ref Other}}}`, "Open=x",
			[]string{
				"Modify A id-A Conditional Properties",
				"  /Properties/P ParameterReference Open conditional o > x",
				"  /Properties/Q ParameterReference Open conditional o other > x-other",
				"  /Properties/Q DirectModification conditional o other > x-other",
				"  /Properties/R ParameterReference Open conditional 2 > 1",
			},
		},
		{
			"dependants of what may be replaced",
			`{A: {Type: Custom::T, Properties: {P: 1}}, B: {Type: Custom::T, Properties: {R: !Ref A, X: !GetAtt A.x, Same: 1}}, C: {Type: Custom::T, DependsOn: A}, D: {Type: Custom::T, Properties: {B: !GetAtt B.x}}}`,
			`{A: {Type: Custom::T, Properties: {P: 2}}, B: {Type: Custom::T, Properties: {R: !Ref A, X: !GetAtt A.x, Same: 1}}, C: {Type: Custom::T, DependsOn: A}, D: {Type: Custom::T, Properties: {B: !GetAtt B.x}}}`, "",
			[]string{
				"Modify A id-A Conditional Properties",
				"  /Properties/P DirectModification conditional 1 > 2",
				"Modify B id-B Conditional Properties may",
				"  /Properties/R ResourceReference A dynamic conditional id-A > ?",
				"  /Properties/X ResourceAttribute A.x dynamic conditional x-A > ?",
				"Modify D id-D Conditional Properties may",
				"  /Properties/B ResourceAttribute B.x dynamic conditional x-B > ?",
			},
		},
		{
			"a reference to what is new, declared behind it",
			`{B: {Type: Custom::T, Properties: {R: none, S: none}}}`,
			`{B: {Type: Custom::T, Properties: {R: !Ref A, S: none, T: !Ref A}}, A: {Type: Custom::T}}`, "",
			[]string{
				"Modify B id-B Conditional Properties",
				"  /Properties/R ResourceReference A dynamic conditional none > ?",
				"  /Properties/R DirectModification dynamic conditional none > ?",
				"  /Properties/T ResourceReference A dynamic conditional - > ?",
				"  /Properties/T DirectModification conditional - > ?",
				"Add A",
			},
		},
		{
			"a parameter beside what is not known decides nothing",
			`{A: {Type: Custom::T, Properties: {P: 1}}, N: {Type: Native, Properties: {Name: !Sub "${Open}-${A.x}"}}}`,
			`{A: {Type: Custom::T, Properties: {P: 2}}, N: {Type: Native, Properties: {Name: !Sub "${Open}-${A.x}"}}}`, "Open=x",
			[]string{
				"Modify A id-A Conditional Properties",
				"  /Properties/P DirectModification conditional 1 > 2",
				"Modify N id-N Conditional Properties may",
				"  /Properties/Name ParameterReference Open dynamic always o-x-A > ?",
				"  /Properties/Name ResourceAttribute A.x dynamic always o-x-A > ?",
			},
		},
		{
			"another shape is certain, whatever is in it",
			`{A: {Type: Custom::T, Properties: {P: 1}}, B: {Type: Custom::T, Properties: {L: [!Ref A]}}}`,
			`{A: {Type: Custom::T, Properties: {P: 2}}, B: {Type: Custom::T, Properties: {L: [!Ref A, !Ref A]}}}`, "",
			[]string{
				"Modify A id-A Conditional Properties",
				"  /Properties/P DirectModification conditional 1 > 2",
				"Modify B id-B Conditional Properties",
				`  /Properties/L ResourceReference A dynamic conditional ["id-A"] > ["?","?"]`,
				`  /Properties/L DirectModification conditional ["id-A"] > ["?","?"]`,
			},
		},
		{
			"metadata asks no provider, so nobody follows",
			`{A: {Type: Custom::T, Metadata: {M: 1}}, B: {Type: Custom::T, Properties: {R: !Ref A}}}`,
			`{A: {Type: Custom::T, Metadata: {M: 2}}, B: {Type: Custom::T, Properties: {R: !Ref A}}}`, "",
			[]string{"Modify A id-A False Metadata", "  /Metadata/M DirectModification 1 > 2"},
		},
		{
			"policies",
			`{A: {Type: Custom::T, DeletionPolicy: Retain}}`, `{A: {Type: Custom::T, DeletionPolicy: Delete}}`, "",
			[]string{"Modify A id-A False DeletionPolicy", "  /DeletionPolicy DirectModification Retain > Delete"},
		},
		{
			"what is fixed",
			`{A: {Type: Custom::T, Properties: {Token: a}}}`, `{A: {Type: Custom::T, Properties: {Token: b}}}`, "",
			[]string{
				`Modify A id-A False Properties Token cannot be changed: the update of this resource will fail with "no way"`,
				"  /Properties/Token DirectModification a > b",
			},
		},
		{
			"a native type is replaced",
			`{A: {Type: Native, Properties: {Name: a, Size: 1}}, K: {Type: Native, UpdateReplacePolicy: Retain, Properties: {Name: a}}, B: {Type: Custom::T, Properties: {R: !Ref A}}}`,
			`{A: {Type: Native, Properties: {Name: b, Size: 2}}, K: {Type: Native, UpdateReplacePolicy: Retain, Properties: {Name: b}}, B: {Type: Custom::T, Properties: {R: !Ref A}}}`, "",
			[]string{
				"Modify A id-A ReplaceAndDelete True Properties",
				"  /Properties/Name DirectModification always a > b",
				"  /Properties/Size DirectModification 1 > 2",
				"Modify K id-K ReplaceAndRetain True Properties keeps",
				"  /Properties/Name DirectModification always a > b",
				"Modify B id-B Conditional Properties may",
				"  /Properties/R ResourceReference A dynamic conditional id-A > ?",
			},
		},
		{
			"a native type is changed in its place",
			`{A: {Type: Native, CreationPolicy: {ResourceSignal: {Count: 1}}, Properties: {Size: 1}}, B: {Type: Custom::T, Properties: {R: !Ref A, X: !GetAtt A.x}}, C: {Type: Native, Properties: {Name: !GetAtt A.x}}}`,
			`{A: {Type: Native, CreationPolicy: {ResourceSignal: {Count: 2}}, Properties: {Size: 2}}, B: {Type: Custom::T, Properties: {R: !Ref A, X: !GetAtt A.x}}, C: {Type: Native, Properties: {Name: !GetAtt A.x}}}`, "",
			[]string{
				"Modify A id-A False Properties+CreationPolicy",
				"  /Properties/Size DirectModification 1 > 2",
				`  /CreationPolicy DirectModification {"ResourceSignal":{"Count":1}} > {"ResourceSignal":{"Count":2}}`,
				"Modify B id-B Conditional Properties may",
				"  /Properties/X ResourceAttribute A.x dynamic conditional x-A > ?",
				"Modify C id-C Conditional Properties may",
				"  /Properties/Name ResourceAttribute A.x dynamic always x-A > ?",
			},
		},
		{
			"secrets",
			`{A: {Type: Custom::T, Properties: {P: !Ref Hidden, Q: !Sub "is ${Hidden}"}}}`,
			`{A: {Type: Custom::T, Properties: {P: !Ref Hidden, Q: !Sub "is ${Hidden}"}}}`, "Hidden=other",
			[]string{
				"Modify A id-A Conditional Properties",
				"  /Properties/P ParameterReference Hidden conditional **** > ****",
				"  /Properties/Q ParameterReference Hidden conditional **** > ****",
			},
		},
		{
			"what cannot be evaluated",
			`{A: {Type: Custom::T, Properties: {P: 1}}, B: {Type: Custom::T, Properties: {R: !Ref A}}}`,
			`{A: {Type: Custom::T, Properties: {P: !Select [4, !Split [",", !Ref Open]]}}, B: {Type: Custom::T, Properties: {R: !Ref A}}}`, "",
			[]string{
				"Modify A id-A False Properties Template error: Fn::Select cannot select nonexistent value at index 4",
				"Modify B id-B Conditional Properties may",
				"  /Properties/R ResourceReference A dynamic conditional id-A > ?",
			},
		},
		{
			"a condition takes one away",
			`{A: {Type: Custom::T, Condition: IsX}, Z: {Type: Custom::T}}`, `{A: {Type: Custom::T, Condition: IsX}, Z: {Type: Custom::T}}`, "Open=x",
			[]string{"Add A"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			const rest = "\nParameters: {Open: {Type: String, Default: o}, Other: {Type: String, Default: other}, Hidden: {Type: String, NoEcho: true, Default: hush}}\n" +
				"Conditions: {IsX: !Equals [!Ref Open, x]}\n"
			before := side(t, "Resources: "+test.before+rest)
			after := side(t, "Resources: "+test.after+rest, strings.Fields(test.parameters)...)
			got := preview(t, before, after)
			if diff := cmp.Diff(test.want, changeLines(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			kept, err := json.Marshal(got)
			if err != nil || strings.Contains(string(kept), "hush") || strings.Contains(string(kept), "other\"") && test.name == "secrets" {
				t.Errorf("a secret is kept: %s (%v)", kept, err)
			}
			var read []plan.Change
			if err := json.Unmarshal(kept, &read); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(changeLines(got), changeLines(read)); diff != "" {
				t.Errorf("what is kept is not what was found (-found +kept):\n%s", diff)
			}
		})
	}
}

// TestPreviewOfLongValues checks that a long value is not repeated in full for every reason of its change: a template
// of a few pages would produce gigabytes.
func TestPreviewOfLongValues(t *testing.T) {
	const many = 100
	parameters, text := "", ""
	var values []string
	for i := range many {
		parameters += fmt.Sprintf("P%d: {Type: String, Default: d}, ", i)
		text += fmt.Sprintf("${P%d}", i)
		values = append(values, fmt.Sprintf("P%d=%s", i, strings.Repeat("ü", 2000)))
	}
	body := "Parameters: {" + parameters + "}\nResources: {A: {Type: Custom::T, Properties: {P: !Sub '" + text + "'}}}"
	list := preview(t, side(t, body), side(t, body, values...))
	if len(list) != 1 || len(list[0].Details) != many {
		t.Fatalf("%d changes", len(list))
	}
	for _, d := range list[0].Details {
		if after := *d.After; len(after) > plan.MaxShown || !utf8.ValidString(after) || !strings.HasSuffix(after, "ü…") || *d.Before != strings.Repeat("d", many) {
			t.Fatalf("%d bytes: %s", len(after), after)
		}
	}
	whole, _ := list[0].After.Get(plan.Properties)
	if p, _ := whole.Get("P"); p.Text() != strings.Repeat("ü", 2000*many) {
		t.Errorf("what the resource is to be has %d bytes", len(p.Text()))
	}
}

// TestPreviewContext checks the two sides of a change, and the reasons why a resource changes although its text does
// not.
func TestPreviewContext(t *testing.T) {
	after := side(t, "Resources: {A: {Type: Custom::T, Properties: {P: 1, R: !Ref B}, Metadata: {M: m}}, B: {Type: Custom::T}}")
	candidates, err := plan.Create(after)
	if err != nil {
		t.Fatal(err)
	}
	world := plan.World{Now: func(string) *plan.Now { return nil }, Resources: present{t, after}, Form: form}
	list := plan.Preview(nil, after, candidates, world)
	if got, want := list[0].After.String(), `{"Properties":{"P":"1","R":"`+plan.Unknown+`"},"Metadata":{"M":"m"}}`; got != want || !list[0].Before.IsNull() {
		t.Errorf("after %s, want %s; before %s", got, want, list[0].Before)
	}

	before := side(t, "Resources: {A: {Type: Custom::T, Properties: {P: !GetAtt B.x}}, B: {Type: Custom::T}}")
	there := present{t, before}
	candidates, err = plan.Update(before, before)
	if err != nil {
		t.Fatal(err)
	}
	world = plan.World{Resources: there, Form: form, Now: func(logical string) *plan.Now {
		now := there.now(logical)
		if logical == "B" {
			now.Unsettled = true
			return now
		}
		now.Properties = value.Object(value.Member{Key: "P", Value: value.Str("stale")})
		return now
	}}
	want := []string{
		"Modify A id-A Conditional Properties may", "  /Properties/P ResourceAttribute B.x dynamic conditional stale > ?",
		"Modify B id-B Conditional Properties again",
	}
	if diff := cmp.Diff(want, changeLines(plan.Preview(&before, before, candidates, world))); diff != "" {
		t.Errorf("an update that failed before (-want +got):\n%s", diff)
	}
	world.Now = func(logical string) *plan.Now {
		now := there.now(logical)
		now.Unsettled = true
		return now
	}
	want = []string{
		"Modify A id-A Conditional Properties again", "  /Properties/P ResourceAttribute B.x dynamic conditional x-B > ?",
		"Modify B id-B Conditional Properties again",
	}
	if diff := cmp.Diff(want, changeLines(plan.Preview(&before, before, candidates, world))); diff != "" {
		t.Errorf("updates that failed before, of what depends on each other (-want +got):\n%s", diff)
	}
	// A is in the state of an update that was tried in between. Its declaration is the same in the last complete
	// template and in the next one.
	stood := side(t, "Resources: {A: {Type: Custom::T, Properties: {L: [!GetAtt B.x]}}, B: {Type: Custom::T, Properties: {P: 1}}}")
	next := side(t, "Resources: {A: {Type: Custom::T, Properties: {L: [!GetAtt B.x]}}, B: {Type: Custom::T, Properties: {P: 2}}}")
	there = present{t, stood}
	if candidates, err = plan.Update(stood, next); err != nil {
		t.Fatal(err)
	}
	want = []string{
		"Modify A id-A Conditional Properties", `  /Properties/L ResourceAttribute B.x conditional [] > ["?"]`,
		"Modify B id-B Conditional Properties", "  /Properties/P DirectModification conditional 1 > 2",
	}
	if diff := cmp.Diff(want, changeLines(plan.Preview(&stood, next, candidates, plan.World{
		Resources: there, Form: form, Now: func(logical string) *plan.Now {
			now := there.now(logical)
			if logical == "A" {
				now.Properties = value.Object(value.Member{Key: "L", Value: value.Items()})
			}
			return now
		},
	}))); diff != "" {
		t.Errorf("what is not as the template that stood last says (-want +got):\n%s", diff)
	}
	known := side(t, "Resources: {A: {Type: Native, Properties: {Name: n}}}")
	there = present{t, known}
	if candidates, err = plan.Update(known, known); err != nil {
		t.Fatal(err)
	}
	want = []string{"Modify A id-A False Properties again"}
	if diff := cmp.Diff(want, changeLines(plan.Preview(&known, known, candidates, plan.World{
		Resources: there, Form: form, Now: world.Now, Consequence: consequence,
	}))); diff != "" {
		t.Errorf("an update that failed before, of a type that is known (-want +got):\n%s", diff)
	}
	there = present{t, before}
	if candidates, err = plan.Update(before, before); err != nil {
		t.Fatal(err)
	}
	world.Now = func(logical string) *plan.Now {
		now := there.now(logical)
		if logical == "A" {
			now.Properties = value.Object(value.Member{Key: "P", Value: value.Str("stale")})
		}
		return now
	}
	want = []string{"Modify A id-A Conditional Properties", "  /Properties/P ResourceAttribute B.x conditional stale > x-B"}
	if diff := cmp.Diff(want, changeLines(plan.Preview(&before, before, candidates, world))); diff != "" {
		t.Errorf("an attribute that has changed since (-want +got):\n%s", diff)
	}
}
