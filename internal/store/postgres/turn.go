package postgres

import (
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
)

// A stack's turn is the random number of the transaction that changed it last; 0 for the one that created it. Every
// transaction that changes a stack sets a new turn, unless it only deletes settled or gone rows or encrypts rows
// again. So a cached image of a stack is valid if the turn is still the one that was stored with it.
//
// Nodes of an earlier version do not set turns. While there is one, no node caches images.
const (
	// lockTurns keeps all other writers of these stacks out, and returns their turns. The order of the keys keeps two batches
	// from waiting for each other.
	lockTurns = "SELECT key, turn FROM stack WHERE key = ANY($1::bigint[]) ORDER BY key FOR NO KEY UPDATE"

	// setTurns is for who has the locks.
	setTurns = "UPDATE stack SET turn = $2 WHERE key = ANY($1::bigint[])"

	// takeTurns locks stacks as lockTurns does, and sets their turns as setTurns does. It fails, by a division by zero, unless they
	// have the turns that were expected.
	takeTurns = `WITH held AS (
			SELECT s.key FROM unnest($1::bigint[], $2::bigint[]) u (key, turn) JOIN stack s ON s.key = u.key AND s.turn = u.turn
			ORDER BY s.key FOR NO KEY UPDATE OF s),
		taken AS (UPDATE stack s SET turn = $3 FROM held h WHERE s.key = h.key RETURNING 1)
		SELECT 1 / (CASE WHEN (SELECT count(*) FROM taken) = cardinality($1) AND ` + allTurn + ` THEN 1 ELSE 0 END)`

	// allTurn says that every node knows of turns.
	allTurn = "NOT EXISTS (SELECT FROM node WHERE NOT turns)"
)

const (
	// freshFor is how old a writer's idea of the database's time may be for a transaction that does not ask for it first.
	freshFor = time.Second
	// asleepFor is by how much the wall clock may run ahead of the other one, which stands still while the machine sleeps.
	asleepFor = 100 * time.Millisecond
	// setBackFor is how far behind what was told last a time is if the database's clock was set back, and not only slow to come.
	setBackFor = 10 * time.Second
	// waryFor is how many transactions of a writer look before they decide, after one that trusted its images was wrong:
	// another node works on the same stacks.
	waryFor = 32
)

// clock is a writer's idea of the time of its database.
type clock struct {
	read time.Time // as the database told it; zero if it has not
	at   time.Time // when that came
	wall time.Time // the same, of the wall clock
	last time.Time // what was told last: time does not go back
}

// set takes what the database has told.
func (c *clock) set(now time.Time) {
	at := time.Now()
	c.read, c.at, c.wall, c.last = now, at, at.Round(0), now
}

// age is how long ago the database has told its time.
func (c *clock) age() time.Duration { return time.Since(c.at) }

// fresh reports whether the time can be told without asking for it.
func (c *clock) fresh() bool {
	age := c.age()
	return !c.read.IsZero() && age <= freshFor && (time.Now().Round(0).Sub(c.wall)-age).Abs() <= asleepFor
}

// now is the time, a little behind that of the database.
func (c *clock) now() time.Time {
	if now := c.read.Add(c.age()).Truncate(time.Millisecond); now.After(c.last) {
		c.last = now
	}
	return c.last
}

// latest is the latest time that the database has told a node, or that one of its decisions has seen. No decision sees an earlier one
// because it is another writer's, or because another question was answered later.
type latest struct{ ms atomic.Int64 }

// raise takes a time, and returns the latest.
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

// trusts reports whether a batch can be decided before the database is asked anything: all that its decisions want to see first
// is in images that were kept. It takes those.
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

// complete reports whether an image has all that the first view of a target needs, with the revisions that are remembered.
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
		delete(im.Revisions, int(number)) // it was not asked for
	}
	n.Revisions = nil
	return len(missing.revisions) == 0 && n.Nothing()
}

// queueBegin begins the transaction of a batch that trusted its images, with a round trip that is about to be made.
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

// queueTurns leaves the turn of the batch at the stacks that it changes, unless that is done.
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

// keep keeps the images of a batch that was committed, or that had nothing to write.
func (b *batch) keep() {
	if b.mixed { // nothing is kept, and what was is dropped
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

// drop forgets the images of a batch that failed.
func (b *batch) drop() {
	for _, key := range b.keys {
		b.writer.images.Drop(store.StackKey(key))
	}
}
