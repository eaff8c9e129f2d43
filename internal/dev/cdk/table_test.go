package cdk_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table of docs/cdk.md again")

// The table of docs/cdk.md is between these lines.
const (
	tableBegins = "<!-- constructs: written by go test ./internal/dev/cdk -run TestConstructs -update -->\n"
	tableEnds   = "<!-- end of constructs -->\n"
)

// tableRow is a row of the table.
var tableRow = regexp.MustCompile(`^\| (\w+)( \| \d+\.\d\d){5} \|$`)

// checkTable writes the table of docs/cdk.md with -update, and checks that it has a row for each construct.
func checkTable(t *testing.T, rows []string) {
	t.Helper()
	page := filepath.Join("..", "..", "..", "docs", "cdk.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), tableBegins)
	table, after, ended := strings.Cut(rest, tableEnds)
	if !found || !ended {
		t.Fatal("docs/cdk.md has no place for the table")
	}
	if *update && !t.Failed() {
		if len(rows) != len(constructCases) {
			t.Fatal("the table is not written: not all constructs were tested")
		}
		head := "\n| construct | deploy | no-op | change | failure | destroy |\n|---|---|---|---|---|---|\n"
		table = head + strings.Join(rows, "\n") + "\n\n"
		if err := os.WriteFile(page, []byte(before+tableBegins+table+tableEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var want, got []string
	for _, c := range constructCases {
		want = append(want, c.name)
	}
	for line := range strings.Lines(table) {
		if row := tableRow.FindStringSubmatch(strings.TrimSpace(line)); row != nil {
			got = append(got, row[1])
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("constructs in docs/cdk.md (-tested +documented); run this test with -update:\n%s", diff)
	}
}
