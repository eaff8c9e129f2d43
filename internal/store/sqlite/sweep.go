package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

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

// glance is the maximum number of stacks that a step checks if none of them has rows to remove.
const glance = 64

// Sweep implements [store.Store]. It finds the rows to delete on a read connection, and the writer checks them again
// before it deletes them. SQLite reuses the free pages; the file does not shrink.
func (s *Store) Sweep(ctx context.Context, keep store.Keep, from store.Cursor, limit int) (store.Swept, error) {
	part, after, err := parsePlace(from, sweepParts)
	if err != nil {
		return store.Swept{}, err
	}
	limit = max(limit, 1)
	var rows int
	var more bool // in this part
	switch part {
	case sweepStacks:
		rows, after, more, err = s.sweepStacks(ctx, keep, after, limit)
	case sweepRemains:
		rows, more, err = s.sweepRemains(ctx, limit)
	case sweepRequests:
		rows, after, more, err = s.sweepRequests(ctx, keep, after, limit)
	case sweepTemplates:
		rows, after, more, err = s.sweepTemplates(ctx, after, limit)
	}
	if err != nil {
		return store.Swept{}, err
	}
	swept := store.Swept{Rows: rows}
	switch {
	case more:
		swept.Next = place(part, after)
	case part+1 < sweepParts:
		swept.Next = place(part+1, 0)
	}
	return swept, nil
}

// owned lists the statements that delete the rows of a removed stack, in this order. Bodies come before the rows that
// lead to them.
var owned = []string{
	"DELETE FROM step_plan WHERE seq IN (SELECT seq FROM step WHERE stack = ?1 ORDER BY seq LIMIT ?2)",
	"DELETE FROM step WHERE seq IN (SELECT seq FROM step WHERE stack = ?1 ORDER BY seq LIMIT ?2)",
	"DELETE FROM instance_body WHERE seq IN (SELECT seq FROM instance WHERE stack = ?1 ORDER BY number LIMIT ?2)",
	"DELETE FROM instance WHERE seq IN (SELECT seq FROM instance WHERE stack = ?1 ORDER BY number LIMIT ?2)",
	"DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE stack = ?1 ORDER BY operation, number LIMIT ?2)",
	"DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE stack = ?1 ORDER BY seq LIMIT ?2)",
	"DELETE FROM change_set_body WHERE seq IN (SELECT seq FROM change_set WHERE stack = ?1 ORDER BY seq LIMIT ?2)",
	"DELETE FROM change_set WHERE seq IN (SELECT seq FROM change_set WHERE stack = ?1 ORDER BY seq LIMIT ?2)",
	"DELETE FROM operation_id WHERE id IN (SELECT id FROM operation_id WHERE stack = ?1 ORDER BY number LIMIT ?2)",
	"DELETE FROM operation WHERE seq IN (SELECT seq FROM operation WHERE stack = ?1 ORDER BY number LIMIT ?2)",
	"DELETE FROM revision WHERE seq IN (SELECT seq FROM revision WHERE stack = ?1 ORDER BY number LIMIT ?2)",
}

// sweepRemains deletes rows of a removed stack. Its requests expire by their own age.
func (s *Store) sweepRemains(ctx context.Context, limit int) (rows int, more bool, err error) {
	const next = "SELECT stack FROM remains ORDER BY stack LIMIT 1"
	_, err = readOne(ctx, s, scanValue[int64], next)
	if errors.Is(err, store.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	err = s.write(ctx, func(tx *tx) error {
		rows, more = 0, true
		tx.forget()
		stack, err := one(tx.query, scanValue[int64], next)
		if errors.Is(err, store.ErrNotFound) {
			more = false
			return nil
		}
		if err != nil {
			return err
		}
		for _, statement := range owned {
			gone, err := tx.exec(statement, stack, limit-rows)
			if err != nil {
				return err
			}
			if rows += int(gone); rows >= limit {
				return nil
			}
		}
		_, err = tx.exec("DELETE FROM remains WHERE stack = ?", stack)
		return err
	})
	return rows, more, err
}

// sweepStacks checks stacks in the order of their keys, and removes the surplus rows of one of them.
func (s *Store) sweepStacks(ctx context.Context, keep store.Keep, after int64, limit int) (rows int, last int64, more bool, err error) {
	found, err := read(ctx, s, func(query querier) (found bool, err error) {
		keys, err := all(query, scanValue[int64], "SELECT key FROM stack WHERE key > ? ORDER BY key LIMIT ?", after, glance)
		for _, key := range keys {
			w, err := s.surplus(query, keep, key, 1)
			if err != nil {
				return false, err
			}
			if !w.empty() {
				after = key - 1 // the next step continues with it until no surplus is left
				return true, nil
			}
			after = key
		}
		more = len(keys) == glance
		return false, err
	})
	if err != nil || !found {
		return 0, after, more, err
	}
	err = s.write(ctx, func(tx *tx) error {
		w, err := s.surplus(tx.query, keep, after+1, limit)
		if err == nil {
			tx.forget()
			rows, err = tx.remove(w, after+1)
		}
		return err
	})
	if rows == 0 {
		after++ // it has changed since
	}
	return rows, after, true, err
}

// surplus is the part of a stack that can be removed. The zero surplus is empty.
type surplus struct {
	all                                                         bool // the stack itself
	events, audit, operations, revisions, instances, changeSets []int64
}

func (w *surplus) empty() bool { return !w.all && len(w.lists()) == 0 }

// room returns the number of further rows that may be removed.
func (w *surplus) room(limit int) int {
	return limit - len(w.events) - len(w.audit) - len(w.operations) - len(w.revisions) - len(w.instances) - len(w.changeSets)
}

// lists returns the rows by table, without the empty lists.
func (w *surplus) lists() map[string][]int64 {
	lists := map[string][]int64{
		"event": w.events, "audit": w.audit, "operation": w.operations, "revision": w.revisions, "instance": w.instances,
		"change_set": w.changeSets,
	}
	for table, list := range lists {
		if len(list) == 0 {
			delete(lists, table)
		}
	}
	return lists
}

// appendage has the statements that delete rows which depend on rows of a table. They run first.
var appendage = map[string]string{
	"instance":   "DELETE FROM instance_body WHERE seq IN (SELECT value FROM json_each(?))",
	"change_set": "DELETE FROM change_set_body WHERE seq IN (SELECT value FROM json_each(?))",
	"operation":  "DELETE FROM operation_id WHERE (stack, number) IN (SELECT stack, number FROM operation WHERE seq IN (SELECT value FROM json_each(?)))",
}

// remove deletes the surplus. Queries no longer find a removed stack at once; its rows follow in later steps.
func (t *tx) remove(w surplus, key int64) (rows int, err error) {
	if w.all {
		if _, err := t.exec("INSERT INTO remains (stack) VALUES (?) ON CONFLICT (stack) DO NOTHING", key); err != nil {
			return 0, err
		}
		gone, err := t.exec("DELETE FROM stack WHERE key = ?", key)
		return int(gone), err
	}
	for table, list := range w.lists() {
		if first := appendage[table]; first != "" {
			if _, err := t.exec(first, array(list)); err != nil {
				return 0, err
			}
		}
		gone, err := t.exec("DELETE FROM "+table+" WHERE seq IN (SELECT value FROM json_each(?))", array(list))
		if err != nil {
			return 0, err
		}
		rows += int(gone)
	}
	return rows, nil
}

// surplus finds up to limit rows of a stack that can be removed.
func (s *Store) surplus(query querier, keep store.Keep, key int64, limit int) (w surplus, err error) {
	// The values are not read, so nothing needs to be unsealed.
	stack, err := one(query, func(rows *sql.Rows) (row store.Stack, err error) {
		var plain []byte
		if err = rows.Scan(&row.Key, &row.Live, &plain); err == nil {
			err = s.codec.Decode(&row, plain, nil)
		}
		return row, err
	}, "SELECT key, live, plain FROM stack WHERE key = ?", key)
	if errors.Is(err, store.ErrNotFound) {
		return w, nil
	}
	if err != nil {
		return w, err
	}
	newest, err := one(query, s.scanOperation, newestOperation, key)
	if errors.Is(err, store.ErrNotFound) {
		return w, nil
	}
	if err != nil {
		return w, err
	}
	w.audit, err = all(query, scanValue[int64], `SELECT seq FROM audit WHERE stack = ?1 AND seq <=
		(SELECT seq FROM audit WHERE stack = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2) ORDER BY seq LIMIT ?3`, key, keep.Audit, limit)
	if err != nil {
		return w, err
	}
	if !stack.Live {
		if keep.StackOver(&stack, &newest, s.time()) {
			open, err := openRequests(query, key)
			w.all = !open // a stack with an open request stays until that is settled
			return w, err
		}
		return w, nil
	}
	if err := s.oldEvents(query, &w, keep, &newest, limit); err != nil {
		return w, err
	}
	if !newest.Phase.Final() {
		return w, nil
	}
	if err := s.oldRevisions(query, &w, stack.Needs(&newest), key, limit); err != nil {
		return w, err
	}
	return w, s.oldInstances(query, &w, keep, key, limit)
}

func openRequests(query querier, key int64) (bool, error) {
	open, err := all(query, scanValue[int64], "SELECT seq FROM request WHERE stack = ? AND state <> 'settled' LIMIT 1", key)
	return len(open) > 0, err
}

// oldEvents finds surplus events, and the change sets and operations that go with them.
func (s *Store) oldEvents(query querier, w *surplus, keep store.Keep, newest *store.Operation, limit int) error {
	first, err := one(query, func(rows *sql.Rows) (e store.EventCursor, err error) {
		err = rows.Scan(&e.Operation, &e.Number)
		return e, err
	}, "SELECT operation, number FROM event WHERE stack = ? ORDER BY operation DESC, number DESC LIMIT 1 OFFSET ?", newest.Stack, keep.Events)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err == nil { // the newest surplus event
		w.events, err = all(query, scanValue[int64], `SELECT seq FROM event WHERE stack = ? AND (operation, number) <= (?, ?) AND operation < ?
			ORDER BY operation, number LIMIT ?`, newest.Stack, first.Operation, first.Number, newest.Number, w.room(limit))
		if err != nil {
			return err
		}
	}
	// Remove a change set before its operation.
	oldest, err := one(query, scanValue[int], "SELECT coalesce(min(operation), 0) FROM event WHERE stack = ?", newest.Stack)
	if err == nil {
		err = s.oldChangeSets(query, w, keep, newest, oldest, limit)
	}
	if err != nil {
		return err
	}
	w.operations, err = all(query, scanValue[int64], "SELECT seq FROM operation WHERE stack = ? AND number < ? ORDER BY number LIMIT ?",
		newest.Stack, min(newest.Number, oldest), w.room(limit))
	return err
}

// oldChangeSets finds expired change sets. A stack has few.
func (s *Store) oldChangeSets(query querier, w *surplus, keep store.Keep, newest *store.Operation, oldest, limit int) error {
	type old struct {
		seq int64
		row store.ChangeSet
	}
	scan := func(rows *sql.Rows) (o old, err error) {
		var plain []byte
		if err = rows.Scan(&o.seq, &plain); err == nil {
			err = s.codec.Decode(&o.row, plain, nil)
		}
		return o, err
	}
	list, err := all(query, scan, "SELECT seq, plain FROM change_set WHERE stack = ? ORDER BY seq", newest.Stack)
	for _, o := range list {
		if w.room(limit) > 0 && keep.ChangeSetOver(&o.row, newest, oldest, s.time()) {
			w.changeSets = append(w.changeSets, o.seq)
		}
	}
	return err
}

func (s *Store) oldRevisions(query querier, w *surplus, needs []int, key int64, limit int) (err error) {
	w.revisions, err = all(query, scanValue[int64], `SELECT seq FROM revision WHERE stack = ? AND number NOT IN (SELECT value FROM json_each(?))
		ORDER BY number LIMIT ?`, key, array(needs), w.room(limit))
	return err
}

// oldInstances finds gone instances, unless a request is open, which may be about one of them.
func (s *Store) oldInstances(query querier, w *surplus, keep store.Keep, key int64, limit int) error {
	type old struct {
		seq int64
		row store.Instance
	}
	scan := func(rows *sql.Rows) (o old, err error) {
		var plain []byte
		if err = rows.Scan(&o.seq, &o.row.Role, &plain); err == nil {
			err = s.codec.Decode(&o.row, plain, nil)
		}
		return o, err
	}
	// The gone instances that are too young are few: those of the last days.
	gone, err := all(query, scan, "SELECT seq, role, plain FROM instance WHERE stack = ? AND role = 'gone' ORDER BY number LIMIT ?", key, 4*limit+glance)
	if err != nil || len(gone) == 0 {
		return err
	}
	now := s.time()
	gone = slices.DeleteFunc(gone, func(o old) bool { return !keep.InstanceOver(&o.row, now) })
	if len(gone) == 0 {
		return nil
	}
	if open, err := openRequests(query, key); err != nil || open {
		return err
	}
	for _, o := range gone[:min(len(gone), w.room(limit))] {
		w.instances = append(w.instances, o.seq)
	}
	return nil
}

// sweepRequests removes settled requests, oldest first. An older request that still exists is not settled yet, or was
// settled only recently.
func (s *Store) sweepRequests(ctx context.Context, keep store.Keep, after int64, limit int) (rows int, last int64, more bool, err error) {
	type aged struct {
		seq int64
		row store.Request
	}
	scan := func(rows *sql.Rows) (a aged, err error) {
		var plain []byte
		if err = rows.Scan(&a.seq, &a.row.State, &plain); err == nil {
			err = s.codec.Decode(&a.row, plain, nil)
		}
		return a, err
	}
	page, err := readAll(ctx, s, scan, "SELECT seq, state, plain FROM request WHERE seq > ? ORDER BY seq LIMIT ?", after, limit)
	if err != nil || len(page) == 0 {
		return 0, after, false, err
	}
	now := s.time()
	var gone []int64
	for _, a := range page {
		if keep.RequestOver(&a.row, now) {
			gone = append(gone, a.seq)
		}
	}
	end := page[len(page)-1]
	more = len(page) == limit && !young(end.row.Created, now, keep.Requests)
	if len(gone) == 0 {
		return 0, end.seq, more, nil
	}
	err = s.write(ctx, func(tx *tx) error {
		rows = 0
		for _, statement := range []string{
			"DELETE FROM request_body WHERE seq IN (SELECT seq FROM request WHERE seq IN (SELECT value FROM json_each(?)) AND state = 'settled')",
			"DELETE FROM request WHERE seq IN (SELECT value FROM json_each(?)) AND state = 'settled'",
		} {
			removed, err := tx.exec(statement, array(gone))
			if err != nil {
				return err
			}
			rows = int(removed)
		}
		tx.forget()
		return nil
	})
	return rows, end.seq, more, err
}

// young reports whether a row that was created then, and so any later row, cannot have expired yet.
func young(made, now time.Time, kept time.Duration) bool {
	return kept == store.Forever || now.Sub(made) < kept
}

// sweepTemplates removes the texts that no revision and no change set uses.
func (s *Store) sweepTemplates(ctx context.Context, after int64, limit int) (rows int, last int64, more bool, err error) {
	page, err := readAll(ctx, s, scanValue[int64], "SELECT seq FROM template WHERE seq > ? ORDER BY seq LIMIT ?", after, limit)
	if err != nil || len(page) == 0 {
		return 0, after, false, err
	}
	last = page[len(page)-1]
	const unused = " FROM template WHERE seq > ? AND seq <= ? AND NOT EXISTS (SELECT 1 FROM revision r WHERE r.template = template.seq) " +
		"AND NOT EXISTS (SELECT 1 FROM change_set_body b WHERE b.template = template.seq)"
	idle, err := readAll(ctx, s, scanValue[int64], "SELECT seq"+unused+" LIMIT 1", after, last)
	if err != nil || len(idle) == 0 {
		return 0, last, len(page) == limit, err
	}
	err = s.write(ctx, func(tx *tx) error {
		gone, err := tx.exec("DELETE"+unused, after, last)
		rows = int(gone)
		return err
	})
	return rows, last, len(page) == limit, err
}
