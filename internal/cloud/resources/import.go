package resources

import (
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Importer is a [Maker] whose existing objects can be imported into a stack.
type Importer interface {
	// Existing returns the physical ID and the holder of the object with the call's physical ID, or
	// [registry.ErrNotFound]. An error of type [Reason] is the service's own text for that.
	Existing(ctx context.Context, c *Call) (id, holder string, err error)
	// Adopt makes [Call.Heir] the holder of the object with the call's physical ID, and returns all attributes. It
	// changes nothing else. It returns [registry.ErrExists] unless [Call.MayAdopt] allows it.
	Adopt(ctx context.Context, c *Call) (native.Result, error)
}

// Find implements [native.Importer].
func (t *resource) Find(ctx context.Context, r *store.Request) (native.Existing, error) {
	importer, ok := t.maker.(Importer)
	if !ok || !t.ready {
		return native.Existing{}, ErrOff
	}
	c, err := Read(t.schema.Name, r)
	if err != nil {
		return native.Existing{}, err
	}
	id, holder, err := importer.Existing(ctx, c)
	if reason, isReason := errors.AsType[Reason](err); isReason {
		return native.Existing{}, &native.MissingError{Text: reason.Error()}
	}
	if errors.Is(err, registry.ErrNotFound) {
		return native.Existing{}, &native.MissingError{Text: c.Lost().Error()}
	}
	return native.Existing{ID: wire.PhysicalID(id), Holder: holder}, err
}

// adopt serves a request of [store.TypeImport] or [store.TypeDisown]. A Disown succeeds if another request has taken
// over the resource meanwhile.
func (t *resource) adopt(ctx context.Context, c *Call) (native.Result, error) {
	importer, ok := t.maker.(Importer)
	if !ok {
		return native.Result{}, Reason("Resource type " + t.schema.Name + " does not support resource import.")
	}
	result, err := importer.Adopt(ctx, c)
	if c.Type == store.TypeDisown {
		if errors.Is(err, registry.ErrExists) || errors.Is(err, registry.ErrNotFound) {
			err = nil
		}
		return native.Result{}, err
	}
	if errors.Is(err, registry.ErrExists) {
		_, holder, lost := importer.Existing(ctx, c)
		if lost != nil {
			return native.Result{}, lost
		}
		err = c.Taken(c.Physical(), holder)
	}
	if errors.Is(err, registry.ErrNotFound) {
		err = c.Lost()
	}
	return result, err
}

// Heir returns the holder of a resource after the call. That is the call's stack resource or, when an import is
// undone, the previous holder. If the previous holder is left over from an earlier import into the same stack, Heir
// returns "".
func (c *Call) Heir() string {
	switch {
	case c.Type != store.TypeDisown:
		return c.Holder()
	case c.Made(c.Body.Holder):
		return ""
	}
	return c.Body.Holder
}

// MayAdopt reports whether a call may take a resource from a holder. An import may if the holder is the one in the
// request, or the same logical resource in an earlier request. It also may if the holder is empty, because another
// import may just have been undone. A request that undoes an import may if that import set the holder.
func (c *Call) MayAdopt(holder string) bool {
	if c.Type == store.TypeDisown {
		return holder == registry.OwnerOf(c.Body.StackID, c.Logical, c.Body.Import)
	}
	return holder == "" || holder == c.Body.Holder || c.Made(holder)
}

// Adopt makes the call's resource the holder of an item in a collection.
func Adopt[T any](
	ctx context.Context, c *Call, shelf *registry.Collection[T], place registry.Scope, name string,
) (registry.Item[T], error) {
	return shelf.Change(ctx, place, name, func(there *registry.Item[T]) error {
		if !c.MayAdopt(there.Owner) {
			return registry.ErrExists
		}
		there.Owner = c.Heir()
		return nil
	})
}

// Existing implements [Importer].
func (t recorder) Existing(ctx context.Context, c *Call) (id, holder string, err error) {
	there, err := t.things.Records.Get(ctx, t.Place(c), c.RecordName(c.Physical()))
	return c.Physical(), there.Owner, err
}

// Adopt implements [Importer].
func (t recorder) Adopt(ctx context.Context, c *Call) (native.Result, error) {
	there, err := Adopt(ctx, c, t.things.Records, t.Place(c), c.RecordName(c.Physical()))
	if err != nil {
		return native.Result{}, err
	}
	return t.result(c, c.Physical(), there, there.Of.Made), nil
}
