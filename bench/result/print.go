package result

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Print writes the file as a table for people, followed by the result of each goal.
func (f File) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s\n", f.Name)
	for _, row := range f.Rows {
		runs := make([]string, len(row.Runs))
		for i, run := range row.Runs {
			runs[i] = Number(run)
		}
		of := ""
		if len(runs) > 1 {
			of = "median of " + strings.Join(runs, " ")
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n", row.Case, row.Who, Number(row.Value), row.Unit, of, row.Note)
	}
	for _, goal := range f.Goals {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t\n", goal.Verdict(), goal.Name, Number(goal.Value), goal.Unit, goal.Asked())
	}
	return table.Flush()
}
