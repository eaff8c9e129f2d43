package resources

import (
	"context"
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Off returns the check that a server without local cloud emulation makes before it serves a resource of one of these
// types as a record. A resource that was or must be created by the emulation is not a record. Requests for it get an
// error that wraps [native.ErrAgain], so they wait for a server with the emulation. recording means that the server
// accepts new resources of these types as records. holder returns the holder of the resource with a call's physical
// ID.
func Off(recording bool, holder func(context.Context, *Call) (string, error)) func(context.Context, *store.Request) error {
	return func(ctx context.Context, r *store.Request) error {
		if r.Type == wire.Create || r.Type == store.TypeImport {
			if recording {
				return nil
			}
			return fmt.Errorf("%w: %w", native.ErrAgain, ErrOff) // this server would have rejected the template
		}
		c, err := Read(r.Body.ResourceType, r)
		if err != nil {
			return nil //nolint:nilerr // no resource of the cloud has such a stack
		}
		made, err := holder(ctx, c)
		switch {
		case errors.Is(err, registry.ErrNotFound), err == nil && !c.Made(made):
			return nil
		case err == nil:
			err = ErrOff
		}
		return fmt.Errorf("%w: %w", native.ErrAgain, err)
	}
}
