package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/pintle-dev/pintle/internal/store"
)

// Entry implements [store.Store].
func (s *Store) Entry(ctx context.Context, key store.EntryKey) (e store.Entry, err error) {
	err = s.do(ctx, func() error {
		e, err = s.entryAt(key, 0)
		return err
	})
	return e, err
}

// Entries implements [store.Store].
func (s *Store) Entries(ctx context.Context, after store.EntryKey, limit int) (list []store.Entry, err error) {
	err = s.do(ctx, func() error {
		from, to := after.Bounds()
		for _, row := range slices.Sorted(maps.Keys(s.entries)) {
			if row > from && row < to && len(list) < limit {
				list = append(list, s.entries[row])
			}
		}
		return nil
	})
	return list, err
}

// PutEntry implements [store.Store].
func (s *Store) PutEntry(ctx context.Context, entry store.Entry) (version int64, err error) {
	if err := entry.Check(); err != nil {
		return 0, err
	}
	err = s.do(ctx, func() error {
		if entry.Version > 0 {
			if _, err := s.entryAt(entry.EntryKey, entry.Version); err != nil {
				return err
			}
		} else if _, there := s.entries[entry.Row()]; there {
			return store.ErrExists
		}
		entry.Version++
		version = entry.Version
		entry.Definition = slices.Clone(entry.Definition)
		s.entries[entry.Row()] = entry
		return nil
	})
	return version, err
}

// DropEntry implements [store.Store].
func (s *Store) DropEntry(ctx context.Context, key store.EntryKey, version int64) error {
	return s.do(ctx, func() error {
		if _, err := s.entryAt(key, version); err != nil {
			return err
		}
		delete(s.entries, key.Row())
		return nil
	})
}

// entryAt returns an entry at a version, or at any version for 0. The caller holds the lock.
func (s *Store) entryAt(key store.EntryKey, version int64) (store.Entry, error) {
	e, there := s.entries[key.Row()]
	switch {
	case !there:
		return store.Entry{}, store.ErrNotFound
	case version > 0 && version != e.Version:
		return store.Entry{}, store.ErrChanged
	}
	return e, nil
}
