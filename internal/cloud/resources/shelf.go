package resources

import (
	"context"
	"errors"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

// lookPatience is how long it may take to see what a failed Create has left.
const lookPatience = 5 * time.Second

// Failed is the end of a Create that came to an error. find tells who holds what is there under the name: if it is this very
// request, the result has the id, so that it is cleaned up.
func (c *Call) Failed(ctx context.Context, id, name string, err error, find func(context.Context) (holder string, err error)) (native.Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookPatience) // the error may be that ctx ended
	defer cancel()
	holder, unknown := find(ctx)
	if unknown == nil && holder == c.Holder() {
		return Result(id), err
	}
	if errors.Is(err, registry.ErrExists) {
		return native.Result{}, c.Taken(name, holder)
	}
	return native.Result{}, err
}

// Holding finds who holds what is on a shelf under a name.
func Holding[T any](shelf *registry.Collection[T], place registry.Scope, name string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		there, err := shelf.Get(ctx, place, name)
		return there.Owner, err
	}
}

// Put adds a thing to a shelf, or brings the one that the same request has made to what is asked; the thing of another one is
// [registry.ErrExists].
func Put[T any](ctx context.Context, c *Call, shelf *registry.Collection[T], item registry.Item[T]) (registry.Item[T], error) {
	item.Owner, item.Version = c.Holder(), 0
	made, err := shelf.Put(ctx, item)
	if !errors.Is(err, registry.ErrExists) {
		return made, err
	}
	return shelf.Change(ctx, item.Scope, item.Name, func(there *registry.Item[T]) error {
		if there.Owner != item.Owner {
			return registry.ErrExists
		}
		there.Of = item.Of
		return nil
	})
}

// Change changes a thing of a shelf, which must be there.
func Change[T any](ctx context.Context, c *Call, shelf *registry.Collection[T], place registry.Scope, name string, to func(*T)) (registry.Item[T], error) {
	made, err := shelf.Change(ctx, place, name, func(there *registry.Item[T]) error {
		to(&there.Of)
		return nil
	})
	if errors.Is(err, registry.ErrNotFound) {
		return made, c.Lost()
	}
	return made, err
}

// Own reports whether what is on a shelf under a name is there and made by the call's resource.
func Own[T any](ctx context.Context, c *Call, shelf *registry.Collection[T], place registry.Scope, name string) (bool, error) {
	there, err := shelf.Get(ctx, place, name)
	if errors.Is(err, registry.ErrNotFound) {
		return false, nil
	}
	return err == nil && c.Made(there.Owner), err
}

// Drop removes a thing of a shelf if the call's resource has made it.
func Drop[T any](ctx context.Context, c *Call, shelf *registry.Collection[T], place registry.Scope, name string) error {
	if mine, err := Own(ctx, c, shelf, place, name); err != nil || !mine {
		return err
	}
	return IgnoreMissing(shelf.Delete(ctx, place, name, 0))
}

// IgnoreMissing is for deletes: what is not there is deleted.
func IgnoreMissing(err error) error {
	if errors.Is(err, registry.ErrNotFound) {
		return nil
	}
	return err
}
