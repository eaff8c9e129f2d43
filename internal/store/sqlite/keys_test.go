package sqlite_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
	"github.com/pintle-dev/pintle/internal/store/storetest"
)

// TestKeys also searches the database's files for secrets whenever the database is opened.
func TestKeys(t *testing.T) {
	storetest.RunKeys(t, func(t *testing.T) storetest.Reopen {
		dir := t.TempDir()
		search := func() {
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range entries {
				data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
				if err != nil {
					t.Fatal(err)
				}
				if bytes.Contains(data, []byte("hunter")) {
					t.Errorf("%s holds a secret in clear", entry.Name())
				}
			}
		}
		t.Cleanup(search)
		return func(codec store.Codec) (store.Store, error) {
			search()
			s, err := sqlite.Open(context.Background(), sqlite.Config{Path: filepath.Join(dir, "p.db"), Codec: codec})
			if err != nil {
				return nil, err
			}
			return s, nil
		}
	})
}
