package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/store"
)

// openedAfter creates a database with an earlier schema and rows, which are given in SQL, and opens it with the current
// schema.
func openedAfter(t *testing.T, earlier []string, rows ...string) *Store {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "p.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	err = migrate(ctx, conn, earlier)
	for _, row := range rows {
		if err == nil {
			_, err = conn.ExecContext(ctx, row)
		}
	}
	if err = errors.Join(err, conn.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	keys, err := store.NewKeys(store.Key{ID: "a", Secret: bytes.Repeat([]byte("a"), store.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(ctx, Config{Path: path, Codec: store.NewCodec(keys)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestMigrateOperations opens a database with the first schema and checks that its operations are found by ID.
func TestMigrateOperations(t *testing.T) {
	ctx := context.Background()
	s := openedAfter(t, migrations[:1],
		`INSERT INTO stack VALUES (7, 'arn:7', 'a', 'r', 's', 1, 0, '{}', 'null')`,
		`INSERT INTO operation (stack, number, version, plain) VALUES (7, 1, 1, '{"id": "first", "rollbackID": "undone"}')`,
		`INSERT INTO operation (stack, number, version, plain) VALUES (7, 2, 1, '{"id": "second"}')`,
		`INSERT INTO operation (stack, number, version, plain) VALUES (7, 3, 1, '{"id": "first"}')`,
		`INSERT INTO operation (stack, number, version, plain) VALUES (7, 4, 1, '{"id": ""}')`,
	)
	for id, want := range map[string]int{"first": 1, "undone": 1, "second": 2} {
		stack, operation, err := s.FindOperation(ctx, id)
		if err != nil || stack.Key != 7 || operation.Number != want {
			t.Errorf("%s is operation %d of stack %d (%v), want %d of 7", id, operation.Number, stack.Key, err, want)
		}
	}
	if _, _, err := s.FindOperation(ctx, ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an operation without an id: %v", err)
	}
}

// TestMigrateExports opens a database whose stacks have exports, but which has no table of exports.
func TestMigrateExports(t *testing.T) {
	ctx := context.Background()
	s := openedAfter(t, migrations[:4],
		`INSERT INTO stack VALUES (1, 'arn:1', 'a', 'r', 'first', 1, 1, '{"kind":"create","outputs":[{"key":"O","exportName":"x"},{"key":"P"}]}', '{"O":"v"}')`,
		`INSERT INTO stack VALUES (2, 'arn:2', 'a', 'r', 'second', 1, 2, '{"kind":"update","outputs":[{"key":"P","exportName":"x"},{"key":"O","exportName":"y"}]}', '{"O":"v"}')`,
		`INSERT INTO stack VALUES (3, 'arn:3', 'a', 'r', 'third', 1, 3, '{"kind":"create"}', 'null')`,
		`INSERT INTO stack VALUES (4, 'arn:4', 'a', 'r', 'going', 1, 4, '{"kind":"delete","outputs":[{"key":"O","exportName":"z"}]}', '{"O":"v"}')`,
		`INSERT INTO stack VALUES (5, 'arn:5', 'a', 'r', 'gone', 0, 5, '{"kind":"delete","outputs":[{"key":"O","exportName":"g"}]}', '{"O":"v"}')`,
	)
	exports, err := s.Exports(ctx, "a", "r", "", 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range exports {
		got = append(got, e.Name+" of "+e.StackName+": "+e.Value.Text())
	}
	if diff := cmp.Diff([]string{"x of first: v", "y of second: v"}, got); diff != "" {
		t.Error(diff)
	}
}
