package template_test

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// TestScalars checks how CloudFormation's YAML 1.1 reads plain scalars.
func TestScalars(t *testing.T) {
	for _, test := range []struct{ yaml, want string }{
		{`yes`, `true`}, {`On`, `true`}, {`TRUE`, `true`}, {`no`, `false`}, {`off`, `false`}, {`False`, `false`},
		{`y`, `"y"`}, {`"yes"`, `"yes"`}, {`'on'`, `"on"`}, {`!!str no`, `"no"`},
		{`10000000`, `10000000`}, {`1.0`, `1.0`}, {`1e3`, `1e3`}, {`-0.50`, `-0.50`}, {`+7`, `7`}, {`1_000`, `1000`}, {`0`, `0`},
		{`0x1F`, `31`}, {`010`, `8`}, {`-010`, `-8`}, {`0b101`, `5`}, {`0o17`, `"0o17"`}, {`012345678901`, `"012345678901"`},
		{`1:30`, `90`}, {`190:20:30`, `685230`}, {`00:30`, `"00:30"`},
		{`.5`, `0.5`}, {`5.`, `5.0`}, {`00.5`, `0.5`}, {`.inf`, `".inf"`}, {`.NaN`, `".NaN"`}, {`0xFFFFFFFFFFFFFFFFF`, `"0xFFFFFFFFFFFFFFFFF"`},
		{`2012-10-17`, `"2012-10-17"`}, {`2001-12-14t21:59:43.10-05:00`, `"2001-12-14t21:59:43.10-05:00"`}, {`1.2.3`, `"1.2.3"`}, {`127.0.0.1`, `"127.0.0.1"`},
		{`-`, ``}, {`=`, `"="`}, {`''`, `""`}, {`!!int 0x10`, `16`}, {`!!float 1.5`, `1.5`}, {`!!bool yes`, `true`}, {`!!map {a: 1}`, `{"a":1}`}, {`!!seq [1]`, `[1]`},
		{"|\n        1\n", `"1\n"`}, {"{yes: 1, 80: 2}", `{"yes":1,"80":2}`}, {`!Base64 123`, `{"Fn::Base64":"123"}`}, {`!Ref AWS::Region`, `{"Ref":"AWS::Region"}`},
	} {
		parsed, err := template.Parse(r(test.yaml))
		if err != nil {
			if test.want != "" {
				t.Errorf("%s: %s", test.yaml, describe(err))
			}
			continue
		}
		if got := parsed.Resources[0].Properties.Get("P").Value().String(); got != test.want {
			t.Errorf("%s is %s, want %s", test.yaml, got, test.want)
		}
	}
}
