package sqlite

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/store"
)

// TestFiguresReadNoTable asks the database how it would count: by indexes of what is counted, and rows by their keys.
func TestFiguresReadNoTable(t *testing.T) {
	s := openedAfter(t, migrations)
	counts := []string{countStacks, countBusy, countOrphans, countFlights}
	for _, table := range store.RowTables() {
		if table != "stack" {
			counts = append(counts, spanOf(table))
		}
	}
	for _, text := range counts {
		rows, err := s.reads.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			derived := detail == "SCAN f" || detail == "SCAN CONSTANT ROW"
			if strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "INDEX") && !derived {
				t.Errorf("%s\nreads a table: %s", text, detail)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCommitted counts what shares a commit.
func TestCommitted(t *testing.T) {
	s := openedAfter(t, migrations)
	var members int
	var timeless bool
	s.writes.told = func(c store.Commit) {
		members += c.Members
		timeless = timeless || c.Took <= 0
	}
	const pings = 5
	for range pings {
		if err := s.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if members != pings || timeless {
		t.Errorf("%d writes were told of, want %d; one without a time: %v", members, pings, timeless)
	}
}
