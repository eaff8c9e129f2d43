package postgres_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/postgres"
	"github.com/pintle-dev/pintle/internal/store/storetest"
)

// codec seals with a key made of one letter.
func codec(t testing.TB, letter byte) store.Codec {
	t.Helper()
	keys, err := store.NewKeys(store.Key{ID: string(letter), Secret: bytes.Repeat([]byte{letter}, store.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	return store.NewCodec(keys)
}

// open opens the store in a database with the test's keys.
func open(t testing.TB, dsn string, now func() time.Time) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(context.Background(), postgres.Config{DSN: dsn, Codec: codec(t, 'a'), Now: now, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		return open(t, postgres.Database(t), now)
	})
}
