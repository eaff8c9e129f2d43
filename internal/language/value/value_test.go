package value_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// box is a Sealer whose texts do not show their contents at first sight.
type box struct{}

func (box) Seal(clear string) (string, error) {
	return base64.StdEncoding.EncodeToString([]byte(clear)), nil
}

func (box) Open(sealed string) (string, error) {
	clear, err := base64.StdEncoding.DecodeString(sealed)
	return string(clear), err
}

func parse(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.Parse([]byte(text))
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	return v
}

func TestStringified(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{`10000000`, `"10000000"`},
		{`1.0`, `"1.0"`},
		{`1e3`, `"1e3"`},
		{`true`, `"true"`},
		{`null`, `null`},
		{`{"b":[80,443,{"c":false}],"a":-0.5}`, `{"b":["80","443",{"c":"false"}],"a":"-0.5"}`},
		{`{"empty":{},"list":[],"text":""}`, `{"empty":{},"list":[],"text":""}`},
	} {
		if got := string(parse(t, test.in).Stringified().JSON()); got != test.want {
			t.Errorf("stringified %s = %s, want %s", test.in, got, test.want)
		}
	}
}

func TestEqual(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[1,2]}`, `{"b":[1,2],"a":1}`, true},
		{`{"a":1}`, `{"a":"1"}`, false},
		{`{"a":1}`, `{"a":1.0}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[]`, `{}`, false},
	} {
		if got := parse(t, test.a).Equal(parse(t, test.b)); got != test.want {
			t.Errorf("%s equal %s = %v, want %v", test.a, test.b, got, test.want)
		}
	}
}

func TestObjectLastMemberWins(t *testing.T) {
	if got := string(parse(t, `{"a":1,"b":2,"a":3}`).JSON()); got != `{"a":3,"b":2}` {
		t.Errorf("got %s", got)
	}
}

func TestSecrets(t *testing.T) {
	v := value.Object(
		value.Member{Key: "open", Value: value.Str("seen")},
		value.Member{Key: "list", Value: value.Items(value.SecretStr("hidden"), value.Num("42"), value.SecretStr("hidden text"))},
		value.Member{Key: "deep", Value: parse(t, `{"n":17,"b":true}`).Tainted(value.OfParameter)},
	)
	if got, want := v.String(), `{"open":"seen","list":["*****",42,"*****"],"deep":{"n":"****","b":"****"}}`; got != want {
		t.Errorf("String() = %s, want %s", got, want)
	}
	if got, want := string(v.JSON()), `{"open":"seen","list":["hidden",42,"hidden text"],"deep":{"n":17,"b":true}}`; got != want {
		t.Errorf("JSON() = %s, want %s", got, want)
	}
	if diff := differ([]string{"hidden text", "hidden", "true", "17"}, v.Secrets()); diff != "" {
		t.Errorf("Secrets() (-want +got):\n%s", diff)
	}
	marshalled, err := v.MarshalJSON()
	if err != nil || strings.Contains(string(marshalled), "hidden") {
		t.Errorf("MarshalJSON() = %s, %v: shows a secret", marshalled, err)
	}
}

func TestEncodeSealsSecrets(t *testing.T) {
	v := value.Object(
		value.Member{Key: "open", Value: value.Str("seen")},
		value.Member{Key: "secret", Value: value.Items(value.SecretStr("hidden"), value.Num("42").Tainted(value.OfParameter))},
		value.Member{Key: "\x00sealed", Value: value.Str("no seal")},
		value.Member{Key: "\x00\x00sealed", Value: value.Str("no seal")},
		value.Member{Key: "\b\x00sealed", Value: value.Str("no seal")},
		value.Member{Key: "lone", Value: parse(t, `{"\u0000sealed":"aGlkZGVu"}`)},
	)
	stored, err := value.Encode(v, box{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(stored), "hidden") {
		t.Errorf("stored in clear: %s", stored)
	}
	got, err := value.Decode(stored, box{})
	if err != nil {
		t.Fatal(err)
	}
	if !got.Equal(v) {
		t.Errorf("decoded %s, want %s", got.JSON(), v.JSON())
	}
	if got.String() != v.String() {
		t.Errorf("shown as %s, want %s", got, v)
	}
	if diff := differ(v.Secrets(), got.Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

// TestEncodeDeepestSecret encodes data of the maximum depth that a provider has marked as secret.
func TestEncodeDeepestSecret(t *testing.T) {
	deep := parse(t, strings.Repeat("[", value.MaxDepth)+`"hidden"`+strings.Repeat("]", value.MaxDepth)).Tainted(value.OfAttribute)
	stored, err := value.Encode(deep, box{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := value.Decode(stored, box{}); err != nil || !got.Equal(deep) {
		t.Errorf("decoded %s, %v", got.JSON(), err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{``, `{`, `{"a"}`, `[1,]`, `1 2`, `nul`, "\x00", `{"a":1}}`} {
		var syntax *value.SyntaxError
		if _, err := value.Parse([]byte(text)); !errors.As(err, &syntax) {
			t.Errorf("Parse(%q) = %v, want a SyntaxError", text, err)
		}
	}
	deep := strings.Repeat("[", value.MaxDepth+1) + strings.Repeat("]", value.MaxDepth+1)
	if _, err := value.Parse([]byte(deep)); !errors.Is(err, value.ErrDepth) {
		t.Errorf("Parse of %d levels = %v, want ErrDepth", value.MaxDepth+1, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.50,true,null,"x\u0007<&>"]}`, `1e400`, `"\ud800"`, `{"\u0000sealed":"x"}`, `{"\b\u0000sealed":""}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := value.Parse(data)
		if err != nil {
			return
		}
		again, err := value.Parse(v.JSON())
		if err != nil || !again.Equal(v) {
			t.Fatalf("%q became %s: %v", data, v.JSON(), err)
		}
		stored, err := value.Encode(v.Tainted(value.OfAttribute), box{})
		if err != nil {
			t.Fatal(err)
		}
		if again, err = value.Decode(stored, box{}); err != nil || !again.Equal(v) {
			t.Fatalf("%q was stored as %s: %v", data, stored, err)
		}
	})
}

// differ returns the difference of two lists of texts, "" for none. It does not use a library, because importers would
// inherit that.
func differ(want, got []string) string {
	if slices.Equal(want, got) {
		return ""
	}
	return fmt.Sprintf("got %q, want %q", got, want)
}

func TestDeeper(t *testing.T) {
	for _, test := range []struct {
		text   string
		levels int
		want   bool
	}{
		{`1`, 0, false}, {`[]`, 0, true}, {`[]`, 1, false}, {`[[], {"a": []}]`, 3, false}, {`[[], {"a": []}]`, 2, true},
		{`[[], [], []]`, 2, false}, {`["[[[[\"[[["]`, 1, false}, {`["\\", [[]]]`, 2, true},
	} {
		if got := value.Deeper([]byte(test.text), test.levels); got != test.want {
			t.Errorf("%s nests deeper than %d levels: %t, want %t", test.text, test.levels, got, test.want)
		}
	}
}
