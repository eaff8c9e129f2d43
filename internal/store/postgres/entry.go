package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
)

func (s *Store) scanEntry(row pgx.Row) (store.Entry, error) { return s.codec.ScanEntry(row.Scan) }

// Entry implements [store.Store].
func (s *Store) Entry(ctx context.Context, key store.EntryKey) (store.Entry, error) {
	return one(ctx, s, s.scanEntry, "SELECT id, version, body FROM entry WHERE id = $1", key.Row())
}

// Entries implements [store.Store].
func (s *Store) Entries(ctx context.Context, after store.EntryKey, limit int) ([]store.Entry, error) {
	from, to := after.Bounds()
	return all(ctx, s, s.scanEntry, "SELECT id, version, body FROM entry WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3", from, to, limit)
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
		return entry.Version + 1, s.atVersion(ctx, entry.EntryKey,
			"UPDATE entry SET version = version + 1, body = $1 WHERE id = $2 AND version = $3", body, entry.Row(), entry.Version)
	}
	added, err := s.exec(ctx, "INSERT INTO entry (id, version, body) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING", entry.Row(), body)
	if err == nil && added == 0 {
		err = store.ErrExists
	}
	return 1, err
}

// DropEntry implements [store.Store].
func (s *Store) DropEntry(ctx context.Context, key store.EntryKey, version int64) error {
	return s.atVersion(ctx, key, "DELETE FROM entry WHERE id = $1 AND $2::bigint IN (0, version)", key.Row(), version)
}

// atVersion runs a statement on an entry that must be at a version.
func (s *Store) atVersion(ctx context.Context, key store.EntryKey, text string, args ...any) error {
	written, err := s.exec(ctx, text, args...)
	if err != nil || written > 0 {
		return err
	}
	if _, err := s.Entry(ctx, key); err != nil {
		return err
	}
	return store.ErrChanged
}
