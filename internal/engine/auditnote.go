package engine

import (
	"context"

	"github.com/pintle-dev/pintle/internal/store"
)

// notedKey is the context key of what [Noted] keeps.
type notedKey struct{}

// Noted returns a context for one call: what that decides puts text on the stack's audit list, in the same transaction.
// text says what was done and who did it, and holds no secret. What is refused is not noted, nor what was asked
// for before by the same token; [Engine.Respond] notes itself.
func Noted(ctx context.Context, text string) context.Context {
	return context.WithValue(ctx, notedKey{}, text)
}

// note puts on record what the context says of the decision.
func (m *machine) note(ctx context.Context) {
	if text, _ := ctx.Value(notedKey{}).(string); text != "" && m.stack.Key != 0 && m.again == "" {
		m.delta.Audit = append(m.delta.Audit, store.Audit{Time: m.now, Text: text})
	}
}
