package schema

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Bounds of an example: how deep it nests, of how many values it is made, and to how many bytes a text is filled up. A schema is
// anybody's, and may ask for lists of a billion.
const (
	maxExample       = 8
	maxExampleValues = 1000
	maxExampleText   = 16 << 10
)

// Example returns a value that fits the schema as far as its keywords express, with only the required members. The check uses it
// to call a provider with its own schema. Another n, from 0 to 999, gives other texts where the schema allows it. Secret
// texts differ from others. A text for a pattern may not match, because Example tries only a few, and a value with more than
// a thousand parts does not fit.
func (s *Schema) Example(n int) value.Value {
	e := &example{n: n, left: maxExampleValues}
	return e.of(s, false, maxExample)
}

// example is one that is being made.
type example struct{ n, left int }

func (e *example) of(s *Schema, secret bool, depth int) value.Value {
	e.left--
	secret = secret || s != nil && s.secret // which may stand next to a reference
	if s = s.resolved(); s == nil || depth == 0 || e.left < 0 {
		return value.Str("example")
	}
	secret = secret || s.secret
	if len(s.enum) > 0 {
		return s.written(s.enum[0])
	}
	switch {
	case s.types == nil && s.properties == nil:
		return s.text(e.n, secret)
	case s.types == nil || slices.Contains(s.types, "object"):
		var members []value.Member
		for _, name := range s.required[:min(len(s.required), e.left)] {
			members = append(members, value.Member{Key: name, Value: e.of(s.at(s.properties[name]), secret, depth-1)})
		}
		return value.Object(members...)
	case slices.Contains(s.types, "array"):
		items := []value.Value{}
		for range min(max(1, deref(s.minItems)), e.left) {
			items = append(items, e.of(s.at(s.items), secret, depth-1))
		}
		return value.Items(items...)
	case s.numeric():
		return value.Num(strconv.FormatFloat(s.number(), 'f', -1, 64))
	case slices.Contains(s.types, "boolean"):
		return value.Boolean(false)
	}
	return s.text(e.n, secret)
}

// number returns a number that fits, 1 if that does.
func (s *Schema) number() float64 {
	number := 1.0
	if s.least != nil {
		number = max(number, *s.least)
	}
	if s.most != nil {
		number = min(number, *s.most)
	}
	if s.wants("number") {
		return number
	}
	if up := math.Ceil(number); s.most == nil || up <= *s.most {
		return up
	}
	return math.Floor(number)
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

// text returns a text that fits, the first of a few that does. A secret one has words that are in no other.
func (s *Schema) text(n int, secret bool) value.Value {
	if s.format == "date-time" {
		return value.Str(fmt.Sprintf("2030-01-01T00:00:%02dZ", n%60))
	}
	word := fmt.Sprintf("example-%d", n)
	if n == 0 {
		word = "example"
	}
	var tries []string
	if secret {
		tries = []string{fmt.Sprintf("hidden-Phrase-%d", n+1), fmt.Sprintf("hidden%d", n+1), "hidden", "HIDDEN", fmt.Sprintf("%d", 987650+n)}
	}
	tries = append(tries,
		word, strings.ReplaceAll(word, "-", ""), "Example", "ex", "e", fmt.Sprintf("%d", 10+n), "EXAMPLE",
		"example.com", "user@example.com", "https://example.com/", "/example", "192.0.2.1", "us-east-1", "arn:aws:s3:::example", "00000000-0000-4000-8000-000000000000",
	)
	for _, try := range tries {
		if least := min(deref(s.minLength), maxExampleText); len(try) < least {
			try += strings.Repeat("x", least-len(try))
		}
		if s.maxLength != nil && len(try) > *s.maxLength {
			continue
		}
		if s.fitsText(try) {
			return value.Str(try)
		}
	}
	return value.Str(tries[0])
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

// rank sorts optional members before required ones.
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
	case s.properties != nil || s.items != nil: // no scalar
	case s.wants("string"):
		tries = append(tries, s.text(1, false), s.text(2, false))
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
