package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/value"
)

// maxExample bounds how deep an example nests.
const maxExample = 8

// Example returns a value that fits the schema as far as its keywords say, with the members that are required and no others: for
// asking a provider about what it publishes. Another n, from 0 to 999, gives other texts where they are free. A text that must
// match a pattern may not fit, since only a few are tried.
func (s *Schema) Example(n int) value.Value { return s.example(n, maxExample) }

func (s *Schema) example(n, depth int) value.Value {
	if s = s.resolved(); s == nil || depth == 0 {
		return value.Str("example")
	}
	if len(s.enum) > 0 {
		return s.written(s.enum[0])
	}
	switch {
	case s.types == nil && s.properties == nil:
		return s.text(n)
	case s.types == nil || slices.Contains(s.types, "object"):
		var members []value.Member
		for _, name := range s.required {
			members = append(members, value.Member{Key: name, Value: s.at(s.properties[name]).example(n, depth-1)})
		}
		return value.Object(members...)
	case slices.Contains(s.types, "array"):
		items := []value.Value{}
		for range max(1, deref(s.minItems)) {
			items = append(items, s.at(s.items).example(n, depth-1))
		}
		return value.Items(items...)
	case s.numeric():
		number := 1.0
		if s.least != nil {
			number = max(number, *s.least)
		}
		if s.most != nil {
			number = min(number, *s.most)
		}
		return value.Num(strconv.FormatFloat(number, 'f', -1, 64))
	case slices.Contains(s.types, "boolean"):
		return value.Boolean(false)
	}
	return s.text(n)
}

// written returns the member of an enumeration with its type.
func (s *Schema) written(text string) value.Value {
	if s.types != nil && !slices.Contains(s.types, "string") {
		if v, err := value.Parse([]byte(text)); err == nil {
			return v
		}
	}
	return value.Str(text)
}

// text returns a text that fits, the first of a few that does.
func (s *Schema) text(n int) value.Value {
	if s.format == "date-time" {
		return value.Str(fmt.Sprintf("2030-01-01T00:00:%02dZ", n%60))
	}
	word := fmt.Sprintf("example-%d", n)
	if n == 0 {
		word = "example"
	}
	tries := []string{
		word, strings.ReplaceAll(word, "-", ""), "Example", "ex", "e", fmt.Sprintf("%d", 10+n), "EXAMPLE",
		"example.com", "user@example.com", "https://example.com/", "/example", "192.0.2.1", "us-east-1", "arn:aws:s3:::example", "00000000-0000-4000-8000-000000000000",
	}
	for _, try := range tries {
		if least := deref(s.minLength); len(try) < least {
			try += strings.Repeat("x", least-len(try))
		}
		if s.maxLength != nil && len(try) > *s.maxLength {
			continue
		}
		if s.fitsText(try) {
			return value.Str(try)
		}
	}
	return value.Str(word)
}

func deref(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// Vary returns an object with one member changed to another value that fits; false if none can be. Members that are not
// required are preferred, since those that are often name the resource.
func (s *Schema) Vary(v value.Value) (value.Value, bool) {
	if s = s.resolved(); s == nil || v.Kind() != value.Map {
		return v, false
	}
	names := slices.Sorted(maps.Keys(s.properties))
	slices.SortStableFunc(names, func(a, b string) int { return rank(s, a) - rank(s, b) })
	for _, name := range names {
		member := s.at(s.properties[name]).resolved()
		if member == nil || member.secret {
			continue
		}
		old, _ := v.Get(name)
		if changed, ok := member.another(old); ok {
			return replaced(v, name, changed), true
		}
	}
	return v, false
}

// replaced returns an object with a member set.
func replaced(v value.Value, key string, member value.Value) value.Value {
	members := slices.DeleteFunc(slices.Clone(v.Members()), func(m value.Member) bool { return m.Key == key })
	return value.Object(append(members, value.Member{Key: key, Value: member})...)
}

// rank puts what is not required before what is.
func rank(s *Schema, name string) int {
	if slices.Contains(s.required, name) {
		return 1
	}
	return 0
}

// another returns a scalar that fits and differs from the old one.
func (s *Schema) another(old value.Value) (value.Value, bool) {
	var tries []value.Value
	switch {
	case s.enum != nil:
		for _, text := range s.enum {
			tries = append(tries, s.written(text))
		}
	case s.numeric():
		for _, n := range []string{"2", "1", "3", "10", "100"} {
			tries = append(tries, value.Num(n))
		}
	case s.wants("string"):
		tries = append(tries, s.text(1), s.text(2))
	case s.wants("boolean"):
		tries = append(tries, value.Boolean(true), value.Boolean(false))
	}
	for _, try := range tries {
		if try.Text() != old.Text() && s.fitsText(try.Text()) {
			return try, true
		}
	}
	return value.Value{}, false
}
