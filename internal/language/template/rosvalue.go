package template

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// rosParameter sets the value of one parameter of a ROS template. It returns false if the parameter has no value, which
// the caller then reports.
func (b *binding) rosParameter(p *Parameter) bool {
	if b.leftEmpty(p) {
		b.values[p.Name] = value.Value{}
		return true
	}
	found := len(b.found)
	text, secret, ok := b.text(p)
	switch {
	case len(b.found) > found:
		return true
	case !ok:
		return false
	}
	v := p.rosChecked(b, text)
	if secret {
		v = v.Tainted(value.OfParameter)
	}
	b.values[p.Name] = v
	if p.kind.stored && len(b.found) == found {
		b.look(p, text, secret)
	}
	return true
}

// leftEmpty reports whether a parameter whose default is null has no value.
func (b *binding) leftEmpty(p *Parameter) bool {
	input, given := b.inputs[p.Name]
	if !given {
		return p.Empty
	}
	if !input.UsePrevious || input.Value != "" {
		return false
	}
	before, known := b.previous[p.Name]
	return p.Empty && known && before.IsNull()
}

// rosChecked converts a text to the parameter's type, and reports the first constraint that the value violates.
func (p *Parameter) rosChecked(b *binding, text string) value.Value {
	if limit := b.template.limits.ParameterBytes; len(text) > limit {
		b.constraint(p, fmt.Sprintf("its value is %d bytes long, the maximum allowed is %d", len(text), limit))
		return value.Str("")
	}
	v, misfit := p.rosValue(text)
	if misfit != "" {
		if !p.Empty || text != "" {
			b.constraint(p, misfit)
		}
		return value.Value{}
	}
	if p.kind.stored || p.Empty && text == "" {
		return v
	}
	if broken := p.rosBroken(v); broken != "" {
		if p.ConstraintDescription != "" {
			broken = p.ConstraintDescription
		}
		b.constraint(p, broken)
	}
	return v
}

// constraint reports a violated constraint of a parameter.
func (b *binding) constraint(p *Parameter, broken string) {
	b.refuse(p, "The Parameter %s is not valid: %s.", p.Name, strings.TrimSuffix(broken, "."))
}

// rosValue converts a text to the parameter's type, or returns why that is impossible. It does not quote the text.
func (p *Parameter) rosValue(text string) (v value.Value, misfit string) {
	switch p.Type {
	case rosNumber:
		trimmed := strings.TrimSpace(text)
		if _, ok := parseNumber(trimmed); !ok {
			return v, "it must be a number"
		}
		return value.Num(jsonFloat(trimmed)), ""
	case rosBoolean:
		yes, ok := parseBoolean(strings.TrimSpace(text))
		if !ok {
			return v, "it must be true or false"
		}
		return value.Boolean(yes), ""
	case rosJSON:
		v, err := value.Parse([]byte(text))
		if err != nil || v.Kind() != value.List && v.Kind() != value.Map {
			return value.Value{}, "it must be a list or a map in JSON"
		}
		if deeper(v, MaxDepth) {
			return value.Value{}, fmt.Sprintf("its lists and maps nest deeper than %d levels", MaxDepth)
		}
		return v, ""
	case rosList:
		if strings.TrimSpace(text) == "" {
			return value.Strs(), ""
		}
		return value.Strs(members(text)...), ""
	}
	return value.Str(text), ""
}

// rosBroken returns the constraint that a value violates, or "". Allowed values and patterns apply to the members of a
// list of texts, lengths to the list. It does not quote the value.
func (p *Parameter) rosBroken(v value.Value) string {
	parts := []value.Value{v}
	if p.kind.list {
		parts = v.Items()
	}
	for _, part := range parts {
		switch {
		case p.AllowedValues != nil && !p.allows(part):
			return "it must be one of AllowedValues"
		case p.pattern != nil && !p.pattern.match(part.Text()):
			return "it must match the pattern " + p.AllowedPattern
		}
	}
	length, what := utf8.RuneCountInString(v.Text()), "characters"
	if v.Kind() == value.List || v.Kind() == value.Map {
		length, what = len(v.Items())+len(v.Members()), "members"
	}
	switch {
	case p.MinLength != nil && length < *p.MinLength:
		return fmt.Sprintf("it must have at least %d %s", *p.MinLength, what)
	case p.MaxLength != nil && length > *p.MaxLength:
		return fmt.Sprintf("it must have at most %d %s", *p.MaxLength, what)
	}
	number, _ := parseNumber(v.Text())
	if least, ok := parseNumber(p.MinValue); ok && number < least {
		return "it must be a number not less than " + p.MinValue
	}
	if most, ok := parseNumber(p.MaxValue); ok && number > most {
		return "it must be a number not greater than " + p.MaxValue
	}
	return ""
}

// allows reports whether a value, or a member of a list of texts, is an allowed one.
func (p *Parameter) allows(v value.Value) bool {
	return slices.ContainsFunc(p.AllowedValues, func(text string) bool {
		if p.kind.list {
			return strings.TrimSpace(text) == v.Text()
		}
		allowed, misfit := p.rosValue(text)
		if misfit != "" {
			return false
		}
		if v.Kind() == value.Number {
			one, _ := parseNumber(allowed.Text())
			other, _ := parseNumber(v.Text())
			return one == other
		}
		return allowed.Equal(v)
	})
}

// rosUnknown rejects inputs that a ROS template does not declare.
func (b *binding) rosUnknown(names []string) {
	for _, name := range names {
		b.add(&Error{Message: fmt.Sprintf("The Parameter (%s) was not defined in template.", name), Code: rosUnknownParameter})
	}
}

// rosReport adds the missing parameters.
func (b *binding) rosReport() {
	for _, name := range b.missing {
		p := b.template.Parameter(name)
		b.add(&Error{
			Message: fmt.Sprintf("The Parameter %s was not provided.", name), Code: rosMissingParameter,
			Path: path{"Parameters", name}.String(), Line: p.Line, Column: p.Column,
		})
	}
	for _, name := range b.absent.list {
		b.add(&Error{Message: fmt.Sprintf("The parameter store has no parameter %s.", name), Code: rosValidationFailed})
	}
	for _, name := range b.secret.list {
		b.add(&Error{
			Message: fmt.Sprintf("The parameter %s of the parameter store is secret.", name), Code: rosValidationFailed,
			Detail: "pass the secret itself to a parameter of type String with NoEcho: true",
		})
	}
}

// inItsTerms returns problems of the template's inputs in the form of its language.
func (t *Template) inItsTerms(err error) error {
	if t.Language == ROS {
		return asROS(err, rosValidationFailed)
	}
	return err
}
