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

// Off returns the check that a server without a cloud makes before it serves a resource of one of the cloud's types
// as a record. A resource that the cloud made, or has to make, is not a record. Its requests get an error that wraps
// [native.ErrAgain], so they wait for a server that has the cloud. recording says that the server takes new resources
// of these types as records. holder returns the holder of the resource in a call's physical id.
func Off(recording bool, holder func(context.Context, *Call) (string, error)) func(context.Context, *store.Request) error {
	return func(ctx context.Context, r *store.Request) error {
		if r.Type == wire.Create || r.Type == store.TypeImport {
			if recording {
				return nil
			}
			return fmt.Errorf("%w: %w", native.ErrAgain, ErrOff) // this server would have refused the template
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
