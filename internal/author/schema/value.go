package schema

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// fitsText reports whether a scalar fits, by the text that a provider gets of it.
func (s *Schema) fitsText(text string) bool {
	switch {
	case s.nothing:
		return false
	case s.enum != nil:
		return slices.ContainsFunc(s.enum, func(member string) bool { return s.same(member, text) })
	case s.types == nil:
		return true
	}
	if s.numeric() {
		if f, ok := number(text); ok {
			return s.fitsNumber(f)
		}
	}
	if s.wants("boolean") && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false")) {
		return true
	}
	if !s.wants("string") {
		return false
	}
	if s.pattern != nil && !s.pattern.MatchString(text) {
		return false
	}
	if s.format == "date-time" {
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return false
		}
	}
	if s.numeric() { // as a text it has no length of its own
		return true
	}
	n := utf8.RuneCountInString(text)
	return (s.minLength == nil || n >= *s.minLength) && (s.maxLength == nil || n <= *s.maxLength)
}

// same reports whether a text is a member of an enumeration, as the provider reads it.
func (s *Schema) same(member, text string) bool {
	if member == text {
		return true
	}
	if member == "true" || member == "false" {
		return strings.EqualFold(member, text)
	}
	if s.types != nil && !s.numeric() {
		return false
	}
	a, isNumber := number(member)
	b, ok := number(text)
	return isNumber && ok && a == b
}

func (s *Schema) fitsNumber(f float64) bool {
	if !s.wants("number") && f != math.Trunc(f) {
		return false
	}
	return (s.least == nil || f >= *s.least) && (s.most == nil || f <= *s.most)
}

// number reads a JSON number.
func number(text string) (float64, bool) {
	if strings.ContainsAny(text, "xXpP_iInN") { // further forms that only Go accepts
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

func (s *Schema) wants(kind string) bool { return s.types == nil || slices.Contains(s.types, kind) }

func (s *Schema) numeric() bool {
	return s.types != nil && (slices.Contains(s.types, "integer") || slices.Contains(s.types, "number"))
}

// fitsLength reports whether a list or an object may have so many items or members.
func fitsLength(n int, least, most *int) bool {
	return (least == nil || n >= *least) && (most == nil || n <= *most)
}

// Secrets returns the texts in a value that the schema says are secret, as package pintle marks them.
func (s *Schema) Secrets(v value.Value) []string { return s.Tainted(v).Secrets() }

// Tainted returns v with that marked of which the schema says that it is secret; of a nil Schema v itself. A value bounds the depth.
func (s *Schema) Tainted(v value.Value) value.Value {
	if s == nil {
		return v
	}
	hidden := s.secret // which may stand next to a reference
	if s = s.resolved(); s == nil && !hidden {
		return v
	}
	if hidden || s.secret {
		return v.Tainted(value.OfParameter)
	}
	switch v.Kind() {
	case value.List:
		items := make([]value.Value, len(v.Items()))
		for i, item := range v.Items() {
			items[i] = s.at(s.items).Tainted(item)
		}
		return value.Items(items...)
	case value.Map:
		members := make([]value.Member, len(v.Members()))
		for i, m := range v.Members() {
			below := s.more
			if declared, ok := s.properties[m.Key]; ok {
				below = declared
			}
			members[i] = value.Member{Key: m.Key, Value: s.at(below).Tainted(m.Value)}
		}
		return value.Object(members...)
	case value.Null, value.Bool, value.Number, value.String:
	}
	return v
}

// wanted describes valid values, in the words of package pintle.
func (s *Schema) wanted() string {
	switch {
	case s.nothing, s.enum != nil && len(s.enum) == 0:
		return "nothing"
	case len(s.enum) == 2 && slices.Contains(s.enum, "true") && slices.Contains(s.enum, "false"):
		return "true or false"
	case len(s.enum) > 0:
		return "one of " + strings.Join(s.enum, ", ")
	}
	var kinds []string
	for _, kind := range []string{"integer", "number", "string", "boolean", "array", "object"} {
		if !slices.Contains(s.types, kind) || kind == "string" && s.numeric() && s.pattern != nil {
			continue // the pattern is that of a number
		}
		kinds = append(kinds, s.kind(kind))
	}
	if len(kinds) == 0 {
		return "another value"
	}
	return strings.Join(kinds, " or ")
}

func (s *Schema) kind(kind string) string {
	switch kind {
	case "integer":
		return "a whole number" + s.within()
	case "number":
		return "a number" + s.within()
	case "string":
		switch {
		case s.format == "date-time":
			return "a time such as 2006-01-02T15:04:05Z"
		case s.pattern != nil:
			return "a text" + length("characters", s.minLength, s.maxLength) + " that matches " + s.pattern.String()
		}
		return "a text" + length("characters", s.minLength, s.maxLength)
	case "boolean":
		return "true or false"
	case "array":
		return "a list" + length("items", s.minItems, s.maxItems)
	}
	return "an object" + length("members", s.minProps, s.maxProps)
}

func (s *Schema) within() string {
	text := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
	switch {
	case s.least != nil && s.most != nil:
		return " from " + text(s.least) + " to " + text(s.most)
	case s.least != nil:
		return ", " + text(s.least) + " or more"
	case s.most != nil:
		return ", " + text(s.most) + " or less"
	}
	return ""
}

func length(unit string, least, most *int) string {
	switch {
	case least != nil && most != nil && *least == *most:
		return fmt.Sprintf(" of %d %s", *most, unit)
	case most != nil:
		from := 0
		if least != nil {
			from = *least
		}
		return fmt.Sprintf(" of %d to %d %s", from, *most, unit)
	case least != nil && *least > 0:
		return fmt.Sprintf(" of %d %s or more", *least, unit)
	}
	return ""
}
