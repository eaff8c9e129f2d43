package jq_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/jq"
	"github.com/pintle-dev/pintle/internal/language/value"
)

func TestRun(t *testing.T) {
	whole := strings.Repeat("9", 1024)
	for _, test := range []struct {
		name, script, input string
		depth               int
		first               bool
		want, err           string
	}{
		{name: "all", script: ".[]", input: `[1,{"b":1,"a":2}]`, depth: 9, want: `[1,{"a":2,"b":1}]`},
		{name: "first", script: ".[]", input: `[1,2]`, first: true, want: `[1]`},
		{name: "none", script: "empty", input: `1`, want: `[]`},
		{name: "exact", script: ".", input: whole, want: `[` + whole + `]`},
		{name: "negative", script: ".", input: "-" + whole[1:], want: `[-` + whole[1:] + `]`},
		{name: "too long to be exact", script: ".", input: whole + "9", want: `[1.7976931348623157e+308]`},
		{name: "a fraction", script: ".", input: "12345678901234567890.5", want: `[1.2345678901234567e+19]`},
		{name: "an exponent", script: ".", input: "1e2", want: `[100]`},
		{name: "as deep as may be", script: "[[.]]", input: `1`, depth: 2, want: `[[[1]]]`},
		{name: "too deep", script: "[[.]]", input: `1`, depth: 1, err: "the result of the script is nested deeper than 1 levels"},
		{name: "thrown", script: "error", input: `"mine"`, err: "the script failed: mine"},
		{name: "thrown at length", script: "error", input: `"` + strings.Repeat("a", 1024) + `"`, err: "the script failed with an error of its own"},
	} {
		input, err := value.Parse([]byte(test.input))
		if err != nil {
			t.Fatal(err)
		}
		got, err := jq.Run(test.script, input, test.depth, test.first)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != test.err {
			t.Errorf("%s: the error is %q, want %q", test.name, text, test.err)
		}
		if diff := cmp.Diff(test.want, string(value.Items(got.Values...).JSON())); err == nil && diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if got.Exhausted || got.Work <= 0 {
			t.Errorf("%s: the work is %d, exhausted %t", test.name, got.Work, got.Exhausted)
		}
	}
}

// TestRunCounts checks that the steps of a script are counted, the same each time, and that a script is stopped when
// it exceeds the limit.
func TestRunCounts(t *testing.T) {
	work := func(script string) jq.Result {
		var first jq.Result
		for i := range 3 {
			got, err := jq.Run(script, value.Value{}, 9, false)
			if got.Exhausted != (err != nil) {
				t.Errorf("%s: %v, exhausted %t", script, err, got.Exhausted)
			}
			if i == 0 {
				first = got
			}
			if got.Work != first.Work {
				t.Errorf("%s did %d, and then %d", script, first.Work, got.Work)
			}
		}
		return first
	}
	few, many := work("[range(10)]"), work(`[range(100) | {a: ., b: "x"}] | group_by(.a % 3)`)
	if few.Exhausted || many.Exhausted || few.Work >= many.Work {
		t.Errorf("little is %+v, much %+v", few, many)
	}
	for _, script := range []string{"def f: f; f", `[repeat("a" * 1000)]`, "last(range(1e12))"} {
		if !work(script).Exhausted {
			t.Errorf("%s went on to its end", script)
		}
	}
}

func TestCheck(t *testing.T) {
	for script, want := range map[string]string{
		".a | map(. + 1)": "", ".[": "the script is not valid jq", "": "the script is empty", "now": "now/0 of jq is not supported", "$ENV": "the environment",
		strings.Repeat(" ", 8<<10) + ".": "longer than 8192 bytes",
	} {
		if err := jq.Check(script); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", script, err, want)
		}
	}
}

func TestFunctions(t *testing.T) {
	names := jq.Functions()
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("not sorted, or twice: %v", names)
	}
	for _, name := range []string{"path", "map", "test", "tojson"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not listed", name)
		}
	}
	for _, name := range names {
		if strings.HasPrefix(name, "_") || name == "env" || name == "now" || name == "input" {
			t.Errorf("%s is listed", name)
		}
	}
}
