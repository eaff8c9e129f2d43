package native

import (
	"context"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Existing is an existing resource.
type Existing struct {
	// ID is the physical ID.
	ID wire.PhysicalID
	// Holder is the stack resource that created it, see registry.OwnerOf; empty if a client created it.
	Holder string
}

// MissingError is the error of [Registry.Find] for a resource that does not exist.
type MissingError struct {
	// Text is the error in the words of the service.
	Text string
}

// Error returns the text.
func (e *MissingError) Error() string { return e.Text }

// Importer is a [Type] whose existing resources can be imported into a stack. It serves requests of
// [store.TypeImport] and [store.TypeDisown]. Its schema has an identifier, unless the type is forwarded.
type Importer interface {
	// Find returns the resource that the physical ID of a request identifies. The request is not an event for a
	// provider. The error is a [MissingError], or a temporary one.
	Find(ctx context.Context, r *store.Request) (Existing, error)
}

// Find returns the resource that the physical ID of a request identifies: see [Importer]. For a type that is only
// recorded, every resource exists, because the record is all there is.
func (g *Registry) Find(ctx context.Context, r *store.Request) (Existing, error) {
	if importer, ok := g.named(r.Body.ResourceType).(Importer); ok {
		return importer.Find(ctx, r)
	}
	return Existing{ID: r.Body.PhysicalID}, nil
}
