package template_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// TestExamine checks that a malformed part neither hides problems in other parts nor causes false ones.
func TestExamine(t *testing.T) {
	for _, test := range []struct {
		name, body string
		want       []string
		sound      string // the valid resources and outputs
	}{
		{"valid", "Resources: {A: {Type: Custom::A}}\nOutputs: {O: {Value: !Ref A}}", nil, "A O"},
		{"no YAML", "a: [", []string{"1 Template format error: YAML not well-formed."}, ""},
		{"a list", "[a]", []string{"1:1 Template format error: unsupported structure."}, ""},
		{"unknown sections", "Resources: []\nOutputs: {O: {Value: !Ref A}}",
			[]string{"1:12 Template format error: Any Resources member must be an object."}, ""},
		{"shape and names", `
Parameters: {P: {Type: Text}}
Resources:
  A: {Type: Custom::A, Properties: {a: !Join [x], b: !Ref Nowhere, c: !Ref P}}
  B: {Type: Custom::A, Properties: {a: !Ref A, b: !Ref Nothing, c: !GetAtt Void.x}, DependsOn: [A, Gone]}
  C: [x]
  D: {Type: Custom::A, Properties: {a: !Ref C}}
Outputs:
  O: {Value: !Ref C}
  P: {Value: !Sub "${Nix}"}`,
			[]string{
				"2:24 Template format error: Unrecognized parameter type: Text",
				"4:40 Template error: every Fn::Join object requires two parameters, (1) a string delimiter and (2) a list of strings to be joined or a function that returns a list of strings (such as Fn::GetAZs) to be joined.",
				"4:54 Template format error: Unresolved resource dependencies [Nowhere] in the Resources block of the template",
				"5:3 Template format error: Unresolved resource dependencies [Gone] in the Resources block of the template",
				"5:51 Template format error: Unresolved resource dependencies [Nothing] in the Resources block of the template",
				"5:68 Template error: instance of Fn::GetAtt references undefined resource Void",
				"6:6 Template format error: Any Resources member must be an object.",
				"10:14 Unresolved resource dependencies [Nix] in the Outputs block of the template",
			}, "B D O P"},
		{"mappings and conditions", `
Mappings: {M: {a: [b]}}
Conditions: {Bad: !Equals [a], Of: !Not [!Condition Bad], Ref: !Equals [!Ref A, b], Lost: !Condition None}
Resources:
  A: {Type: Custom::A, Condition: Of, Properties: {a: !FindInMap [M, a, b], b: !If [Gone, 1, 2]}}
  B: {Type: Custom::A, Properties: {a: !If [Bad, 1, !Ref Nowhere]}, DependsOn: C}
  C: {Type: Custom::A, DependsOn: B}`,
			[]string{
				"2:19 Template format error: Every Mappings member M must be a map",
				"3:19 Template error: every Fn::Equals object requires a list of 2 string parameters.",
				"3:73 Template format error: Unresolved dependencies [A]. Cannot reference resources in the Conditions block of the template",
				"3:91 Template format error: Unresolved condition dependency None in the Conditions block of the template",
				"5:85 Template error: unresolved condition dependency Gone in Fn::If",
				"6:3 Circular dependency between resources: [B, C]",
				"6:53 Template format error: Unresolved resource dependencies [Nowhere] in the Resources block of the template",
			}, "B C"},
		{"lookup", "Mappings: {M: {a: {b: c}}}\nResources: {A: {Type: Custom::A, Properties: {a: !FindInMap [M, a, x]}}, B: {Type: Custom::A}}",
			[]string{"2:50 Template error: Unable to get mapping for M::a::x"}, "B"},
	} {
		t.Run(test.name, func(t *testing.T) {
			parsed, found := template.Examine(test.body, template.Limits{})
			var got []string
			if found != nil {
				slices.SortStableFunc(found, func(a, b *template.Error) int { return (a.Line-b.Line)*1000 + a.Column - b.Column })
				got = strings.Split(strings.TrimSpace(placed(found)), "\n")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			var sound []string
			if parsed != nil {
				for _, r := range parsed.Resources {
					sound = append(sound, r.LogicalID)
				}
				for _, o := range parsed.Outputs {
					sound = append(sound, o.Key)
				}
			}
			if got := strings.Join(sound, " "); got != test.sound {
				t.Errorf("sound are %q, want %q", got, test.sound)
			}
		})
	}
}

// TestExaminedConditions checks that a condition or parameter with a problem, and each one that depends on it, is
// unknown.
func TestExaminedConditions(t *testing.T) {
	parsed, found := template.Examine(`
Parameters: {P: {Type: Text, Default: x}, Q: {Type: Number, Default: y}}
Conditions: {Bad: !Equals [a], Of: !Not [!Condition Bad], P: !Equals [!Ref P, x], Q: !Equals [!Ref Q, y], Sure: !Equals [a, b]}
Resources:
  A: {Type: Custom::A, Condition: Of}
  B: {Type: Custom::A, Condition: P}
  C: {Type: Custom::A, Condition: Q}
  D: {Type: Custom::A, Condition: Sure}`, template.Limits{})
	if len(found) != 2 {
		t.Fatalf("found %v", found)
	}
	partial, err := parsed.BindPartly(nil, nil, pseudo)
	if _, ok := errors.AsType[template.Errors](err); !ok {
		t.Fatalf("error %v", err)
	}
	var there []string
	for _, r := range partial.Resources() {
		there = append(there, r.LogicalID)
	}
	if diff := cmp.Diff([]string{"A", "B", "C"}, there); diff != "" {
		t.Errorf("resources that may exist (-want +got):\n%s", diff)
	}
	if _, whole := partial.Scope(); whole {
		t.Error("everything is known")
	}
}

// FuzzExamine evaluates the valid part of any text as far as possible.
func FuzzExamine(f *testing.F) {
	for _, seed := range []string{
		walkthrough, "Resources: {A: {Type: Custom::A, Properties: {a: !Join [x], b: !Ref B, c: !Sub '${', d: !GetAtt x}}}",
		"Mappings: {M: {a: [b]}}\nConditions: {C: !Equals [a], D: !Condition C}\nResources: {A: {Type: Custom::A, Condition: D, Properties: {a: !FindInMap [M]}}}",
		"Conditions: {C: !Condition D, D: !Condition C}\nResources: {A: 1, B: {Properties: {a: !If [C, !Ref A]}}}",
		"Parameters: {P: {Type: x, Default: y, AllowedPattern: '['}}\nResources: {A: {Type: T, Metadata: {Ref: [P]}}}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		whole, err := template.Parse(body)
		parsed, found := template.Examine(body, template.Limits{})
		if (err == nil) != (found == nil) || err == nil && parsed.Hash() != whole.Hash() {
			t.Fatalf("Parse finds %v, Examine %v", err, found)
		}
		if parsed == nil {
			return
		}
		partial, _ := parsed.BindPartly(nil, []string{"AWS::StackId"}, pseudo)
		for _, r := range partial.Resources() {
			look(partial, r.Properties)
			look(partial, r.Metadata)
		}
		for _, o := range partial.Outputs() {
			look(partial, o.Value)
		}
	})
}

func look(partial *template.Partial, n template.Node) {
	partial.References(n)
	literal, _, known, err := partial.Look(n)
	if err != nil || !known {
		return
	}
	for _, item := range literal.Items() {
		look(partial, item)
	}
	for _, m := range literal.Members() {
		look(partial, m.Value)
	}
}

// placed lists problems, one a line.
func placed(list template.Errors) string {
	var b strings.Builder
	for _, e := range list {
		at := ""
		if e.Line > 0 {
			at = strconv.Itoa(e.Line)
			if e.Column > 0 {
				at += ":" + strconv.Itoa(e.Column)
			}
			at += " "
		}
		b.WriteString(at + e.Message + "\n")
	}
	return b.String()
}
