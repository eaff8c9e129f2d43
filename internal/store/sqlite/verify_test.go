package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
)

// filled creates a database with a stack and many entries.
func filled(t *testing.T, path string) {
	t.Helper()
	s := open(t, path, nil)
	target := store.Target{Name: store.StackName{Account: "1", Region: "r", Name: "a"}}
	for n := range 5 {
		err := s.Apply(t.Context(), target, func(v *store.View) (store.Delta, error) {
			d := advance(1, v)
			if d.Stack != nil {
				d.Stack.Name = "a"
			}
			d.Revisions = append(d.Revisions, store.Revision{Stack: 1, Number: n + 1, Template: "the one template of all revisions"})
			return d, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 200 {
		text, err := json.Marshal(strings.Repeat(strconv.Itoa(i), 400))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.PutEntry(t.Context(), store.Entry{EntryKey: entryKey(i), Definition: text}); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
}

func entryKey(i int) store.EntryKey {
	return store.EntryKey{Account: "1", Region: "r", Kind: "k", Name: "n" + strconv.Itoa(i)}
}

// rootPage returns the position of a table's first page in its file.
func rootPage(t *testing.T, path, table string) (offset, size int64) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var page int64
	if err := db.QueryRowContext(t.Context(), "SELECT rootpage FROM sqlite_master WHERE name = ?", table).Scan(&page); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRowContext(t.Context(), "PRAGMA page_size").Scan(&size); err != nil {
		t.Fatal(err)
	}
	return (page - 1) * size, size
}

// TestVerify damages files, and checks the problems reported for each.
func TestVerify(t *testing.T) {
	sound := filepath.Join(t.TempDir(), "sound.db")
	filled(t, sound)
	data, err := os.ReadFile(sound)
	if err != nil {
		t.Fatal(err)
	}
	page := func(table string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			at, size := rootPage(t, path, table)
			overwrite(t, path, at, bytes.Repeat([]byte{0xa5}, int(size)))
		}
	}
	statement := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, test := range []struct {
		name   string
		damage func(*testing.T, string)
		want   string // part of a problem; empty for a sound database
	}{
		{"sound", func(*testing.T, string) {}, ""},
		{"page of entries", page("entry"), "malformed"},
		{"page of stacks", page("stack"), "malformed"},
		{"page of an index", page("stack_name"), "malformed"},
		{"bytes of a template", func(t *testing.T, path string) {
			at := bytes.Index(data, []byte(template(t, path)))
			if at < 0 {
				t.Fatal("the template is not in the file")
			}
			overwrite(t, path, int64(at), []byte{data[at] ^ 1})
		}, "the text does not have its checksum"},
		{"values of a stack", statement("UPDATE revision SET vals = 'nonsense'"), "table revision: vals cannot be decoded"},
		{"sealed entry", statement("UPDATE entry SET body = x'0102' WHERE rowid = 3"), "row 3 of table entry: body cannot be decoded"},
		{"events", statement("UPDATE event SET events = '[{'"), "table event: events cannot be decoded: it is not JSON"},
		{"lost template", statement("DELETE FROM template"), "revision without its template"},
		{"lost stack", statement("DELETE FROM stack"), "operation without its stack"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "p.db")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			test.damage(t, path)
			problems, err := sqlite.Verify(t.Context(), path, codec(t, 'a'))
			said := strings.Join(problems, "\n")
			if err != nil || (test.want == "") != (said == "") || !strings.Contains(said, test.want) {
				t.Errorf("%v, problems:\n%s\nwant %q", err, said, test.want)
			}
		})
	}
	if problems, err := sqlite.Verify(t.Context(), sound, codec(t, 'b')); err != nil || !strings.Contains(strings.Join(problems, "\n"), "cannot be decoded") {
		t.Errorf("with other keys: %v, %v", problems, err)
	}
	if problems, err := sqlite.Verify(t.Context(), sound, store.Codec{}); err != nil || len(problems) > 0 {
		t.Errorf("without keys: %v, %v", problems, err)
	}
}

// template returns the text of a template in a database.
func template(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var text string
	if err := db.QueryRowContext(t.Context(), "SELECT text FROM template").Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

func overwrite(t *testing.T, path string, at int64, with []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt(with, at)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDamageIsNotReady checks that the store is no longer ready once SQLite has read a damaged page, even if it can
// still write elsewhere.
func TestDamageIsNotReady(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	filled(t, path)
	at, size := rootPage(t, path, "entry")
	overwrite(t, path, at, bytes.Repeat([]byte{0xa5}, int(size)))
	s := open(t, path, nil)
	defer func() { _ = s.Close() }() // the file is damaged
	if err := s.Ping(t.Context()); err != nil {
		t.Fatalf("before the page is read: %v", err)
	}
	if _, err := s.Entry(context.Background(), entryKey(7)); err == nil || !strings.Contains(err.Error(), "pintle backup --verify") {
		t.Errorf("the damaged page: %v", err)
	}
	if err := s.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "has reported damage") {
		t.Errorf("after it: %v", err)
	}
}
