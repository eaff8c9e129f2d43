package template_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// localResources resolves resources by logical ID; an attribute is the ID, a dot and the name.
type localResources struct{}

func (localResources) PhysicalID(id string) (value.Value, bool) { return value.Str(id), true }

func (localResources) Attribute(id, name string) (value.Value, error) {
	return value.Str(id + "." + name), nil
}

func TestROSLocals(t *testing.T) {
	parsed := parsedROS(t, `
Parameters: {Zone: {Type: String, Default: z}, Size: {Type: Number, Default: 2}}
Locals:
  Repo:
    Value: {'Fn::Sub': ['registry-${Region}/${Zone}', {Region: {Ref: 'ALIYUN::Region'}}]}
  Twice: {Type: Eval, Value: {'Fn::Add': [{Ref: Size}, {Ref: Size}]}}
  Large: {Type: Eval, Value: {'Fn::Not': {'Fn::Equals': [{Ref: Twice}, 2]}}}
  Vpcs: {Type: 'DATASOURCE::VPC::Vpcs', Properties: {VpcName: {Ref: Zone}}}
  First: {Type: Eval, Value: {'Fn::Select': [0, {'Fn::GetAtt': [Vpcs, VpcIds]}]}}
  Other: {Type: Macro, Value: {Name: {'Fn::GetAtt': [A, Id]}, Repo: {Ref: Repo}}}
Conditions: {Large: {'Fn::Equals': [{Ref: Large}, true]}, Found: {'Fn::Not': [{'Fn::Equals': [{'Fn::Length': {'Fn::GetAtt': [Vpcs, Vpcs]}}, 0]}]}}
Resources:
  A: {Type: Custom::A, Count: {Ref: Twice}, Properties: {Repo: {Ref: Repo}}}
  B: {Type: Custom::B, Condition: Large, Properties: {Other: {Ref: Other}, First: {Ref: First}, Vpcs: {Ref: Vpcs}, Names: !GetAtt Vpcs.Names}}
  C: {Type: Custom::C, Condition: Found}
Outputs: {Twice: {Value: {Ref: Twice}}}
`)
	if !parsed.Locals || len(parsed.Sources) != 1 || parsed.Sources[0].Type != "DATASOURCE::VPC::Vpcs" || parsed.Sources[0].Line != 9 {
		t.Errorf("locals %t, sources %+v", parsed.Locals, parsed.Sources)
	}
	scope, err := parsed.Bind(nil, nil, rosPseudo)
	if err != nil {
		t.Fatal(describe(err))
	}
	made, scope, err := parsed.Process(scope)
	if err != nil {
		t.Fatal(describe(err))
	}
	var got []string
	for _, r := range made.Active(scope) {
		v, err := template.Evaluate(r.Properties, scope, localResources{})
		if err != nil {
			t.Fatal(describe(err))
		}
		got = append(got, r.LogicalID+" "+string(v.JSON()))
	}
	want := []string{
		`A[0] {"Repo":"registry-cn-hangzhou/z"}`, `A[1] {"Repo":"registry-cn-hangzhou/z"}`, `A[2] {"Repo":"registry-cn-hangzhou/z"}`,
		`A[3] {"Repo":"registry-cn-hangzhou/z"}`,
		`B {"Other":{"Name":["A[0].Id","A[1].Id","A[2].Id","A[3].Id"],"Repo":"registry-cn-hangzhou/z"},"First":"Vpcs.VpcIds","Vpcs":"Vpcs",` +
			`"Names":["Vpcs.Names"]}`,
		"C null",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestROSLocalsRefused checks that problems with local variables are reported at their places.
func TestROSLocalsRefused(t *testing.T) {
	chain := "  L0: {Value: x}\n"
	for i := range 6 {
		chain += fmt.Sprintf("  L%d: {Value: {Ref: L%d}}\n", i+1, i)
	}
	bomb := "  L0: {Value: " + strings.Repeat("x", 5000) + "}\n"
	for i := range 4 {
		bomb += fmt.Sprintf("  L%d: {Value: [%s]}\n", i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("{Ref: L%d}, ", i), 60), ", "))
	}
	for name, test := range map[string]struct{ locals, resource, want string }{
		"no value":            {"  L: {Type: Eval}", "", "The local variable L has no Value."},
		"another type":        {"  L: {Type: String, Value: x}", "", "The type String of the local variable L is not Macro, Eval or a data source."},
		"another attribute":   {"  L: {Value: x, Default: y}", "", "The attribute Default of the local variable L is not supported."},
		"a parameter's name":  {"  P: {Value: x}", "", "P is both a local variable and a parameter."},
		"a resource's name":   {"  A: {Value: x}", "", "A is both a local variable and a resource."},
		"itself":              {"  L: {Value: {Ref: M}}\n  M: {Value: {Ref: L}}", "", "Circular Dependency Found: L."},
		"too deep":            {chain, "", "The local variable L5 is made of others 6 levels deep, which is more than 5."},
		"too long":            {bomb, "{Ref: L4}", "The template is longer than 4194304 bytes when its local variables are replaced."},
		"a resource in Eval":  {"  L: {Type: Eval, Value: {Ref: A}}", "", `The specified reference "A" (in L) is incorrect.`},
		"an unknown name":     {"  L: {Value: {Ref: Nope}}", "{Ref: L}", `The specified reference "Nope" (in A.Properties) is incorrect.`},
		"in a text":           {"  L: {Value: x}", "!Sub '${L}'", `The specified reference "L" (in A.Properties) is incorrect.`},
		"an attribute of one": {"  L: {Value: x}", "!GetAtt L.X", `The specified reference "L" (in A.Properties) is incorrect.`},
		"not a map":           {"  - L", "", "The specified value type of (Locals) is incorrect."},
	} {
		t.Run(name, func(t *testing.T) {
			if test.resource == "" {
				test.resource = "x"
			}
			body := "ROSTemplateFormatVersion: '2015-09-01'\nParameters: {P: {Type: String}}\nLocals:\n" + test.locals +
				"\nResources: {A: {Type: 'Custom::A', Properties: {X: " + test.resource + "}}}\n"
			_, err := template.ParseROS(body, template.Limits{})
			if err == nil || !strings.Contains(describe(err), test.want) {
				t.Errorf("the error is %v", err)
			}
			if _, found := template.ROS.Examine(body, template.Limits{}); len(found) == 0 {
				t.Error("Examine finds nothing")
			}
		})
	}
}
