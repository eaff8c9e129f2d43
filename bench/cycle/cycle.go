//go:build unix

// Package cycle measures the whole cycle of a request.
//
// A cycle is what every step of a stack is: the request is recorded, delivered to its provider over HTTP, which then sends
// its answer over HTTP; the answer is recorded with all that it leads to, the next request among it, and acknowledged.
// [Engine] makes cycles with the engine and everything around it, and [Floor] with a program that does the same exchanges
// with the same [Provider] and commits rows of the same number and size to the same database, and nothing else. Both share
// commits among all that waits for one. What else makes cycles, to be compared with them, asks the same provider.
package cycle

import (
	"bytes"
	"context"
	"fmt"

	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/postgres"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
)

// Size is how much one run does.
type Size struct {
	Chains int // that are run at a time, at least 1
	Length int // steps of a chain, which follow each other, at least 2
}

// Sizes are those that are measured: one of each kind that differs in what shares a commit.
func Sizes() []Size { return []Size{{1, 200}, {16, 60}, {256, 20}} }

func (s Size) String() string {
	if s.Chains == 1 {
		return "1 chain"
	}
	return fmt.Sprintf("%d chains", s.Chains)
}

// cycles are those that are measured: the last step of a chain has none after it.
func (s Size) cycles() int { return s.Chains * (s.Length - 1) }

// openStore opens the store in a new database.
func openStore(ctx context.Context, at measure.Database) (store.Store, error) {
	keys, err := store.NewKeys(store.Key{ID: "a", Secret: bytes.Repeat([]byte{'a'}, store.KeySize)})
	if err != nil {
		return nil, err
	}
	if at.DSN == "" {
		return sqlite.Open(ctx, sqlite.Config{Path: at.Path, Codec: store.NewCodec(keys)})
	}
	return postgres.Open(ctx, postgres.Config{DSN: at.DSN, Codec: store.NewCodec(keys)})
}

// tables makes the store's tables in a new database.
func tables(ctx context.Context, at measure.Database) error {
	s, err := openStore(ctx, at)
	if err != nil {
		return err
	}
	return s.Close()
}
