package template_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/template"
)

// Texts that are small and mean to be large, or deep: each is refused, or stays within what its own size allows.
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
				t.Errorf("%d problems are told", len(found))
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

// loops are so many loops in each other, ten turns each.
func loops(depth int) string {
	var head, keys, tail strings.Builder
	for i := range depth {
		fmt.Fprintf(&head, "%s{'Fn::ForEach::L%d': [X%d, [a, b, c, d, e, f, g, h, i, j], ", map[bool]string{true: "  ", false: ""}[i == 0], i, i)
		fmt.Fprintf(&keys, "${X%d}", i)
		tail.WriteString("]}")
	}
	return head.String() + "{'R" + keys.String() + "': {Type: Custom::A}}" + tail.String() + "\n"
}
