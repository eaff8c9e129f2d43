package local

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// maxSecrets bounds how many spellings of secrets a process remembers; the oldest are forgotten.
const maxSecrets = 4096

// scrubber makes a line of a process fit to be seen: no control characters, no signatures, no secrets. It may be used
// concurrently. The zero scrubber knows no secrets.
type scrubber struct {
	mu        sync.Mutex
	spellings []string          // oldest first
	replacer  *strings.Replacer // made of spellings, nil when they are none
}

// hide adds secrets.
func (s *scrubber) hide(secrets []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.spellings)
	for _, secret := range secrets {
		for _, spelling := range spellings(secret) {
			if !slices.Contains(s.spellings, spelling) {
				s.spellings = append(s.spellings, spelling)
			}
		}
	}
	if len(s.spellings) == before {
		return
	}
	if over := len(s.spellings) - maxSecrets; over > 0 {
		s.spellings = slices.Delete(s.spellings, 0, over)
	}
	// The longest first: a secret that begins with another must go whole.
	sorted := slices.Clone(s.spellings)
	slices.SortFunc(sorted, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(sorted))
	for _, spelling := range sorted {
		pairs = append(pairs, spelling, value.Mask)
	}
	s.replacer = strings.NewReplacer(pairs...)
}

// spellings returns the ways in which a secret is likely to be seen in a line of a log: those of [value.Spellings], and
// each of its own lines.
func spellings(secret string) []string {
	var all []string
	add := func(text string) {
		if text = clean(text); text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	for line := range strings.Lines(secret) {
		add(strings.TrimRight(line, "\r\n"))
	}
	for _, spelling := range value.Spellings(secret) {
		add(spelling)
	}
	return all
}

// scrub returns the line as it may be seen, without its line end.
func (s *scrubber) scrub(line string) string {
	// Signatures first: masking a secret inside one could hide it.
	line = wire.Redact(clean(line))
	s.mu.Lock()
	replacer := s.replacer
	s.mu.Unlock()
	if replacer != nil {
		line = replacer.Replace(line)
	}
	return line
}

// leaks returns the secrets that a line holds, in the spelling that they have in it.
func (s *scrubber) leaks(line string) (found []string) {
	line = clean(line)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, spelling := range s.spellings {
		if strings.Contains(line, spelling) {
			found = append(found, spelling)
		}
	}
	return found
}

// scrubCut is scrub for a line whose end was cut off, which may have left the beginning of a secret.
func (s *scrubber) scrubCut(line string) string {
	line = clean(cutRune(line))
	s.mu.Lock()
	longest := 0
	for _, spelling := range s.spellings {
		for n := min(len(spelling)-1, len(line)); n > longest; n-- {
			if strings.HasSuffix(line, spelling[:n]) {
				longest = n
			}
		}
	}
	s.mu.Unlock()
	return s.scrub(line[:len(line)-longest]) + "…"
}

// escapes are the sequences that move a terminal's cursor, colour its text or set its title.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")

// clean drops escape sequences and control characters other than tab, turns line feeds into blanks, and marks what is not UTF-8.
func clean(text string) string {
	if strings.IndexByte(text, 0x1b) >= 0 {
		text = escapes.ReplaceAllString(text, "")
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return ' ' // of a message; lines of a log have none
		case r != '\t' && unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
}

// cutRune drops an incomplete UTF-8 sequence at the end of text.
func cutRune(text string) string {
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
