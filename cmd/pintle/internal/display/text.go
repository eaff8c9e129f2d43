// Package display prints the progress of an operation, as a live table on a terminal or as plain lines. What it is
// given comes from templates and providers, so none of it reaches the terminal unchecked.
package display

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// escapes are the sequences that move a terminal's cursor, colour its text or set its title.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])`)

// Clean returns a text as one line that does nothing to a terminal: without escape sequences, control characters and
// the marks that turn the direction of writing.
func Clean(text string) string {
	return strings.Join(strings.Fields(CleanLines(text)), " ")
}

// CleanLines is [Clean] for a text whose lines and indents are kept.
func CleanLines(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\uFFFD")
	if strings.IndexByte(text, 0x1b) >= 0 {
		text = escapes.ReplaceAllString(text, "")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t', r == '\r', r == '\u2028', r == '\u2029':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text)
}

// width returns how many columns a cleaned text takes.
func width(text string) int {
	n := 0
	for _, r := range text {
		n += columns(r)
	}
	return n
}

// wide are the scripts and symbols that take two columns.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x2e80, Hi: 0x303e, Stride: 1}, {Lo: 0x3041, Hi: 0xa4cf, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xfe30, Hi: 0xfe6f, Stride: 1},
		{Lo: 0xff00, Hi: 0xff60, Stride: 1}, {Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x1f300, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1}},
}

func columns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// clip cuts a cleaned text to a number of columns; that something was cut is seen by its end.
func clip(text string, limit int) string {
	if width(text) <= limit {
		return text
	}
	if limit <= 0 {
		return ""
	}
	n := 0
	for i, r := range text {
		if n += columns(r); n > limit-1 {
			return text[:i] + "…"
		}
	}
	return text
}

// pad fills a text up to a number of columns.
func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(columns-width(text), 0))
}

// Span renders a duration in the units that matter: 40 ms, 1.4 s, 12 s, 2 m 05 s, 1 h 02 m.
func Span(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d m %02d s", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d h %02d m", d/time.Hour, d%time.Hour/time.Minute)
}

// Columns renders rows of cleaned cells below each other, two blanks apart. The last cell of a row is not padded.
func Columns(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(Clean(cell)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += pad(Clean(cell), widths[i]) + "  "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
