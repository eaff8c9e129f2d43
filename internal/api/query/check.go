package query

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// check is one constraint of a value: the end of the sentence "Member must …", and its condition.
type check struct {
	must string
	ok   func(reflect.Value) bool
}

// parseChecks reads the constraint tags of a field whose value has the shape s.
func parseChecks(tag reflect.StructTag, s *shape) (own, each []check, err error) {
	text, texts := s.kind == textKind, s.kind == listKind && s.item.kind == textKind
	for _, rule := range []struct {
		name  string
		fits  bool
		parse func(string) ([]check, error)
		into  *[]check
	}{
		{"length", text || s.kind == listKind, lengthChecks, &own},
		{"range", s.kind == intKind, rangeChecks, &own},
		{"pattern", text, patternChecks, &own},
		{"enum", text, enumChecks, &own},
		{"each-length", texts, lengthChecks, &each},
		{"each-pattern", texts, patternChecks, &each},
		{"enum", texts, enumChecks, &each},
	} {
		value, given := tag.Lookup(rule.name)
		if !given || rule.name == "enum" && !rule.fits && (text || texts) {
			continue
		}
		if !rule.fits {
			return nil, nil, fmt.Errorf("the tag %s does not fit the type", rule.name)
		}
		checks, err := rule.parse(value)
		if err != nil {
			return nil, nil, fmt.Errorf("the tag %s: %w", rule.name, err)
		}
		*rule.into = append(*rule.into, checks...)
	}
	return own, each, nil
}

// bounds parses "least,most", either of which may be empty, and returns a check for each.
func bounds(text, what string, measure func(reflect.Value) int64) ([]check, error) {
	least, most, ok := strings.Cut(text, ",")
	if !ok {
		return nil, fmt.Errorf("%q is not of the form least,most", text)
	}
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	var checks []check
	var err error
	if most != "" {
		if high, err = strconv.ParseInt(most, 10, 64); err != nil {
			return nil, err
		}
		checks = append(checks, check{"have " + what + " less than or equal to " + most, func(v reflect.Value) bool { return measure(v) <= high }})
	}
	if least != "" {
		if low, err = strconv.ParseInt(least, 10, 64); err != nil {
			return nil, err
		}
		checks = append(checks, check{"have " + what + " greater than or equal to " + least, func(v reflect.Value) bool { return measure(v) >= low }})
	}
	if low > high || checks == nil {
		return nil, fmt.Errorf("%q bounds nothing or everything", text)
	}
	return checks, nil
}

func lengthChecks(text string) ([]check, error) {
	return bounds(text, "length", func(v reflect.Value) int64 {
		if v.Kind() == reflect.String {
			return int64(utf8.RuneCountInString(v.String()))
		}
		return int64(v.Len())
	})
}

func rangeChecks(text string) ([]check, error) {
	return bounds(text, "value", reflect.Value.Int)
}

func patternChecks(text string) ([]check, error) {
	whole, err := regexp.Compile(`\A(?:` + text + `)\z`)
	if err != nil {
		return nil, err
	}
	return []check{{"satisfy regular expression pattern: " + text, func(v reflect.Value) bool { return whole.MatchString(v.String()) }}}, nil
}

func enumChecks(text string) ([]check, error) {
	set := map[string]bool{}
	names := strings.Split(text, ",")
	for _, name := range names {
		if name == "" || set[name] {
			return nil, fmt.Errorf("%q has an empty or a double entry", text)
		}
		set[name] = true
	}
	return []check{{"satisfy enum value set: [" + strings.Join(names, ", ") + "]", func(v reflect.Value) bool { return set[v.String()] }}}, nil
}

// violations collects the errors of an input, in the order of its fields.
type violations []string

func (v *violations) add(quoted, path, must string) {
	*v = append(*v, "Value "+quoted+" at '"+path+"' failed to satisfy constraint: Member must "+must)
}

// missing records a missing required value.
func (v *violations) missing(path string) { v.add("null", path, "not be null") }

// examine records the constraints that the decoded value of a field violates.
func (v *violations) examine(f *field, path string, value reflect.Value) {
	for _, c := range f.checks {
		if !c.ok(value) {
			v.add(quote(f, value), path, c.must)
		}
	}
	if f.each == nil {
		return
	}
	var musts []string
	broken := false
	for _, c := range f.each {
		musts = append(musts, "Member must "+c.must)
		for i := range value.Len() {
			broken = broken || !c.ok(reflect.Indirect(value.Index(i)))
		}
	}
	if broken {
		v.add(quote(f, value), path, "satisfy constraint: ["+strings.Join(musts, ", ")+"]")
	}
}

// err returns the violations as one error, or nil.
func (v violations) err() error {
	switch len(v) {
	case 0:
		return nil
	case 1:
		return Validation("1 validation error detected: %s", v[0])
	}
	return Validation("%d validation errors detected: %s", len(v), strings.Join(v, "; "))
}

// quote formats a value for an error.
func quote(f *field, value reflect.Value) string {
	if f.secret {
		return "'****'"
	}
	if f.shape.kind != listKind {
		return "'" + shorten(fmt.Sprint(value.Interface())) + "'"
	}
	items := "a list of " + strconv.Itoa(value.Len())
	if f.shape.item.kind == textKind {
		texts := make([]string, value.Len())
		for i := range texts {
			texts[i] = reflect.Indirect(value.Index(i)).String()
		}
		items = "[" + strings.Join(texts, ", ") + "]"
	}
	return "'" + shorten(items) + "'"
}
