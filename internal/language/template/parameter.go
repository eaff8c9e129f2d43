package template

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Parameter is the declaration of one parameter. Its fields are read-only.
type Parameter struct {
	Name string
	// Type is the type as it is written, e.g. "List<Number>".
	Type                  string
	Description           string
	ConstraintDescription string
	// NoEcho says that the value is secret.
	NoEcho bool
	// Default is the text of the default; may be nil. It may be secret: see NoEcho.
	Default *string
	// AllowedValues are the texts of the allowed values; nil if all are allowed.
	AllowedValues []string
	// AllowedPattern must match the whole value; may be "".
	AllowedPattern string
	// Unchecked says why values are not checked against AllowedPattern: the pattern cannot be matched in linear time.
	// It is "" if they are checked.
	Unchecked string
	// MinLength and MaxLength limit the length of a string in characters; nil for no limit.
	MinLength, MaxLength *int
	// MinValue and MaxValue are the texts of the limits of a number; "" for no limit.
	MinValue, MaxValue string
	// Label is the parameter's name in consoles; may be "". Only in ROS.
	Label string
	// Empty says that the default is null: without input the value is null, and an empty text is not checked. Only in
	// ROS.
	Empty bool
	// Declared is the declaration as it is written, including the attributes for consoles. It may have a secret
	// default: see NoEcho. Only in ROS.
	Declared Node
	// Line and Column are the position of the name.
	Line, Column int

	// ros says that the parameter belongs to a ROS template.
	ros     bool
	kind    parameterType
	pattern *allowedPattern
}

// Stored reports whether the passed value is the name of a parameter in the parameter store.
func (p *Parameter) Stored() bool { return p.kind.stored }

// isNumeric reports whether the value, or every member of it, is a number.
func (p *Parameter) isNumeric() bool { return p.kind.element == "Number" }

// parameterParser reads the parameters of CloudFormation templates.
type parameterParser struct{ *parser }

func (p parameterParser) parameters(section Node, where path) {
	if !p.object(section, where, "Parameters") {
		return
	}
	p.count(section, where, "parameters", p.template.limits.Parameters)
	for _, m := range section.members {
		at := where.to(m.Key)
		p.name(m, at, "Parameter")
		if m.Value.kind != value.Map {
			p.at(m.Value, at, "Template format error: Any Parameters member must be an object.")
			continue
		}
		p.template.Parameters = append(p.template.Parameters, p.parameter(m, at))
	}
}

func (p parameterParser) parameter(declared Member, where path) *Parameter {
	d := &Parameter{Name: declared.Key, Line: declared.line, Column: declared.column}
	for _, m := range declared.Value.members {
		at := where.to(m.Key)
		switch m.Key {
		case "Type":
			d.Type = p.text(m.Value, at, m.Key)
		case "Description":
			d.Description = p.scalarText(m.Value, at, m.Key)
			if limit := p.template.limits.ParameterDescription; utf8.RuneCountInString(d.Description) > limit {
				p.at(m.Value, at, "Template format error: the Description of parameter %s is longer than %d characters.", d.Name, limit)
			}
		case "ConstraintDescription":
			d.ConstraintDescription = p.scalarText(m.Value, at, m.Key)
		case "NoEcho":
			d.NoEcho = p.boolean(m.Value, at, m.Key)
		case "Default":
			text := p.scalarText(m.Value, at, m.Key)
			d.Default = &text
		case "AllowedValues":
			d.AllowedValues = p.texts(m.Value, at, m.Key)
		case "AllowedPattern":
			d.AllowedPattern = p.scalarText(m.Value, at, m.Key)
			d.pattern, d.Unchecked = p.pattern(m.Value, at)
		case "MinLength":
			d.MinLength = p.length(m.Value, at, m.Key)
		case "MaxLength":
			d.MaxLength = p.length(m.Value, at, m.Key)
		case "MinValue":
			d.MinValue = p.number(m.Value, at, m.Key)
		case "MaxValue":
			d.MaxValue = p.number(m.Value, at, m.Key)
		default:
			p.key(m, at, "Invalid template parameter property '%s'", m.Key)
		}
	}
	p.parameterType(d, declared, where)
	return d
}

func (p parameterParser) parameterType(d *Parameter, declared Member, where path) {
	declaredType := declared.Value.Get("Type")
	known := false
	switch d.kind, known = parseType(d.Type); {
	case declaredType.IsZero():
		p.key(declared, where, "Template format error: [%s] Every Parameters object must contain a Type member.", where)
	case declaredType.kind != value.String:
		// already reported
	case !known:
		p.at(declaredType, where.to("Type"), "Template format error: Unrecognized parameter type: %s", d.Type)
		if element, isList := strings.CutPrefix(d.Type, listPrefix); isList && strings.HasPrefix(element, "String") {
			p.explain("CommaDelimitedList is the type of a list of strings")
		}
	}
	// The limits of a stored parameter and of a list of strings apply to the passed text.
	text := !d.isNumeric() && (!d.kind.list || d.kind.stored)
	for _, only := range []struct {
		attribute string
		fits      bool
		types     string
	}{
		{"MinLength", text, "strings"}, {"MaxLength", text, "strings"},
		{"MinValue", d.isNumeric(), "numbers"}, {"MaxValue", d.isNumeric(), "numbers"},
	} {
		if n := declared.Value.Get(only.attribute); !n.IsZero() && !only.fits && known {
			p.at(n, where.to(only.attribute), "Template format error: %s of parameter %s is for %s only, its type is %s.", only.attribute, d.Name, only.types, d.Type)
		}
	}
	least, ok := parseNumber(d.MinValue)
	most, both := parseNumber(d.MaxValue)
	if d.MinLength != nil && d.MaxLength != nil && *d.MinLength > *d.MaxLength || ok && both && least > most {
		p.key(declared, where, "Template format error: parameter %s allows no value: its least is more than its most.", d.Name)
	}
}

// boolean reads true or false, quoted or not.
func (p parameterParser) boolean(n Node, where path, name string) bool {
	switch text := strings.ToLower(n.text); {
	case n.isScalar() && text == "true":
		return true
	case n.isScalar() && text == "false":
		return false
	}
	p.at(n, where, "Template format error: [%s] Every %s member must be a boolean.", where, name)
	return false
}

// texts reads a list of scalars.
func (p parameterParser) texts(n Node, where path, name string) []string {
	if n.kind != value.List {
		p.at(n, where, "Template format error: [%s] Every %s member must be a list.", where, name)
		return nil
	}
	list := make([]string, len(n.items))
	for i, item := range n.items {
		list[i] = p.scalarText(item, where.to(strconv.Itoa(i)), name)
	}
	return list
}

// pattern parses a regular expression that must match a whole value, or says why it is not checked.
func (p parameterParser) pattern(n Node, where path) (pattern *allowedPattern, why string) {
	pattern, err := parsePattern(n.text)
	if why, ok := errors.AsType[uncheckedError](err); ok {
		return nil, string(why)
	}
	if err != nil {
		p.at(n, where, "Template format error: [%s] the AllowedPattern is not a regular expression.", where)
		p.explain(err.Error())
	}
	return pattern, ""
}

// Unchecked returns a note for each parameter whose AllowedPattern is not checked, at the parameter.
func (t *Template) Unchecked() Errors {
	var notes Errors
	for _, p := range t.Parameters {
		if p.Unchecked != "" {
			notes = append(notes, &Error{
				Message: "The AllowedPattern of the parameter " + p.Name + " is not checked.",
				Detail:  p.Unchecked + "; patterns are matched in linear time, which not all of Java's and Python's can be",
				Path:    path{"Parameters", p.Name, "AllowedPattern"}.String(), Line: p.Line, Column: p.Column,
			})
		}
	}
	return notes
}

// length reads a whole number that is not negative, quoted or not.
func (p parameterParser) length(n Node, where path, name string) *int {
	length, err := strconv.Atoi(n.text)
	if err != nil || length < 0 {
		p.at(n, where, "Template format error: [%s] Every %s member must be a whole number, 0 or more.", where, name)
		return nil
	}
	return &length
}

// number reads the text of a number, quoted or not.
func (p parameterParser) number(n Node, where path, name string) string {
	if _, ok := parseNumber(n.text); !ok {
		p.at(n, where, "Template format error: [%s] Every %s member must be a number.", where, name)
	}
	return n.text
}

var numeric = regexp.MustCompile(`^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$`)

// parseNumber parses text as a number for comparisons. It returns false if text is not a number. A number that is too
// large counts as infinite.
func parseNumber(text string) (float64, bool) {
	if !numeric.MatchString(text) {
		return 0, false
	}
	number, _ := strconv.ParseFloat(text, 64)
	return number, true
}
