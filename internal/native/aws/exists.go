package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native"
)

// reason is an error in the service's own words.
type reason string

// Error implements error.
func (r reason) Error() string { return string(r) }

func reasonf(format string, args ...any) error { return reason(fmt.Sprintf(format, args...)) }

// taken is the reason of a Create whose name is another's, in CloudFormation's words. holder has what is there.
func (c *call) taken(name, holder string) error {
	switch {
	case c.made(holder):
		return reason("CloudFormation cannot update a stack when a custom-named resource requires replacing. Rename " +
			name + " and update the stack again.")
	case holder != "":
		stack, _, _ := strings.Cut(holder, "|")
		return errors.New(name + " already exists in stack " + stack)
	}
	return errors.New(name + " already exists")
}

// lost is the reason of an Update of what is not there, in CloudFormation's words.
func (c *call) lost() error {
	return reason("Resource of type '" + c.kind + "' with identifier '" + c.id() + "' was not found.")
}

// lookPatience is how long it may take to see what a failed Create has left.
const lookPatience = 5 * time.Second

// failed is the end of a Create that came to an error. find tells who holds what is there under the name: if it is this very
// request, the result has the id, so that it is cleaned up.
func (c *call) failed(ctx context.Context, id, name string, err error, find func(context.Context) (holder string, err error)) (native.Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookPatience) // the error may be that ctx ended
	defer cancel()
	holder, unknown := find(ctx)
	if unknown == nil && holder == c.holder() {
		return result(id), err
	}
	if errors.Is(err, catalog.ErrExists) {
		return native.Result{}, c.taken(name, holder)
	}
	return native.Result{}, err
}

// holding finds who holds what is on a shelf under a name.
func holding[T any](shelf *catalog.Shelf[T], place catalog.Place, name string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		there, err := shelf.Get(ctx, place, name)
		return there.Holder, err
	}
}

// put adds a thing to a shelf, or brings the one that the same request has made to what is asked; the thing of another one is
// [catalog.ErrExists].
func put[T any](ctx context.Context, c *call, shelf *catalog.Shelf[T], item catalog.Item[T]) (catalog.Item[T], error) {
	item.Holder, item.Version = c.holder(), 0
	made, err := shelf.Put(ctx, item)
	if !errors.Is(err, catalog.ErrExists) {
		return made, err
	}
	return shelf.Change(ctx, item.Place, item.Name, func(there *catalog.Item[T]) error {
		if there.Holder != item.Holder {
			return catalog.ErrExists
		}
		there.Of = item.Of
		return nil
	})
}

// change changes a thing of a shelf, which must be there.
func change[T any](ctx context.Context, c *call, shelf *catalog.Shelf[T], place catalog.Place, name string, to func(*T)) (catalog.Item[T], error) {
	made, err := shelf.Change(ctx, place, name, func(there *catalog.Item[T]) error {
		to(&there.Of)
		return nil
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return made, c.lost()
	}
	return made, err
}

// own reports whether what is on a shelf under a name is there and made by the call's resource.
func own[T any](ctx context.Context, c *call, shelf *catalog.Shelf[T], place catalog.Place, name string) (bool, error) {
	there, err := shelf.Get(ctx, place, name)
	if errors.Is(err, catalog.ErrNotFound) {
		return false, nil
	}
	return err == nil && c.made(there.Holder), err
}

// drop removes a thing of a shelf if the call's resource has made it.
func drop[T any](ctx context.Context, c *call, shelf *catalog.Shelf[T], place catalog.Place, name string) error {
	if mine, err := own(ctx, c, shelf, place, name); err != nil || !mine {
		return err
	}
	return ignoreMissing(shelf.Delete(ctx, place, name, 0))
}

// ignoreMissing is for deletes: what is not there is deleted.
func ignoreMissing(err error) error {
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	return err
}
