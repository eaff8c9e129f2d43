package sqlite

import (
	"regexp"
	"strings"
	"testing"
)

// TestBrowsePlans checks the query plans of the lists: each uses an index that has the order of the list.
func TestBrowsePlans(t *testing.T) {
	s := openedAfter(t, migrations)
	for name, text := range map[string]string{
		"regions": regionsAfter, "instances": instancesAfter, "instances by logical id": livingOf, "open requests": openNarrow,
		"left behind": leftAfter, "audit": auditBefore,
	} {
		text = regexp.MustCompile(`\?\d*`).ReplaceAllString(strings.ReplaceAll(text, "?1", `'["a"]'`), "1")
		for _, step := range explained(t, s, text) {
			// The plan of the regions also scans the recursion itself, and plans with accounts scan the given array.
			given := step == "SCAN r" || step == "SCAN s" && name == "regions" || strings.HasPrefix(step, "SCAN json_each") ||
				strings.HasPrefix(step, "SCAN (subquery")
			sorts := strings.Contains(step, "TEMP B-TREE") && name != "instances by logical id"
			if strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "INDEX") && !given || sorts {
				t.Errorf("%s: %s", name, step)
			}
		}
	}
}
