package delivery

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// redactor makes texts from outside fit to be kept and shown, for one request.
type redactor struct {
	secrets []string // as they are
	known   redact.Secrets
}

func newRedactor(r store.Request, more ...string) *redactor {
	secrets := slices.Concat(r.Body.Properties.Secrets(), r.Body.OldProperties.Secrets(), more)
	if isROS(r) {
		secrets = slices.Concat(secrets, store.ConfigSecrets(r.Body.HTTPConfig), store.TokenSecrets(r.Body.Token))
	}
	h := &redactor{secrets: secrets}
	h.known.Spell = func(secret string) []string {
		// Cleaned too, since that is how a text looks when secrets are searched in it.
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

// excerpt returns the beginning of a text, redacted before it is cut: half a secret is still one.
func (h *redactor) excerpt(text string, limit int) string {
	text = strings.TrimSpace(h.text(text))
	if len(text) <= limit {
		return text
	}
	return redact.CutRune(text[:limit]) + "…"
}
