package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
)

const (
	// maxBatch is the maximum number of members that share one commit.
	maxBatch = 256
	// maxWhole is the maximum number of members with whole views in one transaction: stacks may be large.
	maxWhole = 32
	// maxTries is how often a member runs again because another node was faster.
	maxTries = 5
	// maxCachedBytes limits the templates that each writer caches.
	maxCachedBytes = 16 << 20
	// restAfter is how long after the last decision a writer keeps its caches.
	restAfter = 5 * time.Second
)

// restarted is the log message for a batch whose decisions used outdated images.
const restarted = "another node has changed a stack since it was read: the decisions are made again"

// writer is a goroutine that commits, and its connection.
type writer struct {
	store *Store
	queue chan *member
	done  chan struct{} // closed when the goroutine has finished

	mu    sync.Mutex
	inbox []*image      // images of stacks that another writer has created and this one will write; at most maxBatch
	given chan struct{} // holds a value if the inbox has been filled since

	// Only the goroutine uses these.
	conn      *pgx.Conn // nil if not connected or in doubt
	number    int64     // of its row, which records its batches
	batches   int64     // number of batches so far
	revisions *store.RevisionCache
	images    *store.Images[*image]
	clock     clock
	wary      int // number of transactions for which the images are not trusted
}

// member is one caller's decision in a batch.
type member struct {
	ctx    context.Context
	target store.Target
	decide store.Decide
	key    store.StackKey // of the stack, if it was known; 0 for a name that was free
	taken  atomic.Bool    // claimed by the writer, which runs it, or by its caller, which has cancelled it
	result error
	done   chan struct{} // closed when result is set
}

func newWriter(s *Store) *writer {
	return &writer{
		store: s, queue: make(chan *member, maxBatch), done: make(chan struct{}), given: make(chan struct{}, 1), number: newNumber(),
		revisions: store.NewRevisionCache(maxCachedBytes), images: store.NewImages[*image](),
	}
}

func (w *writer) start() { go w.run() }

// stop ends the goroutine when the queue is empty. Do not call do afterwards.
func (w *writer) stop() {
	close(w.queue)
	<-w.done
	w.disconnect()
}

// do queues a decision and waits for its result. If ctx ends before the writer takes the decision, do returns that
// error and the decision does not run. After that it waits for the real result.
func (w *writer) do(m *member) error {
	select {
	case w.queue <- m:
	case <-m.ctx.Done():
		return m.ctx.Err()
	}
	select {
	case <-m.done:
		return m.result
	case <-m.ctx.Done():
		if m.taken.CompareAndSwap(false, true) {
			return m.ctx.Err()
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
			w.settle(batch)
			rest.Reset(restAfter)
		case <-w.given: // for a decision that may follow
			rest.Reset(restAfter)
		case <-rest.C:
			w.rest()
		}
	}
}

// rest frees the caches, because no decision came for a while. The next decision loads its rows again.
func (w *writer) rest() {
	w.revisions.Clear()
	w.receive()
	w.images.Clear()
	w.store.where.Clear()
	w.store.codec.Forget()
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

// settle gives every member of a batch its result. It uses as few transactions as possible, retries while the database
// is unreachable, and runs each member alone if one of them may be why a transaction fails.
func (w *writer) settle(batch []*member) {
	tries := 0
	away := newAbsence(w.store)
	for len(batch) > 0 {
		n, err := w.transact(batch)
		var broken lost
		switch {
		case err == nil:
			w.finish(batch[:n])
			batch, tries = batch[n:], 0
			away = newAbsence(w.store)
		case errors.As(err, &broken):
			if broken.committing {
				committed, unclear := w.committed(away)
				if !committed {
					w.number = newNumber() // the old row is abandoned, or its content may still change
				}
				if unclear != nil {
					w.fail(batch, errors.Join(errUnclear, unclear))
					return
				}
				if committed {
					w.finish(batch[:n])
					batch = batch[n:]
					continue
				}
			}
			if stoodStill(err) && len(batch) > 1 { // one of the members is slow
				w.each(batch)
				return
			}
			if !away.wait(context.Background()) {
				w.fail(batch, broken.error)
				return
			}
			batch = w.dismiss(batch)
		case len(batch) > 1:
			if !repeatable(err) && !conflicting(err) {
				w.store.log.Warn("a batch of writes failed; each is repeated alone", "members", len(batch), "error", err)
			}
			w.each(batch)
			return
		case (repeatable(err) || conflicting(err)) && tries < maxTries:
			tries++
			if err := w.relocate(batch[0]); err != nil {
				w.fail(batch, err)
				return
			}
		default:
			w.fail(batch, err)
			return
		}
	}
}

// each runs every member of a batch alone.
func (w *writer) each(batch []*member) {
	for _, m := range batch {
		w.settle([]*member{m})
	}
}

// transact runs a batch, or the first part of a large one, in one transaction; see batch.run.
func (w *writer) transact(members []*member) (int, error) {
	whole := 0
	for i, m := range members {
		if m.target.Request == "" {
			whole++
		}
		if whole > maxWhole {
			members = members[:i]
			break
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	if w.conn == nil {
		conn, err := w.store.address.connect(ctx, writing)
		if err != nil {
			if offline(err) {
				err = lost{err, false}
			}
			return 0, err
		}
		w.conn = conn
	}
	w.batches++
	w.receive()
	began := time.Now()
	b := w.batch(ctx)
	n, err := b.run(members, w.batches)
	if errors.Is(err, errStale) && w.conn != nil {
		w.store.log.Debug(restarted, "members", len(members))
		b.drop()
		w.wary = waryFor
		b = w.batch(ctx)
		n, err = b.run(members, w.batches)
	}
	if err != nil {
		b.drop()
		return n, err
	}
	w.store.committed(store.Commit{Members: n, Took: time.Since(began)})
	w.store.remember(b)
	b.keep()
	return n, nil
}

// give passes the image of a stack to its writer. If that writer's inbox is full, it will load the stack itself.
func (w *writer) give(im *image) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.inbox) == maxBatch {
		return
	}
	w.inbox = append(w.inbox, im)
	select {
	case w.given <- struct{}{}:
	default:
	}
}

// receive takes the images from the inbox.
func (w *writer) receive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, im := range w.inbox {
		w.remember(im)
	}
	w.inbox = nil
}

// remember caches an image whose rows are all committed, and its revisions.
func (w *writer) remember(im *image) {
	for _, r := range im.Revisions {
		if r != nil {
			w.revisions.Put(*r)
		}
	}
	if _, ok := w.images.Get(im.Stack.Key); !ok {
		w.images.Put(im.Stack.Key, im)
	}
}

func (w *writer) batch(ctx context.Context) *batch {
	return &batch{store: w.store, writer: w, conn: w.conn, ctx: ctx, turn: newNumber()}
}

// committed finds out whether the last batch was committed, after the connection broke during the commit. Its query is
// a write: when the answer is durable, so is every earlier commit. If the batch was not committed, committed also
// invalidates the row of the writer. The server may still hold the whole batch, waiting for a lock, and must not commit
// it later.
func (w *writer) committed(away *absence) (bool, error) {
	for {
		committed, err := w.askCommitted()
		if err == nil || !offline(err) && !repeatable(err) {
			return committed, err
		}
		if !away.wait(context.Background()) {
			return false, err
		}
	}
}

func (w *writer) askCommitted() (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	conn, err := w.store.address.connect(ctx, writing)
	if err != nil {
		return false, err
	}
	var last int64
	// This waits for a transaction of ours that the server has not finished yet, if it has reached its mark.
	err = conn.QueryRow(ctx, "INSERT INTO writer (id, batch, at) VALUES ($2, -1, "+now+`)
		ON CONFLICT (id) DO UPDATE SET at = excluded.at, batch = CASE writer.batch WHEN $3 THEN writer.batch ELSE -1 END RETURNING batch`,
		w.store.clock(), w.number, w.batches).Scan(&last)
	if err == nil {
		err = assured(conn)
	}
	if err != nil {
		return false, errors.Join(err, conn.Close(ctx))
	}
	w.conn = conn
	return last == w.batches, nil
}

// relocate looks up again which stack has a name.
func (w *writer) relocate(m *member) error {
	if m.target.Name == (store.StackName{}) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	return w.store.locate(ctx, m)
}

// finish returns the committed results to the callers.
func (w *writer) finish(batch []*member) {
	for _, m := range batch {
		var own memberError
		if errors.As(m.result, &own) {
			m.result = own.error
		}
		close(m.done)
	}
}

func (w *writer) fail(batch []*member, err error) {
	err = w.store.explain(err)
	for _, m := range batch {
		m.result = err
		close(m.done)
	}
}

// dismiss removes the members whose context is done: nothing of theirs was written.
func (w *writer) dismiss(batch []*member) []*member {
	left := batch[:0:0]
	for _, m := range batch {
		if m.result = m.ctx.Err(); m.result != nil {
			close(m.done)
			continue
		}
		left = append(left, m)
	}
	return left
}

func (w *writer) disconnect() {
	if w.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if err := w.conn.Close(ctx); err != nil {
		w.store.log.Debug("close a connection to the database", "error", err)
	}
	// The next connection may be to a database that has lost these commits, or has another time.
	w.conn, w.clock = nil, clock{}
	w.receive()
	w.images.Clear()
	w.revisions.Clear()
}

// absence tracks how long the database has been unreachable for one batch.
type absence struct {
	store *Store
	until time.Time
	pause time.Duration
}

func newAbsence(s *Store) *absence { return &absence{store: s} }

// wait waits before another attempt, longer each time. It returns false when patience is exhausted or ctx is done.
func (a *absence) wait(ctx context.Context) bool {
	const shortest, longest = 20 * time.Millisecond, time.Second
	if a.until.IsZero() {
		a.until = time.Now().Add(a.store.patience)
	}
	if time.Now().After(a.until) {
		return false
	}
	a.pause = min(max(2*a.pause, shortest), longest)
	timer := time.NewTimer(a.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-a.store.closing:
		return false
	}
}
