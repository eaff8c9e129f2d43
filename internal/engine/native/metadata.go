package native

import (
	"context"

	"github.com/pintle-dev/pintle/internal/store"
)

// metadata is AWS::CDK::Metadata, which the CDK uses for usage statistics. It does nothing.
type metadata struct{}

var metadataSchema = Schema{Name: "AWS::CDK::Metadata", Properties: []Property{{Name: "Analytics"}, {Name: "Modules"}}}

// Schema implements [Type].
func (metadata) Schema() *Schema { return &metadataSchema }

// Serve implements [Type].
func (metadata) Serve(context.Context, *store.Request) (Result, error) { return Result{}, nil }
