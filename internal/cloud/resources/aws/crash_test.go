package aws_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// rows is a store that dies before or after a write, and fails from then on.
type rows struct {
	store.Store
	// left counts down the writes to the one at which it dies. 0 means never. after means that this write is stored.
	left  int
	after bool
	dead  bool
}

var errDead = errors.New("the store is dead")

func (r *rows) write(do func() error) error {
	if r.dead {
		return errDead
	}
	if r.left--; r.left == 0 {
		r.dead = true
		if r.after {
			if err := do(); err != nil {
				return err
			}
		}
		return errDead
	}
	return do()
}

func (r *rows) Entry(ctx context.Context, key store.EntryKey) (store.Entry, error) {
	if r.dead {
		return store.Entry{}, errDead
	}
	return r.Store.Entry(ctx, key)
}

func (r *rows) PutEntry(ctx context.Context, entry store.Entry) (version int64, err error) {
	err = r.write(func() (err error) {
		version, err = r.Store.PutEntry(ctx, entry)
		return err
	})
	return version, err
}

func (r *rows) DropEntry(ctx context.Context, key store.EntryKey, version int64) error {
	return r.write(func() error { return r.Store.DropEntry(ctx, key, version) })
}

func (r *rows) Parameter(ctx context.Context, key store.ParameterKey, version int64) (store.Parameter, error) {
	if r.dead {
		return store.Parameter{}, errDead
	}
	return r.Store.Parameter(ctx, key, version)
}

func (r *rows) PutParameter(ctx context.Context, p store.Parameter, overwrite bool) (version int64, err error) {
	err = r.write(func() (err error) {
		version, err = r.Store.PutParameter(ctx, p, overwrite)
		return err
	})
	return version, err
}

func (r *rows) DeleteParameter(ctx context.Context, key store.ParameterKey) error {
	return r.write(func() error { return r.Store.DeleteParameter(ctx, key) })
}

// request returns a request for the resource X of the stack S.
func (w *world) request(kind wire.RequestType, resourceType, properties, old, id string) *store.Request {
	w.t.Helper()
	parse := func(text string) value.Value {
		v, err := value.Parse([]byte("{" + strings.ReplaceAll(text, `{"Ref": "Secret"}`, `"hunter2&more"`) + "}"))
		w.must(err)
		return w.types.Schema(resourceType).Normal(v)
	}
	r := &store.Request{ID: wire.RequestID("request-" + string(kind)), Logical: "X", Type: kind, Body: &store.RequestBody{
		StackID: wire.NewStackID(region, account, "S", "0"), Region: region, ResourceType: resourceType,
		PhysicalID: wire.PhysicalID(id), Properties: parse(properties),
	}}
	if kind == wire.Update {
		r.Body.OldProperties = parse(old)
	}
	return r
}

// serve serves a request that must succeed.
func (w *world) serve(r *store.Request) native.Result {
	w.t.Helper()
	result, err := w.types.Serve(w.ctx, r)
	if err != nil {
		w.t.Fatalf("%s: %v", r.Type, err)
	}
	return result
}

// TestCrashes kills the program at every write of a create, an update and a delete. After the request is served
// again, the state is the same as without the crash.
func TestCrashes(t *testing.T) {
	died := 0
	for _, l := range lives() {
		if l.alike {
			continue
		}
		for _, kind := range []wire.RequestType{wire.Create, wire.Update, wire.Delete} {
			for _, after := range []bool{false, true} {
				for at := 1; ; at++ {
					fired := false
					t.Run(fmt.Sprintf("%s of %s, at write %d, on disk %t", kind, l.resourceType, at, after), func(t *testing.T) {
						fired = l.crash(newWorld(t), kind, at, after)
					})
					if !fired {
						break
					}
					died++
				}
			}
		}
	}
	if died < 60 {
		t.Errorf("the program died only %d times", died)
	}
}

// crash reports whether there was a write to crash at.
func (l life) crash(w *world, kind wire.RequestType, at int, after bool) bool {
	t := w.t
	if l.prepare != nil {
		l.prepare(w)
	}
	if kind == wire.Update && l.changed == "" {
		return false
	}
	id, want := "", l.is
	r := w.request(wire.Create, l.resourceType, l.first, "", "")
	if kind != wire.Create {
		id = string(w.serve(r).PhysicalID)
		r = w.request(kind, l.resourceType, l.first, "", id)
	}
	switch kind {
	case wire.Update:
		r, want = w.request(kind, l.resourceType, l.changed, l.first, id), l.becomes
	case wire.Delete:
		want = ""
	case wire.Create, wire.Read, wire.Plan:
	}
	w.rows.left, w.rows.after = at, after
	_, err := w.types.Serve(w.ctx, r)
	fired := w.rows.dead
	if fired != (err != nil) {
		t.Errorf("dead %t, error %v", fired, err)
	}
	w.rows.left, w.rows.dead = 0, false
	again := w.serve(r)
	if kind == wire.Create {
		id = string(again.PhysicalID)
	}
	if got := l.look(w, id); got != want {
		t.Errorf("there is %q, want %q", got, want)
	}
	w.serve(w.request(wire.Delete, l.resourceType, l.first, "", id))
	if got := l.look(w, id); got != "" {
		t.Errorf("after its delete there is %q", got)
	}
	if left := append(w.records(home), w.records(identities)...); len(left) > 0 {
		t.Errorf("what is left on record: %q", left)
	}
	return fired
}

// TestInterruptedDeleteOfTopic checks that a Delete interrupted after it removed the topic removes the subscriptions when
// it is served again.
func TestInterruptedDeleteOfTopic(t *testing.T) {
	w := newWorld(t)
	declared := `"Subscription": [{"Protocol": "https", "Endpoint": "https://127.0.0.1:1/"}]`
	id := string(w.serve(w.request(wire.Create, "AWS::SNS::Topic", declared, "", "")).PhysicalID)
	w.must(w.catalog.Topics.Delete(w.ctx, home, id[strings.LastIndexByte(id, ':')+1:], 0))
	w.serve(w.request(wire.Delete, "AWS::SNS::Topic", declared, "", id))
	if left, err := w.topics.AllSubscriptions(w.ctx, home, "", 10); err != nil || len(left) > 0 {
		t.Errorf("what is left: %v, %v", left, err)
	}
	w.serve(w.request(wire.Delete, "AWS::SNS::Topic", declared, "", "s-Topic-123456789012"))
}
