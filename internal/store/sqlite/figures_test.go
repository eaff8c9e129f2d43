package sqlite

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/store"
)

// TestFiguresUseIndexes checks the query plans of the counts: they read indexes of the counted rows, and the keys of
// tables.
func TestFiguresUseIndexes(t *testing.T) {
	s := openedAfter(t, migrations)
	counts := []string{countStacks, countBusy, countOrphans, countFlights}
	for _, table := range store.RowTables() {
		if table != "stack" {
			counts = append(counts, spanOf(table))
		}
	}
	for _, text := range counts {
		for _, detail := range explained(t, s, text) {
			derived := detail == "SCAN f" || detail == "SCAN CONSTANT ROW"
			if strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "INDEX") && !derived {
				t.Errorf("%s\nreads a table: %s", text, detail)
			}
		}
	}
}

// explained returns the steps of a query's plan.
func explained(t *testing.T, s *Store, text string) (steps []string) {
	t.Helper()
	rows, err := s.reads.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}

// TestCommitted counts the writes that share a commit.
func TestCommitted(t *testing.T) {
	s := openedAfter(t, migrations)
	var members int
	var timeless bool
	s.writes.committed = func(c store.Commit) {
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
		t.Errorf("%d writes were reported, want %d; one without a time: %v", members, pings, timeless)
	}
}
