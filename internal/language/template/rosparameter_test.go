package template_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// rosVersion begins every ROS template.
const rosVersion = "ROSTemplateFormatVersion: '2015-09-01'\n"

// parsedROS parses a ROS template.
func parsedROS(t *testing.T, body string) *template.Template {
	t.Helper()
	parsed, err := template.ParseROS(rosVersion+body, template.Limits{})
	if err != nil {
		t.Fatal(describe(err))
	}
	return parsed
}

func TestROSParameters(t *testing.T) {
	for name, test := range map[string]struct {
		declared string // the parameter P
		input    *template.Input
		previous value.Value
		want     string // the value, or the problem with it
	}{
		"a string":                               {`{Type: String}`, &template.Input{Value: "007"}, value.Value{}, `"007"`},
		"a string by default a number":           {`{Type: String, Default: 1.50}`, nil, value.Value{}, `"1.50"`},
		"a number keeps its text":                {`{Type: Number}`, &template.Input{Value: "1.50"}, value.Value{}, `1.50`},
		"a large number":                         {`{Type: Number}`, &template.Input{Value: "10000000000000000000001"}, value.Value{}, `10000000000000000000001`},
		"a number as JSON writes it":             {`{Type: Number}`, &template.Input{Value: " +.5 "}, value.Value{}, `0.5`},
		"no number":                              {`{Type: Number}`, &template.Input{Value: "0x10"}, value.Value{}, "StackValidationFailed /Parameters/P The Parameter P is not valid: it must be a number."},
		"a boolean":                              {`{Type: Boolean}`, &template.Input{Value: "True"}, value.Value{}, `true`},
		"no boolean":                             {`{Type: Boolean}`, &template.Input{Value: "yes"}, value.Value{}, "StackValidationFailed /Parameters/P The Parameter P is not valid: it must be true or false."},
		"JSON":                                   {`{Type: Json}`, &template.Input{Value: `{"a": [1.0, null, "x"]}`}, value.Value{}, `{"a":[1.0,null,"x"]}`},
		"JSON in the template":                   {`{Type: Json, Default: {a: [1]}}`, nil, value.Value{}, `{"a":[1]}`},
		"JSON of a scalar":                       {`{Type: Json}`, &template.Input{Value: `"x"`}, value.Value{}, "StackValidationFailed /Parameters/P The Parameter P is not valid: it must be a list or a map in JSON."},
		"deep JSON":                              {`{Type: Json}`, &template.Input{Value: strings.Repeat("[", 50) + strings.Repeat("]", 50)}, value.Value{}, "StackValidationFailed /Parameters/P The Parameter P is not valid: its lists and maps nest deeper than 48 levels."},
		"a list":                                 {`{Type: CommaDelimitedList}`, &template.Input{Value: "a, b,,"}, value.Value{}, `["a","b","",""]`},
		"an empty list":                          {`{Type: CommaDelimitedList}`, &template.Input{Value: ""}, value.Value{}, `[]`},
		"a list in the template":                 {`{Type: CommaDelimitedList, Default: [a, 2]}`, nil, value.Value{}, `["a","2"]`},
		"a default of null":                      {`{Type: String, Default: null, MinLength: 3}`, nil, value.Value{}, `null`},
		"a default of null, empty":               {`{Type: String, Default: null, MinLength: 3}`, &template.Input{}, value.Value{}, `""`},
		"a default of null, too short":           {`{Type: String, Default: null, MinLength: 3}`, &template.Input{Value: "ab"}, value.Value{}, "StackValidationFailed /Parameters/P The Parameter P is not valid: it must have at least 3 characters."},
		"a default of null of a number":          {`{Type: Number, Default: null, MinValue: 3}`, &template.Input{}, value.Value{}, `null`},
		"previous":                               {`{Type: Json}`, &template.Input{UsePrevious: true}, value.Object(value.Member{Key: "a", Value: value.Num("1.0")}), `{"a":1.0}`},
		"previous, none, with a default of null": {`{Type: String, Default: null}`, &template.Input{UsePrevious: true}, value.Value{}, `null`},
		"previous, none":                         {`{Type: String, MinLength: 1}`, &template.Input{UsePrevious: true}, value.Value{}, "StackValidationFailed /Parameters/P The Parameter P is not valid: it must have at least 1 characters."},
		"previous, a boolean":                    {`{Type: Boolean}`, &template.Input{UsePrevious: true}, value.Boolean(true), `true`},
		"previous, a secret":                     {`{Type: String}`, &template.Input{UsePrevious: true}, value.SecretStr("x"), `"****"`},
		"secret":                                 {`{Type: Json, NoEcho: 'true'}`, &template.Input{Value: `[1,{"a":2}]`}, value.Value{}, `["****",{"a":"****"}]`},
		"missing":                                {`{Type: String}`, nil, value.Value{}, "UserParameterMissing /Parameters/P The Parameter P was not provided."},
		"allowed":                                {`{Type: Number, AllowedValues: [1, 2.0]}`, &template.Input{Value: "2"}, value.Value{}, `2`},
		"not allowed":                            {`{Type: String, AllowedValues: [a, 1, null]}`, &template.Input{Value: "b"}, value.Value{}, "StackValidationFailed /Parameters/P The Parameter P is not valid: it must be one of AllowedValues."},
		"a member not allowed":                   {`{Type: CommaDelimitedList, AllowedValues: [a, b]}`, &template.Input{Value: "a,c"}, value.Value{}, "StackValidationFailed /Parameters/P The Parameter P is not valid: it must be one of AllowedValues."},
		"allowed JSON":                           {`{Type: Json, AllowedValues: [{a: 1, b: 2}]}`, &template.Input{Value: `{"b":2,"a":1}`}, value.Value{}, `{"b":2,"a":1}`},
		"an allowed boolean":                     {`{Type: Boolean, AllowedValues: ['true']}`, &template.Input{Value: `true`}, value.Value{}, `true`},
		"a pattern":                              {`{Type: String, AllowedPattern: '[a-z]+', ConstraintDescription: {en: lower case.}}`, &template.Input{Value: "aB"}, value.Value{}, "StackValidationFailed /Parameters/P The Parameter P is not valid: lower case."},
		"a pattern of Python":                    {`{Type: String, AllowedPattern: '[\“\”\\a]+'}`, &template.Input{Value: `“\a”`}, value.Value{}, `"“\\a”"`},
		"too many members":                       {`{Type: CommaDelimitedList, MaxLength: 1}`, &template.Input{Value: "a,b"}, value.Value{}, "StackValidationFailed /Parameters/P The Parameter P is not valid: it must have at most 1 members."},
		"too small":                              {`{Type: Number, MinValue: '2'}`, &template.Input{Value: "1.9"}, value.Value{}, "StackValidationFailed /Parameters/P The Parameter P is not valid: it must be a number not less than 2."},
		"too large":                              {`{Type: Number, MaxValue: 2}`, &template.Input{Value: "1e3"}, value.Value{}, "StackValidationFailed /Parameters/P The Parameter P is not valid: it must be a number not greater than 2."},
		"too long":                               {`{Type: String}`, &template.Input{Value: strings.Repeat("x", 4097)}, value.Value{}, "StackValidationFailed /Parameters/P The Parameter P is not valid: its value is 4097 bytes long, the maximum allowed is 4096."},
	} {
		t.Run(name, func(t *testing.T) {
			parsed := parsedROS(t, "Parameters: {P: "+test.declared+"}\n")
			inputs := make(map[string]template.Input)
			if test.input != nil {
				inputs["P"] = *test.input
			}
			scope, err := parsed.Bind(inputs, map[string]value.Value{"P": test.previous}, rosPseudo)
			got := strings.Join(problemsOf(err), "\n")
			if err == nil {
				got = scope.Parameters["P"].String()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if err == nil && scope.Parameters["P"].HasSecret() != strings.Contains(test.want, "****") {
				t.Errorf("secret: %t", scope.Parameters["P"].HasSecret())
			}
		})
	}
}

func TestROSUnknownParameters(t *testing.T) {
	parsed := parsedROS(t, "Parameters: {P: {Type: String}, Q: {Type: Number}}")
	_, err := parsed.Bind(map[string]template.Input{"Z": {Value: "1"}, "A": {}}, nil, rosPseudo)
	want := []string{
		"UnknownUserParameter The Parameter (A) was not defined in template.",
		"UnknownUserParameter The Parameter (Z) was not defined in template.",
		"UserParameterMissing /Parameters/P The Parameter P was not provided.",
		"UserParameterMissing /Parameters/Q The Parameter Q was not provided.",
	}
	if diff := cmp.Diff(want, problemsOf(err)); diff != "" {
		t.Error(diff)
	}
}

func TestROSStoredParameters(t *testing.T) {
	parsed := parsedROS(t, "Parameters: {P: {Type: 'ALIYUN::OOS::Parameter::Value', Default: my_image}}\nOutputs: {O: {Value: {Ref: P}}}")
	if diff := cmp.Diff([]string{"my_image"}, parsed.StoredNames(nil, nil)); diff != "" {
		t.Error(diff)
	}
	scope, err := parsed.BindWith(nil, nil, rosPseudo, template.Outside{
		Stored: map[string]template.Stored{"my_image": {State: template.StoredText, Value: "m-1"}},
	})
	if err != nil {
		t.Fatal(describe(err))
	}
	outputs, err := parsed.EvaluateOutputs(scope, rosMade{})
	if err != nil || outputs[0].Value.Text() != "m-1" {
		t.Errorf("%v, %v", outputs, err)
	}
	_, err = parsed.Bind(nil, nil, rosPseudo)
	want := []string{"StackValidationFailed The parameter store has no parameter my_image."}
	if diff := cmp.Diff(want, problemsOf(err)); diff != "" {
		t.Error(diff)
	}
}

func TestROSPseudo(t *testing.T) {
	var got []string
	for _, m := range rosPseudo.ROS() {
		got = append(got, m.Key+" "+m.Value.Text())
	}
	want := []string{
		"ALIYUN::StackName site", "ALIYUN::StackId 8acc3dcd-cf48-4fa1-863e-7c767b61fe42", "ALIYUN::TenantId 222",
		"ALIYUN::Region cn-hangzhou", "ALIYUN::AccountId 111", "ALIYUN::ResourceGroupId rg-1", "ALIYUN::NoValue None",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
