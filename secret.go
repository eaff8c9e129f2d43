package pintle

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// mask is what a secret shows instead of itself.
const mask = "****"

// Secret is a text that shows as **** wherever it is printed: by fmt, by log/slog, by encoding/json. Its Reveal method
// gives the text. As a property it is read from a string; as an attribute it is sent in clear and makes the answer
// NoEcho. The zero value is an empty secret. Secrets are compared with Equal.
type Secret struct {
	text *string // a pointer: fmt prints the fields of unexported fields without asking their methods
}

// NewSecret returns a secret of the text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Equal reports whether two secrets have the same text.
func (s Secret) Equal(other Secret) bool { return s.Reveal() == other.Reveal() }

// IsZero reports whether the text is empty.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// String returns ****.
func (s Secret) String() string { return mask }

// Format writes ****, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, mask) }

// LogValue is ****.
func (s Secret) LogValue() slog.Value { return slog.StringValue(mask) }

// MarshalText returns ****.
func (s Secret) MarshalText() ([]byte, error) { return []byte(mask), nil }

// UnmarshalText takes the text.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}

// ErrGone is the error of a provider whose resource does not exist any more. Wrap it to say more. A Delete that returns it
// has succeeded, and so has one whose [Poller] returns it. When Update returns it, the package calls Create to make the
// resource again, and answers the Update with the new ID; the service then sends a Delete for the old one.
var ErrGone = errors.New("the resource is gone")

// Hide returns an error whose text is kept for the log of the provider: the reason in the events of the stack says no
// more than that. For errors of libraries that may quote passwords or tell too much. It wraps err; nil for nil.
func Hide(err error) error {
	if err == nil {
		return nil
	}
	return &hiddenError{err}
}

type hiddenError struct{ err error }

func (e *hiddenError) Error() string { return "the details are in the log of the provider" }

func (e *hiddenError) Unwrap() error { return e.err }

// logText is the text of an error for the log: with what [Hide] keeps out of it otherwise.
func logText(err error) string {
	text := err.Error()
	if hidden, ok := errors.AsType[*hiddenError](err); ok {
		text += ": " + hidden.err.Error()
	}
	return text
}
