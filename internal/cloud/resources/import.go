package resources

import (
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Importer is a [Maker] of things that can become resources of a stack though something else made them.
type Importer interface {
	// Existing returns the physical ID and the holder of what the call's physical ID identifies, or [registry.ErrNotFound]. An error of
	// type [Reason] says the same in the words of the service.
	Existing(ctx context.Context, c *Call) (id, holder string, err error)
	// Adopt makes the call's resource the holder of what its physical ID names, and returns all attributes. It changes nothing else.
	// If the holder is not the one in the request any more, the error is [registry.ErrExists].
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
	if reason, told := errors.AsType[Reason](err); told {
		return native.Existing{}, &native.MissingError{Text: reason.Error()}
	}
	if errors.Is(err, registry.ErrNotFound) {
		return native.Existing{}, &native.MissingError{Text: c.Lost().Error()}
	}
	return native.Existing{ID: wire.PhysicalID(id), Holder: holder}, err
}

// adopt serves a request of [store.TypeImport].
func (t *resource) adopt(ctx context.Context, c *Call) (native.Result, error) {
	importer, ok := t.maker.(Importer)
	if !ok {
		return native.Result{}, Reason("Resource type " + t.schema.Name + " does not support resource import.")
	}
	result, err := importer.Adopt(ctx, c)
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

// MayAdopt reports whether the call's resource may take the place of a holder: of the one in the request, or of itself.
func (c *Call) MayAdopt(holder string) bool { return holder == c.Body.Holder || holder == c.Holder() }

// Adopt makes the call's resource the holder of a thing of a shelf.
func Adopt[T any](
	ctx context.Context, c *Call, shelf *registry.Shelf[T], place registry.Place, name string,
) (registry.Item[T], error) {
	return shelf.Change(ctx, place, name, func(there *registry.Item[T]) error {
		if !c.MayAdopt(there.Holder) {
			return registry.ErrExists
		}
		there.Holder = c.Holder()
		return nil
	})
}

// Existing implements [Importer].
func (t recorder) Existing(ctx context.Context, c *Call) (id, holder string, err error) {
	there, err := t.things.Records.Get(ctx, t.Place(c), c.RecordName(c.Physical()))
	return c.Physical(), there.Holder, err
}

// Adopt implements [Importer].
func (t recorder) Adopt(ctx context.Context, c *Call) (native.Result, error) {
	there, err := Adopt(ctx, c, t.things.Records, t.Place(c), c.RecordName(c.Physical()))
	if err != nil {
		return native.Result{}, err
	}
	return t.result(c, c.Physical(), there, there.Of.Made), nil
}
