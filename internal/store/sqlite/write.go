package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/internal/store"
)

// Apply implements [store.Store].
func (s *Store) Apply(ctx context.Context, target store.Target, decide store.Decide) error {
	return s.write(ctx, func(tx *tx) error {
		var broken error // an error of the database, not of the decision
		var im *store.Image
		view, delta, err := store.Run(target, func(scope store.Scope) (v *store.View, err error) {
			v, im, err = tx.view(target, scope)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				broken = err
			}
			return v, err
		}, decide)
		if broken != nil {
			return broken
		}
		if err != nil {
			return memberError{err}
		}
		return tx.take(im, view, &delta)
	})
}

// take writes a delta, and applies it to the image of its stack.
func (t *tx) take(im *store.Image, view *store.View, d *store.Delta) error {
	made := im == nil
	if made {
		if d.Stack == nil { // the delta is then empty, as checked before
			return nil
		}
		im = store.NewImage()
		im.All = true
	} else if need := im.Unknown(d); !need.Nothing() {
		if err := t.load(im, need); err != nil && !errors.Is(err, store.ErrNotFound) { // put reports a missing row
			return err
		}
	}
	if err := t.put(im, view, d); err != nil {
		return err
	}
	im.Take(d)
	if made {
		t.images.Put(im.Stack.Key, im)
	}
	for i := range d.Requests {
		t.where.Put(d.Requests[i].ID, im.Stack.Key)
	}
	return nil
}

// put writes a delta. It writes the rows of a stack in the order in which a reader would look for them.
func (t *tx) put(im *store.Image, view *store.View, d *store.Delta) error {
	if d.Stack != nil {
		if err := t.putStack(d.Stack, view.Stack.Key == 0); err != nil {
			return err
		}
	}
	for i := range d.Revisions {
		if err := t.putRevision(&d.Revisions[i]); err != nil {
			return err
		}
	}
	if d.Operation != nil {
		if err := t.putOperation(d.Operation, &view.Operation); err != nil {
			return err
		}
	}
	if d.DropSteps {
		if _, err := t.exec("DELETE FROM step_plan WHERE seq IN (SELECT seq FROM step WHERE stack = ?)", view.Stack.Key); err != nil {
			return err
		}
		if _, err := t.exec("DELETE FROM step WHERE stack = ?", view.Stack.Key); err != nil {
			return err
		}
	}
	for i := range d.Steps {
		if err := t.putStep(&d.Steps[i]); err != nil {
			return err
		}
	}
	highest := 0
	for i := range d.Instances {
		row := &d.Instances[i]
		before, there := im.Instance(row.Number)
		same := there && row.Number > highest && before.Logical == row.Logical && before.Role == row.Role // and is not put twice
		if err := t.putInstance(row, there, same); err != nil {
			return err
		}
		highest = max(highest, row.Number)
	}
	for i := range d.Requests {
		if err := t.putRequest(&d.Requests[i]); err != nil {
			return err
		}
	}
	if len(d.ChangeSets)+len(d.DropChangeSets) > 0 {
		key := view.Stack.Key
		if d.Stack != nil {
			key = d.Stack.Key
		}
		if err := t.putChangeSets(key, d); err != nil {
			return err
		}
	}
	if err := t.putExports(view, d); err != nil {
		return err
	}
	return t.putHistory(view, d)
}

func (t *tx) putStack(r *store.Stack, insert bool) error {
	plain, values, err := t.store.codec.Encode(r)
	if err != nil {
		return err
	}
	if insert {
		_, err = t.exec("INSERT INTO stack (key, id, account, region, name, live, created, plain, vals) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			r.Key, r.ID, r.Account, r.Region, r.Name, r.Live, unix(r.Created), string(plain), string(values))
		return err
	}
	_, err = t.exec("UPDATE stack SET live = ?, created = ?, plain = ?, vals = ? WHERE key = ?",
		r.Live, unix(r.Created), string(plain), string(values), r.Key)
	return err
}

func (t *tx) putRevision(r *store.Revision) error {
	plain, values, err := t.store.codec.Encode(r)
	if err != nil {
		return err
	}
	template, err := t.putTemplate(r.Template)
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO revision (stack, number, template, plain, vals) VALUES (?, ?, ?, ?, ?)",
		r.Stack, r.Number, template, string(plain), string(values))
	return err
}

// putTemplate stores one copy of a text, and returns its row.
func (t *tx) putTemplate(text string) (int64, error) {
	hash := sha256.Sum256([]byte(text))
	if _, err := t.exec("INSERT INTO template (hash, text) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING", hash[:], []byte(text)); err != nil {
		return 0, err
	}
	return one(t.query, scanValue[int64], "SELECT seq FROM template WHERE hash = ?", hash[:])
}

// putOperation guards the row by its version: a row that another process has written since the view was read is a
// conflict.
func (t *tx) putOperation(r, before *store.Operation) error {
	plain, _, err := t.store.codec.Encode(r)
	if err != nil {
		return err
	}
	var written int64
	if before.Number == r.Number {
		written, err = t.exec("UPDATE operation SET version = ?, plain = ? WHERE stack = ? AND number = ? AND version = ?",
			r.Version, string(plain), r.Stack, r.Number, r.Version-1)
	} else {
		written, err = t.exec("INSERT INTO operation (stack, number, version, plain) VALUES (?, ?, ?, ?) ON CONFLICT (stack, number) DO NOTHING",
			r.Stack, r.Number, r.Version, string(plain))
	}
	if err == nil && written == 0 {
		err = errConflict
	}
	if err != nil {
		return err
	}
	for _, id := range r.NewIDs(before) {
		if _, err := t.exec("INSERT INTO operation_id (id, stack, number) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING", id, r.Stack, r.Number); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) putStep(r *store.Step) error {
	plain, _, err := t.store.codec.Encode(r)
	if err != nil {
		return err
	}
	change := func() (int64, error) {
		return t.exec("UPDATE step SET plain = ? WHERE stack = ? AND logical = ?", string(plain), r.Stack, r.Logical)
	}
	if r.Plan == nil {
		return isThere("step "+string(r.Logical), change)
	}
	plan, _, err := t.store.codec.Encode(r.Plan)
	if err != nil {
		return err
	}
	seq, err := t.insert("INSERT INTO step (stack, logical, plain) VALUES (?, ?, ?) ON CONFLICT (stack, logical) DO NOTHING", r.Stack, r.Logical, string(plain))
	if err != nil {
		return err
	}
	if seq != 0 {
		_, err = t.exec("INSERT INTO step_plan (seq, plain) VALUES (?, ?)", seq, string(plan))
		return err
	}
	if _, err := change(); err != nil {
		return err
	}
	_, err = t.exec("UPDATE step_plan SET plain = ? WHERE seq = (SELECT seq FROM step WHERE stack = ? AND logical = ?)", string(plan), r.Stack, r.Logical)
	return err
}

// putInstance writes an instance. The caller passes whether the row is known to exist, and whether its columns are
// unchanged. If they are, putInstance does not set the indexed ones: setting them to the same value costs as much as
// changing them.
func (t *tx) putInstance(r *store.Instance, there, same bool) error {
	plain, _, err := t.store.codec.Encode(r)
	if err != nil {
		return err
	}
	change := func() (int64, error) {
		if same {
			return t.exec("UPDATE instance SET plain = ? WHERE stack = ? AND number = ?", string(plain), r.Stack, r.Number)
		}
		return t.exec("UPDATE instance SET logical = ?, role = ?, plain = ? WHERE stack = ? AND number = ?",
			r.Logical, r.Role, string(plain), r.Stack, r.Number)
	}
	if r.Body == nil {
		return isThere(fmt.Sprint("instance ", r.Number), change)
	}
	body, values, err := t.store.codec.Encode(r.Body)
	if err != nil {
		return err
	}
	if !there {
		seq, err := t.insert("INSERT INTO instance (stack, number, logical, role, plain) VALUES (?, ?, ?, ?, ?) ON CONFLICT (stack, number) DO NOTHING",
			r.Stack, r.Number, r.Logical, r.Role, string(plain))
		if err != nil {
			return err
		}
		if seq != 0 {
			_, err = t.exec("INSERT INTO instance_body (seq, plain, vals) VALUES (?, ?, ?)", seq, string(body), string(values))
			return err
		}
	}
	if _, err := change(); err != nil {
		return err
	}
	_, err = t.exec("UPDATE instance_body SET plain = ?, vals = ? WHERE seq = (SELECT seq FROM instance WHERE stack = ? AND number = ?)",
		string(body), string(values), r.Stack, r.Number)
	return err
}

func (t *tx) putRequest(r *store.Request) error {
	plain, _, err := t.store.codec.Encode(r)
	if err != nil {
		return err
	}
	due := sql.NullInt64{Valid: !r.Due.IsZero()}
	if due.Valid {
		due.Int64 = unix(r.Due)
	}
	change := func() (int64, error) {
		return t.exec(
			"UPDATE request SET operation = ?, logical = ?, instance = ?, type = ?, state = ?, owner = ?, executor = ?, due = ?, plain = ? WHERE id = ? AND stack = ?",
			r.Operation, r.Logical, r.Instance, r.Type, r.State, r.Owner, r.Executor, due, string(plain), r.ID, r.Stack)
	}
	if r.Body == nil {
		return isThere("request "+string(r.ID), change)
	}
	body, values, err := t.store.codec.Encode(r.Body)
	if err != nil {
		return err
	}
	seq, err := t.insert(`INSERT INTO request (id, stack, operation, logical, instance, type, state, owner, executor, due, plain)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		r.ID, r.Stack, r.Operation, r.Logical, r.Instance, r.Type, r.State, r.Owner, r.Executor, due, string(plain))
	if err != nil {
		return err
	}
	if seq != 0 {
		_, err = t.exec("INSERT INTO request_body (seq, plain, vals) VALUES (?, ?, ?)", seq, string(body), string(values))
		return err
	}
	written, err := change()
	if err == nil && written == 0 {
		err = fmt.Errorf("request %s belongs to another stack", r.ID)
	}
	if err != nil {
		return err
	}
	_, err = t.exec("UPDATE request_body SET plain = ?, vals = ? WHERE seq = (SELECT seq FROM request WHERE id = ?)", string(body), string(values), r.ID)
	return err
}

func (t *tx) putHistory(view *store.View, d *store.Delta) error {
	key := view.Stack.Key
	if d.Stack != nil {
		key = d.Stack.Key
	}
	if len(d.Events) > 0 {
		events, err := json.Marshal(d.Events)
		if err != nil {
			return fmt.Errorf("encode events: %w", err)
		}
		_, err = t.exec("INSERT INTO event (stack, operation, number, events) VALUES (?, ?, ?, ?)", key, d.Operation.Number, d.Operation.Events, string(events))
		if err != nil {
			return err
		}
	}
	for _, audit := range d.Audit {
		entry, err := json.Marshal(audit)
		if err != nil {
			return fmt.Errorf("encode audit: %w", err)
		}
		if _, err := t.exec("INSERT INTO audit (stack, entry) VALUES (?, ?)", key, string(entry)); err != nil {
			return err
		}
	}
	return nil
}

// isThere changes the narrow part of a row whose body must already exist.
func isThere(what string, change func() (int64, error)) error {
	written, err := change()
	if err == nil && written != 1 {
		err = fmt.Errorf("%s is not there, and without its body it cannot be made", what)
	}
	return err
}
