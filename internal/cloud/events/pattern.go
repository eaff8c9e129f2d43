package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Limits of patterns. Source: EventBridge quotas.
const (
	maxPattern      = 4096 // bytes
	maxPatternDepth = 50
)

// Pattern is a parsed EventPattern: an object whose fields must all match. Source: EventBridge User Guide, comparison
// operators.
type Pattern struct {
	fields map[string]field
	either []Pattern // $or: one of them must match
}

// field is the required value of a field: a nested pattern, or one of the conditions.
type field struct {
	inside     *Pattern
	conditions []condition
}

// condition is an allowed value. there reports whether the field exists, and v is its value. For a list, the
// condition is called for each item, and for an object with no value.
type condition func(v any, there bool) bool

// ParsePattern parses an EventPattern. Its errors quote only field names.
func ParsePattern(text string) (Pattern, error) {
	if len(text) > maxPattern {
		return Pattern{}, fmt.Errorf("it has more than %d bytes", maxPattern)
	}
	v, err := decode([]byte(text))
	if err != nil {
		return Pattern{}, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return Pattern{}, errors.New("Filter is not an object") //nolint:staticcheck // the service's own text
	}
	return parsePattern(object, 0)
}

// decode parses JSON and keeps the spelling of numbers.
func decode(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, errors.New("it is not valid JSON")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it is not valid JSON")
	}
	return v, nil
}

func parsePattern(object map[string]any, depth int) (p Pattern, err error) {
	if len(object) == 0 {
		return p, errors.New("Empty objects are not allowed") //nolint:staticcheck // the service's own text
	}
	if depth > maxPatternDepth {
		return p, fmt.Errorf("it is nested deeper than %d levels", maxPatternDepth)
	}
	p.fields = map[string]field{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if name == "$or" {
			if p.either, err = parseEither(object[name], depth); err != nil {
				return p, err
			}
			continue
		}
		switch v := object[name].(type) {
		case map[string]any:
			inside, err := parsePattern(v, depth+1)
			if err != nil {
				return p, err
			}
			p.fields[name] = field{inside: &inside}
		case []any:
			if len(v) == 0 {
				return p, fmt.Errorf("Empty arrays are not allowed: %q", name) //nolint:staticcheck // the service's own text
			}
			var f field
			for _, allowed := range v {
				c, err := parseCondition(allowed)
				if err != nil {
					return p, fmt.Errorf("%q: %w", name, err)
				}
				f.conditions = append(f.conditions, c)
			}
			p.fields[name] = f
		default:
			return p, fmt.Errorf("%q must be an object or an array", name) // EventBridge's own text
		}
	}
	return p, nil
}

func parseEither(v any, depth int) ([]Pattern, error) {
	list, ok := v.([]any)
	if !ok || len(list) < 2 {
		return nil, errors.New("$or must be an array of two objects at least")
	}
	var either []Pattern
	for _, one := range list {
		object, ok := one.(map[string]any)
		if !ok {
			return nil, errors.New("$or must be an array of objects")
		}
		p, err := parsePattern(object, depth+1)
		if err != nil {
			return nil, err
		}
		either = append(either, p)
	}
	return either, nil
}

// parseCondition parses an item in the list of a field.
func parseCondition(v any) (condition, error) {
	switch v := v.(type) {
	case string, json.Number, bool, nil:
		return func(got any, there bool) bool { return there && same(got, v) }, nil
	case map[string]any:
		if len(v) != 1 {
			return nil, errors.New("a comparison has exactly one operator")
		}
		for operator, operand := range v {
			return parseOperator(operator, operand)
		}
	}
	return nil, errors.New("want a text, a number, true, false, null or a comparison")
}

func parseOperator(operator string, operand any) (condition, error) {
	switch operator {
	case "exists":
		want, ok := operand.(bool)
		if !ok {
			return nil, errors.New("exists wants true or false")
		}
		return func(_ any, there bool) bool { return there == want }, nil
	case "anything-but":
		return parseAnythingBut(operand)
	case "numeric":
		return parseNumeric(operand)
	case "prefix", "suffix":
		if inner, ok := operand.(map[string]any); ok && len(inner) == 1 {
			if text, ok := inner["equals-ignore-case"].(string); ok {
				return onText(ends(operator, text, strings.EqualFold)), nil
			}
		}
	}
	text, ok := operand.(string)
	if !ok {
		return nil, fmt.Errorf("%.32q wants a text", operator)
	}
	match, err := parseTextOperator(operator, text)
	if err != nil {
		return nil, err
	}
	return onText(match), nil
}

// onText returns a condition that only matching texts meet.
func onText(match func(string) bool) condition {
	return func(v any, _ bool) bool {
		text, ok := v.(string)
		return ok && match(text)
	}
}

// ends returns a prefix or suffix match with the given comparison.
func ends(operator, want string, equal func(a, b string) bool) func(string) bool {
	return func(text string) bool {
		if len(text) < len(want) {
			return false
		}
		if operator == "prefix" {
			return equal(text[:len(want)], want)
		}
		return equal(text[len(text)-len(want):], want)
	}
}

// parseTextOperator parses an operator for texts.
func parseTextOperator(operator, want string) (func(string) bool, error) {
	switch operator {
	case "prefix", "suffix":
		return ends(operator, want, func(a, b string) bool { return a == b }), nil
	case "equals-ignore-case":
		return func(text string) bool { return strings.EqualFold(text, want) }, nil
	case "wildcard":
		if strings.Contains(want, "**") {
			return nil, errors.New("wildcard must not have two * in a row")
		}
		return func(text string) bool { return wild(want, text) }, nil
	case "cidr":
		network, err := netip.ParsePrefix(want)
		if err != nil {
			return nil, errors.New("cidr wants an address and the length of a prefix, such as 10.0.0.0/24")
		}
		return func(text string) bool {
			address, err := netip.ParseAddr(text)
			return err == nil && network.Contains(address)
		}, nil
	}
	return nil, fmt.Errorf("Unrecognized match type %.32s", operator) //nolint:staticcheck // the service's own text
}

// wild reports whether a text matches a pattern in which * stands for any text. \* and \\ are literal characters.
func wild(pattern, text string) bool {
	var parts []string // between the asterisks
	var part strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			i++
			part.WriteByte(pattern[i])
		case pattern[i] == '*':
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(pattern[i])
		}
	}
	last := part.String()
	if len(parts) == 0 {
		return text == last
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, middle := range parts[1:] {
		_, after, found := strings.Cut(rest, middle)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, last)
}

// parseAnythingBut parses the operand of anything-but: a value, a list of values, or an operator for texts.
func parseAnythingBut(operand any) (condition, error) {
	if object, ok := operand.(map[string]any); ok && len(object) == 1 {
		for operator, of := range object {
			texts, err := textsOf(of)
			if err != nil {
				return nil, fmt.Errorf("anything-but %.32q: %w", operator, err)
			}
			var matches []func(string) bool
			for _, text := range texts {
				match, err := parseTextOperator(operator, text)
				if err != nil {
					return nil, err
				}
				matches = append(matches, match)
			}
			return func(v any, there bool) bool {
				text, ok := v.(string)
				return there && !(ok && slices.ContainsFunc(matches, func(match func(string) bool) bool { return match(text) }))
			}, nil
		}
	}
	values, ok := operand.([]any)
	if !ok {
		values = []any{operand}
	}
	for _, v := range values {
		switch v.(type) {
		case string, json.Number, bool, nil:
		default:
			return nil, errors.New("anything-but wants texts, numbers or an operator on texts")
		}
	}
	if len(values) == 0 {
		return nil, errors.New("anything-but wants a value at least")
	}
	return func(got any, there bool) bool {
		return there && !slices.ContainsFunc(values, func(v any) bool { return same(got, v) })
	}, nil
}

func textsOf(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var texts []string
	for _, one := range list {
		text, ok := one.(string)
		if !ok {
			return nil, errors.New("want a text or a list of texts")
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil, errors.New("want a text at least")
	}
	return texts, nil
}

// parseNumeric parses the operand of numeric: one or two comparisons, such as [">", 0, "<=", 5].
func parseNumeric(operand any) (condition, error) {
	list, ok := operand.([]any)
	if !ok || len(list) != 2 && len(list) != 4 {
		return nil, errors.New("numeric wants an array such as [\">\", 0, \"<=\", 5]")
	}
	type comparison struct {
		operator string
		with     float64
	}
	var all []comparison
	for i := 0; i < len(list); i += 2 {
		operator, isText := list[i].(string)
		number, isNumber := list[i+1].(json.Number)
		if !isText || !isNumber || !slices.Contains([]string{"=", "<", "<=", ">", ">="}, operator) {
			return nil, errors.New("numeric wants comparisons by =, <, <=, > or >= with numbers")
		}
		with, err := number.Float64()
		if err != nil {
			return nil, errors.New("numeric wants numbers that are not too large")
		}
		all = append(all, comparison{operator, with})
	}
	return func(v any, _ bool) bool {
		number, ok := v.(json.Number)
		if !ok {
			return false
		}
		got, err := number.Float64()
		if err != nil {
			return false
		}
		for _, c := range all {
			if !(c.operator == "=" && got == c.with || c.operator == "<" && got < c.with || c.operator == "<=" && got <= c.with ||
				c.operator == ">" && got > c.with || c.operator == ">=" && got >= c.with) {
				return false
			}
		}
		return true
	}, nil
}

// same reports whether two scalar values are equal. Numbers are compared by value.
func same(a, b any) bool {
	x, isNumber := a.(json.Number)
	y, areNumbers := b.(json.Number)
	if !isNumber || !areNumbers {
		switch a.(type) {
		case map[string]any, []any:
			return false
		}
		return a == b
	}
	if x == y {
		return true
	}
	f, err := strconv.ParseFloat(string(x), 64)
	g, err2 := strconv.ParseFloat(string(y), 64)
	return err == nil && err2 == nil && f == g
}

// Matches reports whether an event matches the pattern. Numbers in the event are json.Number.
func (p Pattern) Matches(event map[string]any) bool {
	for name, f := range p.fields {
		v, there := event[name]
		if !f.matches(v, there) {
			return false
		}
	}
	return p.either == nil || slices.ContainsFunc(p.either, func(one Pattern) bool { return one.Matches(event) })
}

func (f field) matches(v any, there bool) bool {
	list, isList := v.([]any)
	if f.inside != nil {
		if isList {
			return slices.ContainsFunc(list, func(one any) bool { return f.matches(one, true) })
		}
		object, _ := v.(map[string]any) // any other value has no fields, and the pattern may require that
		return f.inside.Matches(object)
	}
	return slices.ContainsFunc(f.conditions, func(c condition) bool {
		if object, isObject := v.(map[string]any); isObject { // exists applies to leaves only
			return c(object, false)
		}
		if !isList {
			return c(v, there)
		}
		return slices.ContainsFunc(list, func(one any) bool { return c(one, true) }) || len(list) == 0 && c(nil, false)
	})
}
