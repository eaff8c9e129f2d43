package local

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/wire"
)

// maxSecrets limits how many spellings of secrets a process remembers. The oldest are dropped.
const maxSecrets = 4096

// redactor makes a line of a process safe to show: without control characters, signatures and secrets. It is safe for
// concurrent use.
type redactor struct{ known redact.Secrets }

func newRedactor() *redactor {
	return &redactor{redact.Secrets{Most: maxSecrets, Spell: spellings}}
}

// spellings returns the forms in which a secret is likely to appear in a log line: those of [redact.Spellings], and
// each line of a multi-line secret.
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

// line returns a redacted line without its line end.
func (h *redactor) line(line string) string {
	// Signatures first: masking a secret inside one could hide it.
	return h.known.Mask(wire.Redact(clean(line)))
}

// leaks returns the secrets in a line, as spelled there.
func (h *redactor) leaks(line string) []string { return h.known.Find(clean(line)) }

// beginning returns the redacted beginning of a truncated line. It removes an end that may be the beginning of a
// secret.
func (h *redactor) beginning(line string) string {
	return h.line(h.known.Cut(clean(redact.CutRune(line)))) + "…"
}

// escapes matches the sequences that move a terminal's cursor, colour its text or set its title.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")

// clean removes escape sequences and control characters except tab, replaces line feeds with spaces, and marks invalid
// UTF-8.
func clean(text string) string {
	if strings.IndexByte(text, 0x1b) >= 0 {
		text = escapes.ReplaceAllString(text, "")
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return ' ' // in a message; log lines have none
		case r != '\t' && unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
}
