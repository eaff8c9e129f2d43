//go:build unix

// Package river runs chains on River, a job queue in PostgreSQL or, with an experimental driver, SQLite.
//
// A job is the delivery of a request, with the document as its arguments. An answer is recorded in a table of steps,
// which also has its deadline. The next job is inserted in the same transaction.
//
// It is tuned as its documentation says. FetchCooldown, which limits the throughput, has its minimum, a millisecond.
// SQLite has one connection and polls for new jobs every two milliseconds, because a driver without LISTEN must poll.
// There are as many workers as chains. SQLite synchronises every commit, like ours.
package river

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite" // the driver that River tests with

	"github.com/pintle-dev/pintle/bench/chain"
	"github.com/pintle-dev/pintle/bench/cycle"
)

// deadline is how long an answer may take. It is only recorded.
const deadline = time.Hour

// Statements for both SQLite and PostgreSQL.
const (
	makeTable = "CREATE TABLE step (chain BIGINT, number BIGINT, due BIGINT, answer TEXT, PRIMARY KEY (chain, number))"
	makeStep  = "INSERT INTO step (chain, number, due) VALUES ($1, $2, $3)"
	note      = "UPDATE step SET answer = $3, due = NULL WHERE chain = $1 AND number = $2 AND answer IS NULL"
)

// Open starts a client of River on a new database.
func Open(ctx context.Context, c chain.Config) (chain.Peer, error) {
	if c.Database.DSN != "" {
		return openPostgres(ctx, c)
	}
	return openSQLite(ctx, c)
}

// delivery is the job.
type delivery struct {
	Chain    int             `json:"chain"`
	Number   int             `json:"number"`
	Document json.RawMessage `json:"document"`
}

// Kind returns the name of the job in the table.
func (delivery) Kind() string { return "delivery" }

type worker struct {
	river.WorkerDefaults[delivery]

	send func(context.Context, chain.Step, []byte) error
}

// Work delivers a request.
func (w *worker) Work(ctx context.Context, job *river.Job[delivery]) error {
	return w.send(ctx, chain.Step{Chain: job.Args.Chain, Number: job.Args.Number}, job.Args.Document)
}

func newClient[T any](
	ctx context.Context, driver riverdriver.Driver[T], c chain.Config, look time.Duration,
) (*river.Client[T], error) {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{send: c.Send})
	return river.NewClient(driver, &river.Config{
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: max(16, c.Size.Chains)}},
		Workers: workers, FetchCooldown: river.FetchCooldownMin, FetchPollInterval: look, Logger: slog.New(slog.DiscardHandler),
	})
}

// transaction is a transaction of either database.
type transaction[T any] struct {
	begin func(context.Context) (T, error)
	exec  func(ctx context.Context, tx T, statement string, args ...any) (changed int64, err error)
	end   func(ctx context.Context, tx T, commit bool) error
}

type peer[T any] struct {
	client *river.Client[T]
	tx     transaction[T]
	size   cycle.Size
	close  func() error
}

func start[T any](
	ctx context.Context, driver riverdriver.Driver[T], c chain.Config, look time.Duration, tx transaction[T], end func() error,
) (chain.Peer, error) {
	client, err := newClient(ctx, driver, c, look)
	if err != nil {
		_ = end() // return the first error
		return nil, fmt.Errorf("river: %w", err)
	}
	p := &peer[T]{client: client, tx: tx, size: c.Size, close: end}
	err = p.in(ctx, func(t T) error {
		_, err := tx.exec(ctx, t, makeTable)
		return err
	})
	if err == nil {
		err = client.Start(context.WithoutCancel(ctx)) // Close stops it
	}
	if err != nil {
		_ = end() // return the first error
		return nil, fmt.Errorf("river: %w", err)
	}
	return p, nil
}

// in runs do in a transaction.
func (p *peer[T]) in(ctx context.Context, do func(T) error) error {
	t, err := p.tx.begin(ctx)
	if err != nil {
		return err
	}
	if err := do(t); err != nil {
		_ = p.tx.end(context.WithoutCancel(ctx), t, false) // return the first error
		return err
	}
	return p.tx.end(ctx, t, true)
}

// ask records a step and the job that sends its request.
func (p *peer[T]) ask(ctx context.Context, t T, step chain.Step) error {
	if _, err := p.tx.exec(ctx, t, makeStep, step.Chain, step.Number, time.Now().Add(deadline).UnixMilli()); err != nil {
		return err
	}
	_, err := p.client.InsertTx(ctx, t, delivery{Chain: step.Chain, Number: step.Number, Document: step.Document()}, nil)
	return err
}

// Begin inserts the first job of every chain.
func (p *peer[T]) Begin(ctx context.Context) error {
	return p.in(ctx, func(t T) error {
		for n := range p.size.Chains {
			if err := p.ask(ctx, t, chain.Step{Chain: n}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Answer records an answer and inserts the next job, in one transaction.
func (p *peer[T]) Answer(ctx context.Context, step chain.Step, body []byte) error {
	return p.in(ctx, func(t T) error {
		changed, err := p.tx.exec(ctx, t, note, step.Chain, step.Number, string(body))
		if err != nil || changed == 0 || step.Number+1 == p.size.Length { // also if it was answered before
			return err
		}
		return p.ask(ctx, t, chain.Step{Chain: step.Chain, Number: step.Number + 1})
	})
}

// Close stops the client and drops its jobs in progress.
func (p *peer[T]) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := p.client.StopAndCancel(ctx); err != nil {
		return fmt.Errorf("river: %w", err)
	}
	return p.close()
}

func openSQLite(ctx context.Context, c chain.Config) (chain.Peer, error) {
	db, err := sql.Open("sqlite", "file:"+c.Database.Path+
		"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return start(ctx, riversqlite.New(db), c, 2*time.Millisecond, transaction[*sql.Tx]{
		begin: func(ctx context.Context) (*sql.Tx, error) { return db.BeginTx(ctx, nil) },
		exec: func(ctx context.Context, tx *sql.Tx, statement string, args ...any) (int64, error) {
			result, err := tx.ExecContext(ctx, statement, args...)
			if err != nil {
				return 0, err
			}
			return result.RowsAffected()
		},
		end: func(_ context.Context, tx *sql.Tx, commit bool) error {
			if commit {
				return tx.Commit()
			}
			return tx.Rollback()
		},
	}, db.Close)
}

func openPostgres(ctx context.Context, c chain.Config) (chain.Peer, error) {
	config, err := pgxpool.ParseConfig(c.Database.DSN)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 32
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return start(ctx, riverpgxv5.New(pool), c, river.FetchPollIntervalDefault, transaction[pgx.Tx]{
		begin: pool.Begin,
		exec: func(ctx context.Context, tx pgx.Tx, statement string, args ...any) (int64, error) {
			tag, err := tx.Exec(ctx, statement, args...)
			return tag.RowsAffected(), err
		},
		end: func(ctx context.Context, tx pgx.Tx, commit bool) error {
			if commit {
				return tx.Commit(ctx)
			}
			return tx.Rollback(ctx)
		},
	}, func() error { pool.Close(); return nil })
}
