package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
)

// Join implements [store.Store].
func (s *Store) Join(ctx context.Context, name string) (node store.Incarnation, err error) {
	err = s.write(ctx, func(tx *tx) error {
		now := unix(s.time())
		node, err = one(tx.query, scanValue[store.Incarnation], "INSERT INTO node (name, joined, beat) VALUES (?, ?, ?) RETURNING id", name, now, now)
		return err
	})
	if err != nil {
		return 0, err
	}
	return node, nil
}

// Beat implements [store.Store].
func (s *Store) Beat(ctx context.Context, node store.Incarnation) error {
	return s.write(ctx, func(tx *tx) error {
		written, err := tx.exec("UPDATE node SET beat = ? WHERE id = ?", unix(s.time()), node)
		if err == nil && written == 0 {
			err = memberError{store.ErrGone}
		}
		return err
	})
}

// Reap implements [store.Store].
func (s *Store) Reap(ctx context.Context, node store.Incarnation, silent time.Duration) (int, error) {
	var taken int64
	err := s.write(ctx, func(tx *tx) error {
		_, err := one(tx.query, scanValue[int64], "SELECT id FROM node WHERE id = ?", node)
		if errors.Is(err, store.ErrNotFound) {
			return memberError{store.ErrGone}
		}
		if err != nil {
			return err
		}
		_, err = tx.exec("DELETE FROM node WHERE id <> ? AND (? OR ? - beat > ?)", node, silent == 0, unix(s.time()), silent.Milliseconds())
		if err != nil {
			return err
		}
		ready, err := tx.exec("UPDATE request SET owner = ? WHERE state = 'ready' AND owner NOT IN (SELECT id FROM node)", node)
		if err != nil {
			return err
		}
		waiting, err := tx.exec(`UPDATE request SET state = 'ready', owner = ?, executor = 0, due = NULL
			WHERE state = 'waiting' AND executor <> 0 AND executor NOT IN (SELECT id FROM node)`, node)
		if taken = ready + waiting; taken > 0 {
			tx.forget()
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return int(taken), nil
}

// Leave implements [store.Store].
func (s *Store) Leave(ctx context.Context, node store.Incarnation) error {
	return s.write(ctx, func(tx *tx) error {
		_, err := tx.exec("DELETE FROM node WHERE id = ?", node)
		return err
	})
}

// Nodes implements [store.Store].
func (s *Store) Nodes(ctx context.Context) ([]store.Incarnation, error) {
	return read(ctx, s, func(query querier) ([]store.Incarnation, error) {
		return all(query, scanValue[store.Incarnation], "SELECT id FROM node")
	})
}
