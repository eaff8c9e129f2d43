package delivery

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// scrubber makes texts from outside fit to be kept and shown, for one request.
type scrubber struct {
	secrets  []string // as they are
	replacer *strings.Replacer
}

func newScrubber(r store.Request, more ...string) *scrubber {
	secrets := slices.Concat(r.Body.Properties.Secrets(), r.Body.OldProperties.Secrets(), more)
	if isROS(r) {
		secrets = slices.Concat(secrets, store.ConfigSecrets(r.Body.HTTPConfig), store.TokenSecrets(r.Body.Token))
	}
	s := &scrubber{secrets: secrets}
	var spellings []string
	for _, secret := range secrets {
		// Cleaned too, since that is how a text looks when secrets are searched in it.
		spellings = append(append(spellings, wire.CleanText(secret)), value.Spellings(secret)...)
	}
	slices.SortFunc(spellings, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, spelling := range spellings {
		if spelling != "" {
			pairs = append(pairs, spelling, value.Mask)
		}
	}
	s.replacer = strings.NewReplacer(pairs...)
	return s
}

// text returns a text without signatures, secrets and control characters.
func (s *scrubber) text(text string) string {
	// Signatures first: masking a secret within one could hide it from Redact.
	return s.replacer.Replace(wire.Redact(wire.CleanText(text)))
}

// excerpt returns the beginning of a text, scrubbed before it is cut: half a secret is still one.
func (s *scrubber) excerpt(text string, limit int) string {
	text = strings.TrimSpace(s.text(text))
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
