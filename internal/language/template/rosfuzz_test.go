package template_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// FuzzParseROS processes a text completely, as FuzzParse does: it parses, binds and processes it, builds the graph, and
// stores and evaluates every declaration.
func FuzzParseROS(f *testing.F) {
	for _, seed := range []string{
		rosSite, rosVersion, `{"ROSTemplateFormatVersion": "2015-09-01", "Resources": {"A": {"Type": "Custom::A", "Count": 2, "Properties": {"a": null, "i": {"Ref": "ALIYUN::Index"}}}}}`,
		rosVersion + "Parameters: {P: {Type: Json, Default: {a: [null, 1]}}, Q: {Type: Number, Default: null}, L: {Type: CommaDelimitedList, Default: 'a,b', AllowedValues: [a, b]}}\n" +
			"Resources: {A: {Type: Custom::A, Count: {'Fn::Length': {Ref: L}}, DependsOn: B, Properties: {p: {Ref: P}, q: !Sub '${Q}${!x}${B.y}'}}, B: {Type: Custom::B, DeletionPolicy: Retain}}\n" +
			"Outputs: {O: {Value: {'Fn::Select': [1, !GetAtt A.x]}, NoEcho: true}}\n",
		rosVersion + "Conditions: {C: {'Fn::Or': [D, {Condition: D}]}, D: {'Fn::Equals': [null, '']}}\nRules: {R: {RuleCondition: C, Assertions: [{Assert: {'Fn::Not': D}, AssertDescription: x}]}}\n" +
			"Resources: {A: {Type: Custom::A, Condition: C, Properties: {a: {'Fn::If': [C, [1, null], {Ref: 'ALIYUN::NoValue'}]}}}}",
		rosVersion + "Mappings: {M: {1: {2: [a, {b: c}]}}}\nResources: {A: {Type: Custom::A, Metadata: {m: !FindInMap [M, '1', 2]}, Properties: {'x[0]': {Ref: 'A[0]'}}}}",
		rosVersion + "Resources: {A: {Type: Custom::A, Count: 2, Properties: {a: {'Fn::Select': [!Ref 'ALIYUN::Index', !Ref B]}}}, B: {Type: Custom::B, Count: 2}, 'B[2]': {Type: Custom::B}}",
		rosVersion + "Transform: x\nMetadata: null\nDescription: {en: a, zh-cn: b}\nOutputs:\n", rosVersion + "a: &a [*a]", rosVersion + deep(100), "{" + deep(100) + "}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		template.LanguageOf(body)
		parsed, err := template.ParseROS(body, template.Limits{})
		if sound, found := template.ROS.Examine(body, template.Limits{}); (len(found) == 0) != (err == nil) {
			t.Fatalf("Examine = %v, %v, and ParseROS %v", sound, found, err)
		} else if sound != nil {
			if partial, _ := sound.BindPartly(nil, []string{"ALIYUN::StackId"}, rosPseudo); partial != nil {
				partial.Missing()
				for _, r := range partial.Resources() {
					partial.References(r.Properties)
				}
			}
		}
		if err != nil {
			var all template.Errors
			if !errors.As(err, &all) || len(all) == 0 || parsed != nil {
				t.Fatalf("ParseROS = %v, %v", parsed, err)
			}
			for _, one := range all {
				if one.Code == "" || one.Message == "" {
					t.Fatalf("%#v", one)
				}
			}
			_ = describe(err)
			return
		}
		parsed.Summary(false)
		scope, err := parsed.Bind(nil, nil, rosPseudo)
		if err != nil {
			return
		}
		for name, v := range scope.Parameters {
			// As an update passes on the previous value.
			next, err := parsed.Bind(map[string]template.Input{name: {UsePrevious: true}}, scope.Parameters, rosPseudo)
			if err != nil {
				t.Fatalf("the value of %s is refused when it is passed on: %s", name, describe(err))
			}
			if got := next.Parameters[name]; !got.Equal(v) || got.HasSecret() != v.HasSecret() {
				t.Fatalf("the value of %s is passed on as another: %s, not %s", name, got.JSON(), v.JSON())
			}
		}
		if parsed, scope, err = parsed.Process(scope); err != nil {
			_ = describe(err)
			return
		}
		if text := parsed.Processed(); text != "" {
			again, err := template.ParseROSProcessed(text, template.Limits{})
			if err != nil {
				t.Fatalf("what was processed is no template: %s\n%s", describe(err), text)
			}
			if again.Hash() != parsed.Hash() || len(again.Resources) != len(parsed.Resources) {
				t.Fatalf("what was processed is read as another template\n%s", text)
			}
		}
		_, _ = parsed.Graph(scope)
		for _, resource := range parsed.Resources {
			stored, err := json.Marshal(resource)
			if err != nil {
				t.Fatal(err)
			}
			var read template.Resource
			if err := json.Unmarshal(stored, &read); err != nil {
				t.Fatalf("%v\n%s", err, stored)
			}
			if diff := cmp.Diff(resource.ReferencesIn(scope), read.ReferencesIn(scope)); diff != "" {
				t.Fatalf("references (-want +got):\n%s", diff)
			}
			before, errBefore := template.Evaluate(resource.Properties, scope, anything{})
			after, errAfter := template.Evaluate(read.Properties, scope, anything{})
			if (errBefore == nil) != (errAfter == nil) || !before.Equal(after) {
				t.Fatalf("%s, %v\n%s, %v", before, errBefore, after, errAfter)
			}
			if _, err := value.Parse(after.JSON()); err != nil {
				t.Fatalf("%v\n%s", err, after.JSON())
			}
		}
		_, _ = parsed.EvaluateOutputs(scope, anything{})
	})
}
