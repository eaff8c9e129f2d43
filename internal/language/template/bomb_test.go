package template_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// TestBombs parses small texts that expand to large or deep ones: each is rejected, or stays within limits that its own
// size sets.
func TestBombs(t *testing.T) {
	const resources = "Resources:\n  A:\n    Type: Custom::A\n    Properties:\n"
	laughs := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for i := range 20 {
		previous, next := 'a'+rune(i), 'b'+rune(i)
		laughs += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", next, next, previous, previous, previous, previous, previous, previous, previous, previous, previous)
	}
	for _, test := range []struct{ name, body, want string }{
		{"aliases", laughs, "aliases such as *a are not supported"},
		{"merges", "a: &a {b: c}\nd:\n" + strings.Repeat("  <<: *a\n", 1000), "hash merges (<<) are not supported"},
		{"an alias of itself", resources + "      P: &p [*p]\n", "aliases such as *p are not supported"},
		{"deep lists of YAML", resources + "      P: " + strings.Repeat("[", 100_000), "YAML not well-formed"},
		{"deep lists of YAML, closed", resources + "      P: " + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000), "nest deeper than 48 levels"},
		{"deep maps of YAML", resources + "      P: " + strings.Repeat("{a: ", 9_000) + "b" + strings.Repeat("}", 9_000), "nest deeper than 48 levels"},
		{"deep indents", deepIndents(700), "nest deeper than 48 levels"},
		{"deep short forms", resources + "      P: " + strings.Repeat("!Not [", 9_000) + strings.Repeat("]", 9_000), "nest deeper than 48 levels"},
		{"deep lists of JSON", `{"Resources": ` + strings.Repeat("[", 300_000), "JSON not well-formed"},
		{"deep lists of JSON, closed", `{"Resources": ` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}", "nest deeper than 48 levels"},
		{"deep objects of JSON", strings.Repeat(`{"a":`, 9_000) + "1" + strings.Repeat("}", 9_000), "nest deeper than 48 levels"},
		{"many documents", strings.Repeat("--- {}\n", 50_000), "more than one YAML document"},
		{"many keys", "Resources:\n" + strings.Repeat("  A: {Type: Custom::A}\n", 10_000), "is given twice"},
		{"many sections", strings.Repeat("x", 100) + ": 1\n" + manyKeys(20_000), "Invalid template property or properties"},
		{"many variables", resources + "      P: !Sub '" + strings.Repeat("${B}", 50_000) + "'\n", "Unresolved resource dependencies [B]"},
		{"many loops", "Transform: AWS::LanguageExtensions\nResources:\n" + loops(12), "bytes long after its transforms"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := template.Parse(test.body)
			parsed, found := template.Examine(test.body, template.Limits{})
			if err == nil || len(found) == 0 {
				t.Fatalf("Parse: %v, Examine: %v", err, found)
			}
			if len(found) > 101 {
				t.Errorf("%d problems are reported", len(found))
			}
			text := ""
			for _, e := range found {
				text += e.Describe() + "\n"
			}
			if !strings.Contains(text, test.want) {
				t.Errorf("got %.400s, want %s (sound: %t)", text, test.want, parsed != nil)
			}
		})
	}
}

func deepIndents(levels int) string {
	var b strings.Builder
	for i := range levels {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func manyKeys(count int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	return b.String()
}

// loops returns nested loops of this depth, with ten iterations each.
func loops(depth int) string {
	var head, keys, tail strings.Builder
	for i := range depth {
		fmt.Fprintf(&head, "%s{'Fn::ForEach::L%d': [X%d, [a, b, c, d, e, f, g, h, i, j], ", map[bool]string{true: "  ", false: ""}[i == 0], i, i)
		fmt.Fprintf(&keys, "${X%d}", i)
		tail.WriteString("]}")
	}
	return head.String() + "{'R" + keys.String() + "': {Type: Custom::A}}" + tail.String() + "\n"
}

// TestEvaluatedBombs parses small templates that need much work when they are evaluated or their loops are expanded.
func TestEvaluatedBombs(t *testing.T) {
	const tooMuch = "what the functions return here is more than"
	const head = "Parameters: {P: {Type: String}, L: {Type: CommaDelimitedList}}\nResources:\n  A:\n    Type: Custom::A\n    Properties:\n      V: "
	const extended = "Transform: AWS::LanguageExtensions\n" + head
	items := "[" + strings.Repeat("!Ref P,", 5_000) + "]"
	nested := "''"
	for range 10 {
		nested = "!Sub ['" + strings.Repeat("${V}", 100) + "', {V: " + nested + "}]"
	}
	loop := func(rest string) string {
		return "Transform: AWS::LanguageExtensions\nParameters: {P: {Type: String}, L: {Type: CommaDelimitedList}}\nResources:\n  Fn::ForEach::R: [X, [!Ref P], " + rest + "]\n"
	}
	for _, test := range []struct{ name, body, want string }{
		{"one parameter, many times", head + "!Sub '" + strings.Repeat("${P}", 5_000) + "'\n", tooMuch},
		{"many separate copies", head + items + "\n", tooMuch},
		{"joined", head + "!Join [x, " + items + "]\n", tooMuch},
		{"joined by a long text", head + "!Join [" + strings.Repeat("x", 100_000) + ", !Ref L]\n", tooMuch},
		{"lists split from a text", head + "[" + strings.Repeat("!Split [a, !Ref P],", 5_000) + "]\n", tooMuch},
		{"again and again", head + nested + "\n", tooMuch},
		{"as the default of a lookup", extended + "!FindInMap [M, a, b, {DefaultValue: " + items + "}]\nMappings: {M: {c: {d: e}}}\n", tooMuch},
		{"as JSON", extended + "{'Fn::ToJsonString': " + items + "}\n", tooMuch},
		{"in the text of a loop", loop("{'R${X}': {Type: Custom::A, Properties: {V: !Sub '" + strings.Repeat("${X}", 20_000) + "'}}}"), "bytes long after its transforms"},
		{"in the key of a loop", loop("{? 'R" + strings.Repeat("&{X}", 20_000) + "' : {Type: Custom::A}}"), "bytes long after its transforms"},
	} {
		t.Run(test.name, func(t *testing.T) {
			parsed, err := template.Parse(test.body)
			if err != nil {
				t.Fatal(err)
			}
			inputs := map[string]template.Input{
				"P": {Value: strings.Repeat("a", 4_096)}, "L": {Value: strings.Repeat(",", 2_000)},
			}
			scope, err := parsed.Bind(inputs, nil, template.Pseudo{})
			if err != nil {
				t.Fatal(err)
			}
			if parsed, scope, err = parsed.Process(scope); err == nil {
				_, err = template.Evaluate(parsed.Resource("A").Properties, scope, nil)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %.300v, want %s", err, test.want)
			}
		})
	}
}

// TestOutputBomb checks that all outputs together have the limit of one value, because they are stored as one.
func TestOutputBomb(t *testing.T) {
	var body strings.Builder
	body.WriteString("Parameters: {P: {Type: String}}\nResources: {A: {Type: Custom::A}}\nOutputs:\n")
	for i := range 20 {
		fmt.Fprintf(&body, "  O%d: {Value: !Sub '%s'}\n", i, strings.Repeat("${P}", 200))
	}
	parsed, err := template.Parse(body.String())
	if err != nil {
		t.Fatal(err)
	}
	scope, err := parsed.Bind(map[string]template.Input{"P": {Value: strings.Repeat("a", 4_096)}}, nil, template.Pseudo{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parsed.EvaluateOutputs(scope, nil); err == nil || !strings.Contains(err.Error(), "what the functions return here") {
		t.Errorf("got %.300v", err)
	}
}
