package waiter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Get is that of [pintle.Memory]. A value that does not open, because its key was dropped, is as good as forgotten.
func (w *Waiter) Get(ctx context.Context, key string) ([]byte, bool, error) {
	var sealed []byte
	err := w.db.get(ctx, &sealed, `SELECT record FROM {}memory WHERE key = $1`, key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("waiter: remember: %w", err)
	}
	value, err := w.box.Open(sealed, w.remembered(key))
	if err != nil {
		w.log.Warn("a value of the memory cannot be used", "key", key, "error", err)
		return nil, false, nil
	}
	return value, true, nil
}

// Put is that of [pintle.Memory]: the value is committed when it returns nil. It is kept for a day.
func (w *Waiter) Put(ctx context.Context, key string, value []byte) error {
	_, err := w.db.exec(ctx, `INSERT INTO {}memory (key, born, record) VALUES ($1, {now}, $2)
		ON CONFLICT (key) DO UPDATE SET born = excluded.born, record = excluded.record`, key, w.box.Seal(value, w.remembered(key)))
	if err != nil {
		return fmt.Errorf("waiter: keep in memory: %w", err)
	}
	return nil
}

func (w *Waiter) remembered(key string) string { return w.config.Prefix + "memory/" + key }
