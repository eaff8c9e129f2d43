package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseParameters(t *testing.T) {
	for _, test := range []struct {
		text    string
		want    pairs
		problem string
	}{
		{text: `{}`},
		{text: `[]`},
		{text: `{"B": "b", "A": ["x", 1.50, true], "N": 10000000, "Yes": true}`, want: pairs{
			{Name: "A", Text: "x,1.50,true"}, {Name: "B", Text: "b"}, {Name: "N", Text: "10000000"}, {Name: "Yes", Text: "true"},
		}},
		{text: `[{"ParameterKey": "A", "ParameterValue": "1"}, {"ParameterKey": "A", "ParameterValue": ""}]`,
			want: pairs{{Name: "A", Text: ""}}},
		{text: `[{"ParameterKey": "A"}]`, problem: "item 1 lacks ParameterKey or ParameterValue"},
		{text: `{"A": {"B": 1}}`, problem: "parameter A: want a string, a number, a boolean or a list of them"},
		{text: `{"A": null}`, problem: "parameter A: want a string, a number, a boolean or a list of them"},
		{text: `{"A": ["a,b"]}`, problem: "parameter A: an item of the list contains a comma, which would split it"},
		{text: `{"A": `, problem: "invalid JSON at byte 6"},
		{text: `"A"`, problem: "neither an object nor a list"},
	} {
		got, err := parseParameters([]byte(test.text))
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		if diff := cmp.Diff(test.problem, problem); diff != "" {
			t.Errorf("%s: error (-want +got):\n%s", test.text, diff)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.text, diff)
		}
	}
}

func FuzzParseParameters(f *testing.F) {
	f.Add([]byte(`{"A": ["x", 1.50, true], "B": "b"}`))
	f.Add([]byte(`[{"ParameterKey": "A", "ParameterValue": "1"}]`))
	f.Add([]byte(`{"A": [[["x"]]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := parseParameters(text)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, pair := range read {
			if seen[pair.Name] {
				t.Errorf("%q is there twice", pair.Name)
			}
			seen[pair.Name] = true
		}
	})
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"plain/path-1.json": "plain/path-1.json", "": "''", "two words": "'two words'", "it's": `'it'\''s'`, "$HOME": "'$HOME'",
	} {
		if got := quote(text); got != want {
			t.Errorf("quote(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestRequestIn(t *testing.T) {
	for reason, want := range map[string]string{
		"Received … Message returned: (RequestId: fake) no\nmore (RequestId: 0a-1)":                  "0a-1",
		"CloudFormation did not receive a response … check your logs for requestId [0a-2]. If you …": "0a-2",
		"no request": "",
	} {
		if got := requestIn(reason); got != want {
			t.Errorf("requestIn(%q) = %q, want %q", reason, got, want)
		}
	}
}
