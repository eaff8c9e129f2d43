package check_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/author/check"
)

var update = flag.Bool("update", false, "write the tables of the documentation")

// The tables of the documentation are those of the code; -update writes them.
func TestDocumentation(t *testing.T) {
	const file = "../../../docs/check.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var scenarios, rules strings.Builder
	scenarios.WriteString("| scenario | what is sent |\n|---|---|\n")
	for _, s := range check.Scenarios() {
		fmt.Fprintf(&scenarios, "| `%s` | %s |\n", s.ID, s.Title)
	}
	rules.WriteString("| rule | | asks that | why |\n|---|---|---|---|\n")
	for _, r := range check.Rules() {
		fmt.Fprintf(&rules, "| `%s` | %s | %s | %s |\n", r.ID, r.Severity, r.Statement, r.Why)
	}
	want := string(text)
	for name, table := range map[string]string{"scenarios": scenarios.String(), "rules": rules.String()} {
		before, rest, ok := strings.Cut(want, "<!-- "+name+": kept equal to the code by a test -->\n")
		_, after, ended := strings.Cut(rest, "<!-- end -->")
		if !ok || !ended {
			t.Fatalf("%s has no place for the table of %s", file, name)
		}
		want = before + "<!-- " + name + ": kept equal to the code by a test -->\n" + table + "<!-- end -->" + after
	}
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s (go test ./internal/author/check -run TestDocumentation -update writes it):\n%s", file, diff)
	}
}
