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

// UncheckedError is an [ErrUnchecked] with a reason for people.
type UncheckedError struct{ Text string }

// Error returns the text.
func (e *UncheckedError) Error() string { return e.Text }

// Is reports whether target is [ErrUnchecked].
func (e *UncheckedError) Is(target error) bool { return target == ErrUnchecked }

// UnknownError is the error of [Registry.Live] for a resource that the type could not read. It may have drifted.
type UnknownError struct {
	// Text is the reason, for people. It may quote secrets of the properties.
	Text string
}

// Error returns the text.
func (e *UnknownError) Error() string { return e.Text }

// Viewer is a [Type] whose resources can be read back.
type Viewer interface {
	// Live returns the current properties of a resource in the declared form, as far as the type knows them. The
	// request identifies the resource and has its declared properties; it is not an event for a provider. The error
	// is [ErrUnchecked], [ErrDeleted] or an [UnknownError], or a temporary one.
	Live(ctx context.Context, r *store.Request) (value.Value, error)
}

// Live returns the current properties of a resource: see [Viewer].
func (g *Registry) Live(ctx context.Context, r *store.Request) (value.Value, error) {
	viewer, ok := g.named(r.Body.ResourceType).(Viewer)
	if !ok {
		return value.Value{}, ErrUnchecked
	}
	live, err := viewer.Live(ctx, r)
	if errors.Is(err, ErrOwn) {
		own, ok := g.own(r.Body.ResourceType).(Viewer)
		if !ok {
			return value.Value{}, ErrUnchecked
		}
		return own.Live(ctx, r)
	}
	return live, err
}
