package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
)

// The counts. Each can be read from an index of only the rows that it counts.
const (
	countNodes   = "SELECT count(*) FROM node"
	countStacks  = "SELECT count(*) FROM stack WHERE live"
	countBusy    = "SELECT count(*) FROM (SELECT DISTINCT stack FROM request WHERE state <> 'settled') busy"
	countOrphans = "SELECT count(*) FROM instance WHERE role = 'orphan'"
	countFlights = "SELECT type, state, count(*), min(born) FROM request WHERE state <> 'settled' GROUP BY type, state"
	// measure returns the size of each table, with indexes and large values, and the planner's estimate of its rows.
	measure = `SELECT c.relname::text, pg_total_relation_size(c.oid), greatest(c.reltuples, 0)::bigint FROM pg_class c
		WHERE c.relkind = 'r' AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'stack'::regclass)`
)

// relation is a table in the database's catalogue.
type relation struct {
	name        string
	bytes, rows int64
}

// Figures implements [store.Store].
func (s *Store) Figures(ctx context.Context) (f store.Figures, err error) {
	for _, count := range []struct {
		text string
		into *int
	}{{countNodes, &f.Nodes}, {countStacks, &f.Stacks}, {countBusy, &f.Busy}, {countOrphans, &f.Orphans}} {
		if *count.into, err = one(ctx, s, scanValue[int], count.text); err != nil {
			return store.Figures{}, err
		}
	}
	f.Flights, err = all(ctx, s, func(row pgx.Row) (flight store.Flight, err error) {
		var oldest int64
		err = row.Scan(&flight.Type, &flight.State, &flight.Count, &oldest)
		flight.Oldest = fromUnix(oldest)
		return flight, err
	}, countFlights)
	if err != nil {
		return store.Figures{}, err
	}
	tables, err := all(ctx, s, func(row pgx.Row) (r relation, err error) {
		err = row.Scan(&r.name, &r.bytes, &r.rows)
		return r, err
	}, measure)
	if err != nil {
		return store.Figures{}, err
	}
	f.Rows = map[string]int64{}
	for _, name := range store.RowTables() {
		f.Rows[name] = 0
	}
	for _, table := range tables {
		f.Bytes += table.bytes
		if _, ok := f.Rows[table.name]; ok {
			f.Rows[table.name] = table.rows
		}
	}
	return f, nil
}
