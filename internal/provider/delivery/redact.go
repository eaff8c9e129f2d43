package delivery

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// redactor makes the external texts of one request safe to store and show.
type redactor struct {
	secrets []string // the secrets as given
	known   redact.Secrets
}

func newRedactor(r store.Request, more ...string) *redactor {
	secrets := slices.Concat(r.Body.Properties.Secrets(), r.Body.OldProperties.Secrets(), more)
	if isROS(r) {
		secrets = slices.Concat(secrets, store.ConfigSecrets(r.Body.HTTPConfig), store.TokenSecrets(r.Body.Token))
	}
	h := &redactor{secrets: secrets}
	h.known.Spell = func(secret string) []string {
		// Also the cleaned form, because texts are cleaned before the search for secrets.
		return append(redact.Spellings(secret), wire.CleanText(secret))
	}
	h.known.Add(secrets...)
	return h
}

// text returns a text without signatures, secrets and control characters.
func (h *redactor) text(text string) string {
	// Signatures first: masking a secret within one could hide it from Redact.
	return h.known.Mask(wire.Redact(wire.CleanText(text)))
}

// excerpt returns the beginning of a text. It redacts the text first, because half a secret would not be recognized.
func (h *redactor) excerpt(text string, limit int) string {
	text = strings.TrimSpace(h.text(text))
	if len(text) <= limit {
		return text
	}
	return redact.CutRune(text[:limit]) + "…"
}
