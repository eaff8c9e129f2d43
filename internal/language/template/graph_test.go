package template_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
)

func TestGraph(t *testing.T) {
	parsed := mustParse(t, `
Parameters: {On: {Type: String, Default: "yes"}, Name: {Type: String, Default: url}}
Conditions: {Big: !Equals [!Ref On, "yes"]}
Resources:
  Net: {Type: Custom::Net}
  Disk: {Type: Custom::Disk, Condition: Big}
  App:
    Type: Custom::App
    DependsOn: [Disk, Net, Late]
    Metadata: {about: !Ref Noted}
    Properties:
      net: !GetAtt Net.id
      text: !Sub ["${Net.id} ${Net} ${On} ${AWS::Region} ${own}", {own: !GetAtt [Net, !Ref Name]}]
      disk: !If [Big, !Ref Disk, !GetAtt Noted.free]
  Noted: {Type: Custom::Noted}
  Late: {Type: Custom::Late}
Outputs:
  Disk: {Value: !Ref Disk, Condition: Big}
  Any: {Value: !If [Big, !Ref Disk, none]}
`)
	for on, want := range map[string]map[string][]string{
		"yes": {"Net": nil, "Disk": nil, "App": {"Net", "Disk", "Noted", "Late"}, "Noted": nil, "Late": nil},
		"no":  {"Net": nil, "App": {"Net", "Noted", "Late"}, "Noted": nil, "Late": nil},
	} {
		scope := bind(t, parsed, map[string]string{"On": on})
		got, err := parsed.Graph(scope)
		if err != nil {
			t.Fatal(describe(err))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", on, diff)
		}
	}

	app := parsed.Resource("App")
	everywhere := []template.Reference{
		{Resource: "Net", Attribute: "id", Line: 12, Column: 12}, {Resource: "Net", Line: 13, Column: 19},
		{Resource: "Net", Attribute: "${Name}", Line: 13, Column: 73}, {Resource: "Disk", Line: 14, Column: 23},
		{Resource: "Noted", Attribute: "free", Line: 14, Column: 34},
	}
	if diff := cmp.Diff(everywhere, app.References()); diff != "" {
		t.Errorf("References (-want +got):\n%s", diff)
	}
	everywhere[2].Attribute = "url"
	if diff := cmp.Diff(everywhere[:4], app.ReferencesIn(bind(t, parsed, nil))); diff != "" {
		t.Errorf("ReferencesIn (-want +got):\n%s", diff)
	}
}

func TestGraphErrors(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		{"resource that does not exist now", `
Conditions: {Never: !Equals [a, b]}
Resources:
  Gone: {Type: Custom::A, Condition: Never}
  Left: {Type: Custom::A, Condition: Never}
  A: {Type: Custom::A, Properties: {P: [!Ref Gone, !GetAtt Left.x, !Sub "${Gone}"]}}
Outputs: {O: {Value: !Ref Gone}}
`, "6:41: Template format error: Unresolved resource dependencies [Gone, Left] in the Resources block of the template [/Resources]\n" +
			"7:22: Unresolved resource dependencies [Gone] in the Outputs block of the template [/Outputs]"},
		{"cycle under a condition", `
Conditions: {Always: !Equals [a, a]}
Resources:
  A: {Type: Custom::A, Properties: {P: !If [Always, !Ref B, c]}}
  B: {Type: Custom::A, Properties: {P: !GetAtt A.x}}
`, "4:3: Circular dependency between resources: [A, B] [/Resources/A]"},
	} {
		parsed := mustParse(t, test.body)
		needs, err := parsed.Graph(bind(t, parsed, nil))
		if got := describe(err); needs != nil || got != test.want {
			t.Errorf("%s: %v, %s\nwant %s", test.name, needs, got, test.want)
		}
	}
}
