package native

import (
	"context"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Existing is a resource that exists already.
type Existing struct {
	// ID is its physical ID.
	ID wire.PhysicalID
	// Holder is the resource of a stack that made it, see registry.OwnerOf; empty if a client did.
	Holder string
}

// MissingError is the error of [Registry.Find] for a resource that does not exist.
type MissingError struct {
	// Text says so in the words of the service.
	Text string
}

// Error returns the text.
func (e *MissingError) Error() string { return e.Text }

// Importer is a [Type] whose existing resources can become those of a stack. It serves requests of [store.TypeImport], and its schema
// has an identifier.
type Importer interface {
	// Find returns what the physical ID of a request identifies. The request is not an event for a provider. The error is a
	// [MissingError], or a temporary one.
	Find(ctx context.Context, r *store.Request) (Existing, error)
}

// Find returns what the physical ID of a request identifies: see [Importer]. Of a type that is only recorded, any resource exists: the
// record is all there is of it.
func (g *Registry) Find(ctx context.Context, r *store.Request) (Existing, error) {
	if importer, ok := g.named(r.Body.ResourceType).(Importer); ok {
		return importer.Find(ctx, r)
	}
	return Existing{ID: r.Body.PhysicalID}, nil
}
