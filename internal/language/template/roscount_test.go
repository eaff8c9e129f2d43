package template_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// processedROS returns a ROS template after processing with the inputs, parsed again from its text.
func processedROS(t *testing.T, body string, inputs map[string]template.Input) (*template.Template, *template.Scope, error) {
	t.Helper()
	parsed := parsedROS(t, body)
	scope, err := parsed.Bind(inputs, nil, rosPseudo)
	if err != nil {
		t.Fatal(describe(err))
	}
	made, scope, err := parsed.Process(scope)
	if err != nil {
		return nil, nil, err
	}
	if made.Unprocessed() {
		t.Fatal("it is not processed")
	}
	again, err := template.ParseROSProcessed(made.Processed(), template.Limits{})
	if err != nil {
		t.Fatalf("%s\n%s", describe(err), made.Processed())
	}
	if again.Hash() != made.Hash() {
		t.Fatal("what was processed is read as another template")
	}
	return again, scope, nil
}

func TestROSCount(t *testing.T) {
	made, scope, err := processedROS(t, `
Parameters: {Count: {Type: Number, Default: 2}}
Conditions: {Two: {'Fn::Equals': [2, {Ref: Count}]}}
Resources:
  Eip: {Type: Custom::Eip, Count: {Ref: Count}}
  None: {Type: Custom::None, Count: '0'}
  Bind:
    Type: Custom::Bind
    Count: {'Fn::If': [Two, {'Fn::Add': [1, 1]}, 0]}
    DependsOn: [Eip, None]
    Metadata: {eips: {Ref: Eip}}
    Properties:
      Index: {Ref: 'ALIYUN::Index'}
      Name: {'Fn::Sub': ['${ALIYUN::Index}-${Eip[1].Address}-${Eip}', {Eip: {Ref: Eip}}]}
      Escaped: !Sub 'x${!ALIYUN::Index}'
      Eip: {'Fn::Select': [{Ref: 'ALIYUN::Index'}, {Ref: Eip}]}
      Address: {'Fn::Select': [{Ref: 'ALIYUN::Index'}, !GetAtt Eip.Address]}
      Beyond: {'Fn::Select': [7, {Ref: Eip}]}
      All: {'Fn::Join': [',', {'Fn::GetAtt': [Eip, Address]}]}
      None: {Ref: None}
      Length: {'Fn::Length': {Ref: Bind2}}
  Bind2: {Type: Custom::Bind, Count: 3, DependsOn: None}
  Other: {Type: Custom::Other, DependsOn: Eip, Properties: {second: {Ref: 'Eip[1]'}}}
Outputs:
  Eips: {Value: {Ref: Eip}}
  First: {Value: {'Fn::GetAtt': ['Eip[0]', Address]}}
`, nil)
	if err != nil {
		t.Fatal(describe(err))
	}
	needs, err := made.Graph(scope)
	if err != nil {
		t.Fatal(describe(err))
	}
	_ = needs
	var ids []string
	for _, r := range made.Resources {
		ids = append(ids, r.LogicalID)
	}
	if got, want := strings.Join(ids, " "), "Eip[0] Eip[1] Bind[0] Bind[1] Bind2[0] Bind2[1] Bind2[2] Other"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for id, want := range map[string][]string{"Other": {"Eip[1]", "Eip[0]"}, "Bind2[2]": nil, "Eip[0]": nil} {
		if diff := cmp.Diff(want, needs[id]); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
	for id, want := range map[string]string{
		"Bind[0]": `{"Index":0,"Name":"0-Eip[1]/Address-[\"id-Eip[0]\",\"id-Eip[1]\"]","Escaped":"x${ALIYUN::Index}","Eip":"id-Eip[0]",` +
			`"Address":"Eip[0]/Address","Beyond":"","All":"Eip[0]/Address,Eip[1]/Address","None":[],"Length":3}`,
		"Bind[1]": `{"Index":1,"Name":"1-Eip[1]/Address-[\"id-Eip[0]\",\"id-Eip[1]\"]","Escaped":"x${ALIYUN::Index}","Eip":"id-Eip[1]",` +
			`"Address":"Eip[1]/Address","Beyond":"","All":"Eip[0]/Address,Eip[1]/Address","None":[],"Length":3}`,
		"Other": `{"second":"id-Eip[1]"}`,
	} {
		v, err := template.Evaluate(made.Resource(id).Properties, scope, rosMade{})
		if err != nil {
			t.Errorf("%s: %s", id, describe(err))
		} else if got := v.String(); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", id, got, want)
		}
	}
	if got := made.Resource("Bind[1]").DependsOn; !cmp.Equal(got, []string{"Eip[0]", "Eip[1]"}) {
		t.Errorf("DependsOn %v", got)
	}
	outputs, err := made.EvaluateOutputs(scope, rosMade{})
	if err != nil {
		t.Fatal(describe(err))
	}
	if got := outputs[0].Value.String() + outputs[1].Value.String(); got != `["id-Eip[0]","id-Eip[1]"]"Eip[0]/Address"` {
		t.Error(got)
	}
}

// TestROSCountOfOne checks that a resource which selects one copy of a counted resource depends on no other copy.
func TestROSCountOfOne(t *testing.T) {
	made, scope, err := processedROS(t, `
Resources:
  A: {Type: Custom::A, Count: 3}
  B: {Type: Custom::B, Count: 3, Properties: {a: {'Fn::Select': [{Ref: 'ALIYUN::Index'}, {Ref: A}]}}}
`, nil)
	if err != nil {
		t.Fatal(describe(err))
	}
	needs, err := made.Graph(scope)
	if err != nil {
		t.Fatal(describe(err))
	}
	want := map[string][]string{
		"A[0]": nil, "A[1]": nil, "A[2]": nil, "B[0]": {"A[0]"}, "B[1]": {"A[1]"}, "B[2]": {"A[2]"},
	}
	if diff := cmp.Diff(want, needs); diff != "" {
		t.Error(diff)
	}
}

func TestROSCountErrors(t *testing.T) {
	large := strings.Repeat("x", 20_000)
	for name, test := range map[string]struct {
		body   string
		inputs map[string]template.Input
		want   []string
	}{
		"no number": {"Parameters: {N: {Type: String}}\nResources: {A: {Type: Custom::A, Count: {Ref: N}}}", map[string]template.Input{"N": {Value: "x"}}, []string{
			"StackValidationFailed /Resources/A/Count The Count of the resource A must be a natural number.",
		}},
		"negative": {"Resources: {A: {Type: Custom::A, Count: {'Fn::Add': [1, -2]}}}", nil, []string{
			"StackValidationFailed /Resources/A/Count The Count of the resource A must be a natural number.",
		}},
		"a list": {"Resources: {A: {Type: Custom::A, Count: {'Fn::Split': [',', 'a,b']}}}", nil, []string{
			"StackValidationFailed /Resources/A/Count The Count of the resource A must be a natural number.",
		}},
		"too many": {"Resources: {A: {Type: Custom::A, Count: 150}, B: {Type: Custom::B, Count: 150}, C: {Type: Custom::C}}", nil, []string{
			"StackValidationFailed /Resources The template has more than 300 resources when they are counted, which is the maximum allowed.",
		}},
		"far too many": {"Parameters: {N: {Type: Number, Default: 9223372036854775807}}\nResources: {C: {Type: Custom::C}, A: {Type: Custom::A, Count: {Ref: N}}}", nil, []string{
			"StackValidationFailed /Resources The template has more than 300 resources when they are counted, which is the maximum allowed.",
		}},
		"a name twice": {"Resources: {A: {Type: Custom::A, Count: 2}, 'A[1]': {Type: Custom::A}, 'A[2]': {Type: Custom::A}}", nil, []string{
			"StackValidationFailed /Resources/A[1] The resource A[1] is also one of those that A becomes by its Count.",
		}},
		"one that is not there": {"Resources: {A: {Type: Custom::A, Count: 2}, B: {Type: Custom::A, Properties: {a: {Ref: 'A[2]'}}}}", nil, []string{
			`InvalidTemplateReference /Resources/B/Properties The specified reference "A[2]" (in B.Properties) is incorrect.`,
		}},
		"several in a text": {"Resources: {A: {Type: Custom::A, Count: 2}, B: {Type: Custom::A, Count: 9, Properties: {a: !Sub '${A.x}'}}}", nil, []string{
			`InvalidTemplateReference /Resources/B/Properties/a The specified reference "A" (in B.Properties.a) is incorrect.`,
		}},
		"too large": {"Resources: {A: {Type: Custom::A, Count: 300, Properties: {a: " + large + "}}}", nil, []string{
			"StackValidationFailed The template with its counted resources is longer than 4194304 bytes, which is the maximum allowed.",
		}},
		"too large by references": {"Resources: {A: {Type: Custom::A, Count: 299}, B: {Type: Custom::A, Properties: {a: [" + strings.Repeat("{Ref: A},", 2000) + "]}}}", nil, []string{
			"StackValidationFailed The template with its counted resources is longer than 4194304 bytes, which is the maximum allowed.",
		}},
		"reference to itself": {"Resources: {A: {Type: Custom::A, Count: 2, Properties: {a: {Ref: A}}}}", nil, []string{
			"CircularDependency /Resources/A[0] Circular Dependency Found: A[0], A[1].",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			body := rosVersion + test.body
			parsed, err := template.ParseROS(body, template.Limits{})
			if err == nil {
				var scope *template.Scope
				if scope, err = parsed.Bind(test.inputs, nil, rosPseudo); err == nil {
					_, _, err = parsed.Process(scope)
				}
			}
			if diff := cmp.Diff(test.want, problemsOf(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestROSCountIsEarly has values that a Count cannot depend on.
func TestROSCountIsEarly(t *testing.T) {
	for name, test := range map[string]struct{ count, want string }{
		"a resource":  {"{Ref: B}", `InvalidTemplateReference /Resources/A/Count The specified reference "B" (in A.Count) is incorrect.`},
		"the index":   {"{Ref: 'ALIYUN::Index'}", `InvalidTemplateReference /Resources/A/Count The specified reference "ALIYUN::Index" (in A.Count) is incorrect.`},
		"a condition": {"{'Fn::If': [X, 1, 2]}", `InvalidTemplateReference /Resources/A/Count The specified reference "X" (in A.Count) is incorrect.`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := template.ParseROS(rosVersion+"Resources: {A: {Type: Custom::A, Count: "+test.count+"}, B: {Type: Custom::B}}", template.Limits{})
			if diff := cmp.Diff([]string{test.want}, problemsOf(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
