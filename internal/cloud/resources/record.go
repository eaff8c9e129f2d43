package resources

import (
	"context"
	"errors"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

// RecordType is a resource type that Pintle only records: no client reads it, or no local service enforces it.
type RecordType struct {
	Table
	// Global means that names are unique across all regions of an account.
	Global bool
	// ID returns the physical ID for a Create.
	ID func(c *Call) string
	// Lenient is a boolean property. If it is true, a Create accepts an existing object with that name unchanged, and
	// an Update leaves it unchanged. Empty means none.
	Lenient string
	// Earlier reports whether a physical ID is from an earlier version that did not know the type and recorded its
	// resources elsewhere. Nil means that none is.
	Earlier func(id string) bool
	// Attributes returns pairs of a name and a text for a record and the time of its last change. A nil func returns
	// none.
	Attributes func(c *Call, id string, made registry.Item[registry.Record], changed time.Time) []string
}

// Place returns the scope of the type's records.
func (t *RecordType) Place(c *Call) registry.Scope {
	if t.Global {
		return registry.Scope{Account: c.Place.Account, Region: registry.Global.Region}
	}
	return c.Place
}

// Record returns the maker of a type that is only recorded in a catalog. now is the clock.
func Record(t RecordType, things *registry.Catalog, now func() time.Time) Maker {
	return recorder{t, things, now}
}

// recorder is the maker of records.
type recorder struct {
	RecordType
	things *registry.Catalog
	now    func() time.Time
}

// Create implements [Maker].
func (t recorder) Create(ctx context.Context, c *Call) (native.Result, error) {
	id := t.ID(c)
	item := registry.Item[registry.Record]{Scope: t.Place(c), Name: c.RecordName(id), Of: t.recordOf(c)}
	made, err := Put(ctx, c, t.things.Records, item)
	if errors.Is(err, registry.ErrExists) && t.lenient(c) {
		made, err = t.things.Records.Get(ctx, item.Scope, item.Name)
	}
	if err != nil {
		return c.Failed(ctx, id, id, err, Holding(t.things.Records, item.Scope, item.Name))
	}
	return t.result(c, id, made, made.Of.Made), nil
}

// Update implements [Maker].
func (t recorder) Update(ctx context.Context, c *Call) (native.Result, error) {
	fresh := t.recordOf(c)
	if t.lenient(c) {
		there, err := t.things.Records.Get(ctx, t.Place(c), c.RecordName(c.Physical()))
		if err == nil && !c.Made(there.Owner) {
			return t.result(c, c.Physical(), there, there.Of.Made), nil
		}
	}
	made, err := Change(ctx, c, t.things.Records, t.Place(c), c.RecordName(c.Physical()), func(r *registry.Record) {
		fresh.Made = r.Made
		fresh.State = r.State
		*r = fresh
	})
	if _, lost := errors.AsType[lostError](err); lost && t.Earlier != nil && t.Earlier(c.Physical()) {
		made, err = Put(ctx, c, t.things.Records, registry.Item[registry.Record]{Scope: t.Place(c), Name: c.RecordName(c.Physical()), Of: fresh})
	}
	if err != nil {
		return native.Result{}, err
	}
	return t.result(c, c.Physical(), made, t.now().UTC()), nil
}

// Remove implements [Maker].
func (t recorder) Remove(ctx context.Context, c *Call) error {
	return Drop(ctx, c, t.things.Records, t.Place(c), c.RecordName(c.Physical()))
}

// RecordName returns the record name of a physical ID.
func (c *Call) RecordName(id string) string { return c.Kind + "/" + id }

func (t recorder) lenient(c *Call) bool { return t.Lenient != "" && c.Text(t.Lenient) == "true" }

func (t recorder) recordOf(c *Call) registry.Record {
	return registry.Record{Properties: c.Declared.JSON(), Tags: TagMap(c.Body.Tags), Made: t.now().UTC()}
}

func (t recorder) result(c *Call, id string, made registry.Item[registry.Record], changed time.Time) native.Result {
	if t.Attributes == nil {
		return Result(id)
	}
	return Result(id, t.Attributes(c, id, made, changed)...)
}
