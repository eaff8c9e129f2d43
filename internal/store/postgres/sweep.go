package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
)

// The parts of a sweep, in the order of a pass: stacks, rows of removed stacks, requests, templates.
const (
	sweepStacks = iota
	sweepRemains
	sweepRequests
	sweepTemplates
	sweepParts
)

const (
	// glance is the maximum number of stacks that a step checks if none of them has rows to remove.
	glance = 64
	// blocks is the number of blocks of the request table that a step reads.
	blocks = 32
)

// Sweep implements [store.Store]. It finds the rows of a stack that may be deleted without the stack's lock, and
// checks them again under the lock. It leaves a locked stack to the next pass.
func (s *Store) Sweep(ctx context.Context, keep store.Keep, from store.Cursor, limit int) (swept store.Swept, err error) {
	part, after := sweepStacks, ""
	if from != "" {
		first, second, _ := strings.Cut(string(from), ".")
		if part, err = strconv.Atoi(first); err != nil || part < 0 || part >= sweepParts {
			return store.Swept{}, fmt.Errorf("unknown place %q", from)
		}
		after = second
	}
	err = s.call(ctx, func() error {
		return s.again(ctx, func() (err error) {
			w := sweep{store: s, keep: keep, limit: max(limit, 1), after: after}
			if err := s.pool.QueryRow(ctx, "SELECT "+now, s.clock()).Scan(&w.now); err != nil {
				return err
			}
			switch part {
			case sweepStacks:
				err = w.stacks(ctx)
			case sweepRemains:
				err = w.remains(ctx)
			case sweepRequests:
				err = w.requests(ctx)
			case sweepTemplates:
				err = w.templates(ctx)
			}
			swept = store.Swept{Rows: w.rows}
			switch {
			case w.more:
				swept.Next = store.Cursor(strconv.Itoa(part) + "." + w.after)
			case part+1 < sweepParts:
				swept.Next = store.Cursor(strconv.Itoa(part+1) + ".")
			}
			return err
		})
	})
	if err != nil {
		return store.Swept{}, err
	}
	return swept, nil
}

// sweep is one step of a pass.
type sweep struct {
	store *Store
	keep  store.Keep
	limit int
	now   int64

	rows  int
	after string // where the part continues
	more  bool   // the part continues
}

func (w *sweep) time() time.Time { return fromUnix(w.now) }

// number returns the position at which a part continues whose positions are numbers.
func (w *sweep) number(first int64) int64 {
	if n, err := strconv.ParseInt(w.after, 10, 64); err == nil {
		return n
	}
	return first
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, text string, args ...any) (pgx.Rows, error)
}

// rowsOf returns every row of a query.
func rowsOf[T any](ctx context.Context, q querier, scan func(pgx.Row) (T, error), text string, args ...any) (list []T, err error) {
	rows, err := q.Query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return list, collect(rows, scan, func(row T) { list = append(list, row) })
}

// stacks checks stacks in the order of their keys, and removes the surplus rows of one of them.
func (w *sweep) stacks(ctx context.Context) error {
	after := w.number(0)
	keys, err := rowsOf(ctx, w.store.pool, scanValue[int64], "SELECT key FROM stack WHERE key > $1 ORDER BY key LIMIT $2", after, glance)
	if err != nil {
		return err
	}
	w.more = len(keys) == glance
	for _, key := range keys {
		found, err := w.surplus(ctx, w.store.pool, key, 1)
		if err != nil {
			return err
		}
		if found.empty() {
			after = key
			continue
		}
		w.more = true
		err = pgx.BeginFunc(ctx, w.store.pool, func(tx pgx.Tx) error {
			w.rows = 0
			free, err := rowsOf(ctx, tx, scanValue[int64], "SELECT key FROM stack WHERE key = $1 FOR NO KEY UPDATE SKIP LOCKED", key)
			if err != nil || len(free) == 0 {
				return err
			}
			found, err := w.surplus(ctx, tx, key, w.limit)
			if err == nil {
				err = w.remove(ctx, tx, key, found)
			}
			return err
		})
		if err != nil {
			return err
		}
		if w.rows == 0 {
			after = key // it is in use, or has changed since
		}
		break // the next step continues with it until no surplus is left
	}
	w.after = strconv.FormatInt(after, 10)
	return nil
}

// surplus is the part of a stack that can be removed. The zero surplus is empty.
type surplus struct {
	all                                     bool // the stack itself
	events                                  []store.EventCursor
	audit, operations, revisions, instances []int64
	changeSets                              []string
}

func (p *surplus) count() int {
	return len(p.events) + len(p.audit) + len(p.operations) + len(p.revisions) + len(p.instances) + len(p.changeSets)
}

func (p *surplus) empty() bool { return !p.all && p.count() == 0 }

// surplus finds up to limit rows of a stack that can be removed.
func (w *sweep) surplus(ctx context.Context, q querier, key int64, limit int) (p surplus, err error) {
	s := w.store
	// The values are not read, so nothing needs to be unsealed.
	stacks, err := rowsOf(ctx, q, func(rows pgx.Row) (row store.Stack, err error) {
		var plain []byte
		if err = rows.Scan((*int64)(&row.Key), &row.Live, &plain); err == nil {
			err = s.codec.Decode(&row, plain, nil)
		}
		return row, err
	}, "SELECT s.key, s.live, b.plain FROM stack s JOIN stack_body b ON b.key = s.key WHERE s.key = $1", key)
	if err != nil || len(stacks) == 0 {
		return p, err
	}
	operations, err := rowsOf(ctx, q, s.scanOperation,
		"SELECT "+operationColumns+" FROM operation o WHERE o.stack = $1 ORDER BY o.number DESC LIMIT 1", key)
	if err != nil || len(operations) == 0 {
		return p, err
	}
	stack, newest := &stacks[0], &operations[0]
	p.audit, err = rowsOf(ctx, q, scanValue[int64], `SELECT number FROM audit WHERE stack = $1 AND number <=
		(SELECT number FROM audit WHERE stack = $1 ORDER BY number DESC LIMIT 1 OFFSET $2) ORDER BY number LIMIT $3`, key, w.keep.Audit, limit)
	if err != nil {
		return p, err
	}
	if !stack.Live {
		if w.keep.StackOver(stack, newest, w.time()) {
			open, err := openRequests(ctx, q, key)
			p.all = !open // a stack with an open request stays until that is settled
			return p, err
		}
		return p, nil
	}
	if err := w.oldHistory(ctx, q, &p, newest, limit); err != nil || !newest.Phase.Final() {
		return p, err
	}
	p.revisions, err = rowsOf(ctx, q, scanValue[int64], "SELECT number::bigint FROM revision WHERE stack = $1 AND number <> ALL($2::int[]) ORDER BY number LIMIT $3",
		key, stack.Needs(newest), limit-p.count())
	if err != nil {
		return p, err
	}
	return p, w.oldInstances(ctx, q, &p, key, limit)
}

func openRequests(ctx context.Context, q querier, key int64) (bool, error) {
	open, err := rowsOf(ctx, q, scanValue[string], "SELECT id FROM request WHERE stack = $1 AND state <> 'settled' LIMIT 1", key)
	return len(open) > 0, err
}

// oldHistory finds surplus events, and the change sets and operations that go with them.
func (w *sweep) oldHistory(ctx context.Context, q querier, p *surplus, newest *store.Operation, limit int) error {
	scan := func(rows pgx.Row) (e store.EventCursor, err error) {
		err = rows.Scan(&e.Operation, &e.Number)
		return e, err
	}
	first, err := rowsOf(ctx, q, scan, "SELECT operation, number FROM event WHERE stack = $1 ORDER BY operation DESC, number DESC LIMIT 1 OFFSET $2",
		newest.Stack, w.keep.Events)
	if err == nil && len(first) > 0 { // the newest surplus event
		p.events, err = rowsOf(ctx, q, scan, `SELECT operation, number FROM event WHERE stack = $1 AND (operation, number) <= ($2, $3) AND operation < $4
			ORDER BY operation, number LIMIT $5`, newest.Stack, first[0].Operation, first[0].Number, newest.Number, limit-p.count())
	}
	if err != nil {
		return err
	}
	oldest, err := rowsOf(ctx, q, scanValue[int], "SELECT coalesce(min(operation), 0) FROM event WHERE stack = $1", newest.Stack)
	if err != nil {
		return err
	}
	// Remove a change set before its operation.
	sets, err := rowsOf(ctx, q, w.store.scanChangeSet, fromChangeSet+" WHERE c.stack = $1 ORDER BY c.number", newest.Stack)
	if err != nil {
		return err
	}
	for i := range sets {
		if p.count() < limit && w.keep.ChangeSetOver(&sets[i], newest, oldest[0], w.time()) {
			p.changeSets = append(p.changeSets, string(sets[i].ID))
		}
	}
	p.operations, err = rowsOf(ctx, q, scanValue[int64], "SELECT number::bigint FROM operation WHERE stack = $1 AND number < $2 ORDER BY number LIMIT $3",
		newest.Stack, min(newest.Number, oldest[0]), limit-p.count())
	return err
}

// oldInstances finds gone instances, unless a request is open, which may be about one of them.
func (w *sweep) oldInstances(ctx context.Context, q querier, p *surplus, key int64, limit int) error {
	scan := func(rows pgx.Row) (row store.Instance, err error) {
		var plain []byte
		if err = rows.Scan(&row.Number, (*string)(&row.Role), &plain); err == nil {
			err = w.store.codec.Decode(&row, plain, nil)
		}
		return row, err
	}
	// The gone instances that are too young are few: those of the last days.
	gone, err := rowsOf(ctx, q, scan, "SELECT number, role, plain FROM instance WHERE stack = $1 AND role = 'gone' ORDER BY number LIMIT $2", key, 4*limit+glance)
	if err != nil {
		return err
	}
	now := w.time()
	gone = slices.DeleteFunc(gone, func(i store.Instance) bool { return !w.keep.InstanceOver(&i, now) })
	if len(gone) == 0 {
		return nil
	}
	if open, err := openRequests(ctx, q, key); err != nil || open {
		return err
	}
	for _, i := range gone[:min(len(gone), limit-p.count())] {
		p.instances = append(p.instances, int64(i.Number))
	}
	return nil
}

// remove deletes the surplus. Queries no longer find a removed stack at once; its rows follow in later steps.
func (w *sweep) remove(ctx context.Context, tx pgx.Tx, key int64, p surplus) error {
	exec := func(counted bool, text string, args ...any) error {
		tag, err := tx.Exec(ctx, text, append([]any{key}, args...)...)
		if counted {
			w.rows += int(tag.RowsAffected())
		}
		return err
	}
	if p.all {
		err := exec(false, "INSERT INTO remains (stack) VALUES ($1) ON CONFLICT DO NOTHING")
		if err == nil {
			err = exec(false, "DELETE FROM stack_body WHERE key = $1")
		}
		if err == nil {
			err = exec(true, "DELETE FROM stack WHERE key = $1")
		}
		return err
	}
	if _, err := tx.Exec(ctx, setTurns, []int64{key}, newNumber()); err != nil {
		return err
	}
	var events [2][]int32
	for _, e := range p.events {
		events[0], events[1] = append(events[0], int32(e.Operation)), append(events[1], int32(e.Number))
	}
	for _, d := range []struct {
		rows    int
		counted bool
		text    string
		args    []any
	}{
		{len(p.events), true, "DELETE FROM event e USING unnest($2::int[], $3::int[]) u (operation, number) " +
			"WHERE e.stack = $1 AND e.operation = u.operation AND e.number = u.number", []any{events[0], events[1]}},
		{len(p.audit), true, "DELETE FROM audit WHERE stack = $1 AND number = ANY($2)", []any{p.audit}},
		{len(p.changeSets), false, "DELETE FROM change_set_body b USING change_set c WHERE c.id = b.id AND c.stack = $1 AND c.id = ANY($2)", []any{p.changeSets}},
		{len(p.changeSets), true, "DELETE FROM change_set WHERE stack = $1 AND id = ANY($2)", []any{p.changeSets}},
		{len(p.operations), false, "DELETE FROM operation_id WHERE stack = $1 AND number = ANY($2)", []any{p.operations}},
		{len(p.operations), true, "DELETE FROM operation WHERE stack = $1 AND number = ANY($2)", []any{p.operations}},
		{len(p.revisions), true, "DELETE FROM revision WHERE stack = $1 AND number = ANY($2)", []any{p.revisions}},
		{len(p.instances), false, "DELETE FROM instance_body WHERE stack = $1 AND number = ANY($2)", []any{p.instances}},
		{len(p.instances), true, "DELETE FROM instance WHERE stack = $1 AND number = ANY($2)", []any{p.instances}},
	} {
		if d.rows > 0 {
			if err := exec(d.counted, d.text, d.args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// owned lists the tables whose rows of a removed stack are deleted, with the key of their rows. Bodies come first.
var owned = []struct{ table, key string }{
	{"step_plan", "logical"}, {"step", "logical"}, {"instance_body", "number"}, {"instance", "number"},
	{"event", "operation, number"}, {"audit", "number"}, {"operation_id", "id"}, {"operation", "number"}, {"revision", "number"},
}

// remains deletes rows of a removed stack. Its requests expire by their own age.
func (w *sweep) remains(ctx context.Context) error {
	return pgx.BeginFunc(ctx, w.store.pool, func(tx pgx.Tx) error {
		w.rows = 0
		left, err := rowsOf(ctx, tx, scanValue[int64], "SELECT stack FROM remains ORDER BY stack LIMIT 1 FOR UPDATE SKIP LOCKED")
		if err != nil || len(left) == 0 {
			return err
		}
		w.more = true
		run := func(text string) (bool, error) {
			tag, err := tx.Exec(ctx, text, left[0], w.limit-w.rows)
			w.rows += int(tag.RowsAffected())
			return w.rows < w.limit, err
		}
		// The body of a change set refers to its stack only through the set.
		statements := []string{
			"DELETE FROM change_set_body WHERE id IN (SELECT c.id FROM change_set c JOIN change_set_body b ON b.id = c.id WHERE c.stack = $1 LIMIT $2)",
			"DELETE FROM change_set WHERE id IN (SELECT id FROM change_set WHERE stack = $1 LIMIT $2)",
		}
		for _, o := range owned {
			statements = append(statements, "DELETE FROM "+o.table+" WHERE stack = $1 AND ("+o.key+") IN (SELECT "+o.key+" FROM "+o.table+" WHERE stack = $1 LIMIT $2)")
		}
		for _, statement := range statements {
			if room, err := run(statement); err != nil || !room {
				return err
			}
		}
		_, err = tx.Exec(ctx, "DELETE FROM remains WHERE stack = $1", left[0])
		return err
	})
}

// requests removes settled requests. It reads the table in physical order, a few blocks at a time, so that it needs no
// index. The next pass finds a row that moves meanwhile.
func (w *sweep) requests(ctx context.Context) error {
	block := w.number(0)
	var size int64
	err := w.store.pool.QueryRow(ctx, "SELECT pg_relation_size('request') / current_setting('block_size')::bigint").Scan(&size)
	if err != nil {
		return err
	}
	if block >= size || w.keep.Requests == store.Forever || block > math.MaxUint32-blocks {
		return nil
	}
	type aged struct {
		id  string
		row store.Request
	}
	scan := func(rows pgx.Row) (a aged, err error) {
		var plain []byte
		if err = rows.Scan(&a.id, (*string)(&a.row.State), &plain); err == nil {
			err = w.store.codec.Decode(&a.row, plain, nil)
		}
		return a, err
	}
	page, err := rowsOf(ctx, w.store.pool, scan, "SELECT id, state, plain FROM request WHERE ctid >= $1::tid AND ctid < $2::tid AND state = 'settled' AND born < $3",
		fmt.Sprintf("(%d,0)", block), fmt.Sprintf("(%d,0)", block+blocks), w.now-w.keep.Requests.Milliseconds())
	if err != nil {
		return err
	}
	var gone []string
	for i := range page {
		if len(gone) < w.limit && w.keep.RequestOver(&page[i].row, w.time()) {
			gone = append(gone, page[i].id)
		}
	}
	w.more = true
	if len(gone) == 0 {
		w.after = strconv.FormatInt(block+blocks, 10)
		return nil
	}
	w.after = strconv.FormatInt(block, 10) // there may be more
	slices.Sort(gone)
	return pgx.BeginFunc(ctx, w.store.pool, func(tx pgx.Tx) error {
		// Skip a row that a late answer has locked, so that the others need not wait for it.
		free, err := rowsOf(ctx, tx, scanValue[string], "SELECT id FROM request WHERE id = ANY($1) AND state = 'settled' ORDER BY id FOR UPDATE SKIP LOCKED", gone)
		if err != nil {
			return err
		}
		if len(free) == 0 {
			w.after = strconv.FormatInt(block+blocks, 10)
			return nil
		}
		if _, err := tx.Exec(ctx, "DELETE FROM request_body WHERE id = ANY($1)", free); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, "DELETE FROM request WHERE id = ANY($1)", free)
		w.rows = int(tag.RowsAffected())
		return err
	})
}

// templates removes the texts that no revision and no change set uses.
func (w *sweep) templates(ctx context.Context) error {
	after, err := hex.DecodeString(w.after)
	if err != nil {
		return errors.New("unknown place")
	}
	page, err := rowsOf(ctx, w.store.pool, scanValue[[]byte], "SELECT hash FROM template WHERE hash > $1 ORDER BY hash LIMIT $2", after, w.limit)
	if err != nil || len(page) == 0 {
		return err
	}
	w.more, w.after = len(page) == w.limit, hex.EncodeToString(page[len(page)-1])
	const idle = ` AND NOT EXISTS (SELECT FROM revision r WHERE r.template = t.hash) AND NOT EXISTS (SELECT FROM change_set_body b WHERE b.template = t.hash)`
	return pgx.BeginFunc(ctx, w.store.pool, func(tx pgx.Tx) error {
		// A transaction that is about to use a template locks it until the second statement can see the use.
		free, err := rowsOf(ctx, tx, scanValue[[]byte], "SELECT hash FROM template t WHERE hash = ANY($1)"+idle+" ORDER BY hash FOR UPDATE SKIP LOCKED", page)
		if err != nil || len(free) == 0 {
			return err
		}
		tag, err := tx.Exec(ctx, "DELETE FROM template t WHERE hash = ANY($1)"+idle, free)
		w.rows = int(tag.RowsAffected())
		return err
	})
}
