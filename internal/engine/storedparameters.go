package engine

import (
	"context"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// Stored reads the parameter store of an account and region: what there is under names, for every one of them. It is called
// outside of decisions, and may take its time. Errors tell what may pass.
type Stored func(ctx context.Context, account, region string, names []string) (map[string]template.Stored, error)

// StoredValues returns what the parameter store had under the names that were passed for parameters, by the parameters' names:
// an object, null if there was nothing to be read. Those of NoEcho parameters are secret.
func StoredValues(r *store.Revision) value.Value {
	v, _ := r.Outside.Get("parameters")
	return v
}
