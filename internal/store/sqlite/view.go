package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/pintle-dev/pintle/internal/store"
)

const (
	requestByID     = "SELECT " + requestColumns + " FROM request r JOIN request_body b ON b.seq = r.seq WHERE r.id = ?"
	liveStackByID   = "SELECT " + stackColumns + " FROM stack s WHERE s.account = ? AND s.region = ? AND s.id = ? AND s.live = 1"
	stackByName     = "SELECT " + stackColumns + " FROM stack s WHERE s.account = ? AND s.region = ? AND s.name = ? AND s.live = 1"
	stackByKey      = "SELECT " + stackColumns + " FROM stack s WHERE s.key = ?"
	revision        = "SELECT " + revisionColumns + " FROM revision r JOIN template t ON t.seq = r.template WHERE r.stack = ? AND r.number = ?"
	newestOperation = "SELECT " + operationColumns + " FROM operation o WHERE o.stack = ? ORDER BY o.number DESC LIMIT 1"
	steps           = "SELECT " + stepColumns + " FROM step s JOIN step_plan p ON p.seq = s.seq WHERE s.stack = ?"
	instances       = "SELECT " + instanceColumns + " FROM instance i JOIN instance_body b ON b.seq = i.seq WHERE i.stack = ?"
	openOnes        = "SELECT " + requestColumns + " FROM request r JOIN request_body b ON b.seq = r.seq WHERE r.stack = ? AND r.state <> 'settled'"

	// of restricts a list of a stack's rows to those of some logical IDs.
	of         = "logical IN (SELECT value FROM json_each(?))"
	stepsOf    = steps + " AND s." + of
	livingOf   = instances + " AND i.role <> 'gone' AND i." + of
	openOnesOf = openOnes + " AND r." + of
)

// view returns exactly the rows that a decision on target may see, and the image of its stack. The image is nil if no
// stack has the target's name.
func (t *tx) view(target store.Target, scope store.Scope) (*store.View, *store.Image, error) {
	im, err := t.image(target)
	if errors.Is(err, store.ErrNotFound) && target.Name != (store.StackName{}) {
		v := store.EmptyView(scope.Whole)
		v.Now = t.store.time()
		return v, nil, t.fillOutside(v, target, scope)
	}
	if err != nil {
		return nil, nil, err
	}
	var other *store.Request // a request of another stack
	if target.Stack != 0 && target.Request != "" {
		if other, err = t.perhaps(im, &target); err != nil {
			return nil, nil, err
		}
	}
	for {
		v, need := im.View(target, scope)
		if need.Nothing() {
			v.Now = t.store.time()
			if other != nil {
				v.Request = other
			}
			return v, im, t.fillOutside(v, target, scope)
		}
		if err := t.load(im, need); err != nil {
			return nil, nil, err
		}
	}
}

// perhaps loads the request of a target that also names its stack. If the stack has no request with that ID, the target
// becomes the stack alone; if another stack has the request, it is returned.
func (t *tx) perhaps(im *store.Image, target *store.Target) (other *store.Request, err error) {
	if _, ok := im.Request(target.Request); ok {
		return nil, nil
	}
	row, err := one(t.query, t.store.scanRequest, requestByID, target.Request)
	switch {
	case errors.Is(err, store.ErrNotFound):
		target.Request = ""
		return nil, nil
	case err != nil:
		return nil, err
	case row.Stack != target.Stack:
		target.Request = ""
		return &row, nil
	}
	im.LoadRequest(row)
	return nil, nil
}

// image returns the image of a target's stack.
func (t *tx) image(target store.Target) (*store.Image, error) {
	key := target.Stack
	var own *store.Request
	switch {
	case target.Request != "" && key == 0:
		if known, ok := t.where.Get(target.Request); ok {
			return t.imageOf(known) // the view loads the request if the image lacks it
		}
		row, err := one(t.query, t.store.scanRequest, requestByID, target.Request)
		if err != nil {
			return nil, err
		}
		own, key = &row, row.Stack
		t.where.Put(row.ID, key)
	case target.Name != store.StackName{}:
		stack, err := one(t.query, t.store.scanStack, stackByName, target.Name.Account, target.Name.Region, target.Name.Name)
		if err != nil {
			return nil, err
		}
		key = stack.Key
	}
	im, err := t.imageOf(key)
	if err == nil && own != nil {
		im.LoadRequest(*own)
	}
	return im, err
}

// imageOf returns the image of a stack by its key.
func (t *tx) imageOf(key store.StackKey) (*store.Image, error) {
	if im, ok := t.images.Get(key); ok {
		return im, nil
	}
	im := store.NewImage()
	var err error
	if im.Stack, err = one(t.query, t.store.scanStack, stackByKey, key); err != nil {
		return nil, err
	}
	if im.Operation, err = one(t.query, t.store.scanOperation, newestOperation, key); err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	t.images.Put(key, im)
	return im, nil
}

// load loads the rows that an image lacks.
func (t *tx) load(im *store.Image, need store.Need) error {
	for _, number := range need.Revisions {
		if err := t.loadRevision(im, number); err != nil {
			return err
		}
	}
	for _, id := range need.Requests {
		row, err := one(t.query, t.store.scanRequest, requestByID, id)
		if err != nil {
			return err
		}
		im.LoadRequest(row)
	}
	key := im.Stack.Key
	if need.All {
		im.All = true
		return errors.Join(
			load(t, t.store.scanStep, im.LoadStep, steps, key), load(t, t.store.scanInstance, im.LoadInstance, instances, key),
			load(t, t.store.scanRequest, im.LoadRequest, openOnes, key), load(t, t.store.scanChangeSet, im.LoadChangeSet, changeSets, key))
	}
	if len(need.Steps) == 0 {
		return nil
	}
	for _, logical := range need.Steps {
		im.Near(logical)
	}
	list := array(need.Steps)
	return errors.Join(
		load(t, t.store.scanStep, im.LoadStep, stepsOf, key, list), load(t, t.store.scanInstance, im.LoadInstance, livingOf, key, list),
		load(t, t.store.scanRequest, im.LoadRequest, openOnesOf, key, list))
}

func (t *tx) loadRevision(im *store.Image, number int) error {
	r, ok := t.revisions.Get(im.Stack.Key, number)
	if !ok {
		var err error
		r, err = one(t.query, t.store.scanRevision, revision, im.Stack.Key, number)
		if errors.Is(err, store.ErrNotFound) {
			im.Revisions[number] = nil
			return nil
		}
		if err != nil {
			return err
		}
		t.revisions.Put(r)
	}
	im.Revisions[number] = &r
	return nil
}

// load passes every row of a query to put.
func load[T any](t *tx, scan func(*sql.Rows) (T, error), put func(T), text string, args ...any) error {
	list, err := all(t.query, scan, text, args...)
	for _, row := range list {
		put(row)
	}
	return err
}

// array returns a list as SQLite's json_each reads it.
func array[T any](list []T) string {
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings and integers only
	}
	return string(text)
}
