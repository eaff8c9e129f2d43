package asl

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxRuleDepth is the maximum depth of And, Or and Not in a rule of a Choice state.
const maxRuleDepth = 32

// rule is a rule of a Choice state. Exactly one of and, or, not and test is set.
type rule struct {
	next     string // of a top-level rule only
	and, or  []rule
	not      *rule
	variable path
	test     test
}

// test evaluates the value of a rule's Variable. input is the input of the state. A missing variable is nil; only the
// test of IsPresent gets that.
type test func(variable, input json.RawMessage) (bool, error)

// compareKinds are the types of values that operators compare, by the prefix of the operators' names.
var compareKinds = map[string]func(json.RawMessage) (operand, bool){
	"String": textOperand, "Numeric": numberOperand, "Boolean": booleanOperand, "Timestamp": timestampOperand,
}

// relations are the suffixes of comparison operators, and the comparison results that each accepts.
var relations = map[string][]int{
	"Equals": {0}, "LessThan": {-1}, "GreaterThan": {1}, "LessThanEquals": {-1, 0}, "GreaterThanEquals": {1, 0},
}

// operand is one side of a comparison, of one of [compareKinds].
type operand struct {
	text   string
	number float64
	time   time.Time
}

func (o operand) compare(with operand) int {
	switch {
	case o.number < with.number:
		return -1
	case o.number > with.number:
		return 1
	case !o.time.Equal(with.time):
		return o.time.Compare(with.time)
	}
	return strings.Compare(o.text, with.text)
}

func textOperand(v json.RawMessage) (operand, bool) {
	var s *string
	if json.Unmarshal(v, &s) != nil || s == nil {
		return operand{}, false
	}
	return operand{text: *s}, true
}

// numberOperand reads a number as binary64, the precision that the language guarantees. A number out of range is
// infinite.
func numberOperand(v json.RawMessage) (operand, bool) {
	if len(v) == 0 || v[0] != '-' && (v[0] < '0' || v[0] > '9') {
		return operand{}, false
	}
	n, _ := strconv.ParseFloat(string(v), 64)
	return operand{number: n}, true
}

func booleanOperand(v json.RawMessage) (operand, bool) {
	switch string(v) {
	case "true":
		return operand{number: 1}, true
	case "false":
		return operand{}, true
	}
	return operand{}, false
}

func timestampOperand(v json.RawMessage) (operand, bool) {
	text, ok := textOperand(v)
	if !ok {
		return operand{}, false
	}
	t, ok := timestamp(text.text)
	return operand{time: t}, ok
}

// timestamp reads RFC 3339 with the uppercase T and Z that the language requires.
func timestamp(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	return t, err == nil && strings.Contains(text, "T")
}

// kindTests are the operators that test the type of a value.
var kindTests = map[string]func(json.RawMessage) bool{
	"IsNull":      func(v json.RawMessage) bool { return string(v) == "null" },
	"IsPresent":   func(v json.RawMessage) bool { return v != nil },
	"IsNumeric":   func(v json.RawMessage) bool { _, ok := numberOperand(v); return ok },
	"IsString":    func(v json.RawMessage) bool { _, ok := textOperand(v); return ok },
	"IsBoolean":   func(v json.RawMessage) bool { _, ok := booleanOperand(v); return ok },
	"IsTimestamp": func(v json.RawMessage) bool { _, ok := timestampOperand(v); return ok },
}

// operators are the names of all operators of a rule with a Variable.
var operators = func() []string {
	names := append(slices.Collect(maps.Keys(kindTests)), "StringMatches")
	for kind := range compareKinds {
		for relation := range relations {
			if kind != "Boolean" || relation == "Equals" {
				names = append(names, kind+relation, kind+relation+"Path")
			}
		}
	}
	slices.Sort(names)
	return names
}()

// matches reports whether the rule matches the input of its state. And and Or stop at the first rule that decides.
func (r *rule) matches(input json.RawMessage) (bool, error) {
	switch {
	case r.not != nil:
		is, err := r.not.matches(input)
		return !is, err
	case r.and != nil:
		for i := range r.and {
			if is, err := r.and[i].matches(input); err != nil || !is {
				return false, err
			}
		}
		return true, nil
	case r.or != nil:
		for i := range r.or {
			if is, err := r.or[i].matches(input); err != nil || is {
				return is, err
			}
		}
		return false, nil
	}
	variable, err := r.variable.get(input)
	if err != nil {
		variable = nil
	}
	return r.test(variable, input)
}

// invalidReference returns the error with Step Functions' text.
func invalidReference(p path) error {
	return fmt.Errorf("Invalid path '%s': The choice state's condition path references an invalid value.", p) //nolint:staticcheck // a Cause is a sentence
}

// choose returns the next state of a Choice state.
func (s *state) choose(name string, input json.RawMessage) (string, *Failure) {
	for i := range s.choices {
		is, err := s.choices[i].matches(input)
		if err != nil {
			return "", &Failure{ErrorRuntime, fmt.Sprintf("An error occurred while executing the state '%s'. %v", name, err)}
		}
		if is {
			return s.choices[i].next, nil
		}
	}
	if s.otherwise != "" {
		return s.otherwise, nil
	}
	return "", &Failure{ErrorNoChoiceMatched, fmt.Sprintf("An error occurred while executing the state '%s'. "+
		"Failed to transition out of the state. The state does not point to a next state.", name)}
}

// choices reads the rules of a Choice state.
func (p *parser) choices(name string, s *state, d *declared) {
	s.otherwise = d.Default
	if len(d.Choices) == 0 {
		p.wrong(name, "Choices needs at least one rule")
	}
	for n, text := range d.Choices {
		field := fmt.Sprintf("Choices[%d]", n)
		r := p.rule(name, field, text, maxRuleDepth)
		var to struct{ Next string }
		if json.Unmarshal(text, &to) == nil {
			r.next = to.Next
		}
		if r.next == "" {
			p.wrong(name, "%s needs Next", field)
		}
		s.choices = append(s.choices, r)
	}
}

// rule reads a rule. depth is the remaining number of levels that may be nested.
func (p *parser) rule(state, field string, text json.RawMessage, depth int) (r rule) {
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil || object == nil {
		p.wrong(state, "%s is not an object", field)
		return r
	}
	delete(object, "Comment")
	if depth == maxRuleDepth {
		delete(object, "Next")
	}
	variable, given := object["Variable"]
	delete(object, "Variable")
	if len(object) != 1 {
		p.wrong(state, "%s needs exactly one operator, and has %d: %s", field, len(object), strings.Join(slices.Sorted(maps.Keys(object)), ", "))
		return r
	}
	for operator, value := range object {
		at := field + "." + operator
		switch operator {
		case "And", "Or", "Not":
			if given {
				p.wrong(state, "%s has a Variable next to %s", field, operator)
			}
			p.combine(state, at, operator, value, &r, depth)
		default:
			var err error
			if !given {
				p.wrong(state, "%s needs Variable", field)
			} else if r.variable, err = readPath(variable); err != nil || r.variable == nil {
				p.reporter(variable)(state, "%s.Variable %.80s is not supported: paths are $ or, of members of objects, such as $.Detail.Name", field, variable)
			}
			r.test = p.test(state, at, operator, value, r.variable)
		}
	}
	return r
}

// combine reads the operand of And, Or or Not.
func (p *parser) combine(state, at, operator string, value json.RawMessage, r *rule, depth int) {
	if depth == 1 {
		p.wrong(state, "%s is nested too deep: %d levels are allowed", at, maxRuleDepth)
		return
	}
	if operator == "Not" {
		r.not = new(p.rule(state, at, value, depth-1))
		return
	}
	var inner []json.RawMessage
	if json.Unmarshal(value, &inner) != nil || len(inner) == 0 {
		p.wrong(state, "%s needs a list of at least one rule", at)
		return
	}
	rules := make([]rule, len(inner))
	for i, text := range inner {
		rules[i] = p.rule(state, fmt.Sprintf("%s[%d]", at, i), text, depth-1)
	}
	if operator == "And" {
		r.and = rules
	} else {
		r.or = rules
	}
}

// test reads an operator and its operand.
func (p *parser) test(state, at, operator string, value json.RawMessage, variable path) test {
	if is, ok := kindTests[operator]; ok {
		want, ok := booleanOperand(value)
		if !ok {
			p.wrong(state, "%s is not true or false", at)
		}
		return func(v, _ json.RawMessage) (bool, error) {
			if v == nil && operator != "IsPresent" {
				return false, invalidReference(variable)
			}
			return is(v) == (want.number == 1), nil
		}
	}
	if operator == "StringMatches" {
		return p.wildcards(state, at, value, variable)
	}
	if !slices.Contains(operators, operator) {
		p.wrong(state, "%s is not supported; supported are And, Or, Not, %s", at, strings.Join(operators, ", "))
		return nil
	}
	name, referred := strings.CutSuffix(operator, "Path")
	var read func(json.RawMessage) (operand, bool)
	var accepted []int
	for kind, of := range compareKinds {
		if relation, ok := strings.CutPrefix(name, kind); ok {
			read, accepted = of, relations[relation]
		}
	}
	var reference path
	var fixed operand
	if referred {
		var err error
		if reference, err = readPath(value); err != nil || reference == nil {
			p.reporter(value)(state, "%s %.80s is not supported: paths are $ or, of members of objects, such as $.Detail.Name", at, value)
		}
	} else {
		var ok bool
		if fixed, ok = read(value); !ok {
			p.wrong(state, "%s is %.80s, which is not of its type", at, value)
		}
	}
	return func(v, input json.RawMessage) (bool, error) {
		if v == nil {
			return false, invalidReference(variable)
		}
		against := fixed
		if referred {
			to, err := reference.get(input)
			if err != nil {
				return false, invalidReference(reference)
			}
			var ok bool
			if against, ok = read(to); !ok {
				return false, nil
			}
		}
		of, ok := read(v)
		return ok && slices.Contains(accepted, of.compare(against)), nil
	}
}

// wildcards reads the pattern of StringMatches: "*" stands for any text, `\*` and `\\` for the characters themselves.
func (p *parser) wildcards(state, at string, value json.RawMessage, variable path) test {
	pattern, ok := textOperand(value)
	if !ok {
		p.wrong(state, "%s is not a string", at)
		return nil
	}
	parts, part := []string(nil), strings.Builder{}
	for i := 0; i < len(pattern.text); i++ {
		switch c := pattern.text[i]; {
		case c == '*':
			parts = append(parts, part.String())
			part.Reset()
		case c != '\\':
			part.WriteByte(c)
		case i+1 < len(pattern.text) && strings.IndexByte(`*\`, pattern.text[i+1]) >= 0:
			i++
			part.WriteByte(pattern.text[i])
		default:
			p.wrong(state, `%s has a backslash that no * or \ follows`, at)
			return nil
		}
	}
	parts = append(parts, part.String())
	return func(v, _ json.RawMessage) (bool, error) {
		if v == nil {
			return false, invalidReference(variable)
		}
		text, ok := textOperand(v)
		return ok && match(text.text, parts), nil
	}
}

// match reports whether a text consists of the parts in order, with any text between them.
func match(text string, parts []string) bool {
	last := len(parts) - 1
	if last == 0 {
		return text == parts[0]
	}
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	if text, ok = strings.CutSuffix(text, parts[last]); !ok {
		return false
	}
	for _, part := range parts[1:last] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}

// waitTime is the wait of a Wait state: a duration or a timestamp.
type waitTime struct {
	seconds            time.Duration
	until              time.Time
	secondsAt, untilAt path // nil if it is not taken from the input
}

// waits reads the wait of a Wait state.
func (p *parser) waits(name string, s *state, d *declared) {
	given := 0
	for _, is := range []bool{d.Seconds != nil, d.Timestamp != nil, d.SecondsPath != nil, d.TimestampPath != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		p.wrong(name, "it needs exactly one of Seconds, SecondsPath, Timestamp and TimestampPath, and has %d", given)
		return
	}
	for _, of := range []struct {
		field string
		text  json.RawMessage
		into  *path
	}{{"SecondsPath", d.SecondsPath, &s.wait.secondsAt}, {"TimestampPath", d.TimestampPath, &s.wait.untilAt}} {
		if of.text == nil {
			continue
		}
		var err error
		if *of.into, err = readPath(of.text); err != nil {
			p.wrong(name, "%s %v", of.field, err)
		} else if *of.into == nil {
			p.wrong(name, "%s is null, and must be a path", of.field)
		}
	}
	s.wait.seconds = p.seconds(name, "Seconds", d.Seconds, 0, 0)
	if d.Timestamp != nil {
		var ok bool
		if s.wait.until, ok = timestamp(*d.Timestamp); !ok {
			p.wrong(name, "Timestamp %.40q is not of the form 2026-01-31T12:00:00Z", *d.Timestamp)
		}
	}
}

// of returns the duration or the timestamp of the wait for an input.
func (w *waitTime) of(name string, input json.RawMessage) (after time.Duration, until time.Time, failure *Failure) {
	failed := func(format string, args ...any) *Failure {
		return &Failure{ErrorRuntime, fmt.Sprintf("An error occurred while executing the state '%s'. ", name) + fmt.Sprintf(format, args...)}
	}
	switch {
	case w.secondsAt != nil:
		v, err := w.secondsAt.get(input)
		if err != nil {
			return 0, until, failed("The SecondsPath parameter does not reference an input value: %s", w.secondsAt)
		}
		n, ok := numberOperand(v)
		switch {
		case !ok || n.number != math.Trunc(n.number):
			return 0, until, failed("The SecondsPath parameter cannot be parsed as a long value: %s == %.80s", w.secondsAt, v)
		case n.number < 0:
			return 0, until, failed("The SecondsPath parameter references a negative value: %s == %.80s", w.secondsAt, v)
		}
		return time.Duration(min(n.number, longest)) * time.Second, until, nil
	case w.untilAt != nil:
		v, err := w.untilAt.get(input)
		if err != nil {
			return 0, until, failed("The TimestampPath parameter does not reference an input value: %s", w.untilAt)
		}
		t, ok := timestampOperand(v)
		if !ok {
			return 0, until, failed("The Timestamp parameter does not reference a valid ISO-8601 extended offset date-time format string: %s == %.80s", w.untilAt, v)
		}
		return 0, t.time, nil
	}
	return w.seconds, w.until, nil
}
