package node

import (
	"context"

	"github.com/pintle-dev/pintle/internal/author/schema"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/wire"
)

// reads returns the function that reports which providers read. As AWS has no such request, [engine.FidelityAWS] sends none.
func (b *builder) reads() func(context.Context, wire.ServiceToken) engine.DeclaredTypes {
	if b.config.Fidelity == engine.FidelityAWS {
		return nil
	}
	return b.providers.reads
}

// reads returns the types of resources that the provider behind a token declares in its schema that it reads. Only a program of this
// node can be asked. One that cannot be, or prints no schema, reads none.
func (p *providers) reads(ctx context.Context, token wire.ServiceToken) engine.DeclaredTypes {
	name, ok := p.named(token)
	if !ok {
		return nil
	}
	text, err := p.schema(ctx, name)
	if err != nil {
		return nil
	}
	document, err := schema.Parse(text)
	if err != nil {
		p.log.Warn("the schema of a provider is not valid", "provider", name, "error", err)
		return nil
	}
	return func(resourceType string) bool { return document.Type(resourceType).Reads }
}
