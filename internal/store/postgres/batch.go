package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pintle-dev/pintle/internal/base/panics"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// decideFor limits the time for the decisions of one transaction. The remaining members wait for the next transaction,
// because the transaction holds locks, and the server ends an idle one.
const decideFor = time.Second

// batch is one transaction: its members, and an image of each of their stacks.
type batch struct {
	store  *Store
	writer *writer
	conn   *pgx.Conn
	ctx    context.Context
	turn   int64 // the turn that it sets on the stacks that it changes

	begun bool // the transaction has begun and locked all stacks
	taken bool // the turns of all stacks are set to this one
	wrote bool // it has changes to write
	stale bool // its decisions used outdated images
	mixed bool // some nodes do not set turns

	now    time.Time
	keys   []int64 // keys of the members' stacks, in order
	images map[store.StackKey]*image
	names  map[store.StackName]store.StackKey // live stacks by name; 0 for a free name
	where  map[wire.RequestID]store.StackKey  // the stacks of the members' requests
	// elsewhere are loaded requests that belong to other stacks than the batch's.
	elsewhere map[wire.RequestID]store.Request
	ids       []operationID // new ones, in the order of the decisions

	exports exports
}

// run runs the members in one transaction, and returns how many of them, from the first on, it has settled: they have
// their results if it was committed. An error other than [lost] means that nothing was written.
func (b *batch) run(members []*member, number int64) (int, error) {
	if err := b.begin(members); err != nil {
		return 0, b.failed(err, false)
	}
	began := time.Now()
	done := 0
	for _, m := range members {
		if done > 0 && time.Since(began) > decideFor {
			break
		}
		err := b.attempt(m)
		if own := (memberError{}); err != nil && !errors.As(err, &own) {
			return 0, b.failed(err, false)
		}
		m.result = err
		done++
	}
	committing, err := b.commit(number)
	if err != nil {
		return done, b.failed(err, committing)
	}
	return done, nil
}

// failed ends a failed transaction. It closes a connection whose state is unknown.
func (b *batch) failed(err error, committing bool) error {
	if offline(err) || b.conn.IsClosed() {
		b.writer.disconnect()
		return lost{err, committing}
	}
	if !b.begun {
		return err
	}
	if _, undo := b.conn.Exec(b.ctx, "ROLLBACK"); undo != nil {
		b.writer.disconnect()
		return lost{err, false}
	}
	return err
}

// begin creates the images of the members' stacks. The transaction begins with the first round trip, which comes later
// if the images can be trusted until then.
func (b *batch) begin(members []*member) error {
	b.images = make(map[store.StackKey]*image)
	b.names = make(map[store.StackName]store.StackKey)
	b.where = make(map[wire.RequestID]store.StackKey)
	b.elsewhere = make(map[wire.RequestID]store.Request)
	b.exports = newExports()
	for _, m := range members {
		if m.key != 0 {
			b.keys = append(b.keys, int64(m.key))
		}
		if m.target.Request != "" {
			b.where[m.target.Request] = m.key
		}
		if m.target.Name != (store.StackName{}) {
			b.names[m.target.Name] = 0
		}
	}
	slices.Sort(b.keys)
	b.keys = slices.Compact(b.keys)
	if b.trusts(members) {
		return nil
	}
	return b.lock(members)
}

// lock locks the members' stacks, and loads everything that valid images do not hold.
func (b *batch) lock(members []*member) error {
	var first wanted
	var fresh []int64
	for _, key := range b.keys {
		im, ok := b.writer.images.Get(store.StackKey(key))
		if !ok {
			im, fresh = newImage(), append(fresh, key)
		}
		b.images[store.StackKey(key)] = im
	}
	for _, m := range members {
		first.first(m, b.images[m.key])
	}

	trip := &pgx.Batch{}
	trip.Queue("BEGIN")
	b.begun = true
	turns := make(map[store.StackKey]int64)
	trip.Queue(lockTurns, b.keys).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var key, turn int64
			if err := rows.Scan(&key, &turn); err != nil {
				return err
			}
			turns[store.StackKey(key)] = turn
		}
		return rows.Err()
	})
	b.queueNow(trip, func(now time.Time) { b.now = now })
	trip.Queue(loadMixed).QueryRow(func(row pgx.Row) error { return row.Scan(&b.mixed) })
	b.queueLoad(trip, fresh)
	b.queueNames(trip)
	first.queue(b, trip)
	if err := b.send(trip); err != nil {
		return err
	}
	first.arrived(b)
	b.writer.clock.set(b.now)
	if b.store.now == nil {
		b.now = b.store.latest.raise(b.now)
	}
	if b.mixed { // cached images of other stacks may also be outdated once that node has left
		b.writer.images.Clear()
	}
	if err := b.refresh(members, fresh, turns); err != nil {
		return err
	}
	for key, im := range b.images {
		if im.turn = turns[key]; im.Stack.Key == 0 {
			delete(b.images, key)
		}
	}
	for name, key := range b.names {
		if key != 0 && b.images[key] == nil { // it exists but is not locked: another node has just created it
			return fmt.Errorf("%w: a stack of the name %s was made", errConflict, name.Name)
		}
	}
	return b.loadRevisions(members)
}

// refresh reloads the stacks whose cached images another node has made outdated.
func (b *batch) refresh(members []*member, fresh []int64, turns map[store.StackKey]int64) error {
	var stale []int64
	for _, key := range b.keys {
		if _, isFresh := slices.BinarySearch(fresh, key); isFresh {
			continue
		}
		key := store.StackKey(key)
		if turn, ok := turns[key]; b.mixed || !ok || turn != b.images[key].turn {
			b.writer.images.Drop(key)
			b.images[key] = newImage()
			stale = append(stale, int64(key))
		}
	}
	if len(stale) == 0 {
		return nil
	}
	b.writer.wary = waryFor
	var again wanted
	for _, m := range members {
		if _, isStale := slices.BinarySearch(stale, int64(m.key)); isStale {
			again.first(m, b.images[m.key])
		}
	}
	trip := &pgx.Batch{}
	b.queueLoad(trip, stale)
	again.queue(b, trip)
	if err := b.send(trip); err != nil {
		return err
	}
	again.arrived(b)
	return nil
}

// queueLoad queues loading stacks and their newest operations.
func (b *batch) queueLoad(trip *pgx.Batch, keys []int64) {
	if len(keys) == 0 {
		return
	}
	trip.Queue(loadStack, keys).Query(func(rows pgx.Rows) error {
		return collect(rows, b.store.scanStack, func(row store.Stack) { b.images[row.Key].Stack = row })
	})
	trip.Queue(loadOperation, keys).Query(func(rows pgx.Rows) error {
		return collect(rows, b.store.scanOperation, func(row store.Operation) { b.images[row.Stack].Operation = row })
	})
}

func (b *batch) queueNames(trip *pgx.Batch) {
	if len(b.names) == 0 {
		return
	}
	var accounts, regions, names []string
	for name := range b.names {
		if clean(name.Account) && clean(name.Region) && clean(name.Name) {
			accounts, regions, names = append(accounts, name.Account), append(regions, name.Region), append(names, name.Name)
		}
	}
	trip.Queue(loadNames, accounts, regions, names).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var key int64
			var name store.StackName
			if err := rows.Scan(&key, &name.Account, &name.Region, &name.Name); err != nil {
				return err
			}
			b.names[name] = store.StackKey(key)
		}
		return rows.Err()
	})
}

// loadRevisions loads the revisions for the first views in one round trip, unless they are cached.
func (b *batch) loadRevisions(members []*member) error {
	var missing wanted
	for _, m := range members {
		im := b.images[m.key]
		if im == nil || m.target.Alone {
			continue
		}
		for _, number := range im.Numbers() {
			if _, ok := im.Revisions[number]; !ok {
				b.wantRevision(&missing, im, number)
			}
		}
	}
	return b.load(&missing)
}

func (b *batch) wantRevision(w *wanted, im *image, number int) {
	if r, ok := b.writer.revisions.Get(im.Stack.Key, number); ok {
		im.Revisions[number] = &r
		return
	}
	im.Revisions[number] = nil // requested; loading replaces the nil if the revision exists
	w.revisionStacks, w.revisions = append(w.revisionStacks, int64(im.Stack.Key)), append(w.revisions, int32(number))
}

// load loads the wanted rows in one round trip.
func (b *batch) load(w *wanted) error {
	trip := &pgx.Batch{}
	w.queue(b, trip)
	if trip.Len() == 0 {
		return nil
	}
	if err := b.send(trip); err != nil {
		return err
	}
	w.arrived(b)
	return nil
}

// more loads the rows of one stack that a view or a delta needs.
func (b *batch) more(im *image, n store.Need) error {
	var w wanted
	for _, number := range n.Revisions {
		b.wantRevision(&w, im, number)
	}
	for _, id := range n.Requests {
		w.requests = append(w.requests, string(id))
	}
	if n.All {
		w.whole = []int64{int64(im.Stack.Key)}
	} else {
		for _, logical := range n.Steps {
			if !clean(string(logical)) {
				im.Near(logical) // no row can have that name
				continue
			}
			w.stepStacks, w.steps = append(w.stepStacks, int64(im.Stack.Key)), append(w.steps, string(logical))
		}
	}
	return b.load(&w)
}

// send makes a round trip in the transaction, and first begins the transaction if that was postponed.
func (b *batch) send(trip *pgx.Batch) error {
	if !b.begun {
		b.queueBegin(trip)
	}
	err := b.conn.SendBatch(b.ctx, trip).Close()
	if b.stale && conflicting(err) {
		return errStale
	}
	return err
}

// attempt runs a member. If its decision panics, the member fails, and the others continue.
func (b *batch) attempt(m *member) (err error) {
	decided := false
	defer func() {
		if cause := recover(); cause != nil {
			b.store.log.Error("a decision panicked", "cause", panics.Cause(cause), "stack", string(debug.Stack()))
			err = errors.New("the decision panicked: " + panics.Cause(cause))
			if !decided { // the images hold none of its changes
				err = memberError{err}
			}
		}
	}()
	var broken error // an error of the database, not of the decision
	_, delta, err := store.Run(m.target, func(scope store.Scope) (*store.View, error) {
		v, err := b.view(m, scope)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			broken = err
		}
		return v, err
	}, m.decide)
	decided = true
	if broken != nil {
		return broken
	}
	if err != nil {
		return memberError{err}
	}
	return b.take(m, &delta)
}

// view returns the view of a member, and loads the missing rows for it.
func (b *batch) view(m *member, scope store.Scope) (*store.View, error) {
	im := b.image(m)
	if im == nil {
		if m.target.Name == (store.StackName{}) {
			return nil, store.ErrNotFound
		}
		v := store.EmptyView(scope.Whole)
		v.Now = b.now
		return v, b.fillOutside(v, m.target, scope)
	}
	asked, target := false, m.target
	var other *store.Request // a request of another stack
	if _, ok := im.Request(target.Request); !ok && target.Stack != 0 && target.Request != "" {
		// If the stack had a request with that ID, it would be loaded.
		other, target.Request = b.foreign(target.Request), ""
	}
	for {
		v, n := im.View(target, scope)
		if n.Nothing() {
			v.Now = b.now
			if other != nil {
				v.Request = other
			}
			return v, b.fillOutside(v, target, scope)
		}
		if len(n.Requests) > 0 && asked {
			return nil, store.ErrNotFound
		}
		asked = len(n.Requests) > 0
		if err := b.more(im, n); err != nil {
			return nil, err
		}
	}
}

// foreign returns a loaded request of any stack, or nil.
func (b *batch) foreign(id wire.RequestID) *store.Request {
	for _, im := range b.images {
		if row, ok := im.Request(id); ok {
			return &row
		}
	}
	if row, ok := b.elsewhere[id]; ok {
		return &row
	}
	return nil
}

// image returns the image of a member's stack, or nil if the stack does not exist.
func (b *batch) image(m *member) *image {
	if m.target.Name != (store.StackName{}) {
		return b.images[b.names[m.target.Name]]
	}
	return b.images[m.key]
}

// owner returns a member's request and the image that holds it.
func (b *batch) owner(id wire.RequestID) (*image, store.Request) {
	im := b.images[b.where[id]]
	if im == nil {
		return nil, store.Request{}
	}
	row, ok := im.Request(id)
	if !ok {
		return nil, row
	}
	return im, row
}

// take applies a member's delta.
func (b *batch) take(m *member, d *store.Delta) error {
	im := b.image(m)
	if im == nil {
		if d.Stack == nil { // the delta is then empty, as checked before
			return nil
		}
		if b.images[d.Stack.Key] != nil {
			return memberError{fmt.Errorf("stack %q: its key is another one's", d.Stack.ID)}
		}
		im = newImage()
		im.All = true
	}
	if n := im.Unknown(d); !n.Nothing() {
		if err := b.more(im, n); err != nil {
			return err
		}
	}
	c, err := im.encode(b.store.codec, d)
	if err != nil {
		return memberError{err}
	}
	if err := b.takeExports(im, d); err != nil {
		return err
	}
	im.Take(d)
	im.changes.add(c)
	b.ids = append(b.ids, c.ids...)
	b.images[im.Stack.Key] = im
	if d.Stack != nil {
		name := store.StackName{Account: d.Stack.Account, Region: d.Stack.Region, Name: d.Stack.Name}
		if d.Stack.Live {
			b.names[name] = d.Stack.Key
		} else if b.names[name] == d.Stack.Key {
			b.names[name] = 0
		}
	}
	return nil
}

// commit writes the changes and ends the transaction. It reports whether an error occurred during the commit itself.
func (b *batch) commit(number int64) (committing bool, err error) {
	var changed []store.StackKey
	for key, im := range b.images {
		if !im.changes.nothing() {
			changed = append(changed, key)
		}
	}
	trip := &pgx.Batch{}
	if len(changed) == 0 { // either the images were current, or this fails
		trip.Queue("ROLLBACK")
		return false, b.send(trip)
	}
	b.wrote = true
	slices.Sort(changed)
	unwarned(b.conn)
	b.queueTurns(trip, changed)
	conflicts := int64(0)
	made := b.queueWrites(trip, func(n int64) { conflicts += n })
	trip.Queue(markBatch, b.store.clock(), b.writer.number, number)
	if made { // another node may have taken a name or changed a row that a decision relied on: check before the commit
		if err := b.send(trip); err != nil {
			return false, err
		}
		if conflicts != 0 {
			return false, fmt.Errorf("%w: a name, id or key of a new stack, or an export, was taken or has changed", errConflict)
		}
		trip = &pgx.Batch{}
	}
	var outcome string
	trip.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		outcome = tag.String()
		return nil
	})
	if err := b.send(trip); err != nil {
		return true, err
	}
	if outcome != "COMMIT" {
		return false, fmt.Errorf("the transaction ended with %s", outcome)
	}
	return true, assured(b.conn)
}
