package node

import (
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/author/schema"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// reads returns the function that reports which providers read. As AWS has no such request, [engine.FidelityAWS] sends none.
func (b *builder) reads() func(context.Context, wire.ServiceToken) (engine.DeclaredTypes, error) {
	if b.config.Fidelity == engine.FidelityAWS {
		return nil
	}
	return b.providers.reads
}

// reads returns the types of resources that the provider behind a token declares in its schema that it reads. Only a program of this
// node can be asked. Another one, or one without a schema, reads none. An error says why a program did not answer.
func (p *providers) reads(ctx context.Context, token wire.ServiceToken) (engine.DeclaredTypes, error) {
	name, ok := p.named(token)
	if !ok {
		return nil, nil
	}
	text, err := p.askSchema(ctx, name)
	switch {
	case errors.Is(err, local.ErrNoSchema), errors.Is(err, local.ErrUnknown):
		return nil, nil
	case err != nil:
		return nil, err
	}
	document, err := schema.Parse(text)
	if err != nil {
		p.log.Warn("the schema of a provider is not valid", "provider", name, "error", err)
		return nil, nil
	}
	return func(resourceType string) bool { return document.Type(resourceType).Reads }, nil
}
