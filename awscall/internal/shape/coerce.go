package shape

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Input holds the parameters of an operation, checked and in the types of its model.
type Input struct {
	typ    *Type
	fields []field
}

// field is a member and its value: structures are []field, lists []any, maps []entry.
type field struct {
	member *Member
	value  any
}

type entry struct {
	key   string
	value any
}

// Value returns the value of a top-level member: a string, number or other scalar; nil if it is not set.
func (in *Input) Value(name string) any {
	for _, f := range in.fields {
		if f.member.Name == name {
			return f.value
		}
	}
	return nil
}

// Text returns the value of a top-level member if it is text.
func (in *Input) Text(name string) string {
	text, _ := in.Value(name).(string)
	return text
}

// Set sets a top-level member to text, if it exists.
func (in *Input) Set(name, text string) {
	if in.typ == nil {
		return
	}
	m := in.typ.Member(name)
	if m == nil || m.Type.Kind != String {
		return
	}
	for i := range in.fields {
		if in.fields[i].member == m {
			in.fields[i].value = text
			return
		}
	}
	in.fields = append(in.fields, field{m, text})
}

// Each calls f for each top-level member that is set.
func (in *Input) Each(f func(*Member, any)) {
	for _, field := range in.fields {
		f(field.member, field.value)
	}
}

// ParameterError describes the problem with one parameter. It never contains its value.
type ParameterError struct {
	Path    string // e.g. "Tags[0].Key"; empty for the parameters as a whole
	Problem string
}

// Error implements error.
func (e *ParameterError) Error() string {
	if e.Path == "" {
		return "parameters: " + e.Problem
	}
	return "parameter " + e.Path + ": " + e.Problem
}

// maxParameterDepth limits the nesting of parameters, because recursive functions walk them.
const maxParameterDepth = 200

// Coerce converts parameters to the types of the operation's model. Text becomes numbers, booleans, times and bytes where
// the model requires those, and numbers and booleans become text. Coerce calls unknown with the path of each unknown
// parameter, which it leaves out, and returns the error of unknown. It calls token to make identifiers for unset members
// that need one.
func (o *Operation) Coerce(params map[string]any, unknown func(path string, known []string) error, token func() string) (*Input, error) {
	in := &Input{typ: o.Input}
	c := coercer{unknown: unknown, token: token}
	if o.Input == nil {
		for name := range params {
			if err := unknown(name, nil); err != nil {
				return nil, err
			}
		}
		return in, nil
	}
	fields, err := c.structure("", params, o.Input, 0)
	if err != nil {
		return nil, err
	}
	in.fields = fields
	for _, m := range o.Input.Members {
		if !m.Label && !m.HostLabel {
			continue
		}
		if v := in.Value(m.Name); v == nil || v == "" {
			return nil, &ParameterError{Path: m.Name, Problem: "it is part of the request's address and has to be given"}
		}
		if m.Label && o.service.Model.Metadata.ServiceID != "S3" && climbs(in.Text(m.Name)) { // S3's keys are not paths
			return nil, &ParameterError{Path: m.Name, Problem: "it is part of the request's path, so no part of it may be . or .."}
		}
	}
	return in, nil
}

type coercer struct {
	unknown func(string, []string) error
	token   func() string
}

func (c *coercer) structure(path string, params map[string]any, t *Type, depth int) ([]field, error) {
	fields := make([]field, 0, len(params))
	known := 0
	for _, m := range t.Members {
		raw, ok := params[m.Name]
		if ok {
			known++
		}
		if raw == nil {
			if m.Token {
				fields = append(fields, field{m, c.token()})
			}
			continue
		}
		v, err := c.value(join(path, m.Name), raw, m.Type, m.JSON, depth+1)
		if err != nil {
			return nil, err
		}
		if v != nil {
			fields = append(fields, field{m, v})
		}
	}
	if known < len(params) {
		names := make([]string, len(t.Members))
		for i, m := range t.Members {
			names[i] = m.Name
		}
		for name := range params {
			if t.byName[name] == nil {
				if err := c.unknown(join(path, name), names); err != nil {
					return nil, err
				}
			}
		}
	}
	if t.Union && len(fields) > 1 {
		return nil, &ParameterError{path, "only one of its members may be given"}
	}
	return fields, nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (c *coercer) value(path string, raw any, t *Type, isJSON bool, depth int) (any, error) {
	if depth > maxParameterDepth {
		return nil, &ParameterError{path, fmt.Sprintf("nested more than %d deep", maxParameterDepth)}
	}
	mismatch := &ParameterError{path, "it has to be " + t.Kind.String() + ", and is " + describe(raw)}
	switch t.Kind {
	case Structure:
		params, ok := raw.(map[string]any)
		if !ok {
			return nil, mismatch
		}
		return c.structure(path, params, t, depth)
	case List:
		list, ok := elements(raw)
		if !ok {
			return nil, mismatch
		}
		return c.list(path, list, t, depth)
	case Map:
		params, ok := raw.(map[string]any)
		if !ok {
			return nil, mismatch
		}
		return c.mapping(path, params, t, depth)
	case String:
		if isJSON && !isText(raw) {
			text, err := json.Marshal(raw)
			if err != nil {
				return nil, mismatch
			}
			return string(text), nil
		}
		if text, ok := scalarText(raw); ok {
			return text, nil
		}
		return nil, mismatch
	case Blob:
		if b, ok := raw.([]byte); ok {
			return append([]byte{}, b...), nil
		}
		if text, ok := scalarText(raw); ok {
			return []byte(text), nil
		}
		return nil, mismatch
	case Boolean:
		switch v := raw.(type) {
		case bool:
			return v, nil
		case string:
			if b, err := strconv.ParseBool(strings.ToLower(v)); err == nil && len(v) > 1 {
				return b, nil
			}
		}
		return nil, mismatch
	case Integer:
		if v, ok := integer(raw, t.Bits); ok {
			return v, nil
		}
		mismatch.Problem += fmt.Sprintf(" or does not fit %d bits", t.Bits)
		return nil, mismatch
	case Float:
		if v, ok := number(raw); ok {
			return v, nil
		}
		return nil, mismatch
	case Time:
		if v, ok := instant(raw); ok {
			return v, nil
		}
		mismatch.Problem += "; write it as 2006-01-02T15:04:05Z, or as milliseconds since 1970"
		return nil, mismatch
	case Document:
		text, err := json.Marshal(raw)
		if err != nil {
			return nil, mismatch
		}
		return documentText(text), nil
	}
	return nil, mismatch
}

func (c *coercer) list(path string, list []any, t *Type, depth int) (any, error) {
	out := make([]any, 0, len(list))
	for i, raw := range list {
		if raw == nil {
			if t.Sparse {
				out = append(out, nil)
			}
			continue
		}
		v, err := c.value(fmt.Sprintf("%s[%d]", path, i), raw, t.Elem, false, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (c *coercer) mapping(path string, params map[string]any, t *Type, depth int) (any, error) {
	out := make([]entry, 0, len(params))
	for key, raw := range params {
		if raw == nil {
			if t.Sparse {
				out = append(out, entry{key, nil})
			}
			continue
		}
		v, err := c.value(join(path, key), raw, t.Elem, false, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, entry{key, v})
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	return out, nil
}
