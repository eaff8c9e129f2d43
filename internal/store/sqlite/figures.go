package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"

	"github.com/pintle-dev/pintle/internal/store"
)

// The counts. Each reads an index of only the rows that it counts. A flight's oldest request is the row created first.
const (
	countStacks  = "SELECT count(*) FROM stack INDEXED BY stack_name WHERE live = 1"
	countBusy    = "SELECT count(DISTINCT stack) FROM request INDEXED BY request_open WHERE state <> 'settled'"
	countOrphans = "SELECT count(*) FROM instance INDEXED BY instance_orphan WHERE role = 'orphan'"
	countFlights = `SELECT f.type, f.state, f.n, r.plain ->> '$.created' FROM (
		SELECT type, state, count(*) AS n, min(seq) AS first FROM request INDEXED BY request_open WHERE state <> 'settled' GROUP BY type, state) f
		JOIN request r ON r.seq = f.first`
)

// Figures implements [store.Store]. The span of a table's row numbers is an upper bound of its rows.
func (s *Store) Figures(ctx context.Context) (store.Figures, error) {
	f, err := read(ctx, s, func(query querier) (f store.Figures, err error) {
		for _, count := range []struct {
			text string
			into *int
		}{
			{"SELECT count(*) FROM node", &f.Nodes}, {countStacks, &f.Stacks}, {countBusy, &f.Busy}, {countOrphans, &f.Orphans},
		} {
			if *count.into, err = one(query, scanValue[int], count.text); err != nil {
				return f, err
			}
		}
		if f.Flights, err = all(query, scanFlight, countFlights); err != nil {
			return f, err
		}
		f.Rows = map[string]int64{"stack": int64(f.Stacks)}
		for _, table := range store.RowTables() {
			if table == "stack" { // its keys are random
				continue
			}
			f.Rows[table], err = one(query, scanValue[int64], spanOf(table))
			if err != nil {
				return f, err
			}
		}
		return f, nil
	})
	if err != nil {
		return store.Figures{}, err
	}
	f.Bytes, err = s.size()
	return f, err
}

// spanOf returns the statement for the span of a table's row numbers, which reads only the first and the last row.
func spanOf(table string) string {
	return "SELECT coalesce((SELECT max(seq) FROM " + table + ") - (SELECT min(seq) FROM " + table + ") + 1, 0)"
}

func scanFlight(rows *sql.Rows) (f store.Flight, err error) {
	var created string
	if err = rows.Scan(&f.Type, &f.State, &f.Count, &created); err == nil {
		err = f.Oldest.UnmarshalText([]byte(created))
	}
	return f, err
}

// size returns the size of the file and its log.
func (s *Store) size() (int64, error) {
	var total int64
	for _, name := range []string{s.path, s.path + "-wal"} {
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // no log yet
		case err != nil:
			return 0, err
		default:
			total += info.Size()
		}
	}
	return total, nil
}
