package value

import (
	"reflect"
	"testing"
)

// FuzzBothWays parses texts with both parsers.
func FuzzBothWays(f *testing.F) {
	for _, text := range []string{
		``, ` `, `null`, ` true `, `false`, `-1.50e+7`, `0`, `""`, `"a\"b\\\u00e9\ud83d\ude00\ud800"`, "\"\xff\x80\u00e9\"", `[]`, ` [ ] `, `{}`, ` { } `,
		`[1,"2",null,true,[{}],{"a":[]}]`, " {\t\"a\" : 1 ,\n\"b\":{\"a\":2} , \"a\":\"3\"\r} ", `{"\u0000sealed":"x"}`, `[1,]`, `{"a":1,}`, `[1 2]`, `{"a"}`, `1 2`,
		`nul`, `"a`, `[[[[1]]]]`, `[[[[]]]]`, `[[[{}]]]`, `{"a":{"a":{"a":{"a":1}}}}`, `[[[1,[2`, "\"\n\"", "\ufeff1",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for depth := 1; depth <= 4; depth++ {
			got, err := parseWithin(text, depth)
			want, failure := parseSlowly(text, depth)
			if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(err, failure) {
				t.Errorf("%q, %d deep: %+v, %v; want %+v, %v", text, depth, got, err, want, failure)
			}
		}
	})
}
