package waiter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Get implements [pintle.IdempotencyStore]. A value that cannot be decrypted because its key was removed does not exist.
func (w *Waiter) Get(ctx context.Context, key string) ([]byte, bool, error) {
	var sealed []byte
	err := w.db.get(ctx, &sealed, `SELECT record FROM {}memory WHERE key = $1 AND {expires} > {now}`, key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("waiter: read a value: %w", err)
	}
	value, err := w.box.Open(sealed, w.remembered(key))
	if err != nil {
		w.log.Warn("a stored value cannot be opened", "key", key, "error", err)
		return nil, false, nil
	}
	return value, true, nil
}

// Put implements [pintle.IdempotencyStore]. The value is committed when it returns nil.
func (w *Waiter) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := w.db.exec(ctx, `INSERT INTO {}memory (key, born, record, expires) VALUES ($1, {now}, $2, {now} + $3)
		ON CONFLICT (key) DO UPDATE SET born = excluded.born, record = excluded.record, expires = excluded.expires`,
		key, w.box.Seal(value, w.remembered(key)), ttl.Milliseconds())
	if err != nil {
		return fmt.Errorf("waiter: store a value: %w", err)
	}
	return nil
}

// remembered returns the context that a value is bound to, so that no value can replace another.
func (w *Waiter) remembered(key string) string { return w.config.Prefix + "memory/" + key }
