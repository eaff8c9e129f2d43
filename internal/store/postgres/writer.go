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
	// maxBatch is how many members share one commit at most.
	maxBatch = 256
	// maxWhole is how many members that see a whole stack share one transaction: stacks may be large.
	maxWhole = 32
	// maxTries is how often a member is run again because someone was quicker.
	maxTries = 5
	// maxCachedBytes bounds the templates that each writer keeps.
	maxCachedBytes = 16 << 20
	// restAfter is how long after the last decision a writer keeps what it has read.
	restAfter = 5 * time.Second
)

// restarted is what the log says of a batch that was decided on images which were no longer true.
const restarted = "another node has changed a stack since it was read: the decisions are made again"

// writer is a goroutine that commits, and its connection.
type writer struct {
	store *Store
	queue chan *member
	done  chan struct{} // closed when the goroutine has finished

	mu    sync.Mutex
	inbox []*image      // of stacks that another writer has made, which this one will write; at most maxBatch
	given chan struct{} // has one if the inbox has been filled since

	// Only the goroutine uses these.
	conn      *pgx.Conn // nil if there is none, or it was in doubt
	number    int64     // of its row, in which it notes its batches
	batches   int64     // how many it has begun
	revisions *store.RevisionCache
	images    *store.Images[*image]
	clock     clock
	wary      int // for how many transactions to come the images are not trusted unseen
}

// member is one caller's decision in a batch.
type member struct {
	ctx    context.Context
	target store.Target
	decide store.Decide
	key    store.StackKey // of the stack, as far as it was known; 0 for a name that was free
	taken  atomic.Bool    // by the writer, to be run, or by its caller, who has given up
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

// stop ends the goroutine when the queue is empty. No one may call do any more.
func (w *writer) stop() {
	close(w.queue)
	<-w.done
	w.disconnect()
}

// do queues a decision and waits for its result. A caller that gives up before its turn came is told so and nothing is
// run; after that it waits for the truth.
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

// run takes what is queued, batch by batch.
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
		case <-w.given: // for a decision that may come, or not
			rest.Reset(restAfter)
		case <-rest.C:
			w.rest()
		}
	}
}

// rest gives back what is kept for the next decision, since none has come for a while: it is read again when one does.
func (w *writer) rest() {
	w.revisions.Clear()
	w.receive()
	w.images.Clear()
	w.store.where.Clear()
	w.store.codec.Forget()
}

// take adds a member to the batch unless its caller has given up.
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

// settle gives every member of a batch its result: in as few transactions as can be, again while the database is away,
// and each alone if one of them may be why a transaction fails.
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
					w.number = newNumber() // the row of the old one is given up, or what is in it may still change
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
			if stoodStill(err) && len(batch) > 1 { // one of them takes its time
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

// transact runs a batch in one transaction, or as much of it as is wise; see batch.run.
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
	w.store.told(store.Commit{Members: n, Took: time.Since(began)})
	w.store.remember(b)
	b.keep()
	return n, nil
}

// give hands the image of a stack over to its writer. One that is behind with its work reads it again.
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

// receive takes what was handed over.
func (w *writer) receive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, im := range w.inbox {
		w.remember(im)
	}
	w.inbox = nil
}

// remember keeps an image, all of which is committed, and its revisions.
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

// committed finds out whether the last batch was committed, once its connection has broken during that. Its question is a
// write: when the answer is durable, so is what was committed before it. If the batch was not committed, the row of the writer is
// given up with it: the server may have all of the batch and still wait for a lock with it, and it must not be written then.
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
	// This waits for a transaction of ours that the server may not have finished yet, if that has come to its mark.
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

// relocate looks again which stack a name is of.
func (w *writer) relocate(m *member) error {
	if m.target.Name == (store.StackName{}) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	return w.store.locate(ctx, m)
}

// finish tells the callers what was committed.
func (w *writer) finish(batch []*member) {
	for _, m := range batch {
		var own verdict
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

// dismiss tells the callers who have given up meanwhile: nothing of theirs was written.
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
	// The next one may be to a database that has lost what was committed here, or has another time.
	w.conn, w.clock = nil, clock{}
	w.receive()
	w.images.Clear()
	w.revisions.Clear()
}

// absence is how long the database has been away for one batch.
type absence struct {
	store *Store
	until time.Time
	pause time.Duration
}

func newAbsence(s *Store) *absence { return &absence{store: s} }

// wait waits for a moment before another try, longer each time. It returns false when patience or ctx has finished.
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
