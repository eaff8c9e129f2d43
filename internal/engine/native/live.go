package native

import (
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// ErrUnchecked is the error of [Registry.Live] for a type whose resources cannot be read back.
var ErrUnchecked = errors.New("the resource type does not support drift detection")

// ErrDeleted is the error of [Registry.Live] for a resource that no longer exists.
var ErrDeleted = errors.New("the resource no longer exists")

// Viewer is a [Type] whose resources can be read back.
type Viewer interface {
	// Live returns the current properties of a resource in the declared form, as far as the type knows them. The
	// request identifies the resource and has its declared properties; it is not an event for a provider. The error
	// is [ErrUnchecked] or [ErrDeleted], or a temporary one.
	Live(ctx context.Context, r *store.Request) (value.Value, error)
}

// Live returns the current properties of a resource: see [Viewer].
func (g *Registry) Live(ctx context.Context, r *store.Request) (value.Value, error) {
	viewer, ok := g.named(r.Body.ResourceType).(Viewer)
	if !ok {
		return value.Value{}, ErrUnchecked
	}
	return viewer.Live(ctx, r)
}
