package display_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
)

func TestSnippet(t *testing.T) {
	long := strings.Repeat("abcdefghi ", 30)
	for _, test := range []struct {
		name           string
		text           string
		column, length int
		want           []string
	}{
		{"a word", "      Quotta: 5", 7, 6, []string{"   10 |       Quotta: 5", "      |       ^~~~~~"}},
		{"one character", "[a]", 1, 1, []string{"   10 | [a]", "      | ^"}},
		{"no column", "a: [", 0, 0, []string{"   10 | a: ["}},
		{"behind the end", "a", 5, 1, []string{"   10 | a"}},
		{"beyond the end", "ab", 2, 9, []string{"   10 | ab", "      |  ^"}},
		{"tabs", "\ta:\tb", 5, 1, []string{"   10 |     a:    b", "      |           ^"}},
		{"wide characters", "日本: é́ x", 8, 1, []string{"   10 | 日本: é́ x", "      |         ^"}},
		{"wide mark", "a: 日本", 4, 2, []string{"   10 | a: 日本", "      |    ^~~~"}},
		{"control characters", "a\x1b[31m\u202e: b", 9, 1, []string{"   10 | a·[31m·: b", "      |         ^"}},
		{"far away", long, 151, 9, []string{
			"   10 | …" + long[100:150] + long[150:199] + "…", "      | " + strings.Repeat(" ", 51) + "^~~~~~~~~",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := strings.Split(strings.TrimSuffix(display.Snippet(10, test.text, test.column, test.length), "\n"), "\n")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
