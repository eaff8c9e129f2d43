package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/base/panics"
	"github.com/pintle-dev/pintle/internal/store"
)

// maxBatch is the maximum number of members that share one commit.
const maxBatch = 256

// maxCachedBytes limits the templates that the writer caches.
const maxCachedBytes = 32 << 20

// maxConflicts is how often a member runs again because another process was faster. This should never happen.
const maxConflicts = 3

// restAfter is how long after the last decision the writer keeps its caches.
const restAfter = 5 * time.Second

// writer is the only goroutine that writes, and its connection.
type writer struct {
	store     *Store
	log       *slog.Logger
	committed func(store.Commit)
	db        *sql.DB
	queue     chan *member
	done      chan struct{} // closed when the goroutine has finished

	// Only the goroutine uses these.
	conn       *sql.Conn // nil after a failure that left it in doubt
	statements map[string]*sql.Stmt
	revisions  *store.RevisionCache
	images     *store.Images[*store.Image]
	where      *store.Whereabouts
}

// member is one caller's work in a batch.
type member struct {
	ctx    context.Context
	work   func(*tx) error
	taken  atomic.Bool // claimed by the writer, which runs it, or by its caller, which has cancelled it
	result error
	done   chan struct{} // closed when result is set
}

// tx is the transaction of a batch, as one of its members sees it.
type tx struct{ *writer }

func newWriter(s *Store, db *sql.DB, cfg *Config) *writer {
	return &writer{
		store: s, log: cfg.Log, committed: cfg.Committed, db: db,
		queue: make(chan *member, maxBatch), done: make(chan struct{}),
		statements: make(map[string]*sql.Stmt), revisions: store.NewRevisionCache(maxCachedBytes), images: store.NewImages[*store.Image](), where: store.NewWhereabouts(),
	}
}

func (w *writer) start() { go w.run() }

// stop ends the goroutine when the queue is empty, and closes the database. Do not call do afterwards.
func (w *writer) stop() error {
	close(w.queue)
	<-w.done
	return errors.Join(w.disconnect(), w.db.Close())
}

// do queues work and waits for its result. If ctx ends before the writer takes the work, do returns that error and the
// work does not run. After that it waits for the real result.
func (w *writer) do(ctx context.Context, work func(*tx) error) error {
	m := &member{ctx: ctx, work: work, done: make(chan struct{})}
	select {
	case w.queue <- m:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-m.done:
		return m.result
	case <-ctx.Done():
		if m.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		<-m.done
		return m.result
	}
}

// run runs the queued members in batches.
func (w *writer) run() {
	defer close(w.done)
	rest := time.NewTimer(restAfter)
	defer rest.Stop()
	rest.Stop() // no caches to free yet
	for {
		select {
		case m, ok := <-w.queue:
			if !ok {
				return
			}
			batch := make([]*member, 0, 1+len(w.queue))
			batch = w.take(batch, m)
			for range min(len(w.queue), maxBatch-1) {
				batch = w.take(batch, <-w.queue)
			}
			w.commit(batch)
			if w.images.WereBusy() {
				rest.Reset(restAfter)
			}
		case <-rest.C:
			w.rest()
		}
	}
}

// rest frees the caches, because no decision came for a while. The next decision loads its rows again. Heartbeats
// continue meanwhile.
func (w *writer) rest() {
	w.forget()
	w.where.Clear()
	w.store.codec.Forget()
	if w.conn == nil {
		return
	}
	if err := w.command("PRAGMA shrink_memory"); err != nil {
		w.log.Debug("shrink the memory of the writing connection", "error", err)
	}
}

// take adds a member to the batch unless its caller has cancelled it.
func (w *writer) take(batch []*member, m *member) []*member {
	if !m.taken.CompareAndSwap(false, true) {
		return batch
	}
	if m.result = m.ctx.Err(); m.result != nil {
		close(m.done)
		return batch
	}
	return append(batch, m)
}

// commit runs a batch in one transaction, or every member in its own if one of them may be why that fails, and returns
// the results to the callers.
func (w *writer) commit(batch []*member) {
	if len(batch) == 0 {
		return
	}
	err := w.transact(batch)
	_, idle := errors.AsType[notBegun](err)
	repeat := err != nil && len(batch) > 1 && !idle
	if repeat {
		w.log.Warn("a batch of writes failed; each is repeated alone", "members", len(batch), "error", err)
	}
	for _, m := range batch {
		failure := err
		if repeat || errors.Is(err, errConflict) {
			failure = w.alone(m)
		}
		var own memberError
		if failure != nil {
			m.result = w.store.explain(failure)
		} else if errors.As(m.result, &own) {
			m.result = own.error
		}
		close(m.done)
	}
}

// alone runs one member in a transaction of its own.
func (w *writer) alone(m *member) error {
	err := w.transact([]*member{m})
	for tries := 1; errors.Is(err, errConflict) && tries < maxConflicts; tries++ {
		err = w.transact([]*member{m})
	}
	return err
}

// transact runs the members in one transaction. Its error means that nothing was written; a member's own error is in
// its result.
func (w *writer) transact(batch []*member) (err error) {
	if err := w.connect(); err != nil {
		return notBegun{err}
	}
	began := time.Now()
	if err := w.command("BEGIN IMMEDIATE"); err != nil {
		return notBegun{err}
	}
	defer func() {
		if err != nil {
			w.rollback()
		}
	}()
	for _, m := range batch {
		err := w.attempt(m)
		if own := (memberError{}); err != nil && !errors.As(err, &own) {
			return err
		}
		m.result = err
	}
	if err := w.command("COMMIT"); err != nil {
		return err
	}
	w.committed(store.Commit{Members: len(batch), Took: time.Since(began)})
	w.images.Rest()
	return nil
}

// attempt runs a member. If its decision panics, the member fails, and the others continue.
func (w *writer) attempt(m *member) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			w.log.Error("a decision panicked", "cause", panics.Cause(cause), "stack", string(debug.Stack()))
			err = errors.New("the decision panicked: " + panics.Cause(cause))
		}
	}()
	return m.work(&tx{w})
}

// rollback undoes the transaction. It clears the cache, because rows read in the transaction may include changes that
// were not committed. If SQLite has already rolled back, or cannot, rollback replaces the connection.
func (w *writer) rollback() {
	w.forget()
	if err := w.command("ROLLBACK"); err == nil {
		return
	}
	broken := w.conn
	w.conn = nil
	err := w.disconnect()
	// The error makes database/sql close the connection instead of keeping it for reuse.
	if bad := broken.Raw(func(any) error { return driver.ErrBadConn }); !errors.Is(bad, driver.ErrBadConn) {
		err = errors.Join(err, bad)
	}
	if err != nil {
		w.log.Warn("close the connection after a failed write", "error", err)
	}
}

// forget clears the caches of rows: the database has changed without a decision, or the rows were never committed.
func (w *writer) forget() {
	w.revisions.Clear()
	w.images.Clear()
}

func (w *writer) connect() (err error) {
	if w.conn == nil {
		w.conn, err = w.db.Conn(context.Background())
	}
	return err
}

func (w *writer) disconnect() error {
	var err error
	for _, statement := range w.statements {
		err = errors.Join(err, statement.Close())
	}
	clear(w.statements)
	if w.conn != nil {
		err = errors.Join(err, w.conn.Close())
		w.conn = nil
	}
	return err
}

func (w *writer) command(text string) error {
	_, err := (&tx{w}).exec(text)
	return err
}

// statement returns a prepared statement, which stays open for reuse: disconnect closes it.
func (w *writer) statement(text string) (*sql.Stmt, error) {
	if statement := w.statements[text]; statement != nil {
		return statement, nil
	}
	statement, err := w.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	w.statements[text] = statement
	return statement, nil
}

// exec runs a statement and returns the number of changed rows.
func (t *tx) exec(text string, args ...any) (int64, error) {
	result, err := t.perform(text, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// insert runs an INSERT that ignores an existing row, and returns the number of the new row, or 0.
func (t *tx) insert(text string, args ...any) (int64, error) {
	result, err := t.perform(text, args...)
	if err != nil {
		return 0, err
	}
	if made, err := result.RowsAffected(); made == 0 || err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// perform runs a statement. It ignores the member's context: work that has begun is finished.
func (t *tx) perform(text string, args ...any) (sql.Result, error) {
	statement, err := t.statement(text) //nolint:sqlclosecheck // kept for the next time; disconnect closes it
	if err != nil {
		return nil, err
	}
	return statement.ExecContext(context.Background(), args...)
}

// query implements querier in the transaction.
func (t *tx) query(text string, args ...any) (*sql.Rows, error) {
	statement, err := t.statement(text) //nolint:sqlclosecheck // kept for the next time; disconnect closes it
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(context.Background(), args...)
}
