package pintle

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// mask is the text that replaces a secret.
const mask = "****"

// Secret is a text that prints as **** with fmt, log/slog and encoding/json. Its Reveal method returns the text. As a
// property it is read from a string. As an attribute it is sent in clear text and makes the answer NoEcho. The zero value
// is an empty secret. Compare secrets with Equal.
type Secret struct {
	text *string // a pointer, because fmt prints nested unexported fields without calling their methods
}

// NewSecret returns a secret with the text.
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

// Format writes **** for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, mask) }

// LogValue returns ****.
func (s Secret) LogValue() slog.Value { return slog.StringValue(mask) }

// MarshalText returns ****.
func (s Secret) MarshalText() ([]byte, error) { return []byte(mask), nil }

// UnmarshalText sets the text.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}

// ErrGone is the error of a provider whose resource no longer exists. Wrap it to add details. A Delete that returns it
// has succeeded, and so has one whose [Poller] returns it. When Update returns it, the package calls Create to make the
// resource again and answers the Update with the new ID. The service then sends a Delete for the old one.
var ErrGone = errors.New("the resource is gone")

// Hide returns an error whose text appears only in the log of the provider, not in the reason that the events of the
// stack show. Use it for errors of libraries that may quote passwords or other sensitive data. The result wraps err; it
// is nil if err is nil.
func Hide(err error) error {
	if err == nil {
		return nil
	}
	return &hiddenError{err}
}

type hiddenError struct{ err error }

func (e *hiddenError) Error() string { return "the details are in the log of the provider" }

func (e *hiddenError) Unwrap() error { return e.err }

// logText returns the text of an error for the log, including the text that [Hide] keeps out of the reason.
func logText(err error) string {
	text := err.Error()
	if hidden, ok := errors.AsType[*hiddenError](err); ok {
		text += ": " + hidden.err.Error()
	}
	return text
}
