package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// declared returns a template with one parameter P.
func declared(parameter string) string { return with("Parameters: {P: " + parameter + "}") }

func TestBindValues(t *testing.T) {
	for _, test := range []struct{ parameter, input, want string }{
		{`{Type: String}`, " as typed ", `" as typed "`},
		{`{Type: String, Default: yes}`, "", `""`},
		{`{Type: Number}`, "010.50", `"010.50"`},
		{`{Type: Number}`, "1e3", `"1e3"`},
		{`{Type: List<Number>}`, "80, 443 ,1.0", `["80","443","1.0"]`},
		{`{Type: CommaDelimitedList}`, "a, b ,,c", `["a","b","","c"]`},
		{`{Type: CommaDelimitedList}`, "", `[""]`},
		{`{Type: 'AWS::EC2::VPC::Id'}`, "vpc-0a1b2c3d", `"vpc-0a1b2c3d"`},
		{`{Type: 'List<AWS::EC2::Subnet::Id>'}`, "subnet-0a1b2c3d, subnet-0123456789abcdef0", `["subnet-0a1b2c3d","subnet-0123456789abcdef0"]`},
	} {
		scope := bind(t, mustParse(t, declared(test.parameter)), map[string]string{"P": test.input})
		if got := scope.Parameters["P"].String(); got != test.want {
			t.Errorf("%s given %q is %s, want %s", test.parameter, test.input, got, test.want)
		}
	}
}

func TestBindDefaults(t *testing.T) {
	for _, test := range []struct{ parameter, want string }{
		{`{Type: String, Default: yes}`, `"true"`},
		{`{Type: Number, Default: 1.0}`, `"1.0"`},
		{`{Type: CommaDelimitedList, Default: "a,b"}`, `["a","b"]`},
		{`{Type: String, Default: ""}`, `""`},
	} {
		scope := bind(t, mustParse(t, declared(test.parameter)), nil)
		if got := scope.Parameters["P"].String(); got != test.want {
			t.Errorf("%s is %s, want %s", test.parameter, got, test.want)
		}
	}
}

func TestBindErrors(t *testing.T) {
	const number = "Parameter 'P' must be a number."
	for _, test := range []struct{ parameter, input, want string }{
		{`{Type: Number}`, "ten", number},
		{`{Type: Number}`, "", number},
		{`{Type: Number}`, "0x10", number},
		{`{Type: Number}`, "NaN", number},
		{`{Type: List<Number>}`, "1,x", number},
		{`{Type: Number, MinValue: 10, MaxValue: 20}`, "9.99", "Parameter 'P' must be a number not less than 10"},
		{`{Type: Number, MinValue: "10", MaxValue: "20"}`, "1e99999", "Parameter 'P' must be a number not greater than 20"},
		{`{Type: Number, MinValue: 10, MaxValue: 20}`, "20.0", ""},
		{`{Type: List<Number>, MaxValue: 20}`, "20,21", "Parameter 'P' must be a number not greater than 20"},
		{`{Type: String, AllowedValues: [dev, 1, yes]}`, "prod", "Parameter 'P' must be one of AllowedValues"},
		{`{Type: String, AllowedValues: [dev, 1, yes]}`, "true", ""},
		{`{Type: String, AllowedValues: [dev, 1, yes]}`, "1", ""},
		{`{Type: CommaDelimitedList, AllowedValues: [a, b]}`, "a,c", "Parameter 'P' must be one of AllowedValues"},
		{`{Type: String, AllowedPattern: "[a-z]+"}`, "abc", ""},
		{`{Type: String, AllowedPattern: "[a-z]+"}`, "abc1", "Parameter 'P' must match pattern [a-z]+"},
		{`{Type: String, AllowedPattern: "a|b"}`, "ab", "Parameter 'P' must match pattern a|b"},
		{`{Type: String, AllowedPattern: "^$|.."}`, "\nx\n", "Parameter 'P' must match pattern ^$|.."},
		{`{Type: CommaDelimitedList, AllowedPattern: "[a-z]+"}`, "ab,c1", "Parameter 'P' must match pattern [a-z]+"},
		{`{Type: String, AllowedPattern: "[a-z]+", ConstraintDescription: lower case only}`, "A", "Parameter 'P' failed to satisfy constraint: lower case only"},
		{`{Type: String, MinLength: 2, MaxLength: "3"}`, "é", "Parameter 'P' must contain at least 2 characters"},
		{`{Type: String, MinLength: 2, MaxLength: "3"}`, "éééé", "Parameter 'P' must contain at most 3 characters"},
		{`{Type: String, MinLength: 2, MaxLength: "3"}`, "ééé", ""},
		{`{Type: String}`, strings.Repeat("x", 4096), ""},
		{`{Type: String}`, strings.Repeat("x", 4097), "Parameter 'P' is 4097 bytes long, the maximum allowed is 4096."},
	} {
		_, err := mustParse(t, declared(test.parameter)).Bind(map[string]template.Input{"P": {Value: test.input}}, nil, pseudo)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s given %.20q: %q, want %q", test.parameter, test.input, got, test.want)
		}
	}
}

func TestBindNames(t *testing.T) {
	parsed := mustParse(t, with("Parameters: {P: {Type: String}, Q: {Type: Number}, R: {Type: String, Default: d}, S: {Type: Number, Default: no number}}"))
	_, err := parsed.Bind(map[string]template.Input{"Z": {}, "Y": {}, "R": {UsePrevious: true}}, nil, pseudo)
	want := []string{
		"Parameters: [Y, Z] do not exist in the template",
		"Invalid input for parameter key R. Cannot specify usePreviousValue as true for a parameter key not in the previous template",
		"Parameter 'S' must be a number.",
		"Parameters: [P, Q] must have values",
	}
	var all template.Errors
	if !errors.As(err, &all) {
		t.Fatalf("Bind = %v", err)
	}
	var got []string
	for _, e := range all {
		got = append(got, e.Message)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBindPrevious(t *testing.T) {
	parsed := mustParse(t, with("Parameters: {P: {Type: String}, L: {Type: List<Number>}, D: {Type: String, Default: d}}"))
	previous := map[string]value.Value{"P": value.SecretStr("was secret"), "L": value.Strs("1", "2"), "D": value.Str("not kept")}
	scope, err := parsed.Bind(map[string]template.Input{"P": {UsePrevious: true}, "L": {UsePrevious: true}}, previous, pseudo)
	if err != nil {
		t.Fatal(describe(err))
	}
	want := map[string]value.Value{"P": value.SecretStr("was secret"), "L": value.Strs("1", "2"), "D": value.Str("d")}
	if diff := cmp.Diff(want, scope.Parameters); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !scope.Parameters["P"].Secret() || scope.Parameters["L"].HasSecret() {
		t.Errorf("secrecy: %s", scope.Parameters)
	}
	_, err = parsed.Bind(map[string]template.Input{"P": {Value: "x", UsePrevious: true}, "L": {Value: "1"}}, previous, pseudo)
	if want := "Invalid input for parameter key P. Cannot specify usePreviousValue as true and non empty value for a parameter."; err == nil || err.Error() != want {
		t.Errorf("Bind = %v, want %s", err, want)
	}
}

// TestBindKeepsSecrets checks that no error quotes a client's input.
func TestBindKeepsSecrets(t *testing.T) {
	parsed := mustParse(t, with("Parameters: {P: {Type: Number, NoEcho: true}, Q: {Type: String, NoEcho: true, AllowedValues: [a]}, R: {Type: String, NoEcho: true}}\n"+
		"Mappings: {M: {a: {b: c}}}\nConditions: {C: !Equals [!FindInMap [M, !Ref R, b], x], D: !Equals [!Select [!Ref R, [a]], b]}"))
	for _, inputs := range []map[string]template.Input{
		{"P": {Value: "hunter2"}, "Q": {Value: "hunter2"}, "R": {Value: strings.Repeat("hunter2", 1000)}},
		{"P": {Value: "1"}, "Q": {Value: "a"}, "R": {Value: "hunter2"}},
	} {
		_, err := parsed.Bind(inputs, nil, pseudo)
		if err == nil || strings.Contains(describe(err), "hunter2") {
			t.Errorf("Bind = %v, want an error without the value", describe(err))
		}
	}
}

func TestConditions(t *testing.T) {
	parsed := mustParse(t, `
Parameters: {Env: {Type: String}, Flags: {Type: CommaDelimitedList, Default: "a,true"}}
Mappings: {M: {prod: {size: big}, dev: {size: small}}}
Conditions:
  Late: !Or [!Condition Small, !Not [!Condition Early]]
  Early: !And [!Equals [!Ref Env, prod], !Equals [!Ref 'AWS::Region', eu-central-1]]
  Small: !Equals [!FindInMap [M, !Ref Env, size], small]
  Text: !Equals ["true", true]
  Case: !Equals [Prod, !Ref Env]
  Made: !Equals [!Join ["-", [!Sub "${Env}", !Select [1, !Split ["_", x_y]]]], prod-y]
  Flag: !Equals [!Select ["1", !Ref Flags], true]
  Branch: !If [Early, !Condition Text, !Condition Case]
  Value: !Equals [!If [Early, 1, 2], 1]
Resources: {A: {Type: Custom::A}}
`)
	for env, want := range map[string]map[string]bool{
		"prod": {"Late": false, "Early": true, "Small": false, "Text": true, "Case": false, "Made": true, "Flag": true, "Branch": true, "Value": true},
		"dev":  {"Late": true, "Early": false, "Small": true, "Text": true, "Case": false, "Made": false, "Flag": true, "Branch": false, "Value": false},
	} {
		scope := bind(t, parsed, map[string]string{"Env": env})
		if diff := cmp.Diff(want, scope.Conditions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", env, diff)
		}
	}
	_, err := parsed.Bind(map[string]template.Input{"Env": {Value: "test"}}, nil, pseudo)
	if want := "Template error: Unable to get mapping for M::test::size"; err == nil || err.Error() != want {
		t.Errorf("Bind = %v, want %s", err, want)
	}
}
