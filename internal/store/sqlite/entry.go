package sqlite

import (
	"context"
	"database/sql"

	"github.com/pintle-dev/pintle/internal/store"
)

func (s *Store) scanEntry(rows *sql.Rows) (store.Entry, error) { return s.codec.ScanEntry(rows.Scan) }

// Entry implements [store.Store].
func (s *Store) Entry(ctx context.Context, key store.EntryKey) (store.Entry, error) {
	return readOne(ctx, s, s.scanEntry, "SELECT id, version, body FROM entry WHERE id = ?", key.Row())
}

// Entries implements [store.Store].
func (s *Store) Entries(ctx context.Context, after store.EntryKey, limit int) ([]store.Entry, error) {
	from, to := after.Bounds()
	return readAll(ctx, s, s.scanEntry, "SELECT id, version, body FROM entry WHERE id > ? AND id < ? ORDER BY id LIMIT ?", from, to, limit)
}

// PutEntry implements [store.Store].
func (s *Store) PutEntry(ctx context.Context, entry store.Entry) (version int64, err error) {
	if err := entry.Check(); err != nil {
		return 0, err
	}
	body, err := s.codec.SealEntry(&entry)
	if err != nil {
		return 0, err
	}
	if entry.Version > 0 {
		return entry.Version + 1, s.atVersion(ctx, entry.EntryKey, entry.Version,
			"UPDATE entry SET version = version + 1, body = ? WHERE id = ? AND version = ?", body, entry.Row(), entry.Version)
	}
	added := int64(0)
	err = s.write(ctx, func(tx *tx) (err error) {
		added, err = tx.exec("INSERT INTO entry (id, version, body) VALUES (?, 1, ?) ON CONFLICT DO NOTHING", entry.Row(), body)
		return err
	})
	if err == nil && added == 0 {
		err = store.ErrExists
	}
	return 1, err
}

// DropEntry implements [store.Store].
func (s *Store) DropEntry(ctx context.Context, key store.EntryKey, version int64) error {
	return s.atVersion(ctx, key, version, "DELETE FROM entry WHERE id = ? AND ? IN (0, version)", key.Row(), version)
}

// atVersion runs a statement on an entry that must be at a version.
func (s *Store) atVersion(ctx context.Context, key store.EntryKey, version int64, text string, args ...any) error {
	written, there := int64(0), 0
	err := s.write(ctx, func(tx *tx) (err error) {
		if written, err = tx.exec(text, args...); err == nil && written == 0 {
			there, err = one(tx.query, scanValue[int], "SELECT count(*) FROM entry WHERE id = ?", key.Row())
		}
		return err
	})
	switch {
	case err != nil || written > 0:
		return err
	case there > 0:
		return store.ErrChanged
	}
	return store.ErrNotFound
}
