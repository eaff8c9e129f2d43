//go:build unix

// Package cycle measures the whole cycle of a request.
//
// A cycle is one step of a stack. The request is recorded and delivered to its provider over HTTP. The provider then
// sends its answer over HTTP. The answer is recorded with everything that follows from it, including the next request,
// and acknowledged. [Engine] runs cycles with the engine and everything around it. [Floor] does only the same exchanges
// with the same [Provider], and commits rows of the same number and size to the same database. Both use group commits.
// Other engines in the comparison use the same provider.
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

// Size is the amount of one run.
type Size struct {
	Chains int // concurrent chains, at least 1
	Length int // consecutive steps of a chain, at least 2
}

// Sizes returns the measured sizes: one for each way to share a commit.
func Sizes() []Size { return []Size{{1, 200}, {16, 60}, {256, 20}} }

func (s Size) String() string {
	if s.Chains == 1 {
		return "1 chain"
	}
	return fmt.Sprintf("%d chains", s.Chains)
}

// cycles returns the number of measured cycles: the last step of a chain has no step after it.
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

// tables creates the store's tables in a new database.
func tables(ctx context.Context, at measure.Database) error {
	s, err := openStore(ctx, at)
	if err != nil {
		return err
	}
	return s.Close()
}
