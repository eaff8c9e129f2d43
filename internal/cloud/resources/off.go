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

// Off is for a server that has no cloud: it returns what is to be asked before a resource of one of its types is served as a
// record. What the cloud has made, or is to make, is none: its requests wait for a server that has it, with an error that wraps
// [native.ErrAgain]. recording says that the server takes new resources of these types as records. holder returns who has made what
// a call's physical id names.
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
