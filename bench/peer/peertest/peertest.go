// Package peertest runs the chains of a peer in tests, on a database of each kind.
package peertest

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/bench/chain"
	"github.com/pintle-dev/pintle/internal/pgtest"
)

// Run has a peer make every cycle of a small load, on SQLite and, where there is one, on PostgreSQL.
func Run(t *testing.T, open chain.Open) {
	t.Helper()
	load := chain.Load{Chains: 3, Length: 4}
	run := func(t *testing.T, database chain.Database) {
		t.Helper()
		made, err := chain.Run(t.Context(), open, database, load, time.Minute) // which is only waited for by one that hangs
		if err != nil {
			t.Fatal(err)
		}
		if made.Cycles != load.Chains*(load.Length-1) || made.PerSecond <= 0 {
			t.Errorf("%+v", made)
		}
	}
	t.Run("sqlite", func(t *testing.T) { run(t, chain.Database{Path: filepath.Join(t.TempDir(), "chains.db")}) })
	t.Run("postgres", func(t *testing.T) {
		run(t, chain.Database{DSN: pgtest.Start(t, pgtest.Options{}).Database(t)})
	})
}
