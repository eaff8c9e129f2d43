package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/pintle-dev/pintle/internal/store"
)

// maxProblems limits the problems that [Verify] returns, and those of one check.
const maxProblems = 100

// plains are the columns that hold JSON, by table.
var plains = map[string]string{
	"stack": "plain", "revision": "plain", "operation": "plain", "step": "plain", "step_plan": "plain", "instance": "plain",
	"instance_body": "plain", "request": "plain", "request_body": "plain", "change_set": "plain", "change_set_body": "plain",
	"event": "events", "audit": "entry",
}

// references are queries for rows that refer to a missing row, by the name of the problem. The rows of a stack that is
// being swept outlive it and are not problems.
var references = map[string]string{
	"revision without its template":   "SELECT seq FROM revision WHERE template NOT IN (SELECT seq FROM template)",
	"change set without its template": "SELECT seq FROM change_set_body WHERE template NOT IN (SELECT seq FROM template)",
	"revision without its stack":      ofStack("revision"),
	"operation without its stack":     ofStack("operation"),
	"step without its stack":          ofStack("step"),
	"instance without its stack":      ofStack("instance"),
	"event without its stack":         ofStack("event"),
	"change set without its stack":    ofStack("change_set"),
}

func ofStack(table string) string {
	return "SELECT seq FROM " + table + " WHERE stack NOT IN (SELECT key FROM stack) AND stack NOT IN (SELECT stack FROM remains)"
}

// Verify checks the database at path, even while another process has it open. It checks its pages and indexes. It also
// checks that each row can be decoded with the keys of the codec, that each template has its checksum, and that no row
// refers to a missing one. It returns up to 100 problems, none for a sound database. With the zero codec it skips
// sealed data. The error says why the database cannot be checked.
func Verify(ctx context.Context, path string, codec store.Codec) (problems []string, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	v := &verification{codec: codec}
	s := &Store{path: path}
	if v.db, err = sql.Open("sqlite", s.dsn("query_only(1)")); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.db.Close()) }()
	v.db.SetMaxOpenConns(1)
	for _, check := range []func(context.Context) error{v.pages, v.rows, v.templates, v.references} {
		if err := check(ctx); err != nil && !v.damaged(err) {
			return nil, s.explain(err)
		}
	}
	return v.problems, nil
}

// verification is one call of [Verify].
type verification struct {
	db       *sql.DB
	codec    store.Codec
	problems []string
}

func (v *verification) add(format string, args ...any) {
	if len(v.problems) < maxProblems {
		v.problems = append(v.problems, fmt.Sprintf(format, args...))
	}
}

// damaged reports whether an error is about damage, and adds it to the problems if so.
func (v *verification) damaged(err error) bool {
	if !isDamage(err) {
		return false
	}
	v.add("%v", err)
	return true
}

// isDamage reports whether SQLite found a damaged file or one that is not a database.
func isDamage(err error) bool {
	var cause *sqlite.Error
	if !errors.As(err, &cause) {
		return false
	}
	code := cause.Code() & 0xff
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// each calls visit with every row of a query.
func (v *verification) each(ctx context.Context, query string, visit func(*sql.Rows) error) (err error) {
	rows, err := v.db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := visit(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// pages runs SQLite's check of its pages and indexes.
func (v *verification) pages(ctx context.Context) error {
	return v.each(ctx, fmt.Sprintf("PRAGMA integrity_check(%d)", maxProblems), func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		if err == nil && text != "ok" {
			v.add("%s", text)
		}
		return err
	})
}

// rows decodes every row. An unreadable table does not stop the check of the others.
func (v *verification) rows(ctx context.Context) error {
	for table, column := range plains {
		err := v.column(ctx, table, "rowid", column, func(text []byte) error {
			if !json.Valid(text) {
				return errors.New("it is not JSON")
			}
			return nil
		})
		if err != nil && !v.damaged(err) {
			return err
		}
	}
	if v.codec.KeyID() == "" {
		return nil
	}
	for _, t := range sealed {
		decode := v.codec.Verify
		if t.column != "vals" {
			decode = func(text []byte) error { _, err := v.codec.OpenDefinition(text); return err }
		}
		if err := v.column(ctx, t.table, t.key, t.column, decode); err != nil && !v.damaged(err) {
			return err
		}
	}
	return nil
}

// column checks one column of all rows. Errors of check hold no secret.
func (v *verification) column(ctx context.Context, table, key, column string, check func([]byte) error) error {
	return v.each(ctx, "SELECT "+key+", "+column+" FROM "+table, func(rows *sql.Rows) error {
		var number int64
		var text []byte
		if err := rows.Scan(&number, &text); err != nil {
			return err
		}
		if err := check(text); err != nil {
			v.add("row %d of table %s: %s cannot be decoded: %v", number, table, column, err)
		}
		return nil
	})
}

// templates compares templates with their checksums.
func (v *verification) templates(ctx context.Context) error {
	return v.each(ctx, "SELECT seq, hash, text FROM template", func(rows *sql.Rows) error {
		var number int64
		var hash, text []byte
		if err := rows.Scan(&number, &hash, &text); err != nil {
			return err
		}
		if sum := sha256.Sum256(text); string(sum[:]) != string(hash) {
			v.add("row %d of table template: the text does not have its checksum", number)
		}
		return nil
	})
}

func (v *verification) references(ctx context.Context) error {
	for what, query := range references {
		err := v.each(ctx, query+fmt.Sprintf(" LIMIT %d", maxProblems), func(rows *sql.Rows) error {
			var number int64
			err := rows.Scan(&number)
			if err == nil {
				v.add("row %d: %s", number, what)
			}
			return err
		})
		if err != nil && !v.damaged(err) {
			return err
		}
	}
	return nil
}
