package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Batched is a store whose batches are controlled by a test.
type Batched struct {
	store.Store
	// Hold keeps the only writer busy until release is called, so that all members queued meanwhile become one batch.
	Hold func(t *testing.T) (release func())
	// Queued returns the number of members that wait behind a held writer.
	Queued func() int
	// Rest clears the store's in-memory caches, as it does when it is idle.
	Rest func(t *testing.T)
	// Reopen closes the store and opens it again, on the same database.
	Reopen func(t *testing.T) store.Store
	// Again returns how often a batch ran again from the start because its views were outdated; nil means never.
	Again func() int
}

// AgainstMemory gives random decisions to a store, many in a batch, and to a memory store, one after the other. Every
// decision must see the same view, and the rows must be equal at the end and after reopening. Both stores are opened
// for each seed, with a clock. A failure names its seed.
func AgainstMemory(t *testing.T, memory func(t *testing.T, clock func() time.Time) store.Store, open func(t *testing.T, clock func() time.Time) Batched) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	seeds := 8
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			clock := func() time.Time { return now }
			against(t, uint64(seed), memory(t, clock), open(t, clock))
		})
	}
}

func against(t *testing.T, seed uint64, want store.Store, got Batched) {
	random := rand.New(rand.NewPCG(seed, 7))
	never := func() int { return 0 }
	if got.Again == nil {
		got.Again = never
	}
	for key := 1; key < stacks; key++ { // a move creates the last one
		for _, s := range []store.Store{want, got} {
			name := fmt.Sprint("stack-", key)
			d := made(store.StackKey(key), name, "arn:"+name)
			for n := range 6 {
				d.Requests = append(d.Requests, store.Request{ID: moveRequest(key, n), Stack: d.Stack.Key, Operation: 1, Logical: "A", Instance: 1,
					Type: "Create", State: store.RequestSettled, Created: time.Unix(int64(n), 0).UTC(), Body: &store.RequestBody{}})
			}
			target := store.Target{Name: store.StackName{Account: "1", Region: "r", Name: name}}
			if err := s.Apply(context.Background(), target, func(*store.View) (store.Delta, error) { return d, nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 6 {
		var moves []*move
		byName := random.IntN(2) == 0 // a batch without names may be decided before any query
		for range 1 + random.IntN(24) {
			moves = append(moves, newMove(random, byName))
		}
		for _, m := range moves {
			m.want = m.run(want, never)
		}
		release := got.Hold(t)
		var results []<-chan []any
		for _, m := range moves {
			result, before := make(chan []any, 1), got.Queued()
			go func() { result <- m.run(got, got.Again) }()
			results = append(results, result)
			for got.Queued() == before && len(result) == 0 { // a missing stack is reported at once
				runtime.Gosched()
			}
		}
		release()
		for i, m := range moves {
			if diff := cmp.Diff(m.want, <-results[i], cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("move %d of the batch, %+v, saw another world (-memory +this):\n%s", i, m.target, diff)
			}
		}
		if random.IntN(3) == 0 {
			got.Rest(t)
		}
	}
	compare := func(s store.Store, which string) {
		for key := store.StackKey(1); key <= stacks; key++ {
			if diff := cmp.Diff(state(t, want, key), state(t, s, key), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("stack %d %s (-memory +this):\n%s", key, which, diff)
			}
		}
	}
	compare(got, "at the end")
	compare(got.Reopen(t), "read anew")
}

func made(key store.StackKey, name, id string) store.Delta {
	return store.Delta{
		Stack:     &store.Stack{Key: key, ID: wire.StackID(id), Account: "1", Region: "r", Name: name, Live: true, Revision: 1},
		Operation: &store.Operation{Stack: key, Number: 1, Version: 1, To: 1},
		Revisions: []store.Revision{{Stack: key, Number: 1, Template: "template of " + name}},
	}
}

const stacks = 3

// move is a random decision: the same rolls lead to the same decision on the same view.
type move struct {
	target store.Target
	rolls  [2]uint64
	want   []any
}

func newMove(random *rand.Rand, byName bool) *move {
	m := &move{rolls: [2]uint64{random.Uint64(), random.Uint64()}}
	key := 1 + random.IntN(stacks)
	switch n := random.IntN(5); {
	case n == 0 && byName:
		m.target.Name = store.StackName{Account: "1", Region: "r", Name: fmt.Sprint("stack-", key)}
	case n <= 1:
		m.target.Stack = store.StackKey(key)
	case n == 2:
		m.target.Request, m.target.Alone = moveRequest(key, random.IntN(6)), true
	default:
		m.target.Request = moveRequest(key, random.IntN(6))
	}
	return m
}

func moveRequest(key, n int) wire.RequestID { return wire.RequestID(fmt.Sprintf("r%d-%d", key, n)) }

// run applies the move and returns all that it saw, and its result.
func (m *move) run(s store.Store, again func() int) []any {
	var saw []any
	run := again()
	err := s.Apply(context.Background(), m.target, func(v *store.View) (store.Delta, error) {
		if now := again(); now != run { // discard earlier views
			run, saw = now, nil
		}
		random := rand.New(rand.NewPCG(m.rolls[0], m.rolls[1]))
		saw = append(saw, *v)
		if v.Stack.Key != 0 && random.IntN(8) == 0 {
			return store.Delta{}, errors.New("odd")
		}
		if v.Stack.Key != 0 && !v.Whole && random.IntN(3) == 0 && len(saw) < 3 {
			return store.Delta{}, &store.More{Whole: random.IntN(4) == 0, Steps: []wire.LogicalID{moveLogical(random), wire.LogicalID(fmt.Sprint("More", len(saw)))}}
		}
		if v.Exports == nil && len(saw) < 4 && random.IntN(2) == 0 {
			return store.Delta{}, &store.More{Exports: moveExports, Others: []store.StackName{
				{Account: "1", Region: "r", Name: fmt.Sprint("stack-", 1+random.IntN(stacks))},
			}}
		}
		d := decideMove(random, v, m.target)
		if v.Exports != nil {
			moveExport(random, v, &d)
		}
		return d, nil
	})
	if err != nil {
		saw = append(saw, err.Error())
	}
	return saw
}

var moveExports = []string{"e0", "e1", "e2", "e3"}

// moveExport adds random valid exports and imports.
func moveExport(random *rand.Rand, v *store.View, d *store.Delta) {
	own := v.Stack
	if d.Stack != nil {
		own = *d.Stack
	}
	if random.IntN(2) == 0 {
		exports := []store.Export{}
		for _, name := range moveExports {
			if e := v.Exports[name]; len(e.Importers) > 0 && e.Stack == own.Key || (e.Stack == 0 || e.Stack == own.Key) && random.IntN(2) == 0 {
				exports = append(exports, store.Export{Name: name, Output: fmt.Sprint("O", random.IntN(3))})
			}
		}
		d.Exports = &exports
		own.OutputValues = value.Object(value.Member{Key: "O0", Value: value.Str(fmt.Sprint(random.IntN(3)))}, value.Member{Key: "O1", Value: value.SecretStr("s")})
		d.Stack = &own
	}
	if random.IntN(2) == 0 {
		imports := []string{}
		for _, name := range moveExports {
			if e := v.Exports[name]; e.Stack != 0 && e.Stack != own.Key && random.IntN(2) == 0 {
				imports = append(imports, name)
			}
		}
		d.Imports = &imports
	}
}

func moveLogical(random *rand.Rand) wire.LogicalID {
	return []wire.LogicalID{"A", "B", "C", "D", "E"}[random.IntN(5)]
}

func decideMove(random *rand.Rand, v *store.View, target store.Target) (d store.Delta) {
	key := v.Stack.Key
	if key == 0 {
		_, _ = fmt.Sscanf(target.Name.Name, "stack-%d", &key)
		d = made(key, target.Name.Name, "arn:"+target.Name.Name)
	} else if random.IntN(2) == 0 {
		o := v.Operation
		o.Version++
		if random.IntN(6) == 0 && v.Whole {
			o.Number, o.Version, o.Events = o.Number+1, 1, 0
			d.Revisions = []store.Revision{{Stack: key, Number: o.Number, Template: fmt.Sprint("t", o.Number%3)}}
			o.From, o.To, o.ID, o.RollbackID = o.To, o.Number, fmt.Sprint("id-", random.IntN(9)), ""
		}
		if random.IntN(6) == 0 {
			o.RollbackID = fmt.Sprint("id-", random.IntN(9))
		}
		if random.IntN(2) == 0 {
			o.Events++
			d.Events = []store.Event{{ID: fmt.Sprint(o.Number, ".", o.Events)}}
		}
		d.Operation = &o
	}
	if random.IntN(4) == 0 && key != 0 && v.Stack.Key != 0 {
		s := v.Stack
		s.Reason = fmt.Sprint(random.IntN(100))
		d.Stack = &s
	}
	d.DropSteps = random.IntN(8) == 0
	for range random.IntN(4) {
		name := moveLogical(random)
		step, there := v.Steps[name]
		step.Stack, step.Logical, step.State, step.Next = key, name, store.StepRunning, []wire.LogicalID{moveLogical(random), moveLogical(random)}
		if step.Plan = nil; !there || d.DropSteps || random.IntN(2) == 0 {
			step.Plan = &store.StepPlan{Type: fmt.Sprint("T", random.IntN(9)), OldNeeds: []wire.LogicalID{moveLogical(random)}, NewNeeds: []wire.LogicalID{moveLogical(random)}}
		}
		d.Steps = append(d.Steps, step)
	}
	for range random.IntN(3) {
		number := 1 + random.IntN(6)
		row, there := v.Instances[number]
		row.Stack, row.Number, row.Logical = key, number, moveLogical(random)
		row.Role = []store.Role{store.RoleCurrent, store.RoleCondemned, store.RoleGone}[random.IntN(3)]
		if row.Body = nil; !there || random.IntN(2) == 0 {
			row.Body = &store.InstanceBody{Type: fmt.Sprint("I", random.IntN(9)), Data: value.Object(value.Member{Key: "a", Value: value.SecretStr("s")})}
		}
		d.Instances = append(d.Instances, row)
	}
	for range random.IntN(4) {
		if key == stacks { // a caller answers a request only after the commit that created it
			break
		}
		n := random.IntN(6)
		id := moveRequest(int(key), n)
		row, there := v.Requests[id]
		if target.Request == id && v.Request != nil {
			row, there = *v.Request, true
		}
		row.ID, row.Stack, row.Operation, row.Logical, row.Instance, row.Type = id, key, 1, moveLogical(random), 1, "Create"
		row.Owner, row.Due, row.Created = 0, time.Time{}, time.Unix(int64(n), 0).UTC()
		switch random.IntN(3) {
		case 0:
			row.State, row.Owner = store.RequestReady, 7
		case 1:
			row.State, row.Due = store.RequestWaiting, v.Now.Add(time.Hour)
		default:
			row.State = store.RequestSettled
		}
		if row.Body = nil; !there || random.IntN(2) == 0 {
			row.Body = &store.RequestBody{Region: fmt.Sprint("region-", random.IntN(9)), Properties: value.Object()}
		}
		d.Requests = append(d.Requests, row)
	}
	if v.Stack.Key != 0 && v.Whole && random.IntN(2) == 0 {
		id := store.ChangeSetID(fmt.Sprint(key, "-", random.IntN(4)))
		if random.IntN(3) == 0 {
			d.DropChangeSets = []store.ChangeSetID{id}
		}
		set, there := v.ChangeSets[id]
		set.ID, set.Stack, set.Name, set.State, set.Description = id, key, fmt.Sprint("n", random.IntN(6)), store.ChangeSetAvailable, fmt.Sprint(random.IntN(99))
		for other, row := range v.ChangeSets {
			if other != id && row.Name == set.Name {
				set.Name = string(id)
			}
		}
		if set.Body = nil; !there || len(d.DropChangeSets) > 0 || random.IntN(2) == 0 {
			set.Body = &store.ChangeSetBody{Revision: store.Revision{Template: fmt.Sprint("t", random.IntN(3)), Parameters: value.Object()}}
		}
		if random.IntN(4) > 0 {
			d.ChangeSets = []store.ChangeSet{set}
		}
	}
	if random.IntN(5) == 0 {
		d.Audit = []store.Audit{{Text: fmt.Sprint(random.IntN(100))}, {Text: "second"}}
	}
	return d
}

// state returns everything about a stack.
func state(t *testing.T, s store.Store, key store.StackKey) []any {
	t.Helper()
	ctx := context.Background()
	var all []any
	if err := s.Apply(ctx, store.Target{Stack: key}, func(v *store.View) (store.Delta, error) {
		all = append(all, *v)
		return store.Delta{}, nil
	}); err != nil {
		all = append(all, err.Error())
	}
	events, err := s.Events(ctx, key, store.EventCursor{}, 1000)
	all = append(all, fmt.Sprint(events, err))
	sets, err := s.ChangeSets(ctx, key)
	all = append(all, sets, fmt.Sprint(err))
	for n := range 4 {
		set, err := s.ChangeSet(ctx, store.ChangeSetID(fmt.Sprint(key, "-", n)))
		all = append(all, set, fmt.Sprint(err))
	}
	audit, err := s.Audit(ctx, key, 1000)
	all = append(all, fmt.Sprint(audit, err))
	exports, err := s.Exports(ctx, "1", "r", "", 100)
	all = append(all, exports, fmt.Sprint(err))
	for _, name := range moveExports {
		importers, err := s.Importers(ctx, "1", "r", name, "", 100)
		all = append(all, importers, fmt.Sprint(err))
	}
	for n := range 9 {
		stack, o, err := s.FindOperation(ctx, fmt.Sprint("id-", n))
		all = append(all, stack, o, fmt.Sprint(err))
	}
	for n := range 6 {
		r, err := s.Request(ctx, moveRequest(int(key), n))
		all = append(all, fmt.Sprintf("%+v %+v %v", r.State, r.Logical, err))
	}
	return all
}
