// Package redact masks secrets in texts, in their common encodings.
//
// # Supported encodings
//
// The package finds a secret in these forms:
//
//   - as plain text
//   - in JSON, with and without escapes for HTML, slashes and non-ASCII characters, with hexadecimal digits in either
//     case, and in JSON inside a JSON string
//   - quoted by Go
//   - percent-encoded, by the rules of several languages, in either case
//   - in base64 and base64url, with or without padding, anywhere in the encoded text, such as the password in the
//     credentials of Basic authentication
//
// # Limitations
//
// The package does not find these forms:
//
//   - base64 of a secret of fewer than five bytes, or with line breaks in it
//   - hexadecimal, base32, hashes and compressed text
//   - a secret whose letters and digits are escaped individually
//   - base64 of base64
package redact

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Mask replaces a secret.
const Mask = "*****"

// ShortSecret is the length below which texts for people are not searched for a secret. Masking every "1" or "no"
// makes a text unreadable and reveals the secret by its gaps.
const ShortSecret = 4

// Secrets masks secrets in texts. The zero value and nil know no secret. It is safe for concurrent use. The exported
// fields must not change after the first call of Add.
type Secrets struct {
	// Shortest is the length of the shortest spelling to search for. Zero means 1.
	Shortest int
	// Most is the maximum number of spellings. The oldest are dropped. Zero means no limit.
	Most int
	// With replaces a secret. Empty means [Mask].
	With string
	// Spell returns the spellings of a secret. Nil means [Spellings].
	Spell func(secret string) []string

	mu        sync.RWMutex
	spellings []string // oldest first
	// byStart holds the spellings by their first two bytes, or their only byte, longest first. starts holds the first
	// bytes.
	byStart map[string][]string
	starts  [256]bool
}

// Of returns Secrets that mask secrets of at least [ShortSecret] bytes.
func Of(secrets []string) *Secrets {
	s := &Secrets{Shortest: ShortSecret}
	s.Add(secrets...)
	return s
}

// Add adds secrets.
func (s *Secrets) Add(secrets ...string) {
	if s == nil {
		return
	}
	spell := s.Spell
	if spell == nil {
		spell = Spellings
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		for _, spelling := range spell(secret) {
			if len(spelling) >= max(s.Shortest, 1) {
				s.add(spelling)
			}
		}
	}
	if over := len(s.spellings) - s.Most; s.Most > 0 && over > 0 {
		kept := slices.Clone(s.spellings[over:])
		s.spellings, s.byStart, s.starts = nil, nil, [256]bool{}
		for _, spelling := range kept {
			s.add(spelling)
		}
	}
}

func (s *Secrets) add(spelling string) {
	start := spelling[:min(2, len(spelling))]
	list := s.byStart[start]
	if slices.Contains(list, spelling) {
		return
	}
	if s.byStart == nil {
		s.byStart = map[string][]string{}
	}
	at, _ := slices.BinarySearchFunc(list, spelling, func(a, b string) int { return len(b) - len(a) })
	s.byStart[start] = slices.Insert(list, at, spelling)
	s.starts[spelling[0]] = true
	s.spellings = append(s.spellings, spelling)
}

// Empty reports whether no secret was added.
func (s *Secrets) Empty() bool {
	if s == nil {
		return true
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.spellings) == 0
}

// In reports whether a text contains a secret.
func (s *Secrets) In(text string) bool {
	if s == nil {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.in(text)
}

// in is In for callers that hold the lock.
func (s *Secrets) in(text string) bool {
	for i := range len(text) {
		if s.at(text, i) > 0 {
			return true
		}
	}
	return false
}

// Find returns the secrets in a text as they are spelled there, the oldest secret first.
func (s *Secrets) Find(text string) []string {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.in(text) { // one pass, while the search below makes one per spelling
		return nil
	}
	var found []string
	for _, spelling := range s.spellings {
		if strings.Contains(text, spelling) {
			found = append(found, spelling)
		}
	}
	return found
}

// Mask replaces each secret in a text with a mask. Overlapping secrets become one mask.
func (s *Secrets) Mask(text string) string {
	if s == nil {
		return text
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.spellings) == 0 {
		return text
	}
	var b strings.Builder
	mask := cmp.Or(s.With, Mask)
	done, end := 0, 0 // the length written so far, and the end of the current secret
	for i := range len(text) {
		n := s.at(text, i)
		if n == 0 {
			continue
		}
		if i >= end {
			b.WriteString(text[done:i])
			b.WriteString(mask)
		}
		end = max(end, i+n)
		done = end
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// at returns the length of the longest secret that begins at byte i of a text, or 0.
func (s *Secrets) at(text string, i int) int {
	if !s.starts[text[i]] {
		return 0
	}
	if i+1 < len(text) {
		for _, spelling := range s.byStart[text[i:i+2]] {
			if strings.HasPrefix(text[i:], spelling) {
				return len(spelling)
			}
		}
	}
	if len(s.byStart[text[i:i+1]]) > 0 {
		return 1
	}
	return 0
}

// Cut shortens the beginning of a longer text so that it does not end in a partial secret or character.
func (s *Secrets) Cut(text string) string {
	text = CutRune(text)
	if s == nil {
		return text
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	longest := 0
	for _, spelling := range s.spellings {
		for n := min(len(spelling)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, spelling[:n]) {
				longest = n
			}
		}
	}
	return text[:len(text)-longest]
}

// CutRune removes an incomplete UTF-8 sequence from the end of a text.
func CutRune(text string) string {
	for i := 1; i <= utf8.UTFMax && i <= len(text); i++ {
		if b := text[len(text)-i]; utf8.RuneStart(b) {
			if !utf8.FullRuneInString(text[len(text)-i:]) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}
