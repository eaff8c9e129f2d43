package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// view loads what a decision on target may see, and no more than that.
func (t *tx) view(target store.Target, scope store.Scope) (*store.View, error) {
	v := &store.View{
		Now: t.store.time(), Whole: scope.Whole, Revisions: make(map[int]store.Revision),
		Steps: make(map[wire.LogicalID]store.Step), Instances: make(map[int]store.Instance),
		Requests: make(map[wire.RequestID]store.Request),
	}
	if target.Request != "" {
		own, err := one(t.query, t.store.scanRequest, requestByID, target.Request)
		if err != nil {
			return nil, err
		}
		v.Request = &own
		if own.State != store.RequestSettled {
			shown, body := own, *own.Body
			shown.Body = &body
			v.Requests[own.ID] = shown
		}
		target.Stack = own.Stack
	}
	var err error
	if target.Stack != 0 {
		v.Stack, err = one(t.query, t.store.scanStack, "SELECT "+stackColumns+" FROM stack s WHERE s.key = ?", target.Stack)
	} else {
		v.Stack, err = one(t.query, t.store.scanStack, stackByName, target.Name.Account, target.Name.Region, target.Name.Name)
		if errors.Is(err, store.ErrNotFound) {
			return v, nil
		}
	}
	if err != nil {
		return nil, err
	}
	v.Operation, err = one(t.query, t.store.scanOperation,
		newestOperation, v.Stack.Key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if scope.Bare() {
		return v, nil
	}
	if err := t.loadRevisions(v); err != nil {
		return nil, err
	}
	if scope.Whole {
		return v, t.loadWhole(v)
	}
	return v, t.loadNear(v, scope)
}

const (
	requestByID     = "SELECT " + requestColumns + " FROM request r JOIN request_body b ON b.seq = r.seq WHERE r.id = ?"
	stackByName     = "SELECT " + stackColumns + " FROM stack s WHERE s.account = ? AND s.region = ? AND s.name = ? AND s.live = 1"
	revision        = "SELECT " + revisionColumns + " FROM revision r JOIN template t ON t.seq = r.template WHERE r.stack = ? AND r.number = ?"
	newestOperation = "SELECT " + operationColumns + " FROM operation o WHERE o.stack = ? ORDER BY o.number DESC LIMIT 1"
	steps           = "SELECT " + stepColumns + " FROM step s JOIN step_plan p ON p.seq = s.seq WHERE s.stack = ?"
	instances       = "SELECT " + instanceColumns + " FROM instance i JOIN instance_body b ON b.seq = i.seq WHERE i.stack = ?"
	openOnes        = "SELECT " + requestColumns + " FROM request r JOIN request_body b ON b.seq = r.seq WHERE r.stack = ? AND r.state <> 'settled'"
)

func (t *tx) loadRevisions(v *store.View) error {
	for _, number := range append([]int{v.Operation.From, v.Operation.To, v.Stack.Revision}, v.Operation.Tried...) {
		if _, ok := v.Revisions[number]; ok || number == 0 {
			continue
		}
		r, ok := t.revisions.Get(v.Stack.Key, number)
		if !ok {
			var err error
			r, err = one(t.query, t.store.scanRevision, revision, v.Stack.Key, number)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			t.revisions.Put(r)
		}
		v.Revisions[number] = r
	}
	return nil
}

func (t *tx) loadWhole(v *store.View) error {
	if err := load(t, t.store.scanStep, func(r store.Step) { v.Steps[r.Logical] = r }, steps, v.Stack.Key); err != nil {
		return err
	}
	if err := load(t, t.store.scanInstance, func(r store.Instance) { v.Instances[r.Number] = r }, instances, v.Stack.Key); err != nil {
		return err
	}
	if err := load(t, t.store.scanRequest, func(r store.Request) { v.Requests[r.ID] = r }, openOnes, v.Stack.Key); err != nil {
		return err
	}
	v.ChangeSets = make(map[store.ChangeSetID]store.ChangeSet)
	return load(t, t.store.scanChangeSet, func(r store.ChangeSet) { v.ChangeSets[r.ID] = r }, changeSets, v.Stack.Key)
}

// loadNear loads the steps in scope, those in their Next, and what the contract says comes with them.
func (t *tx) loadNear(v *store.View, scope store.Scope) error {
	centers := slices.Clone(scope.Steps)
	if scope.Own {
		centers = append(centers, v.Request.Logical)
	}
	if err := t.loadSteps(v, centers); err != nil {
		return err
	}
	loaded := make(map[wire.LogicalID]bool) // steps in scope, whether they are there or not
	for _, logical := range centers {
		loaded[logical] = true
	}
	var around []wire.LogicalID
	for _, logical := range centers {
		for _, next := range v.Steps[logical].Next {
			if !loaded[next] {
				loaded[next] = true
				around = append(around, next)
			}
		}
	}
	if err := t.loadSteps(v, around); err != nil {
		return err
	}
	near := maps.Clone(loaded)
	for _, step := range v.Steps {
		for _, need := range slices.Concat(step.Plan.OldNeeds, step.Plan.NewNeeds) {
			near[need] = true
		}
	}
	err := load(t, t.store.scanInstance, func(r store.Instance) { v.Instances[r.Number] = r },
		instances+" AND i.role <> 'gone' AND i.logical IN (SELECT value FROM json_each(?))", v.Stack.Key, array(slices.Collect(maps.Keys(near))))
	if err != nil {
		return err
	}
	return load(t, t.store.scanRequest, func(r store.Request) { v.Requests[r.ID] = r },
		openOnes+" AND r.logical IN (SELECT value FROM json_each(?))", v.Stack.Key, array(slices.Collect(maps.Keys(loaded))))
}

func (t *tx) loadSteps(v *store.View, logical []wire.LogicalID) error {
	if len(logical) == 0 {
		return nil
	}
	return load(t, t.store.scanStep, func(r store.Step) { v.Steps[r.Logical] = r },
		steps+" AND s.logical IN (SELECT value FROM json_each(?))", v.Stack.Key, array(logical))
}

// load puts every row of a query where it belongs.
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
