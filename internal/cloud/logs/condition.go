package logs

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// condition is a condition on a JSON event.
type condition func(event any) bool

// matchJSON reports whether a message is JSON that meets a condition.
func matchJSON(c condition, message string) bool {
	decoder := json.NewDecoder(strings.NewReader(message))
	decoder.UseNumber()
	var event any
	if decoder.Decode(&event) != nil {
		return false
	}
	return c(event)
}

// parser parses the conditions of a pattern in braces:
//
//	{ ($.level = "ERROR" || $.status >= 500) && $.path != "/health*" }
type parser struct {
	rest  string
	depth int
}

// maxDepth is the maximum nesting depth of parentheses.
const maxDepth = 50

func parseCondition(text string) (condition, error) {
	inner, ok := strings.CutSuffix(strings.TrimPrefix(text, "{"), "}")
	if !ok {
		return nil, errors.New("a filter pattern that begins with { ends with }")
	}
	p := &parser{rest: inner}
	c, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if p.space(); p.rest != "" {
		return nil, p.unexpected()
	}
	return c, nil
}

func (p *parser) space() { p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace) }

// take consumes a text if it comes next.
func (p *parser) take(text string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, text)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *parser) unexpected() error {
	if p.rest == "" {
		return errors.New("the filter pattern ends where a selector, such as $.level, an operator or a value is expected")
	}
	return fmt.Errorf("the filter pattern cannot be read from %.40q on", p.rest)
}

func (p *parser) alternatives() (condition, error) {
	left, err := p.conjunction()
	for err == nil && p.take("||") {
		var right condition
		first := left
		right, err = p.conjunction()
		left = func(event any) bool { return first(event) || right(event) }
	}
	return left, err
}

func (p *parser) conjunction() (condition, error) {
	left, err := p.single()
	for err == nil && p.take("&&") {
		var right condition
		first := left
		right, err = p.single()
		left = func(event any) bool { return first(event) && right(event) }
	}
	return left, err
}

// single parses a condition in parentheses, or a comparison.
func (p *parser) single() (condition, error) {
	if !p.take("(") {
		return p.comparison()
	}
	if p.depth++; p.depth > maxDepth {
		return nil, errors.New("the parentheses of the filter pattern are nested too deeply")
	}
	c, err := p.alternatives()
	p.depth--
	if err == nil && !p.take(")") {
		err = p.unexpected()
	}
	return c, err
}

func (p *parser) comparison() (condition, error) {
	path, err := p.selector()
	if err != nil {
		return nil, err
	}
	for _, word := range []string{"IS", "NOT", "EXISTS"} {
		if !p.take(word) {
			continue
		}
		switch {
		case word == "IS" && p.take("TRUE"):
			return func(event any) bool { v, ok := path.in(event); return ok && v == true }, nil
		case word == "IS" && p.take("FALSE"):
			return func(event any) bool { v, ok := path.in(event); return ok && v == false }, nil
		case word == "IS" && p.take("NULL"):
			return func(event any) bool { v, ok := path.in(event); return ok && v == nil }, nil
		case word == "NOT" && p.take("EXISTS"):
			return func(event any) bool { _, ok := path.in(event); return !ok }, nil
		case word == "EXISTS":
			return func(event any) bool { _, ok := path.in(event); return ok }, nil
		}
		return nil, p.unexpected()
	}
	for _, operator := range []string{"!=", ">=", "<=", "=", ">", "<"} {
		if p.take(operator) {
			return p.value(path, operator)
		}
	}
	return nil, p.unexpected()
}

// value parses the value with which a member is compared.
func (p *parser) value(path selector, operator string) (condition, error) {
	p.space()
	equality := operator == "=" || operator == "!="
	want := operator == "="
	var text string
	var err error
	switch {
	case strings.HasPrefix(p.rest, "%") && equality:
		var expression *regexp.Regexp
		if expression, p.rest, err = regularExpression(p.rest); err != nil {
			return nil, err
		}
		return texts(path, want, expression.MatchString), nil
	case strings.HasPrefix(p.rest, `"`):
		if text, p.rest, err = quotedText(p.rest); err != nil {
			return nil, err
		}
		if !equality {
			return nil, fmt.Errorf("the operator %s of a filter pattern compares numbers, not %.40q", operator, text)
		}
		return texts(path, want, wildcards(text)), nil
	}
	end := strings.IndexFunc(p.rest, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("&|()", r) })
	if end < 0 {
		end = len(p.rest)
	}
	text, p.rest = p.rest[:end], p.rest[end:]
	number, err := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
		return nil, p.unexpected()
	case err == nil:
		return numbers(path, operator, number), nil
	case !equality:
		return nil, fmt.Errorf("the operator %s of a filter pattern compares numbers, not %.40q", operator, text)
	}
	return texts(path, want, wildcards(text)), nil
}

// texts returns a comparison of a member that is a text, or of the text of a number.
func texts(path selector, want bool, match func(string) bool) condition {
	return func(event any) bool {
		switch v, _ := path.in(event); v := v.(type) {
		case string:
			return match(v) == want
		case json.Number:
			return match(v.String()) == want
		}
		return false
	}
}

// numbers returns a comparison of a member that is a number.
func numbers(path selector, operator string, with float64) condition {
	return func(event any) bool {
		v, _ := path.in(event)
		number, ok := v.(json.Number)
		if !ok {
			return false
		}
		is, err := number.Float64()
		if err != nil {
			return false
		}
		switch operator {
		case "=":
			return is == with
		case "!=":
			return is != with
		case ">":
			return is > with
		case ">=":
			return is >= with
		case "<":
			return is < with
		}
		return is <= with
	}
}

// wildcards returns a func that matches texts with a pattern in which an asterisk stands for any text.
func wildcards(text string) func(string) bool {
	parts := strings.Split(text, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	expression := regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `$`)
	return expression.MatchString
}

// selector is a path to a member, such as $.request.headers[0]: names and indexes.
type selector []any

// selector parses a path.
func (p *parser) selector() (selector, error) {
	if !p.take("$") {
		return nil, p.unexpected()
	}
	var path selector
	for {
		switch {
		case strings.HasPrefix(p.rest, "."):
			end := strings.IndexFunc(p.rest[1:], func(r rune) bool {
				return r != '_' && r != '-' && r != '@' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
			})
			if end < 0 {
				end = len(p.rest) - 1
			}
			if end == 0 {
				return nil, p.unexpected()
			}
			path, p.rest = append(path, p.rest[1:end+1]), p.rest[end+1:]
		case strings.HasPrefix(p.rest, "["):
			text, rest, ok := strings.Cut(p.rest[1:], "]")
			if !ok {
				return nil, p.unexpected()
			}
			step, err := parseIndex(strings.TrimSpace(text))
			if err != nil {
				return nil, err
			}
			path, p.rest = append(path, step), rest
		case len(path) == 0:
			return nil, p.unexpected()
		default:
			return path, nil
		}
	}
}

// parseIndex parses the text between brackets: an index, or a quoted name.
func parseIndex(text string) (any, error) {
	if index, err := strconv.Atoi(text); err == nil && index >= 0 {
		return index, nil
	}
	if strings.HasPrefix(text, `"`) {
		if name, rest, err := quotedText(text); err == nil && rest == "" {
			return name, nil
		}
	}
	return nil, fmt.Errorf("the filter pattern has [%.40s]: want an index or a name in quotation marks", text)
}

// in returns the member of an event at the path.
func (s selector) in(event any) (any, bool) {
	for _, step := range s {
		switch step := step.(type) {
		case string:
			members, ok := event.(map[string]any)
			if !ok {
				return nil, false
			}
			if event, ok = members[step]; !ok {
				return nil, false
			}
		case int:
			items, ok := event.([]any)
			if !ok || step >= len(items) {
				return nil, false
			}
			event = items[step]
		}
	}
	return event, true
}
