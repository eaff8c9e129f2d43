package sqlite

import (
	"context"
	"database/sql"

	"github.com/pintle-dev/pintle/internal/store"
)

// Parameter implements [store.Store].
func (s *Store) Parameter(ctx context.Context, key store.ParameterKey, version int64) (store.Parameter, error) {
	scan := func(rows *sql.Rows) (store.Parameter, error) { return s.codec.ScanParameter(key, rows.Scan) }
	if version > 0 {
		return readOne(ctx, s, scan, "SELECT ?, v.body FROM parameter_version v WHERE v.id = ?", version, key.RowOf(version))
	}
	return readOne(ctx, s, scan, "SELECT p.version, v.body FROM parameter p JOIN parameter_version v ON v.id = p.id || printf(' %012d', p.version) WHERE p.id = ?", key.Row())
}

// PutParameter implements [store.Store].
func (s *Store) PutParameter(ctx context.Context, parameter store.Parameter, overwrite bool) (version int64, err error) {
	if err := parameter.Check(); err != nil {
		return 0, err
	}
	body, err := s.codec.SealParameter(&parameter)
	if err != nil {
		return 0, err
	}
	exists := false
	err = s.write(ctx, func(tx *tx) error {
		before, err := all(tx.query, scanValue[int64], "SELECT version FROM parameter WHERE id = ?", parameter.Row())
		if err != nil {
			return err
		}
		version = 1
		if exists = len(before) > 0 && !overwrite; exists {
			return nil
		}
		if len(before) > 0 {
			version = before[0] + 1
		}
		if _, err := tx.exec("INSERT INTO parameter (id, version) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET version = excluded.version", parameter.Row(), version); err != nil {
			return err
		}
		if _, err := tx.exec("INSERT INTO parameter_version (id, body) VALUES (?, ?)", parameter.RowOf(version), body); err != nil {
			return err
		}
		_, err = tx.exec("DELETE FROM parameter_version WHERE id = ?", parameter.RowOf(version-store.ParameterVersions))
		return err
	})
	if err == nil && exists {
		err = store.ErrExists
	}
	return version, err
}

// DeleteParameter implements [store.Store].
func (s *Store) DeleteParameter(ctx context.Context, key store.ParameterKey) error {
	gone := int64(0)
	err := s.write(ctx, func(tx *tx) (err error) {
		if gone, err = tx.exec("DELETE FROM parameter WHERE id = ?", key.Row()); err != nil {
			return err
		}
		_, err = tx.exec("DELETE FROM parameter_version WHERE id > ? AND id < ?", key.Row()+" ", key.Row()+"!") // '!' follows the space
		return err
	})
	if err == nil && gone == 0 {
		err = store.ErrNotFound
	}
	return err
}
