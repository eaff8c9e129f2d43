//go:build unix

// Package peertest runs the chains of a peer in tests, on a database of each kind.
package peertest

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/bench/chain"
	"github.com/pintle-dev/pintle/bench/cycle"
	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/internal/dev/pgtest"
)

// patience limits a run. It is not an assertion: it only ends a run that hangs.
const patience = time.Minute

// Run runs every cycle of a small load on a peer, with SQLite and, if available, PostgreSQL.
func Run(t *testing.T, open chain.Open) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { run(t, open, measure.Database{Path: filepath.Join(t.TempDir(), "chains.db")}) })
	t.Run("postgres", func(t *testing.T) {
		run(t, open, measure.Database{DSN: pgtest.Start(t, pgtest.Options{}).Database(t)})
	})
}

func run(t *testing.T, open chain.Open, at measure.Database) {
	t.Helper()
	size := cycle.Size{Chains: 3, Length: 4}
	var answered atomic.Int64
	made, err := chain.Run(t.Context(), func(ctx context.Context, c chain.Config) (chain.Peer, error) {
		peer, err := open(ctx, c)
		return counted{peer, &answered}, err
	}, at, size, patience)
	if err != nil {
		t.Fatal(err)
	}
	if all := int64(size.Chains * (size.Length - 1)); answered.Load() < all || made.PerSecond <= 0 || made.CPU <= 0 {
		t.Errorf("%d answers were taken of %d at least; %+v", answered.Load(), all, made)
	}
}

// counted counts the answers that a peer accepts.
type counted struct {
	chain.Peer

	answers *atomic.Int64
}

// Answer counts an accepted answer.
func (c counted) Answer(ctx context.Context, step chain.Step, body []byte) error {
	err := c.Peer.Answer(ctx, step, body)
	if err == nil {
		c.answers.Add(1)
	}
	return err
}
