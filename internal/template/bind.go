package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/value"
)

// Input is one parameter as a client passes it.
type Input struct {
	// Value is the text of the value. It must be "" with UsePrevious.
	Value string
	// UsePrevious asks for the value of the stack's last operation.
	UsePrevious bool
}

// Bind checks the inputs against the declared parameters, computes the value of every parameter, and decides the
// conditions. A parameter without input takes its default, never its previous value. A Number is the string that was
// typed; a list is a list of strings. A NoEcho parameter is secret, and so is a previous value that was, even when the
// declaration lost its NoEcho.
//
// previous holds the parameters of the stack's last operation; nil for a new stack. The error is an [Errors]; no text
// of it holds a value.
func (t *Template) Bind(inputs map[string]Input, previous map[string]value.Value, pseudo Pseudo) (*Scope, error) {
	b := &binding{template: t, inputs: inputs, previous: previous, values: make(map[string]value.Value)}
	b.unknown()
	var missing []string
	for _, p := range t.Parameters {
		if !b.parameter(p) {
			missing = append(missing, p.Name)
		}
	}
	if len(missing) > 0 {
		b.add(&Error{Message: fmt.Sprintf("Parameters: [%s] must have values", strings.Join(missing, ", "))})
	}
	if len(b.found) > 0 {
		return nil, b.found
	}
	scope := NewScope(b.values, make(map[string]bool), pseudo)
	if err := t.decide(scope); err != nil {
		return nil, err
	}
	return scope, nil
}

// binding is one run of [Template.Bind].
type binding struct {
	problems
	template *Template
	inputs   map[string]Input
	previous map[string]value.Value
	values   map[string]value.Value
}

// unknown refuses inputs the template does not declare.
func (b *binding) unknown() {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(b.inputs)) {
		if b.template.Parameter(name) == nil {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		b.add(&Error{Message: fmt.Sprintf("Parameters: [%s] do not exist in the template", strings.Join(names, ", "))})
	}
}

// parameter finds the value of one parameter; false if it has none.
func (b *binding) parameter(p *Parameter) bool {
	input, given := b.inputs[p.Name]
	secret := p.NoEcho
	var text string
	switch {
	case given && input.UsePrevious:
		before, ok := b.previous[p.Name]
		if !ok {
			b.refuse(p, "Invalid input for parameter key %s. Cannot specify usePreviousValue as true for a parameter key not in the previous template", p.Name)
			return true
		}
		if input.Value != "" {
			b.refuse(p, "Invalid input for parameter key %s. Cannot specify usePreviousValue as true and non empty value for a parameter.", p.Name)
			return true
		}
		text, secret = typed(before), secret || before.HasSecret()
	case given:
		text = input.Value
	case p.Default != nil:
		text = *p.Default
	default:
		return false
	}
	b.check(p, text)
	v := p.value(text)
	if secret {
		v = v.Tainted(value.OfParameter)
	}
	b.values[p.Name] = v
	return true
}

// typed returns a parameter's value as a client would type it.
func typed(v value.Value) string {
	if v.Kind() != value.List {
		return v.Text()
	}
	members := make([]string, len(v.Items()))
	for i, item := range v.Items() {
		members[i] = item.Text()
	}
	return strings.Join(members, ",")
}

// value returns what a text is for the parameter's type.
func (p *Parameter) value(text string) value.Value {
	if !p.isList() {
		return value.Str(text)
	}
	return value.Strs(members(text)...)
}

// members splits a comma-delimited list. An empty text is a list of one empty string.
func members(text string) []string {
	list := strings.Split(text, ",")
	for i, member := range list {
		list[i] = strings.TrimSpace(member)
	}
	return list
}

// check holds a text against the constraints of its parameter and reports the first that it breaks.
func (b *binding) check(p *Parameter, text string) {
	if limit := b.template.limits.ParameterBytes; len(text) > limit {
		b.refuse(p, "Parameter '%s' is %d bytes long, the maximum allowed is %d.", p.Name, len(text), limit)
		return
	}
	parts := []string{text}
	if p.isList() {
		parts = members(text)
	}
	for _, part := range parts {
		if p.isNumeric() {
			if _, ok := parseNumber(part); !ok {
				b.refuse(p, "Parameter '%s' must be a number.", p.Name)
				return
			}
		}
		broken := p.broken(part)
		if broken == "" {
			continue
		}
		if p.ConstraintDescription != "" {
			broken = "failed to satisfy constraint: " + p.ConstraintDescription
		}
		b.refuse(p, "Parameter '%s' %s", p.Name, broken)
		return
	}
}

// broken says which constraint a value, or a member of a list, breaks; "" if none.
func (p *Parameter) broken(text string) string {
	length := utf8.RuneCountInString(text)
	switch {
	case p.AllowedValues != nil && !slices.Contains(p.AllowedValues, text):
		return "must be one of AllowedValues"
	case p.pattern != nil && !p.pattern.MatchString(text):
		return "must match pattern " + p.AllowedPattern
	case p.MinLength != nil && length < *p.MinLength:
		return fmt.Sprintf("must contain at least %d characters", *p.MinLength)
	case p.MaxLength != nil && length > *p.MaxLength:
		return fmt.Sprintf("must contain at most %d characters", *p.MaxLength)
	}
	number, _ := parseNumber(text)
	if least, ok := parseNumber(p.MinValue); ok && number < least {
		return "must be a number not less than " + p.MinValue
	}
	if most, ok := parseNumber(p.MaxValue); ok && number > most {
		return "must be a number not greater than " + p.MaxValue
	}
	return ""
}

func (b *binding) refuse(p *Parameter, format string, args ...any) {
	b.add(&Error{
		Message: fmt.Sprintf(format, args...),
		Path:    path{"Parameters", p.Name}.String(), Line: p.Line, Column: p.Column,
	})
}
