package template_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// anything resolves every reference.
type anything struct{}

func (anything) PhysicalID(string) (value.Value, bool) { return value.SecretStr("id"), true }

func (anything) Attribute(_, name string) (value.Value, error) {
	return value.Items(value.Str(name), value.Num("1.0")), nil
}

// FuzzParse processes a text completely: it parses and binds it, builds the graph, and stores and evaluates every
// declaration.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		walkthrough, expression(`!Sub ["${A}-${B.c}", {A: !FindInMap [M, !Ref Key, text]}]`), expression(`!If [Always, !Split [",", !Ref Hidden], 0x1F]`),
		`{"Resources": {"A": {"Type": "Custom::A", "Properties": {"a": {"Fn::Join": ["", ["x", {"Ref": "AWS::NoValue"}]]}, "n": -1.50e3}}}}`,
		"Resources: {A: {Type: Custom::A, Properties: {a: !GetAtt [B, !Ref P]}}, B: {Type: Custom::B}}\nParameters: {P: {Type: Number, Default: 1}}\n",
		"Conditions: {C: !And [!Condition D, !Not [!Condition D]], D: !Equals [1, '1']}\n" + r("!Select [0, [a]]"),
		r(`!ImportValue {"Fn::Sub": "${AWS::Region}-x"}`), r(`{"Fn::GetStackOutput": {StackName: !Ref AWS::Region, OutputName: o, Region: !Ref AWS::NoValue}}`),
		expression(`!Cidr [10.0.0.0/8, 256, !Select [0, !GetAZs ""]]`), loopedLarge(3),
		"Transform: [AWS::LanguageExtensions]\nParameters: {L: {Type: CommaDelimitedList, Default: 'a,b$'}}\nResources: {Fn::ForEach::A: [X, !Ref L, " +
			"{'R&{X}': {Type: Custom::A, DeletionPolicy: !Ref X, Properties: {P: !Sub ['${X}${Y}${!X}', {Y: !FindInMap [M, a, b, {DefaultValue: {'Fn::Length': !Ref L}}]}]}}}]}\n",
		"a: &a [*a]", "? {a: b}\n: c", "\ufeff{}", deep(100), "{" + deep(100) + "}", r("\"\\ud800\\u0000\""),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		parsed, err := template.Parse(body)
		if err != nil {
			var all template.Errors
			if !errors.As(err, &all) || len(all) == 0 || parsed != nil {
				t.Fatalf("Parse = %v, %v", parsed, err)
			}
			_ = describe(err)
			return
		}
		parsed.Summary(false)
		scope, err := parsed.Bind(nil, nil, pseudo)
		if err != nil {
			return
		}
		if parsed, scope, err = parsed.Process(scope); err != nil {
			_ = describe(err)
			return
		}
		if text := parsed.Processed(); text != "" {
			again, err := template.ParseProcessed(text, template.Limits{})
			if err != nil {
				t.Fatalf("what was processed is no template: %s\n%s", describe(err), text)
			}
			if again.Hash() != parsed.Hash() || len(again.Resources) != len(parsed.Resources) {
				t.Fatalf("what was processed is read as another template\n%s", text)
			}
		}
		_, _ = parsed.Graph(scope)
		wanted, err := parsed.Wanted(scope)
		if err == nil {
			scope.Outside.Imports, scope.Outside.StackOutputs = make(map[string]value.Value), make(map[string]value.Value)
			for _, name := range wanted.Imports {
				scope.Outside.Imports[name] = value.SecretStr(name)
			}
			for _, o := range wanted.StackOutputs {
				scope.Outside.StackOutputs[o.Key()] = value.Str(o.Output)
			}
		}
		for _, resource := range parsed.Resources {
			stored, err := json.Marshal(resource)
			if err != nil {
				t.Fatal(err)
			}
			var read template.Resource
			if err := json.Unmarshal(stored, &read); err != nil {
				t.Fatalf("%v\n%s", err, stored)
			}
			deletion, updateReplace, err := template.Policies(stored)
			if err != nil || deletion != read.DeletionPolicy || updateReplace != read.UpdateReplacePolicy {
				t.Fatalf("policies %q and %q, %v, of\n%s", deletion, updateReplace, err, stored)
			}
			if diff := cmp.Diff(places(resource.Properties), places(read.Properties)); diff != "" {
				t.Fatalf("nodes (-want +got):\n%s", diff)
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

// FuzzRecord reads stored declarations that no template produced.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"id":"A","type":"Custom::A","at":[1,1,2,2,3,3],"properties":{"a":{"Ref":"B"}}}`))
	f.Add([]byte(`{"id":"A","at":[1,1,2,2,3,3,4,4,5,5,6,6,7,7],"properties":{"Fn::FindInMap":["M","a","b",{}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var read template.Resource
		if json.Unmarshal(data, &read) != nil {
			return
		}
		read.References()
		_, _ = template.Evaluate(read.Properties, template.NewScope(nil, nil, pseudo), anything{})
		if _, err := json.Marshal(read); err != nil {
			t.Fatal(err)
		}
	})
}
