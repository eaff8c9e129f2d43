package template_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// FuzzROSExpression evaluates expressions with every ROS function: each gives a value that JSON supports, or an error
// of this package that has a code and shows no secret.
func FuzzROSExpression(f *testing.F) {
	for _, seed := range []string{
		`{"Fn::Sub":["${Text}-${R.Id}-${!x}-${A}",{"A":{"Fn::Join":[",",{"Ref":"Zones"}]}}]}`, `{"Fn::Select":["::-1",{"Fn::Split":[",",{"Ref":"Commas"}]}]}`,
		`{"Fn::Replace":[{"a":"b","ab":{"Ref":"Secret"}},"abab"]}`, `{"Fn::Indent":["a\nb",20,4,"false"]}`, `{"Fn::Index":[null,[1,null]]}`,
		`{"Fn::Str":{"Fn::GetAtt":["R","Outputs"]}}`, `{"Fn::Base64Decode":{"Fn::Base64Encode":{"Ref":"Secret"}}}`, `{"Fn::Length":{"Ref":"Json"}}`,
		`{"Fn::ListMerge":{"Fn::GetAtt":["R","Lists"]}}`, `{"Fn::MergeMapToList":[{"a":[1,2]},{"b":[3]}]}`, `{"Fn::SelectMapList":["a",[{"a":1}]]}`,
		`{"Fn::MergeMap":[{"a":{"b":1}},{"a":{"c":2}}]}`, `{"Fn::MemberListToMap":["N","V",[".member.0.N=a",".member.0.V=b"]]}`,
		`{"Fn::Add":[1,"2.5",{"Ref":"SecretNumber"}]}`, `{"Fn::Avg":[2,[1,2.5,"3"]]}`, `{"Fn::Max":[1,"2"]}`, `{"Fn::Min":[1.0,-2e3]}`,
		`{"Fn::Calculate":["({0}+1.5)**2 // -3 % 7",3,[2,{"Ref":"Number"}]]}`, `{"Fn::Calculate":["2**-2**2",5]}`, `{"Fn::GetJsonValue":["n",{"Fn::GetAtt":["R","Data"]}]}`,
		`{"Fn::Jq":["All",".. | to_entries? | map(.value)",{"Ref":"Json"}]}`, `{"Fn::Jq":["First","[.[] |= . + 1 | gsub(\"a\";\"b\")?]","[1,2]"]}`,
		`{"Fn::Jq":["All","def f($x): reduce range($x) as $i (\"\"; \"\\(.)\\($i)\"); f(3), (try error({}) catch .), {a: 1} * {b: [.[]?]}","null"]}`,
		`{"Fn::FormatTime":["%c %U %j %q %","Asia/Shanghai"]}`, `{"Fn::Cidr":["10.0.0.0/8",256,8]}`, `{"Fn::GetAZs":{"Ref":"Empty"}}`,
		`{"Fn::GetStackOutput":["other","List",{"Fn::Str":"cn-beijing"}]}`, `{"Fn::If":["Holds",{"Fn::Any":[0,{"Ref":"No"}]},null]}`,
		`{"Fn::And":["Holds",{"Fn::Or":["Fails",{"Fn::Not":"Holds"}]},{"Fn::Contains":[[1,null],{"Ref":"Nothing"}]}]}`,
		`{"Fn::EachMemberIn":[["a"],{"Ref":"Zones"}]}`, `{"Fn::MatchPattern":["^(?=.*x)[a-z]+",{"Ref":"Text"}]}`, `{"Fn::Equals":[{"Ref":"Json"},{"Ref":"Json"}]}`,
		`{"Fn::FindInMap":["Regions",{"Fn::Str":"hangzhou"},{"Fn::Add":[30,2]}]}`, `{"Fn::MarketplaceImage":"x"}`, `[{"Ref":"Secret"},{"a":{"Ref":"R"}}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		for _, in := range []func() (value.Value, error){
			func() (value.Value, error) {
				return template.TryROS(expression, rosMappings, template.ROSProperties, rosScope(), rosResources{})
			},
			func() (value.Value, error) {
				return template.TryROS(expression, rosMappings, template.ROSConditions, rosScope(), nil)
			},
		} {
			got, err := in()
			if err != nil {
				var one *template.Error
				var syntax *value.SyntaxError
				if !errors.As(err, &one) && !errors.As(err, &syntax) && !errors.Is(err, value.ErrDepth) {
					t.Fatalf("%s: an error of another kind: %v", expression, err)
				}
				continue
			}
			if len(got.JSON()) > 2*template.MaxEvaluated {
				t.Fatalf("%s = %d bytes", expression, len(got.JSON()))
			}
			if _, err := value.Parse(got.JSON()); err != nil {
				t.Fatalf("%s = %q: %v", expression, got.JSON(), err)
			}
		}
	})
}

// FuzzROSJq runs jq scripts, in which nothing may panic or run for long.
func FuzzROSJq(f *testing.F) {
	for _, seed := range []string{
		`.a[0]?.b // "x"`, `[.[] | select(.a == 1) | {a, "b": .c, (.d): "\(.e)-\(.f)"}]`, `reduce .[] as [$a, {b: $c}] (0; . + $a * $c)`, `foreach range(3) as $i (0; . + $i; [$i, .])`,
		`def f(g; $x): g | . + $x; f(.[1:]; 2)?`, `label $out | .[] | if . then break $out elif 1 then 2 else 3 end`, `try error("x") catch (. | ascii_upcase)`,
		`.a.b |= empty | .c += 1 | del(.d, .e[0]) | to_entries`, `@csv "a\(.)b", @base64, @sh`, `.. | numbers`, `sort_by(.a) | group_by(.b) | map(add)`,
		`gsub("(?<x>[a-z])"; "\(.x)\(.x)")`, `[limit(3; repeat(.))] | transpose?`, `. as [$a] ?// {a: $a} | $a`, `"\(1, 2) \(3, 4)"`, `-(1), +.a?`, `path(..)`, `walk(.)`, `{"a\(1)": 2}`,
	} {
		f.Add(seed, `{"a":[{"b":1}],"c":"text"}`)
	}
	f.Fuzz(func(t *testing.T, script, input string) {
		expression, err := json.Marshal(map[string]any{"Fn::Jq": []any{"All", script, input}})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = template.TryROS(string(expression), "", template.ROSProperties, rosScope(), nil)
	})
}
