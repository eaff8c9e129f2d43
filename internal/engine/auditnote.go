package engine

import "context"

// notedKey is the context key of the text of [Noted].
type notedKey struct{}

// Noted returns a context for one call. The decision that the call makes adds text to the stack's audit list, in the
// same transaction. text describes the action and the person, and must not contain a secret. A rejected call adds no
// note, and neither does one that repeats an earlier call with the same token. [Engine.Respond] adds its own note.
func Noted(ctx context.Context, text string) context.Context {
	return context.WithValue(ctx, notedKey{}, text)
}
