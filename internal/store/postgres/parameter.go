package postgres

import (
	"cmp"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pintle-dev/pintle/internal/store"
)

// Parameter implements [store.Store].
func (s *Store) Parameter(ctx context.Context, key store.ParameterKey, version int64) (store.Parameter, error) {
	scan := func(rows pgx.Row) (store.Parameter, error) { return s.codec.ScanParameter(key, rows.Scan) }
	if version > 0 {
		return one(ctx, s, scan, "SELECT $1::bigint, body FROM parameter_version WHERE id = $2", version, key.RowOf(version))
	}
	return one(ctx, s, scan, "SELECT p.version, v.body FROM parameter p JOIN parameter_version v ON v.id = p.id || ' ' || lpad(p.version::text, 12, '0') WHERE p.id = $1", key.Row())
}

// PutParameter implements [store.Store]. Concurrent calls wait for each other on the parameter's row.
func (s *Store) PutParameter(ctx context.Context, parameter store.Parameter, overwrite bool) (version int64, err error) {
	if err := parameter.Check(); err != nil {
		return 0, err
	}
	body, err := s.codec.SealParameter(&parameter)
	if err != nil {
		return 0, err
	}
	const raise = "INSERT INTO parameter (id, version) VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET version = parameter.version + 1 WHERE $2 RETURNING version"
	err = s.inParameters(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, raise, parameter.Row(), overwrite).Scan(&version)
		if errors.Is(err, pgx.ErrNoRows) {
			return store.ErrExists
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO parameter_version (id, body) VALUES ($1, $2)", parameter.RowOf(version), body); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "DELETE FROM parameter_version WHERE id = $1", parameter.RowOf(version-store.ParameterVersions))
		return err
	})
	return version, err
}

// DeleteParameter implements [store.Store].
func (s *Store) DeleteParameter(ctx context.Context, key store.ParameterKey) error {
	return s.inParameters(ctx, func(tx pgx.Tx) error {
		gone, err := tx.Exec(ctx, "DELETE FROM parameter WHERE id = $1", key.Row())
		if err == nil && gone.RowsAffected() == 0 {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "DELETE FROM parameter_version WHERE id > $1 AND id < $2", key.Row()+" ", key.Row()+"!") // '!' follows the space
		return err
	})
}

// inParameters runs a transaction whose commit is as durable as any other.
func (s *Store) inParameters(ctx context.Context, work func(pgx.Tx) error) error {
	return s.call(ctx, func() error {
		return s.again(ctx, func() error {
			return s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
				unwarned(conn.Conn())
				return cmp.Or(pgx.BeginFunc(ctx, conn, work), assured(conn.Conn()))
			})
		})
	})
}
