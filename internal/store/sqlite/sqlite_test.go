package sqlite_test

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
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

// open opens the store in a file with the test's keys.
func open(t testing.TB, path string, now func() time.Time) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), sqlite.Config{Path: path, Codec: codec(t, 'a'), Now: now, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		return open(t, filepath.Join(t.TempDir(), "a b?#%.db"), now)
	})
}
