package logs

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxPattern is the maximum length of a filter pattern in characters. Source: CloudWatch Logs API Reference,
// FilterLogEvents.
const MaxPattern = 1024

// Pattern is a filter pattern for messages. The zero Pattern matches all.
//
// Source: Amazon CloudWatch Logs User Guide, "Filter pattern syntax".
type Pattern struct {
	// all, any and none are terms. The terms of any count only if all and none are empty.
	all, any, none []term
	// json is the condition of a pattern in braces.
	json condition
}

// term is a text, or a regular expression.
type term struct {
	text       string
	expression *regexp.Regexp
}

func (t term) in(message string) bool {
	if t.expression != nil {
		return t.expression.MatchString(message)
	}
	return strings.Contains(message, t.text)
}

// ParsePattern parses a filter pattern: terms, quoted phrases, -exclusions, ?alternatives, %regular expressions%, and
// conditions on JSON in braces. The error is for users.
func ParsePattern(text string) (Pattern, error) {
	var p Pattern
	text = strings.TrimSpace(text)
	switch {
	case !utf8.ValidString(text):
		return p, errors.New("a filter pattern is text in UTF-8")
	case len([]rune(text)) > MaxPattern:
		return p, fmt.Errorf("a filter pattern has at most %d characters", MaxPattern)
	case text == "":
		return p, nil
	case strings.HasPrefix(text, "{"):
		var err error
		p.json, err = parseCondition(text)
		return p, err
	case strings.HasPrefix(text, "["):
		return p, errors.New("this version of Pintle has no filter patterns for space-delimited events ([...])")
	}
	for rest := text; rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
		into := &p.all
		switch rest[0] {
		case '-':
			into, rest = &p.none, rest[1:]
		case '?':
			into, rest = &p.any, rest[1:]
		}
		one, after, err := parseTerm(rest)
		if err != nil {
			return Pattern{}, err
		}
		*into, rest = append(*into, one), after
	}
	return p, nil
}

// parseTerm parses one term, and returns the rest of the text.
func parseTerm(text string) (t term, rest string, err error) {
	switch {
	case strings.HasPrefix(text, `"`):
		t.text, rest, err = quotedText(text)
	case strings.HasPrefix(text, "%"):
		t.expression, rest, err = regularExpression(text)
	default:
		end := strings.IndexFunc(text, unicode.IsSpace)
		if end < 0 {
			end = len(text)
		}
		t.text, rest = text[:end], text[end:]
		plain := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
		if t.text == "" || strings.ContainsFunc(t.text, func(r rune) bool { return !plain(r) }) {
			return t, rest, fmt.Errorf("Invalid character(s) in term '%s'", t.text) //nolint:staticcheck // the service's text
		}
	}
	return t, rest, err
}

// quotedText parses a quoted text, in which a backslash escapes a quotation mark or a backslash.
func quotedText(text string) (quoted, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], nil
		case c == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", errors.New("a quotation mark in the filter pattern is not closed")
}

// regularExpression parses an expression between percent signs.
func regularExpression(text string) (expression *regexp.Regexp, rest string, err error) {
	end := strings.IndexByte(text[1:], '%')
	if end < 0 {
		return nil, "", errors.New("a regular expression in the filter pattern is not closed by %")
	}
	source := text[1 : end+1]
	expression, err = regexp.Compile(source)
	if err != nil || source == "" {
		return nil, "", fmt.Errorf("%%%s%% in the filter pattern is not a regular expression", source)
	}
	return expression, text[end+2:], nil
}

// Match reports whether a message matches the pattern.
func (p Pattern) Match(message string) bool {
	if p.json != nil {
		return matchJSON(p.json, message)
	}
	for _, t := range p.all {
		if !t.in(message) {
			return false
		}
	}
	for _, t := range p.none {
		if t.in(message) {
			return false
		}
	}
	if len(p.any) == 0 || len(p.all)+len(p.none) > 0 {
		return true
	}
	for _, t := range p.any {
		if t.in(message) {
			return true
		}
	}
	return false
}
