package resources

import (
	"context"
	"errors"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

// lookPatience bounds the check for leftovers of a failed Create.
const lookPatience = 5 * time.Second

// Failed returns the result of a failed Create. find returns the holder of the object with the name. If that is this
// request, the result has the ID, so that the object is cleaned up.
func (c *Call) Failed(ctx context.Context, id, name string, err error, find func(context.Context) (holder string, err error)) (native.Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookPatience) // err may mean that ctx ended
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

// Holding returns a func that returns the holder of an item in a collection.
func Holding[T any](shelf *registry.Collection[T], place registry.Scope, name string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		there, err := shelf.Get(ctx, place, name)
		return there.Owner, err
	}
}

// Put adds an item to a collection, or updates the item that the same request created. It returns
// [registry.ErrExists] for the item of another holder.
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

// Change changes an existing item in a collection.
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

// Own reports whether an item exists in a collection and belongs to the call's resource.
func Own[T any](ctx context.Context, c *Call, shelf *registry.Collection[T], place registry.Scope, name string) (bool, error) {
	there, err := shelf.Get(ctx, place, name)
	if errors.Is(err, registry.ErrNotFound) {
		return false, nil
	}
	return err == nil && c.Made(there.Owner), err
}

// Drop deletes an item from a collection if it belongs to the call's resource.
func Drop[T any](ctx context.Context, c *Call, shelf *registry.Collection[T], place registry.Scope, name string) error {
	if mine, err := Own(ctx, c, shelf, place, name); err != nil || !mine {
		return err
	}
	return IgnoreMissing(shelf.Delete(ctx, place, name, 0))
}

// IgnoreMissing ignores [registry.ErrNotFound], so that deletes are idempotent.
func IgnoreMissing(err error) error {
	if errors.Is(err, registry.ErrNotFound) {
		return nil
	}
	return err
}
