package template

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Input is a parameter as a client passes it.
type Input struct {
	// Value is the text of the value. It must be "" with UsePrevious.
	Value string
	// UsePrevious uses the value of the stack's last operation.
	UsePrevious bool
	// Secret makes the value secret even if the declaration does not.
	Secret bool
}

// Bind is [Template.BindWith] for a template that needs no outside values.
func (t *Template) Bind(inputs map[string]Input, previous map[string]value.Value, pseudo Pseudo) (*Scope, error) {
	return t.BindWith(inputs, previous, pseudo, Outside{})
}

// BindWith checks the inputs against the declared parameters, computes the value of every parameter, decides the
// conditions, and checks the rules. A parameter without input takes its default, never its previous value. The value of
// a Number is the string that was typed; a list is a list of strings. A NoEcho parameter is secret. So is a previous
// value that was secret, even if the declaration has lost its NoEcho.
//
// previous holds the parameters of the stack's last operation; nil for a new stack. outside must have the values for
// [Template.StoredNames], and becomes part of the scope. The error is an [Errors]; none of its texts contains a value.
func (t *Template) BindWith(inputs map[string]Input, previous map[string]value.Value, pseudo Pseudo, outside Outside) (*Scope, error) {
	b := newBinding(t, inputs, previous, outside.Stored)
	b.unknown()
	for _, p := range t.Parameters {
		b.parameter(p)
	}
	b.report()
	if len(b.found) > 0 {
		return nil, t.inItsTerms(b.found)
	}
	scope := NewScope(b.values, make(map[string]bool), pseudo)
	scope.Language, scope.Outside = t.Language, outside
	scope.Outside.Stored, scope.Outside.Parameters = nil, b.read
	if err := t.decide(scope); err != nil {
		return nil, t.inItsTerms(err)
	}
	if err := t.enforce(scope, nil); err != nil {
		return nil, t.inItsTerms(err)
	}
	return scope, nil
}

// StoredNames returns the names to look up in the parameter store before the inputs can be bound, sorted, each once;
// nil for none.
func (t *Template) StoredNames(inputs map[string]Input, previous map[string]value.Value) []string {
	b := newBinding(t, inputs, previous, nil)
	var names []string
	for _, p := range t.Parameters {
		if !p.kind.stored && !p.kind.named {
			continue
		}
		if text, _, ok := b.text(p); ok && isStoredName(text) {
			names = append(names, text)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// noStoredValue is the error for a parameter of the parameter store that has no name, or whose given name is missing
// there.
const noStoredValue = "Parameter %s should either have input value or default value"

// binding is one run of [Template.BindWith].
type binding struct {
	problems
	template *Template
	inputs   map[string]Input
	previous map[string]value.Value
	stored   map[string]Stored
	// values are the passed values. read are the values that the parameter store has under the names among them.
	values, read map[string]value.Value
	// missing are the parameters without a value. absent and secret are names in the parameter store.
	missing        []string
	absent, secret names
	// absentGiven is the first parameter with a given name that is absent.
	absentGiven string
}

func newBinding(t *Template, inputs map[string]Input, previous map[string]value.Value, stored map[string]Stored) *binding {
	return &binding{template: t, inputs: inputs, previous: previous, stored: stored, values: make(map[string]value.Value)}
}

// report adds the problems that are reported once for all parameters.
func (b *binding) report() {
	if b.template.Language == ROS {
		b.rosReport()
		return
	}
	answer := ""
	if b.absentGiven != "" { // source: recorded answers, D21 (2025-08-06)
		answer = fmt.Sprintf(noStoredValue, b.absentGiven)
	}
	for _, c := range []struct {
		list           []string
		format, answer string
	}{
		{b.missing, "Parameters: [%s] must have values", ""},
		{b.absent.list, "Unable to fetch parameters [%s] from parameter store for this account.", answer},
		{b.secret.list, "Parameters [%s] referenced by template have types not supported by CloudFormation.", ""},
	} {
		if len(c.list) > 0 {
			b.add(&Error{Message: fmt.Sprintf(c.format, strings.Join(c.list, ", ")), Answer: c.answer})
		}
	}
}

// unknown rejects inputs that the template does not declare.
func (b *binding) unknown() {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(b.inputs)) {
		if b.template.Parameter(name) == nil {
			names = append(names, name)
		}
	}
	if len(names) > 0 && b.template.Language == ROS {
		b.rosUnknown(names)
	} else if len(names) > 0 {
		b.add(&Error{Message: fmt.Sprintf("Parameters: [%s] do not exist in the template", strings.Join(names, ", "))})
	}
}

// parameter sets the value of one parameter; false if it has none.
func (b *binding) parameter(p *Parameter) bool {
	if p.ros {
		if b.rosParameter(p) {
			return true
		}
		b.missing = append(b.missing, p.Name)
		return false
	}
	found := len(b.found)
	text, secret, ok := b.text(p)
	switch {
	case len(b.found) > found:
		return true
	case !ok && p.kind.stored:
		b.refuse(p, noStoredValue, p.Name)
		return false
	case !ok:
		b.missing = append(b.missing, p.Name)
		return false
	}
	b.check(p, text)
	b.values[p.Name] = p.value(text)
	if secret {
		b.values[p.Name] = b.values[p.Name].Tainted(value.OfParameter)
	}
	if (p.kind.stored || p.kind.named) && len(b.found) == found {
		b.look(p, text, secret)
	}
	return true
}

// text returns the input of a parameter, or the text used instead of it; false if it has neither.
func (b *binding) text(p *Parameter) (text string, secret, ok bool) {
	input, given := b.inputs[p.Name]
	switch {
	case given && input.UsePrevious:
		before, ok := b.previous[p.Name]
		if !ok {
			b.refuse(p, "Invalid input for parameter key %s. Cannot specify usePreviousValue as true for a parameter key not in the previous template", p.Name)
			return "", false, false
		}
		if input.Value != "" {
			b.refuse(p, "Invalid input for parameter key %s. Cannot specify usePreviousValue as true and non empty value for a parameter.", p.Name)
			return "", false, false
		}
		return p.Typed(before), p.NoEcho || before.HasSecret(), true
	case given:
		return input.Value, p.NoEcho || input.Secret, true
	case p.Default != nil:
		return *p.Default, p.NoEcho, true
	}
	return "", false, false
}

// look sets the value of a parameter to the value under a name in the parameter store.
func (b *binding) look(p *Parameter, name string, secret bool) {
	shown := name
	if secret {
		shown = value.ParameterMask
	}
	stored := b.stored[name]
	switch {
	case stored.State == StoredMissing:
		if input, given := b.inputs[p.Name]; given && !input.UsePrevious && p.kind.stored && b.absentGiven == "" {
			b.absentGiven = p.Name
		}
		b.absent.add(shown)
		return
	case p.kind.named:
		return
	case stored.State == StoredSecret:
		b.secret.add(shown)
		return
	}
	v := value.Str(stored.Value)
	parts := []string{stored.Value}
	if p.kind.list {
		parts = members(stored.Value)
		v = value.Strs(parts...)
	}
	for _, part := range parts {
		if misfit := p.kind.misfit(part); misfit != "" {
			b.refuse(p, "Parameter '%s' %s", p.Name, misfit)
			b.explain("that is about what the parameter store has, not about its name there")
			return
		}
	}
	if secret {
		v = v.Tainted(value.OfParameter)
	}
	if b.read == nil {
		b.read = make(map[string]value.Value)
	}
	b.read[p.Name] = v
}

// Typed returns a value of the parameter in the form in which a client would type it.
func (p *Parameter) Typed(v value.Value) string {
	if p.Type == rosJSON && p.ros || v.Kind() == value.Map {
		return string(v.JSON())
	}
	if v.Kind() != value.List {
		return v.Text()
	}
	members := make([]string, len(v.Items()))
	for i, item := range v.Items() {
		members[i] = item.Text()
	}
	return strings.Join(members, ",")
}

// value converts a text to the parameter's type.
func (p *Parameter) value(text string) value.Value {
	if !p.kind.list || p.kind.stored {
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

// check checks a text against the constraints of its parameter and reports the first violation.
func (b *binding) check(p *Parameter, text string) {
	if limit := b.template.limits.ParameterBytes; len(text) > limit {
		b.refuse(p, "Parameter '%s' is %d bytes long, the maximum allowed is %d.", p.Name, len(text), limit)
		return
	}
	parts := []string{text}
	if p.kind.list && !p.kind.stored {
		parts = members(text)
	}
	for _, part := range parts {
		misfit := ""
		if !p.kind.stored {
			misfit = p.kind.misfit(part)
		}
		if misfit != "" && p.isNumeric() {
			b.refuse(p, "Parameter '%s' %s", p.Name, misfit)
			return
		}
		broken := cmp.Or(p.broken(part), misfit)
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

// broken returns the constraint that a value, or a member of a list, violates; "" for none.
func (p *Parameter) broken(text string) string {
	length := utf8.RuneCountInString(text)
	switch {
	case p.AllowedValues != nil && !slices.Contains(p.AllowedValues, text):
		return "must be one of AllowedValues"
	case p.pattern != nil && !p.pattern.match(text):
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
