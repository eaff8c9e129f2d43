package template

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// The types of parameters in ROS. Source: ROS, template section Parameters.
const (
	rosString  = "String"
	rosNumber  = "Number"
	rosList    = "CommaDelimitedList"
	rosJSON    = "Json"
	rosBoolean = "Boolean"
	// rosStored is a plain text in the parameter store, rosSecretStored a secret one.
	rosStored       = "ALIYUN::OOS::Parameter::Value"
	rosSecretStored = "ALIYUN::OOS::SecretParameter::Value"
)

// rosParameterParser reads the parameters of ROS templates.
type rosParameterParser struct{ *parser }

func (p rosParameterParser) rosParameters(section Node, where path) {
	rosParser(p).rosDeclared(section, where, p.template.limits.Parameters, "a parameter", func(m Member, at path) {
		p.template.Parameters = append(p.template.Parameters, p.rosParameter(m, at))
	})
}

func (p rosParameterParser) rosParameter(declared Member, where path) *Parameter {
	d := &Parameter{Name: declared.Key, Declared: declared.Value, Line: declared.line, Column: declared.column, ros: true}
	d.Type = declared.Value.Get("Type").text // the other attributes are read depending on it
	for _, m := range declared.Value.members {
		at := where.to(m.Key)
		if m.Value.IsZero() && m.Key != "Default" && m.Key != "Type" {
			continue
		}
		switch m.Key {
		case "Type":
			p.rosType(d, m, at)
		case "Description":
			d.Description = rosParser(p).rosDescription(m.Value, at)
			if limit := p.template.limits.ParameterDescription; utf8.RuneCountInString(d.Description) > limit {
				p.coded(rosValidationFailed, m.Value, at, "The Description of the parameter %s is longer than %d characters.", d.Name, limit)
			}
		case "ConstraintDescription":
			d.ConstraintDescription = rosParser(p).rosDescription(m.Value, at)
		case "Label":
			d.Label = rosParser(p).rosDescription(m.Value, at)
		case "NoEcho":
			d.NoEcho = p.rosBoolean(m.Value, at)
		case "Default":
			p.rosDefault(d, m.Value)
		case "AllowedValues":
			p.rosAllowed(d, m.Value, at)
		case "AllowedPattern":
			if !m.Value.isScalar() {
				p.wrongType(m.Value, at, "a regular expression")
				continue
			}
			d.AllowedPattern = m.Value.text
			d.pattern, d.Unchecked = p.rosPattern(m.Value, at)
		case "MinLength":
			d.MinLength = p.rosLength(m.Value, at)
		case "MaxLength":
			d.MaxLength = p.rosLength(m.Value, at)
		case "MinValue":
			d.MinValue = p.rosBound(m.Value, at)
		case "MaxValue":
			d.MaxValue = p.rosBound(m.Value, at)
		case "AssociationProperty", "AssociationPropertyMetadata", "Confirm", "TextArea", "Required", "Placeholder", "ReadOnly":
			// only used by consoles
		default:
			p.codedKey(rosValidationFailed, m, at, "A parameter has no attribute %s.", m.Key)
		}
	}
	if declared.Value.Get("Type").IsZero() {
		p.codedKey(rosValidationFailed, declared, where, "The parameter %s has no Type.", d.Name)
	}
	p.rosConstraints(d, declared, where)
	return d
}

func (p rosParameterParser) rosType(d *Parameter, m Member, where path) {
	switch d.Type {
	case rosString, rosNumber, rosBoolean, rosJSON:
		d.kind.element = d.Type
	case rosList:
		d.kind = parameterType{list: true, element: rosString}
	case rosStored:
		d.kind = parameterType{stored: true, element: rosString}
	case rosSecretStored:
		p.coded(rosNotSupported, m.Value, where, "The parameter type %s is not supported.", d.Type)
		p.explain("pass the secret itself to a parameter of type String with NoEcho: true")
	default:
		if m.Value.kind != value.String {
			p.wrongType(m.Value, where, "the name of a type")
			return
		}
		p.coded(rosValidationFailed, m.Value, where, "The parameter type %s is none of ROS.", d.Type)
		p.explain("the types are " + strings.Join([]string{rosString, rosNumber, rosList, rosJSON, rosBoolean, rosStored}, ", "))
	}
}

// rosDefault reads a default. If it is null, the parameter may be empty.
func (p rosParameterParser) rosDefault(d *Parameter, n Node) {
	if n.IsZero() {
		d.Empty = true
		return
	}
	text := d.rosText(n)
	d.Default = &text
}

// rosText returns a literal in the template as a client would pass it: a list is text with commas, or JSON.
func (d *Parameter) rosText(n Node) string {
	switch {
	case n.isScalar():
		return n.text
	case n.kind == value.List && d.Type == rosList && !slices.ContainsFunc(n.items, func(item Node) bool { return !item.isScalar() }):
		texts := make([]string, len(n.items))
		for i, item := range n.items {
			texts[i] = item.text
		}
		return strings.Join(texts, ",")
	}
	return n.Value().String()
}

// rosAllowed reads the allowed values. A null among them allows an empty value.
func (p rosParameterParser) rosAllowed(d *Parameter, n Node, where path) {
	if n.kind != value.List {
		p.wrongType(n, where, "a list")
		return
	}
	d.AllowedValues = make([]string, 0, len(n.items))
	for _, item := range n.items {
		if !item.IsZero() {
			d.AllowedValues = append(d.AllowedValues, d.rosText(item))
		}
	}
}

// rosPattern parses a regular expression that must match a whole value. ROS uses Python's syntax, in which a backslash
// may precede every character except letters and digits.
func (p rosParameterParser) rosPattern(n Node, where path) (pattern *allowedPattern, why string) {
	pattern, err := parsePattern(withoutEscapes(n.text))
	if why, ok := errors.AsType[uncheckedError](err); ok {
		return nil, string(why)
	}
	if err != nil {
		p.coded(rosValidationFailed, n, where, "The AllowedPattern is not a regular expression.")
		p.explain(err.Error())
	}
	return pattern, ""
}

// withoutEscapes returns a pattern without the backslashes before characters outside ASCII, where they have no effect.
func withoutEscapes(pattern string) string {
	var b strings.Builder
	escaped := false
	for _, r := range pattern {
		if r == '\\' && !escaped {
			escaped = true
			continue
		}
		if escaped && r < utf8.RuneSelf {
			b.WriteByte('\\')
		}
		escaped = false
		b.WriteRune(r)
	}
	if escaped {
		b.WriteByte('\\')
	}
	return b.String()
}

// rosBoolean reads true or false, quoted or not.
func (p rosParameterParser) rosBoolean(n Node, where path) bool {
	yes, ok := parseBoolean(n.text)
	if !n.isScalar() || !ok {
		p.wrongType(n, where, "true or false")
	}
	return yes
}

// rosLength reads a whole number that is not negative, quoted or not.
func (p rosParameterParser) rosLength(n Node, where path) *int {
	length, err := strconv.Atoi(n.text)
	if err != nil || length < 0 {
		p.wrongType(n, where, "a whole number, 0 or more")
		return nil
	}
	return &length
}

// rosBound reads the text of a number, quoted or not.
func (p rosParameterParser) rosBound(n Node, where path) string {
	if _, ok := parseNumber(n.text); !ok {
		p.wrongType(n, where, "a number")
	}
	return n.text
}

// rosConstraints checks that the type supports the constraints, and that a value can satisfy them.
func (p rosParameterParser) rosConstraints(d *Parameter, declared Member, where path) {
	number := d.kind.element == rosNumber
	text := !number && d.kind.element != rosBoolean
	for _, only := range []struct {
		attribute, types string
		fits             bool
	}{
		{"MinLength", "texts and lists", text}, {"MaxLength", "texts and lists", text},
		{"MinValue", "numbers", number}, {"MaxValue", "numbers", number},
		{"AllowedPattern", "texts", text && d.kind.element != rosJSON && !d.kind.stored},
	} {
		if n := declared.Value.Get(only.attribute); !n.IsZero() && !only.fits && d.kind.element != "" {
			p.coded(rosValidationFailed, n, where.to(only.attribute), "The attribute %s of the parameter %s is for %s only, its type is %s.", only.attribute, d.Name, only.types, d.Type)
		}
	}
	least, ok := parseNumber(d.MinValue)
	most, both := parseNumber(d.MaxValue)
	if d.MinLength != nil && d.MaxLength != nil && *d.MinLength > *d.MaxLength || ok && both && least > most {
		p.codedKey(rosValidationFailed, declared, where, "The parameter %s allows no value: its least is more than its most.", d.Name)
	}
}

// parseBoolean parses true or false in any case.
func parseBoolean(text string) (yes, ok bool) {
	switch strings.ToLower(text) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}
