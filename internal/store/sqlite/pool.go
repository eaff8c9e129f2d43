package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
)

// querier runs a query, in the writer's transaction or on a reading connection.
type querier func(text string, args ...any) (*sql.Rows, error)

// pool holds the read-only connections, with their prepared statements.
type pool struct {
	db *sql.DB

	mu         sync.Mutex
	statements map[string]*sql.Stmt
}

// idleFor is how long an idle connection is kept: it has pages in memory.
const idleFor = 30 * time.Second

func openPool(dsn string) (*pool, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	db.SetConnMaxIdleTime(idleFor)
	return &pool{db: db, statements: make(map[string]*sql.Stmt)}, nil
}

func (p *pool) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	p.mu.Lock()
	statement := p.statements[text]
	p.mu.Unlock()
	if statement == nil {
		prepared, err := p.db.PrepareContext(ctx, text)
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		if statement = p.statements[text]; statement == nil {
			statement, prepared = prepared, nil
			p.statements[text] = statement
		}
		p.mu.Unlock()
		if prepared != nil { // another query was faster
			if err := prepared.Close(); err != nil {
				return nil, err
			}
		}
	}
	return statement.QueryContext(ctx, args...)
}

func (p *pool) close() error {
	var err error
	for _, statement := range p.statements {
		err = errors.Join(err, statement.Close())
	}
	return errors.Join(err, p.db.Close())
}

// all returns every row of a query.
func all[T any](query querier, scan func(*sql.Rows) (T, error), text string, args ...any) (list []T, err error) {
	rows, err := query(text, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

// one returns the only row of a query, or [store.ErrNotFound].
func one[T any](query querier, scan func(*sql.Rows) (T, error), text string, args ...any) (T, error) {
	list, err := all(query, scan, text, args...)
	if err == nil && len(list) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		var none T
		return none, err
	}
	return list[0], nil
}
