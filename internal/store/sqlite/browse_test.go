package sqlite

import (
	"regexp"
	"strings"
	"testing"
)

// TestBrowsePlans asks the database how it would make the pages of lists: by an index that is in their order already.
func TestBrowsePlans(t *testing.T) {
	s := openedAfter(t, migrations)
	for name, text := range map[string]string{
		"regions": regionsAfter, "instances": instancesAfter, "instances by logical id": livingOf, "open requests": openNarrow,
		"left behind": leftAfter, "audit": auditBefore,
	} {
		text = regexp.MustCompile(`\?\d*`).ReplaceAllString(strings.ReplaceAll(text, "?1", `'["a"]'`), "1")
		for _, step := range explained(t, s, text) {
			// Of regions the recursion itself is read, and of accounts the array that was given.
			given := step == "SCAN r" || step == "SCAN s" && name == "regions" || strings.HasPrefix(step, "SCAN json_each") ||
				strings.HasPrefix(step, "SCAN (subquery")
			sorts := strings.Contains(step, "TEMP B-TREE") && name != "instances by logical id"
			if strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "INDEX") && !given || sorts {
				t.Errorf("%s: %s", name, step)
			}
		}
	}
}
