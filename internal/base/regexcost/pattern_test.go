package regexcost_test

import (
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/base/regexcost"
)

func TestWeight(t *testing.T) {
	for text, want := range map[string]int{
		"abc": 3, "[a-z]": 2, "a*": 2, "(?:ab){30}": 90, "(?:ab[cd]{5}){10}": 190, strings.Repeat("a[bc]", 9) + "{999}": 3023,
		"(?:" + strings.Repeat("ab", 50) + "){999}": regexcost.Heaviest + 1,
	} {
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := regexcost.Weight(parsed); got != want {
			t.Errorf("the weight of %s is %d, want %d", text, got, want)
		}
	}
}

func TestScan(t *testing.T) {
	for _, test := range []struct{ weight, size, want int }{{0, 100, 0}, {3, 0, 3}, {3, 15, 3}, {3, 16, 6}, {regexcost.Heaviest, 160, 11 * regexcost.Heaviest}} {
		if got := regexcost.Scan(test.weight, test.size); got != test.want {
			t.Errorf("to look for %d in %d bytes takes %d, want %d", test.weight, test.size, got, test.want)
		}
	}
}
