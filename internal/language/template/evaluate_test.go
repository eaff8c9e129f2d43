package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// rest completes a template around expressions: parameters, conditions and a second resource to refer to.
const rest = `
Parameters:
  Open: {Type: String, Default: seen}
  Hidden: {Type: String, NoEcho: true, Default: "hid-den"}
  List: {Type: CommaDelimitedList, Default: "a,b"}
  Secrets: {Type: CommaDelimitedList, NoEcho: true, Default: "x,y"}
  One: {Type: Number, Default: 1}
  Key: {Type: String, NoEcho: true, Default: k}
Mappings: {M: {k: {text: t, list: [1, two]}, l: {text: u}}}
Conditions: {Always: !Equals [a, a], Never: !Equals [a, b]}
`

func expression(text string) string {
	return rest + "Resources:\n  B: {Type: Custom::B}\n  A:\n    Type: Custom::A\n    Properties:\n      P: " + text + "\n"
}

// attributes is the result of B: a plain response with secret data in it.
var attributes = world{
	"B": value.Str("b-1"), "B.text": value.Str("att"), "B.flat.0.key": value.Str("dotted"), "B.num": value.Num("1.50"),
	"B.flag": value.Boolean(true), "B.list": value.Items(value.Str("p"), value.Num("2")),
	"B.map": value.Object(value.Member{Key: "k", Value: value.Str("v")}), "B.secret": value.SecretStr("token"), "B.seen": value.Str("by parameter"),
	"B.secrets": value.Items(value.SecretStr("s1"), value.Str("open")), "B.empty": value.Str(""), "B.k": value.Str("by secret name"),
	"B.nulls": value.Items(value.Str("n"), value.Value{}),
}

func TestEvaluate(t *testing.T) {
	for _, test := range []struct{ expression, want, secrets string }{
		// Literals keep kind and text; NoValue is removed.
		{`{n: 1.0, big: 10000000, yes: yes, empty: "", none: [], nothing: {}}`, `{"n":1.0,"big":10000000,"yes":true,"empty":"","none":[],"nothing":{}}`, ""},
		{`{a: !Ref AWS::NoValue, b: [x, !Ref AWS::NoValue, {c: !Ref AWS::NoValue}]}`, `{"b":["x",{}]}`, ""},
		{`{Condition: Yes, Effect: Allow}`, `{"Condition":true,"Effect":"Allow"}`, ""},

		{`!Ref Open`, `"seen"`, ""},
		{`!Ref One`, `"1"`, ""},
		{`!Ref List`, `["a","b"]`, ""},
		{`!Ref B`, `"b-1"`, ""},
		{`!Ref Hidden`, `"hid-den"`, "hid-den"},
		{`!Ref Secrets`, `["x","y"]`, "x|y"},
		{`!Sub "${AWS::AccountId} ${AWS::Region} ${AWS::Partition} ${AWS::StackName} ${AWS::URLSuffix}"`, `"000000000000 eu-central-1 aws s amazonaws.com"`, ""},
		{`!Ref AWS::StackId`, `"arn:aws:cloudformation:eu-central-1:000000000000:stack/s/1"`, ""},
		{`!Ref AWS::NotificationARNs`, `["arn:aws:sns:eu-central-1:000000000000:n"]`, ""},

		{`!GetAtt B.text`, `"att"`, ""},
		{`!GetAtt B.flat.0.key`, `"dotted"`, ""},
		{`!GetAtt [B, flat.0.key]`, `"dotted"`, ""},
		{`{"Fn::GetAtt": B.num}`, `1.50`, ""},
		{`!GetAtt [B, !Ref Open]`, `"by parameter"`, ""},
		{`!GetAtt [B, !Ref Key]`, `"by secret name"`, "by secret name"},
		{`!GetAtt B.map`, `{"k":"v"}`, ""},
		{`!GetAtt B.secrets`, `["s1","open"]`, "s1"},

		{`!Sub "${Open}/${B}/${B.text}/${B.num}/${B.flag}"`, `"seen/b-1/att/1.50/true"`, ""},
		{`!Sub "${!Open} $ ${ a$b"`, `"${Open} $ ${ a$b"`, ""},
		{`!Sub "$${Open}{}"`, `"$seen{}"`, ""},
		{`!Sub ["${Open}-${B.text}-${n}", {Open: mine, B.text: own, n: 7}]`, `"mine-own-7"`, ""},
		{`!Sub ["${v}", {v: !Join ["+", !Ref List]}]`, `"a+b"`, ""},
		{`!Sub "[${AWS::NoValue}]"`, `"[]"`, ""},
		{`!Sub "pre ${Hidden} post"`, `"pre hid-den post"`, "pre hid-den post"},
		{`!Sub "${B.secret}"`, `"token"`, "token"},
		{`!Sub ["${v} ${Open}", {v: !GetAtt B.secret, unused: !Ref Hidden}]`, `"token seen"`, "token seen"},
		{`!Sub ["${Open}", {unused: !Ref Hidden}]`, `"seen"`, ""},

		{`!Join ["-", [a, 1, true, 2.50, !Ref Open, !Ref AWS::NoValue]]`, `"a-1-true-2.50-seen"`, ""},
		{`!Join ["", []]`, `""`, ""},
		{`!Join [",", !Ref List]`, `"a,b"`, ""},
		{`!Join [",", !GetAtt B.list]`, `"p,2"`, ""},
		{`!Join [",", [a, !Ref Hidden]]`, `"a,hid-den"`, "a,hid-den"},
		{`!Join [",", !Ref Secrets]`, `"x,y"`, "x,y"},

		{`!Split [",", "a,,b,"]`, `["a","","b",""]`, ""},
		{`!Split ["-", !Ref Hidden]`, `["hid","den"]`, "den|hid"},
		{`!Split ["--", !GetAtt B.empty]`, `[""]`, ""},

		{`!Select [0, [a, b]]`, `"a"`, ""},
		{`!Select ["1", !Ref List]`, `"b"`, ""},
		{`!Select [!Ref One, !Split ["-", !Ref Hidden]]`, `"den"`, "den"},
		{`!Select [1, [!Ref AWS::NoValue, {x: y}]]`, `{"x":"y"}`, ""},
		{`!Select [1, !GetAtt B.secrets]`, `"open"`, ""},
		{`!Select [1, [!Ref Hidden, open]]`, `"open"`, ""},

		{`!If [Always, !Ref Hidden, open]`, `"hid-den"`, "hid-den"},
		{`!If [Never, !Ref Hidden, open]`, `"open"`, ""},
		{`!If [Always, fine, !GetAtt B.missing]`, `"fine"`, ""},
		{`{"Fn::If": [{Condition: Never}, a, {b: !Ref Open}]}`, `{"b":"seen"}`, ""},
		{`[!If [Never, a, !Ref AWS::NoValue], c]`, `["c"]`, ""},

		{`!Base64 "hé"`, `"aMOp"`, ""},
		{`{"Fn::Base64": !Ref Hidden}`, `"aGlkLWRlbg=="`, "aGlkLWRlbg=="},
		{`!FindInMap [M, k, list]`, `[1,"two"]`, ""},
		{`!FindInMap [M, !Ref Key, text]`, `"t"`, "t"},
		{`!FindInMap [M, !FindInMap [M, k, text], text]`, ``, "Template error: Unable to get mapping for M::t::text"},

		// Expressions that cannot be evaluated.
		{`!Select [2, [a, b]]`, ``, "Template error: Fn::Select cannot select nonexistent value at index 2"},
		{`!Select [-1, [a, b]]`, ``, "Template error: Fn::Select cannot select nonexistent value at index -1"},
		{`!Select [0, [!Ref AWS::NoValue]]`, ``, "Template error: Fn::Select cannot select nonexistent value at index 0"},
		{`!Select [1, !GetAtt B.nulls]`, ``, "Template error: Fn::Select cannot select nonexistent value at index 1"},
		{`!Select [!Ref Open, [a]]`, ``, selectText},
		{`!Select [0, !Ref Open]`, ``, selectText},
		{`!Join [",", [!Ref List]]`, ``, joinText},
		{`!Join [",", !Ref Open]`, ``, joinText},
		{`!Join [",", [!GetAtt B.map]]`, ``, joinText},
		{`!Split [",", !Ref List]`, ``, splitText},
		{`!Sub "${List}"`, ``, "Template error: every variable of Fn::Sub must be a string, number or boolean."},
		{`!Base64 {Ref: List}`, ``, "Template error: every Fn::Base64 object must have a String-typed value."},
		{`!GetAtt B.missing`, ``, "no attribute missing of B"},
	} {
		parsed := mustParse(t, expression(test.expression))
		got, err := template.Evaluate(parsed.Resource("A").Properties.Get("P"), bind(t, parsed, nil), attributes)
		if err != nil {
			if test.want != "" || err.Error() != test.secrets {
				t.Errorf("%s: %v, want %s%s", test.expression, err, test.want, test.secrets)
			}
			continue
		}
		if string(got.JSON()) != test.want {
			t.Errorf("%s = %s, want %s", test.expression, got.JSON(), test.want)
		}
		if secrets := strings.Join(got.Secrets(), "|"); secrets != test.secrets {
			t.Errorf("%s has the secrets %q, want %q", test.expression, secrets, test.secrets)
		}
	}
}

func TestEvaluateNames(t *testing.T) {
	parsed := mustParse(t, expression(`!Join ["", [!Ref B]]`))
	properties := parsed.Resource("A").Properties
	_, err := template.Evaluate(properties, bind(t, parsed, nil), world{})
	var e *template.Error
	if !errors.As(err, &e) || e.Message != "Template format error: Unresolved resource dependencies [B] in the Resources block of the template" || e.Line != 16 {
		t.Errorf("Evaluate = %v", err)
	}
	parsed = mustParse(t, expression(`!If [Always, a, b]`))
	_, err = template.Evaluate(parsed.Resource("A").Properties, template.NewScope(nil, nil, pseudo), world{})
	if err == nil || err.Error() != "Template error: unresolved condition dependency Always in Fn::If" {
		t.Errorf("Evaluate = %v", err)
	}
}

func TestEvaluateDepth(t *testing.T) {
	v := value.Str("x")
	for range value.MaxDepth {
		v = value.Items(v)
	}
	parsed := mustParse(t, expression(`!GetAtt B.deep`))
	_, err := template.Evaluate(parsed.Resource("A").Properties, bind(t, parsed, nil), world{"B.deep": v})
	if err == nil || err.Error() != "Template error: lists and objects nest deeper than 48 levels." {
		t.Errorf("Evaluate = %v", err)
	}
}

func TestOutputs(t *testing.T) {
	body := rest + `
Resources: {B: {Type: Custom::B}}
Outputs:
  Number: {Value: !GetAtt B.num, Description: a number}
  Flag: {Value: true}
  Secret: {Value: !Sub "https://${Hidden}"}
  Gone: {Value: !GetAtt B.missing, Condition: Never}
  Kept: {Value: !Ref B, Condition: Always, Export: {Name: !Sub "${AWS::StackName}-${Open}"}}
`
	parsed := mustParse(t, body)
	got, err := parsed.EvaluateOutputs(bind(t, parsed, nil), attributes)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]template.Output{
		{Key: "Number", Value: value.Str("1.50"), Description: "a number"},
		{Key: "Flag", Value: value.Str("true")},
		{Key: "Secret", Value: value.Str("https://hid-den")},
		{Key: "Kept", Value: value.Str("b-1"), ExportName: "s-seen"},
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !got[2].Value.Secret() || got[0].Value.Secret() {
		t.Error("secrecy of the outputs")
	}
	for expression, want := range map[string]string{
		"!Ref List":                            "Template format error: The Value field of every Outputs member must evaluate to a String and not a List.",
		"!GetAtt B.map":                        "Template format error: The Value field of every Outputs member must evaluate to a String and not a Map.",
		"!If [Never, a, !Ref AWS::NoValue]":    "Template format error: The Value field of every Outputs member must evaluate to a String.",
		"!GetAtt B.missing":                    "no attribute missing of B",
		"a, Export: {Name: !Ref AWS::NoValue}": "Template format error: The Value field of every Outputs member must evaluate to a String.",
	} {
		parsed := mustParse(t, rest+"Resources: {B: {Type: Custom::B}}\nOutputs: {O: {Value: "+expression+"}}\n")
		if _, err := parsed.EvaluateOutputs(bind(t, parsed, nil), attributes); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", expression, err, want)
		}
	}
}
