package query

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type capability string

type tag struct {
	Key   string `query:",required" length:"1,128"`
	Value string `query:",required" length:",256"`
}

type trigger struct{ Arn string }

type common struct {
	Token *string `query:"ClientRequestToken" length:"1,128"`
}

type input struct {
	common
	StackName    string `query:",required" length:"1,128" pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	TemplateBody string `length:"1,40"`
	Password     string `query:",secret" length:"12,"`
	Mode         string `enum:"STANDARD,EXPRESS"`
	Minutes      *int32 `query:"TimeoutInMinutes" range:"1,"`
	Protect      *bool
	Disable      bool
	Since        time.Time
	Until        *time.Time
	Tags         []tag        `length:",2"`
	ARNs         []string     `query:"NotificationARNs" length:",5"`
	Capabilities []capability `enum:"CAPABILITY_IAM,CAPABILITY_NAMED_IAM"`
	Names        []string     `each-length:"1,4" each-pattern:"[a-z]*"`
	Rollback     *struct{ Triggers []*trigger }
	Nested       struct {
		Needed string `query:",required"`
	}
	Next    *input
	Map     []pair `query:"Attributes,entries"`
	Ignored string `query:"-"`
}

type pair struct {
	Key   string `query:"key"`
	Value string `query:"value"`
}

// decodeForm decodes a form like a request.
func decodeForm(text string) (input, []string, error) {
	var in input
	values, err := url.ParseQuery(text)
	if err != nil {
		return in, nil, err
	}
	form, err := parseForm(values)
	if err != nil {
		return in, nil, err
	}
	err = decode(form, shapes{}.root(reflect.TypeFor[input]()), reflect.ValueOf(&in).Elem())
	return in, form.unknown(), err
}

func TestDecode(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 38, 42, 123e6, time.UTC)
	tests := []struct {
		name, form string
		want       input
		unknown    []string
	}{
		{name: "required members only", form: "StackName=s", want: input{StackName: "s"}},
		{name: "scalars", form: "StackName=s&Mode=EXPRESS&TimeoutInMinutes=5&Protect=false&Disable=TRUE&Since=2026-11-21T10:38:42.123Z&Until=2026-11-21T11:38:42.123%2B01:00&ClientRequestToken=t",
			want: input{StackName: "s", Mode: "EXPRESS", Minutes: new(int32(5)), Protect: new(false), Disable: true, Since: at, Until: &at, common: common{Token: new("t")}}},
		{name: "lists", form: "StackName=s&Tags.member.2.Key=b&Tags.member.2.Value=&Tags.member.1.Key=a&Tags.member.1.Value=1&Capabilities.member.1=CAPABILITY_IAM",
			want: input{StackName: "s", Tags: []tag{{"a", "1"}, {"b", ""}}, Capabilities: []capability{"CAPABILITY_IAM"}}},
		{name: "ten items", form: "StackName=s&Names.member.10=j&Names.member.1=a&Names.member.2=b&Names.member.3=c&Names.member.4=d&Names.member.5=e&Names.member.6=f&Names.member.7=g&Names.member.8=h&Names.member.9=i",
			want: input{StackName: "s", Names: strings.Split("abcdefghij", "")}},
		{name: "empty lists", form: "StackName=s&Tags=&NotificationARNs=", want: input{StackName: "s", Tags: []tag{}, ARNs: []string{}}},
		{name: "nested", form: "StackName=s&Rollback.Triggers.member.1.Arn=x&Nested.Needed=y&Next.StackName=t",
			want: input{StackName: "s", Rollback: &struct{ Triggers []*trigger }{[]*trigger{{"x"}}}, Nested: struct {
				Needed string `query:",required"`
			}{"y"}, Next: &input{StackName: "t"}}},
		{name: "map", form: "StackName=s&Attributes.entry.1.key=a&Attributes.entry.1.value=b", want: input{StackName: "s", Map: []pair{{"a", "b"}}}},
		{name: "empty structure", form: "StackName=s&Rollback=", want: input{StackName: "s", Rollback: &struct{ Triggers []*trigger }{}}},
		{name: "unknown", form: "StackName=s&New=1&Rollback.Other.member.1.A=2&Ignored=3&stackName=4",
			want:    input{StackName: "s", Rollback: &struct{ Triggers []*trigger }{}},
			unknown: []string{"Ignored", "New", "Rollback.Other.member.1.A", "stackName"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, unknown, err := decodeForm(test.form)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(input{})); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.unknown, unknown); diff != "" {
				t.Errorf("unknown (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	const one = "ValidationError: 1 validation error detected: "
	const stack = "Member must satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"
	tests := []struct{ name, form, want string }{
		{"a map as a list", "StackName=s&Attributes.member.1.key=a", "MalformedInput: Attributes must be a list: Attributes.entry.1 and so on."},
		{"required", "", one + "Value null at 'stackName' failed to satisfy constraint: Member must not be null"},
		{"pattern", "StackName=1a", one + "Value '1a' at 'stackName' failed to satisfy constraint: " + stack},
		{"pattern matches the whole text", "StackName=a%0A", one + "Value 'a\n' at 'stackName' failed to satisfy constraint: " + stack},
		{"several", "StackName=&Mode=FAST",
			"ValidationError: 3 validation errors detected: Value '' at 'stackName' failed to satisfy constraint: Member must have length greater than or equal to 1; " +
				"Value '' at 'stackName' failed to satisfy constraint: " + stack + "; " +
				"Value 'FAST' at 'mode' failed to satisfy constraint: Member must satisfy enum value set: [STANDARD, EXPRESS]"},
		{"length", "StackName=s&TemplateBody=" + strings.Repeat("%C3%A9", 41), one + "Value '" + strings.Repeat("é", 41) + "' at 'templateBody' failed to satisfy constraint: Member must have length less than or equal to 40"},
		{"long value is truncated", "StackName=s&TemplateBody=a" + strings.Repeat("%C3%A9", 2000), one + "Value 'a" + strings.Repeat("é", 511) + "...' at 'templateBody' failed to satisfy constraint: Member must have length less than or equal to 40"},
		{"secret", "StackName=s&Password=hunter2", one + "Value '****' at 'password' failed to satisfy constraint: Member must have length greater than or equal to 12"},
		{"range", "StackName=s&TimeoutInMinutes=0", one + "Value '0' at 'timeoutInMinutes' failed to satisfy constraint: Member must have value greater than or equal to 1"},
		{"embedded", "StackName=s&ClientRequestToken=", one + "Value '' at 'clientRequestToken' failed to satisfy constraint: Member must have length greater than or equal to 1"},
		{"in a list", "StackName=s&Tags.member.1.Key=", "ValidationError: 2 validation errors detected: " +
			"Value '' at 'tags.1.member.key' failed to satisfy constraint: Member must have length greater than or equal to 1; " +
			"Value null at 'tags.1.member.value' failed to satisfy constraint: Member must not be null"},
		{"in a structure", "StackName=s&Nested.Other=", one + "Value null at 'nested.needed' failed to satisfy constraint: Member must not be null"},
		{"list length", "StackName=s&Tags.member.1.Key=a&Tags.member.1.Value=&Tags.member.2.Key=a&Tags.member.2.Value=&Tags.member.3.Key=a&Tags.member.3.Value=",
			one + "Value 'a list of 3' at 'tags' failed to satisfy constraint: Member must have length less than or equal to 2"},
		{"enum in a list", "StackName=s&Capabilities.member.1=CAPABILITY_IAM&Capabilities.member.2=X",
			one + "Value '[CAPABILITY_IAM, X]' at 'capabilities' failed to satisfy constraint: Member must satisfy constraint: [Member must satisfy enum value set: [CAPABILITY_IAM, CAPABILITY_NAMED_IAM]]"},
		{"texts in a list", "StackName=s&Names.member.1=abcde",
			one + "Value '[abcde]' at 'names' failed to satisfy constraint: Member must satisfy constraint: [Member must have length less than or equal to 4, Member must have length greater than or equal to 1, Member must satisfy regular expression pattern: [a-z]*]"},
		{"boolean", "StackName=s&Protect=hunter2", "MalformedInput: Protect must be true or false."},
		{"integer", "StackName=s&TimeoutInMinutes=1e3", "MalformedInput: TimeoutInMinutes must be a whole number."},
		{"integer too large", "StackName=s&TimeoutInMinutes=2147483648", "MalformedInput: TimeoutInMinutes must be a whole number."},
		{"time", "StackName=s&Since=now", "MalformedInput: Since must be a time such as 2026-11-21T10:38:42Z."},
		{"list for a scalar", "StackName.member.1=s", "MalformedInput: StackName must be a single value."},
		{"scalar for a list", "StackName=s&Tags=x", "MalformedInput: Tags must be a list: Tags.member.1 and so on, or empty."},
		{"empty list and items", "StackName=s&Names=&Names.member.1=a", "MalformedInput: Names must be a list: Names.member.1 and so on, or empty."},
		{"flat list", "StackName=s&Names.1=a", "MalformedInput: Names must be a list: Names.member.1 and so on."},
		{"unnumbered", "StackName=s&Names.member=a", "MalformedInput: Names.member must be numbered."},
		{"gap", "StackName=s&Names.member.1=a&Names.member.3=b", "MalformedInput: Names.member has 2 items but none with the number 2: items are numbered from 1 without gaps."},
		{"zero", "StackName=s&Names.member.0=a", "MalformedInput: Names.member has 1 items but none with the number 1: items are numbered from 1 without gaps."},
		{"leading zero", "StackName=s&Names.member.01=a", "MalformedInput: Names.member has 1 items but none with the number 1: items are numbered from 1 without gaps."},
		{"structure instead of an item", "StackName=s&Names.member.1.x=a", "MalformedInput: Names.member.1 must be a single value."},
		{"too deep", "StackName=s&x" + strings.Repeat(".x", 11) + "=1", "MalformedInput: The parameter x" + strings.Repeat(".x", 11) + " nests too deep."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := decodeForm(test.form)
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v\nwant  %s", err, test.want)
			}
		})
	}
}

func TestDecodeBoundsLists(t *testing.T) {
	var form strings.Builder
	form.WriteString("StackName=s")
	for i := range 1001 {
		fmt.Fprintf(&form, "&Names.member.%d=a", i+1)
	}
	_, _, err := decodeForm(form.String())
	if err == nil || err.Error() != "MalformedInput: Names has more than 1000 items." {
		t.Errorf("error %v", err)
	}
}

func TestUnknownIsBounded(t *testing.T) {
	form := "StackName=s&" + strings.Repeat("x", 3000) + "=1"
	for i := range 30 {
		form += fmt.Sprintf("&z%d=", i)
	}
	_, unknown, err := decodeForm(form)
	if err != nil || len(unknown) != 21 || unknown[20] != "..." || len(unknown[0]) > 1100 {
		t.Errorf("%d names, the first of %d bytes, %v", len(unknown), len(unknown[0]), err)
	}
}

func TestWrongTypesPanic(t *testing.T) {
	for name, typ := range map[string]reflect.Type{
		"not a struct":        reflect.TypeFor[string](),
		"a time":              reflect.TypeFor[time.Time](),
		"a float":             reflect.TypeFor[struct{ F float64 }](),
		"a map":               reflect.TypeFor[struct{ M map[string]string }](),
		"a list of lists":     reflect.TypeFor[struct{ L [][]string }](),
		"a pointer to a list": reflect.TypeFor[struct{ P *[]string }](),
		"an unknown option": reflect.TypeFor[struct {
			F string `query:",requird"`
		}](),
		"a broken pattern": reflect.TypeFor[struct {
			F string `pattern:"("`
		}](),
		"a broken length": reflect.TypeFor[struct {
			F string `length:"1"`
		}](),
		"an empty range": reflect.TypeFor[struct {
			F int `range:"2,1"`
		}](),
		"a double enum": reflect.TypeFor[struct {
			F string `enum:"A,A"`
		}](),
		"an enum of integers": reflect.TypeFor[struct {
			F int `enum:"1,2"`
		}](),
		"a length of a boolean": reflect.TypeFor[struct {
			F bool `length:"1,2"`
		}](),
		"one name twice": reflect.TypeFor[struct {
			A string
			B string `query:"A"`
		}](),
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if text, _ := recover().(string); !strings.HasPrefix(text, "query: ") {
					t.Errorf("recovered %q", text)
				}
			}()
			shapes{}.root(typ)
			t.Error("no panic")
		})
	}
}

// FuzzDecode checks that no form makes decode panic, that accepted input satisfies the constraints, and that other
// input is a client error.
func FuzzDecode(f *testing.F) {
	f.Add("StackName=s&Tags.member.1.Key=a&Tags.member.1.Value=b&Capabilities.member.1=CAPABILITY_IAM")
	f.Add("StackName=s&Names=&Next.Next.StackName=t&Rollback.Triggers.member.1.Arn=x&Since=2026-11-21T10:38:42Z")
	f.Add("StackName=s&Names.member.0=&.=.&..=&TimeoutInMinutes=-1&Protect=true")
	f.Fuzz(func(t *testing.T, text string) {
		in, _, err := decodeForm(text)
		if err != nil {
			if refused, ok := errors.AsType[*Error](err); ok && (refused.Code != "ValidationError" && refused.Code != "MalformedInput" || !refused.Sender) {
				t.Errorf("refused with %+v", refused)
			}
			return
		}
		if in.StackName == "" || len(in.Tags) > 2 || in.Minutes != nil && *in.Minutes < 1 || in.Ignored != "" ||
			in.Mode != "" && in.Mode != "STANDARD" && in.Mode != "EXPRESS" {
			t.Errorf("taken: %+v", in)
		}
	})
}
