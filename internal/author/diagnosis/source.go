package diagnosis

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// Source is the text of a template, line by line, without the defaults of its NoEcho parameters.
type Source struct {
	lines []string
	// secrets lists the hidden parts, in order.
	secrets []span
	// safe is how many lines may be shown at all.
	safe int
}

// point is a place in a text, from 1; the column is in characters.
type point struct{ line, column int }

func (p point) compare(q point) int {
	return cmp.Or(cmp.Compare(p.line, q.line), cmp.Compare(p.column, q.column))
}

// span is from a place to another, which is not part of it.
type span struct{ from, to point }

// NewSource reads the text of a template, valid or not.
func NewSource(text string) *Source {
	s := &Source{lines: splitLines(text)}
	s.safe = len(s.lines)
	root, err := template.Read(text, template.Limits{Bytes: max(len(text), 1)})
	if err != nil {
		s.distrust(text)
		return s
	}
	var places []point
	collect(root, &places)
	slices.SortFunc(places, point.compare)
	end := point{len(s.lines) + 1, 1}
	for _, m := range root.Get("Parameters").Members() {
		if !secret(m.Value) {
			continue
		}
		for _, attribute := range m.Value.Members() {
			if attribute.Key != "Default" {
				continue
			}
			var within []point
			collect(attribute.Value, &within)
			last := slices.MaxFunc(within, point.compare)
			to := end
			if i := slices.IndexFunc(places, func(p point) bool { return p.compare(last) > 0 }); i >= 0 {
				to = places[i]
			}
			s.secrets = append(s.secrets, span{point{attribute.Value.Line(), attribute.Value.Column()}, to})
		}
	}
	return s
}

// secret reports whether a parameter is NoEcho, or may be meant to be.
func secret(parameter template.Node) bool {
	return slices.ContainsFunc(parameter.Members(), func(m template.Member) bool {
		return m.Key == "NoEcho" && !strings.EqualFold(m.Value.Text(), "false")
	})
}

// breaks are the line breaks of YAML 1.1.
var breaks = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

// splitLines cuts a text where its reader counts lines.
func splitLines(text string) []string {
	if strings.HasPrefix(strings.TrimLeft(text, "\ufeff \t\r\n"), "{") { // JSON
		return strings.Split(text, "\n")
	}
	return breaks.Split(text, -1)
}

// collect adds where a node and everything in it stands.
func collect(n template.Node, to *[]point) {
	*to = append(*to, point{n.Line(), n.Column()})
	for _, item := range n.Items() {
		collect(item, to)
	}
	for _, m := range n.Members() {
		*to = append(*to, point{m.Line(), m.Column()})
		collect(m.Value, to)
	}
}

// distrust hides all lines from the first on that may hold a default, of a text that cannot be read and may have secrets.
func (s *Source) distrust(text string) {
	if !strings.Contains(strings.ToLower(text), "noecho") && !strings.Contains(text, `\`) {
		return
	}
	for i, line := range s.lines {
		if strings.Contains(strings.ToLower(line), "default") || strings.Contains(line, `\`) {
			s.safe = i
			return
		}
	}
}

// Excerpt is a line of a text with a marked part.
type Excerpt struct {
	Text string
	// Column is where the mark begins, from 1 in characters, and Length how far it goes; both 0 if the place has no column.
	Column, Length int
}

// Excerpt returns a line, marked from the column to the end of its word. It returns false if the line does not exist or
// must stay hidden.
func (s *Source) Excerpt(line, column int) (Excerpt, bool) {
	if line < 1 || line > s.safe {
		return Excerpt{}, false
	}
	text := []rune(strings.TrimSuffix(s.lines[line-1], "\r"))
	if line == 1 && len(text) > 0 && text[0] == '\ufeff' {
		text = text[1:]
	}
	for _, hidden := range slices.Backward(s.secrets) {
		text, column = hide(text, column, line, hidden)
	}
	e := Excerpt{Text: string(text)}
	if strings.TrimSpace(e.Text) == "" {
		return Excerpt{}, false
	}
	if column > 0 && column <= len(text) {
		e.Column, e.Length = column, word(string(text[column-1:]))
	}
	return e, true
}

// hide masks the part of a secret that is on a line, and returns the new position of the column.
func hide(text []rune, column, line int, secret span) ([]rune, int) {
	if line < secret.from.line || line > secret.to.line {
		return text, column
	}
	from, to := 0, len(text)
	if line == secret.from.line {
		from = min(secret.from.column-1, len(text))
	}
	if line == secret.to.line {
		to = min(secret.to.column-1, len(text))
	}
	if from >= to || strings.TrimSpace(string(text[from:to])) == "" {
		return text, column
	}
	for from < to && (text[from] == ' ' || text[from] == '\t') {
		from++ // the indent says nothing
	}
	if line == secret.to.line && line != secret.from.line {
		from = 0
	}
	mask := []rune(value.ParameterMask + " ")
	if to == len(text) {
		mask = mask[:len(mask)-1]
	}
	masked := append(append(slices.Clone(text[:from]), mask...), text[to:]...)
	switch {
	case column > to:
		column += len(mask) - (to - from)
	case column > from:
		column = from + 1
	}
	return masked, column
}

// word returns the number of characters of the first word of a text: a quoted word, or one that ends before punctuation.
func word(text string) int {
	if tag, rest, ok := strings.Cut(text, " "); ok && strings.HasPrefix(tag, "!") {
		if argument := strings.TrimLeft(rest, " "); argument != "" && !strings.ContainsAny(argument[:1], "[{|>") {
			return utf8.RuneCountInString(text) - utf8.RuneCountInString(argument) + word(argument)
		}
	}
	if quote := text[0]; quote == '"' || quote == '\'' {
		if end := strings.IndexByte(text[1:], quote); end >= 0 {
			return utf8.RuneCountInString(text[:end+2])
		}
	}
	end := strings.IndexFunc(text, func(r rune) bool { return strings.ContainsRune(" \t,:{}[]\"'", r) })
	switch {
	case end < 0:
		end = len(text)
	case end == 0:
		return 1
	}
	return utf8.RuneCountInString(text[:end])
}
