package engine

import (
	"context"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// Stored returns the contents of the parameter store of an account and region for every one of the names. It is
// called outside of decisions, and may be slow. Its errors are temporary.
type Stored func(ctx context.Context, account, region string, names []string) (map[string]template.Stored, error)

// StoredValues returns the values from the parameter store by parameter name: an object, or null if none was read.
// Those of NoEcho parameters are secret.
func StoredValues(r *store.Revision) value.Value {
	v, _ := r.Outside.Get("parameters")
	return v
}
