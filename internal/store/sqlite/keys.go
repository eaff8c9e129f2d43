package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/store"
)

// Root implements [store.Store].
func (s *Store) Root() store.Root { return s.root }

// SealingKeys implements [store.Store].
func (s *Store) SealingKeys(ctx context.Context) ([]store.SealingKey, error) {
	scan := func(rows *sql.Rows) (k store.SealingKey, err error) {
		var since int64
		err = rows.Scan(&k.ID, &since)
		k.Since = fromUnix(since)
		return k, err
	}
	return readAll(ctx, s, scan, "SELECT id, since FROM sealing_key ORDER BY id = ?, since, id", s.codec.KeyID())
}

// prepareKeys rejects keys that do not belong to the database, records which one seals from now on, and opens the root.
func (s *Store) prepareKeys(ctx context.Context, conn *sql.Conn) error {
	if s.codec.KeyID() == "" {
		return s.codec.Check("")
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := s.exchangeKeys(ctx, conn)
	end := "COMMIT"
	if err != nil {
		end = "ROLLBACK"
	}
	_, failed := conn.ExecContext(ctx, end)
	return errors.Join(err, failed)
}

func (s *Store) exchangeKeys(ctx context.Context, conn *sql.Conn) error {
	query := func(text string, args ...any) (*sql.Rows, error) { return conn.QueryContext(ctx, text, args...) }
	var probe, root string
	if err := conn.QueryRowContext(ctx, "SELECT probe, root FROM schema").Scan(&probe, &root); err != nil {
		return err
	}
	probes, err := all(query, scanValue[string], "SELECT probe FROM sealing_key")
	if err != nil {
		return err
	}
	fresh, err := s.codec.Probes()
	if err != nil {
		return err
	}
	if len(probes) == 0 && probe != "" {
		// Written by a version that recorded only one key: each of these may have sealed something.
		probes = append(probes, probe)
	} else {
		for id := range fresh {
			if id != s.codec.KeyID() {
				delete(fresh, id)
			}
		}
	}
	for _, probe := range probes {
		if err := s.codec.Check(probe); err != nil {
			return err
		}
	}
	for id, probe := range fresh {
		_, err := conn.ExecContext(ctx, "INSERT INTO sealing_key (id, probe, since) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING", id, probe, unix(s.time()))
		if err != nil {
			return err
		}
	}
	if root == "" {
		s.root = store.NewRoot()
	} else if s.root, err = s.codec.OpenRoot(root); err != nil {
		return err
	}
	// Reseal the root with the first key, so that an old key can be removed once no row needs it.
	if root, err = s.codec.SealRoot(s.root); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "UPDATE schema SET probe = '', root = ?", root)
	return err
}

// sealed lists the tables with sealed data: their integer key, the column, and how to reseal it.
var sealed = []struct {
	table, key, column string
	reseal             func(store.Codec, []byte) (fresh []byte, stale bool, err error)
}{
	{"stack", "key", "vals", store.Codec.Reseal},
	{"revision", "seq", "vals", store.Codec.Reseal},
	{"instance_body", "seq", "vals", store.Codec.Reseal},
	{"request_body", "seq", "vals", store.Codec.Reseal},
	{"change_set_body", "seq", "vals", store.Codec.Reseal},
	{"provider", "rowid", "definition", store.Codec.ResealDefinition},
	{"parameter_version", "rowid", "body", store.Codec.ResealDefinition},
	{"entry", "rowid", "body", store.Codec.ResealDefinition},
}

// staleRow is a row's data that another key than the first has sealed, and the resealed data.
type staleRow struct {
	key        int64
	old, fresh []byte
}

// Reseal implements [store.Store]. It reads concurrently with the writer, and writes only rows that have not changed in
// the meantime: this process writes only with the first key.
func (s *Store) Reseal(ctx context.Context, from store.Cursor, limit int) (store.Resealed, error) {
	at, after, err := parsePlace(from, len(sealed))
	if err != nil {
		return store.Resealed{}, err
	}
	limit = max(limit, 1)
	seen := 0
	stale, err := read(ctx, s, func(query querier) (list []staleRow, err error) {
		visit := func(rows *sql.Rows) (none struct{}, err error) { // most rows are not stale
			var row staleRow
			var is bool
			if err = rows.Scan(&row.key, &row.old); err == nil {
				row.fresh, is, err = sealed[at].reseal(s.codec, row.old)
			}
			if is {
				list = append(list, row)
			}
			seen, after = seen+1, row.key
			return none, err
		}
		t := sealed[at]
		_, err = all(query, visit, "SELECT "+t.key+", "+t.column+" FROM "+t.table+" WHERE "+t.key+" > ? ORDER BY "+t.key+" LIMIT ?", after, limit)
		return list, err
	})
	if err != nil {
		return store.Resealed{}, err
	}
	result := store.Resealed{Next: place(at, after)}
	if len(stale) > 0 {
		if result.Rows, err = s.putFresh(ctx, at, stale); err != nil {
			return store.Resealed{}, err
		}
	}
	switch {
	case seen == limit:
	case at+1 < len(sealed):
		result.Next = place(at+1, 0)
	default:
		result.Next, result.Done = "", true
		err = s.write(ctx, func(tx *tx) error {
			_, err := tx.exec("DELETE FROM sealing_key WHERE id <> ?", s.codec.KeyID())
			return err
		})
	}
	return result, err
}

func (s *Store) putFresh(ctx context.Context, at int, stale []staleRow) (rows int, err error) {
	t := sealed[at]
	kind := "TEXT"
	if t.column != "vals" {
		kind = "BLOB"
	}
	update := "UPDATE " + t.table + " SET " + t.column + " = CAST(? AS " + kind + ") WHERE " + t.key + " = ? AND " + t.column + " = CAST(? AS " + kind + ")"
	err = s.write(ctx, func(tx *tx) error {
		rows = 0
		for _, row := range stale {
			written, err := tx.exec(update, row.fresh, row.key, row.old)
			if err != nil {
				return err
			}
			rows += int(written)
		}
		return nil
	})
	return rows, err
}

// place returns the cursor for a part of a pass and the key of the last row read.
func place(part int, after int64) store.Cursor {
	return store.Cursor(strconv.Itoa(part) + "." + strconv.FormatInt(after, 10))
}

func parsePlace(p store.Cursor, parts int) (part int, after int64, err error) {
	if p == "" {
		return 0, 0, nil
	}
	first, second, _ := strings.Cut(string(p), ".")
	if part, err = strconv.Atoi(first); err == nil {
		after, err = strconv.ParseInt(second, 10, 64)
	}
	if err != nil || part < 0 || part >= parts {
		return 0, 0, fmt.Errorf("unknown place %q", p)
	}
	return part, after, nil
}
