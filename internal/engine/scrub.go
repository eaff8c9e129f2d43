package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// shortSecret is the length below which a secret is not searched for in free text: to replace every "1" or "no" would
// make a reason unreadable and tell the secret by its gaps.
const shortSecret = 4

// scrub replaces every secret in a text by the mask, in all its spellings, the longest first.
func scrub(text string, secrets []string) string {
	var spellings []string
	for _, secret := range secrets {
		spellings = append(spellings, value.Spellings(secret)...)
	}
	slices.SortFunc(spellings, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, spelling := range spellings {
		if len(spelling) >= shortSecret {
			text = strings.ReplaceAll(text, spelling, value.Mask)
		}
	}
	return text
}

var zeroTime time.Time

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
