package template

import (
	"fmt"
	"math/big"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/regexcost"
	"github.com/pintle-dev/pintle/internal/language/value"
)

func rosLogicNamed(name string) (function, bool) {
	switch name {
	case "Fn::If":
		return function{places: rosAnywhere, check: checkROSIf, evaluate: evaluateIf}, true
	case "Fn::Equals":
		g := signature{name: name, usage: "[value, value]", wants: []want{wantAny, wantAny}, least: 2}
		return g.decision(func(_ *evaluation, a arguments) (bool, error) { return same(a.values[0], a.values[1]), nil })
	case "Fn::And":
		return operator(name, "two or more conditions", 2, true, func(e *evaluation, operands []Node) (bool, error) {
			return e.rosOperands(operands, false)
		})
	case "Fn::Or":
		return operator(name, "two or more conditions", 2, true, func(e *evaluation, operands []Node) (bool, error) {
			return e.rosOperands(operands, true)
		})
	case "Fn::Not":
		return operator(name, "one condition", 1, false, func(e *evaluation, operands []Node) (bool, error) {
			holds, err := e.rosOperand(operands[0])
			return !holds, err
		})
	case "Fn::Any":
		g := signature{name: name, usage: "[value, …]", wants: []want{wantAny}, least: 1, rest: true}
		return g.decision(func(_ *evaluation, a arguments) (bool, error) {
			for _, v := range a.values {
				if truthy(v) {
					return true, nil
				}
			}
			return false, nil
		})
	case "Fn::Contains":
		g := signature{name: name, usage: "[[member, …], value]", wants: []want{wantList, wantAny}, least: 2}
		return g.decision(func(e *evaluation, a arguments) (bool, error) {
			if err := e.spend(a.at, nodeBytes*len(a.values[0].Items())); err != nil {
				return false, err
			}
			return indexOf(a.values[0].Items(), a.values[1]) >= 0, nil
		})
	case "Fn::EachMemberIn":
		g := signature{name: name, usage: "[[member, …], [member, …]]", wants: []want{wantList, wantList}, least: 2}
		return g.decision(eachMemberIn)
	case "Fn::MatchPattern":
		return matchPattern()
	}
	return function{}, false
}

func eachMemberIn(e *evaluation, a arguments) (bool, error) {
	among := a.values[1].Items()
	for _, member := range a.values[0].Items() {
		// Every member is compared with all items of the list.
		if err := e.spend(a.at, 1+extent(a.values[1])/4); err != nil {
			return false, err
		}
		if indexOf(among, member) < 0 {
			return false, nil
		}
	}
	return true, nil
}

// checkROSIf checks Fn::If, whose condition must be a name.
func checkROSIf(s *shapes, argument Node, where path) {
	if argument.kind != value.List || len(argument.items) != 3 || argument.items[0].kind != value.String || argument.items[0].text == "" {
		s.at(argument, where, "Fn::If takes [condition, value if true, value if false], the condition by its name in Conditions.")
		return
	}
	s.node(argument.items[1], where.to("1"))
	s.node(argument.items[2], where.to("2"))
}

// operator returns a boolean function, whose operands are conditions. A single operand need not be in a list.
func operator(name, takes string, least int, more bool, decide func(e *evaluation, operands []Node) (bool, error)) (function, bool) {
	truth := func(e *evaluation, argument Node) (bool, error) { return decide(e, operandsOf(argument)) }
	return function{
		places: rosAnywhere,
		check: func(s *shapes, argument Node, where path) {
			operands := operandsOf(argument)
			if len(operands) < least || !more && len(operands) > least {
				s.at(argument, where, "%s takes %s.", name, takes)
				return
			}
			for i, operand := range operands {
				s.rosOperand(operand, where.to(strconv.Itoa(i)))
			}
		},
		truth: truth, evaluate: asValue(truth),
	}, true
}

func operandsOf(argument Node) []Node {
	if argument.kind == value.List {
		return argument.items
	}
	return []Node{argument}
}

// rosOperand checks an operand of a boolean function: the name of a condition, or a tree that rosTruth accepts.
func (s *shapes) rosOperand(n Node, where path) {
	if n.kind == value.String && n.text != "" {
		return // whether the condition exists is checked when all are known
	}
	s.rosTruth(n, where)
}

// rosTruth checks a tree that must become a truth value: true, false, or a function that returns one.
func (s *shapes) rosTruth(n Node, where path) {
	name, argument, call := n.call()
	switch {
	case n.kind == value.Bool:
	case call && name == "Fn::If":
		before := len(s.found)
		if s.rosCall(n, name, argument, where.to(name)); len(s.found) == before {
			_, then, otherwise := ifParts(argument)
			s.rosTruth(then, where.to(name, "1"))
			s.rosTruth(otherwise, where.to(name, "2"))
		}
	case call:
		s.rosCall(n, name, argument, where.to(name))
	default:
		s.add(&Error{
			Message: "A condition is true, false, or a function that returns one of them, such as Fn::Equals.",
			Code:    codeInvalidValue, Path: where.String(), Line: n.line, Column: n.column,
		})
	}
}

// rosOperands returns stop as soon as one operand equals it, and the opposite otherwise.
func (e *evaluation) rosOperands(operands []Node, stop bool) (bool, error) {
	for _, operand := range operands {
		holds, err := e.rosOperand(operand)
		if err != nil {
			return false, err
		}
		if holds == stop {
			return stop, nil
		}
	}
	return !stop, nil
}

func (e *evaluation) rosOperand(n Node) (bool, error) {
	if n.kind != value.String {
		return e.rosTruth(n)
	}
	holds, ok := e.scope.Conditions[n.text]
	if !ok {
		return false, &Error{
			Message: "The condition " + n.text + " is not in the Conditions section.", Code: codeInvalidReference, Line: n.line, Column: n.column,
		}
	}
	return holds, nil
}

// rosTruth decides a tree that shapes.rosTruth has accepted.
func (e *evaluation) rosTruth(n Node) (bool, error) {
	if name, argument, call := n.call(); call {
		if f, ok := rosFunctionNamed(name); ok && f.truth != nil {
			holds, err := f.truth(e, argument)
			if err != nil {
				return false, coded(err)
			}
			return holds, nil
		}
	}
	v, err := e.node(n)
	if err != nil {
		return false, err
	}
	if text := strings.ToLower(v.Text()); v.IsScalar() && (text == "true" || text == "false") {
		return text == "true", nil
	}
	return false, coded(e.fail(n, "A condition must be true or false, and this is neither."))
}

// same reports whether two values are equal. Scalars are equal if they have the same text, so true equals "true", or if
// they are the same number.
func same(a, b value.Value) bool {
	switch {
	case a.IsScalar() && b.IsScalar():
		if a.Text() == b.Text() {
			return true
		}
		return a.Kind() == value.Number && b.Kind() == value.Number && sameNumber(a.Text(), b.Text())
	case a.Kind() != b.Kind() || len(a.Items()) != len(b.Items()) || len(a.Members()) != len(b.Members()):
		return false
	}
	for i, item := range a.Items() {
		if !same(item, b.Items()[i]) {
			return false
		}
	}
	if len(a.Members()) == 0 {
		return true
	}
	others := make(map[string]value.Value, len(b.Members()))
	for _, m := range b.Members() {
		others[m.Key] = m.Value
	}
	for _, m := range a.Members() {
		if other, ok := others[m.Key]; !ok || !same(m.Value, other) {
			return false
		}
	}
	return true
}

// sameNumber reports whether two texts are the same number.
func sameNumber(a, b string) bool {
	x, _ := strconv.ParseFloat(a, 64) // very large, and very small, numbers have the same float
	y, _ := strconv.ParseFloat(b, 64)
	if x != y {
		return false
	}
	digits, exponent, ok := significant(a)
	others, another, both := significant(b)
	return ok && both && digits == others && exponent == another
}

// significant returns the digits of a number from the first to the last nonzero one, with its sign, and the power of
// ten by which that whole number is multiplied. It returns false for an invalid or too large number.
func significant(text string) (digits string, exponent int, ok bool) {
	if len(text) > maxDigits {
		return "", 0, false
	}
	mantissa, power, raised := cutAny(text, "eE")
	if raised {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil || exponent > maxExponent || exponent < -maxExponent {
			return "", 0, false
		}
	}
	sign := ""
	if rest, negative := strings.CutPrefix(mantissa, "-"); negative {
		sign, mantissa = "-", rest
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	short := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	if short == "" {
		return "", 0, true
	}
	return sign + short, exponent, true
}

// cutAny cuts a text at the first of some characters.
func cutAny(text, characters string) (before, after string, found bool) {
	if i := strings.IndexAny(text, characters); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return text, "", false
}

// indexOf returns the index of the first item that is the same as v, or -1.
func indexOf(items []value.Value, v value.Value) int {
	for i, item := range items {
		if same(item, v) {
			return i
		}
	}
	return -1
}

// truthy reports whether a value counts as true: it is not false, zero or empty. The texts "false" and "0" count as
// false.
func truthy(v value.Value) bool {
	switch v.Kind() {
	case value.Null:
		return false
	case value.Bool:
		return v.Text() == "true"
	case value.Number:
		n, ok := parseDecimal(v.Text())
		return !ok || n.rat.Cmp(new(big.Rat)) != 0
	case value.String:
		return v.Text() != "" && v.Text() != "0" && !strings.EqualFold(v.Text(), "false")
	case value.List:
		return len(v.Items()) > 0
	case value.Map:
		return len(v.Members()) > 0
	}
	return false
}

// Limits of Fn::MatchPattern. Source: ours.
const (
	maxMatchPattern = 1024
	maxMatched      = 16 << 10
)

// matchPattern returns Fn::MatchPattern, which reports whether a regular expression matches the beginning of a text.
// Source: ROS shows only by examples that a match at the end alone does not count.
func matchPattern() (function, bool) {
	g := signature{name: "Fn::MatchPattern", usage: "[pattern, text]", wants: []want{wantText, wantText}, least: 2}
	f, ok := g.decision(func(e *evaluation, a arguments) (bool, error) {
		if len(a.text(1)) > maxMatched {
			return false, a.fail(e, "the text is longer than %d bytes", maxMatched)
		}
		allowed, err := prefixPattern(a.text(0))
		if err != nil {
			return false, a.fail(e, "the pattern cannot be checked here")
		}
		if err := e.spend(a.at, regexcost.Scan(allowed.heft(), len(a.text(1)))); err != nil {
			return false, err
		}
		return allowed.match(a.text(1)), nil
	})
	f.check = func(s *shapes, argument Node, where path) {
		before := len(s.found)
		if g.check(s, argument, where); len(s.found) > before || argument.kind != value.List || !argument.items[0].isScalar() {
			return
		}
		if s.linked || !s.try(500) {
			return
		}
		allowed, err := prefixPattern(argument.items[0].text)
		if err == nil {
			s.tried += allowed.heft()
		} else {
			s.at(argument.items[0], where.to("0"), "%s", g.misused("the pattern cannot be checked here: %v", err))
		}
	}
	return f, ok
}

// prefixPattern parses a regular expression that must match the beginning of a text.
func prefixPattern(text string) (*allowedPattern, error) {
	if len(text) > maxMatchPattern {
		return nil, fmt.Errorf("it is longer than %d bytes", maxMatchPattern)
	}
	p, err := parsePattern(text)
	if err != nil {
		return nil, err
	}
	p.whole, err = compile(strings.TrimSuffix(p.whole.String(), `\z`))
	return p, err
}

// heft returns the approximate work for each character of a text.
func (p *allowedPattern) heft() int {
	sum := 0
	for _, re := range append([]lookahead{{pattern: p.whole}}, p.ahead...) {
		if parsed, err := syntax.Parse(re.pattern.String(), syntax.Perl); err == nil {
			sum += regexcost.Weight(parsed)
		}
	}
	return sum
}
