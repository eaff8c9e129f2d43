package local

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/wire"
)

// maxSecrets bounds how many spellings of secrets a process remembers; the oldest are forgotten.
const maxSecrets = 4096

// redactor makes a line of a process fit to be seen: no control characters, no signatures, no secrets. It may be used
// concurrently.
type redactor struct{ known redact.Secrets }

func newRedactor() *redactor {
	return &redactor{redact.Secrets{Most: maxSecrets, Spell: spellings}}
}

// spellings returns the ways in which a secret is likely to be seen in a line of a log: those of [redact.Spellings], and
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
	for _, spelling := range redact.Spellings(secret) {
		add(spelling)
	}
	return all
}

// line returns a line as it may be seen, without its line end.
func (h *redactor) line(line string) string {
	// Signatures first: masking a secret inside one could hide it.
	return h.known.Mask(wire.Redact(clean(line)))
}

// leaks returns the secrets that a line holds, in the spelling that they have in it.
func (h *redactor) leaks(line string) []string { return h.known.Find(clean(line)) }

// beginning returns the beginning of a longer line as it may be seen. Its end may be the beginning of a secret.
func (h *redactor) beginning(line string) string {
	return h.line(h.known.Cut(clean(redact.CutRune(line)))) + "…"
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
