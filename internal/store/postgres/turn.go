package postgres

import (
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
)

// A stack's turn is the random number of the transaction that last changed it; 0 for the one that created it. Every
// transaction that changes a stack sets a new turn, unless it only deletes settled or gone rows or reseals rows. So a
// cached image of a stack is valid if the turn is still the one that was stored with it.
//
// Nodes of an earlier version do not set turns. While one is registered, no node caches images.
const (
	// lockTurns locks these stacks against all other writers, and returns their turns. Because it locks in the order of
	// the keys, two batches cannot deadlock.
	lockTurns = "SELECT key, turn FROM stack WHERE key = ANY($1::bigint[]) ORDER BY key FOR NO KEY UPDATE"

	// setTurns requires the locks.
	setTurns = "UPDATE stack SET turn = $2 WHERE key = ANY($1::bigint[])"

	// takeTurns locks stacks as lockTurns does, and sets their turns as setTurns does. It fails with a division by zero
	// unless they have the expected turns.
	takeTurns = `WITH held AS (
			SELECT s.key FROM unnest($1::bigint[], $2::bigint[]) u (key, turn) JOIN stack s ON s.key = u.key AND s.turn = u.turn
			ORDER BY s.key FOR NO KEY UPDATE OF s),
		taken AS (UPDATE stack s SET turn = $3 FROM held h WHERE s.key = h.key RETURNING 1)
		SELECT 1 / (CASE WHEN (SELECT count(*) FROM taken) = cardinality($1) AND ` + allTurn + ` THEN 1 ELSE 0 END)`

	// allTurn is true if every node sets turns.
	allTurn = "NOT EXISTS (SELECT FROM node WHERE NOT turns)"
)

const (
	// freshFor is how old a writer's reading of the database's time may be for a transaction that does not ask for the
	// time.
	freshFor = time.Second
	// asleepFor is how far the wall clock may run ahead of the monotonic clock, which stops while the machine sleeps.
	asleepFor = 100 * time.Millisecond
	// setBackFor is how far a time must be behind the last one to show that the database's clock was set back. A
	// smaller difference is only a delayed answer.
	setBackFor = 10 * time.Second
	// waryFor is the number of transactions that load before they decide, after one whose images were outdated: another
	// node works on the same stacks.
	waryFor = 32
)

// clock is a writer's estimate of the time of its database.
type clock struct {
	read time.Time // the time from the database; zero if unknown
	at   time.Time // when that arrived
	wall time.Time // when that arrived, by the wall clock
	last time.Time // the last time returned: time does not go back
}

// set sets the time that the database returned.
func (c *clock) set(now time.Time) {
	at := time.Now()
	c.read, c.at, c.wall, c.last = now, at, at.Round(0), now
}

// age returns the time since the database returned its time.
func (c *clock) age() time.Duration { return time.Since(c.at) }

// fresh reports whether now can be used without asking the database.
func (c *clock) fresh() bool {
	age := c.age()
	return !c.read.IsZero() && age <= freshFor && (time.Now().Round(0).Sub(c.wall)-age).Abs() <= asleepFor
}

// now returns the time, slightly behind that of the database.
func (c *clock) now() time.Time {
	if now := c.read.Add(c.age()).Truncate(time.Millisecond); now.After(c.last) {
		c.last = now
	}
	return c.last
}

// latest is the latest time that the database has returned to a node, or that one of its decisions has seen. No
// decision sees an earlier time, even if another writer handles it or another query is answered later.
type latest struct{ ms atomic.Int64 }

// raise adds a time, and returns the latest.
func (l *latest) raise(now time.Time) time.Time {
	for ms := unix(now); ; {
		known := l.ms.Load()
		if ms <= known && known-ms <= setBackFor.Milliseconds() {
			return fromUnix(known)
		}
		if l.ms.CompareAndSwap(known, ms) {
			return fromUnix(ms)
		}
	}
}

// trusts reports whether a batch can be decided before any query: the cached images hold all rows of its first views.
// It takes these images.
func (b *batch) trusts(members []*member) bool {
	w := b.writer
	if w.wary > 0 {
		w.wary--
		return false
	}
	if w.conn == nil || !w.clock.fresh() {
		return false
	}
	for _, m := range members {
		if m.key == 0 || m.target.Name != (store.StackName{}) {
			return false
		}
		im, ok := w.images.Get(m.key)
		if !ok || !b.complete(im, m.target) {
			return false
		}
		b.images[m.key] = im
	}
	if b.now = b.store.latest.raise(w.clock.now()); b.store.now != nil {
		b.now = fromUnix(unix(b.store.now()))
	}
	return true
}

// complete reports whether an image, with the cached revisions, has all that the first view of a target needs.
func (b *batch) complete(im *image, target store.Target) bool {
	n := im.Lacks(target)
	if len(n.Revisions) == 0 {
		return n.Nothing()
	}
	var missing wanted
	for _, number := range n.Revisions {
		b.wantRevision(&missing, im, number)
	}
	for _, number := range missing.revisions {
		delete(im.Revisions, int(number)) // it was not requested
	}
	n.Revisions = nil
	return len(missing.revisions) == 0 && n.Nothing()
}

// queueBegin begins the transaction of a batch that trusted its images, as part of the next round trip.
func (b *batch) queueBegin(trip *pgx.Batch) {
	turns := column(b.keys, func(key int64) int64 { return b.images[store.StackKey(key)].turn })
	first := &pgx.Batch{}
	first.Queue("BEGIN")
	first.Queue(takeTurns, b.keys, turns, b.turn).Query(func(rows pgx.Rows) error {
		rows.Close()
		b.stale = rows.Err() != nil
		return rows.Err()
	})
	if b.writer.clock.age() > freshFor/2 {
		b.queueNow(first, func(now time.Time) { b.writer.clock.set(now) })
	}
	trip.QueuedQueries = append(first.QueuedQueries, trip.QueuedQueries...)
	b.begun, b.taken = true, true
}

// queueNow asks for the time.
func (b *batch) queueNow(trip *pgx.Batch, took func(time.Time)) {
	trip.Queue(loadNow, b.store.clock()).QueryRow(func(row pgx.Row) error {
		ms, err := scanValue[int64](row)
		if err == nil {
			took(fromUnix(ms))
		}
		return err
	})
}

// queueTurns sets the turn of the batch on the stacks that it changes, unless that is done.
func (b *batch) queueTurns(trip *pgx.Batch, changed []store.StackKey) {
	if !b.begun || b.taken {
		return
	}
	var keys []int64
	for _, key := range changed {
		if c := b.images[key].changes.stack; c == nil || !c.made {
			keys = append(keys, int64(key))
		}
	}
	if len(keys) > 0 {
		trip.Queue(setTurns, keys, b.turn)
	}
}

// keep caches the images of a batch that was committed or had no changes.
func (b *batch) keep() {
	if b.mixed { // cache nothing; lock has cleared the cache
		return
	}
	for key, im := range b.images {
		switch c := &im.changes; {
		case c.stack != nil && c.stack.made:
			im.turn = 0
		case !c.nothing(), b.taken && b.wrote:
			im.turn = b.turn
		}
		im.changes = changes{}
		if own := b.store.writerOf(key); own == b.writer {
			b.writer.remember(im)
		} else {
			own.give(im)
		}
	}
	b.writer.images.Rest()
}

// drop removes the images of a failed batch.
func (b *batch) drop() {
	for _, key := range b.keys {
		b.writer.images.Drop(store.StackKey(key))
	}
}
