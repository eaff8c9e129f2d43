package drift

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

func parsed(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDifferences(t *testing.T) {
	for _, of := range []struct {
		expected, actual string
		want             []Difference
	}{
		{`"a"`, `"a"`, nil},
		{`"5"`, `5`, nil},
		{`""`, `null`, nil},
		{`[]`, `null`, nil},
		{`"a"`, `"b"`, []Difference{{"/P", "a", "b", NotEqual}}},
		{`"a"`, `null`, []Difference{{"/P", "a", "null", Remove}}},
		{`"a"`, `""`, []Difference{{"/P", "a", "null", Remove}}},
		{`{"a": "1", "b/c": "2", "d": {"e": "3"}}`, `{"d": {"e": "4"}, "b/c": "5", "f": ["6"]}`, []Difference{
			{"/P/a", "1", "null", Remove}, {"/P/b~1c", "2", "5", NotEqual}, {"/P/d/e", "3", "4", NotEqual}, {"/P/f", "null", `["6"]`, Add},
		}},
		{`["a", "b"]`, `["a", "c", "d"]`, []Difference{{"/P/1", "b", "c", NotEqual}, {"/P/2", "null", "d", Add}}},
		{`["a", "b"]`, `["a"]`, []Difference{{"/P/1", "b", "null", Remove}}},
		{`["a"]`, `"a"`, []Difference{{"/P", `["a"]`, "a", NotEqual}}},
		{`"x{{resolve:ssm:/a}}"`, `"xy"`, nil},
		{`{"a": "{{resolve:secretsmanager:b}}", "c": "d"}`, `{"a": "e", "c": "f"}`, []Difference{{"/P/c", "d", "f", NotEqual}}},
	} {
		if diff := cmp.Diff(of.want, differences("/P", parsed(t, of.expected), parsed(t, of.actual))); diff != "" {
			t.Errorf("%s and %s: %s", of.expected, of.actual, diff)
		}
	}
}

// TestSecretsAreHidden checks that the value that replaces a secret is hidden like the secret.
func TestSecretsAreHidden(t *testing.T) {
	secret := value.SecretStr("hunter2")
	object := func(key string, v value.Value) value.Value { return value.Object(value.Member{Key: key, Value: v}) }
	for name, of := range map[string]struct{ expected, actual value.Value }{
		"changed":       {secret, value.Str("hunter3")},
		"changed kind":  {secret, value.Strs("hunter3")},
		"in an object":  {object("a", secret), object("a", value.Str("hunter3"))},
		"moved":         {value.Items(value.Str("x"), secret), value.Strs("hunter2", "hunter3")},
		"repeated":      {object("a", secret), object("b", value.Str("is hunter2"))},
		"of a dynamic":  {value.Str("{{resolve:secretsmanager:a}}"), value.Str("hunter2")},
		"only the kind": {object("a", secret), value.Str("hunter3")},
	} {
		actual := hide(of.expected, of.actual)
		text := string(actual.Masked().JSON())
		for _, d := range differences("/P", of.expected, actual) {
			text += d.Expected + d.Actual
		}
		if strings.Contains(text, "hunter") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestCompareHidesNamedProperties checks that the properties that a provider names as secret are hidden as a whole, also the parts that the
// template does not declare.
func TestCompareHidesNamedProperties(t *testing.T) {
	for _, of := range []struct{ declared, live string }{
		{`{"Keys": {}}`, `{"Keys": {"a": "hunter2"}}`},
		{`{"Keys": {"a": "b"}}`, `{"Keys": {"a": "b", "c": "hunter2"}}`},
		{`{"Keys": {"a": {"b": "c"}}}`, `{"Keys": {"a": {"b": "c", "d": ["hunter2"]}}}`},
		{`{"Keys": []}`, `{"Keys": ["hunter2"]}`},
		{`{"Keys": null}`, `{"Keys": "hunter2"}`},
		{`{"Keys": ""}`, `{"Keys": {"a": "hunter2"}}`},
		{`{"Keys": "{\"a\": \"b\"}"}`, `{"Keys": {"a": "hunter2"}}`},
	} {
		found := Resource{}
		found.Compare(parsed(t, of.declared), &wire.State{Properties: []byte(of.live), Secret: []string{"Keys", "Other"}}, nil)
		if text := fmt.Sprintf("%+v", found); found.Status != Modified || strings.Contains(text, "hunter") {
			t.Errorf("%s and %s: %s", of.declared, of.live, text)
		}
	}
}
