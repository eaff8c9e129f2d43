// Package endpoint finds the endpoint of a request by the rules that come with a service's model.
//
// The rules are those of https://smithy.io/2.0/additional-specs/rules-engine/: a tree of conditions over parameters such
// as the region, whose leaves are endpoints or errors.
package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Rules is a rule set. It does not change after parsing, so it may be shared.
type Rules struct {
	parameters map[string]parameter
	rules      []rule
}

type parameter struct {
	Type     string `json:"type"`
	BuiltIn  string `json:"builtIn"`
	Default  any    `json:"default"`
	Required bool   `json:"required"`
}

type rule struct {
	Type       string      `json:"type"`
	Conditions []condition `json:"conditions"`
	Rules      []rule      `json:"rules"`
	Endpoint   *struct {
		URL        any                 `json:"url"`
		Properties map[string]any      `json:"properties"`
		Headers    map[string][]string `json:"headers"`
	} `json:"endpoint"`
	Error any `json:"error"`
}

type condition struct {
	Fn     string `json:"fn"`
	Argv   []any  `json:"argv"`
	Assign string `json:"assign"`
}

// Endpoint is the destination of a request.
type Endpoint struct {
	URL     string
	Headers map[string][]string
	// The signature scheme: "" if the rules name none, otherwise "sigv4", "sigv4a", "sigv4-s3express" or another.
	Scheme        string
	SigningName   string // of the scheme; may be empty, like the region
	SigningRegion string
}

// maxRules limits the size of a rule set's text, and maxNesting its depth.
const (
	maxRules   = 8 << 20
	maxNesting = 200
)

// Parse reads a rule set.
func Parse(text []byte) (*Rules, error) {
	if len(text) > maxRules {
		return nil, errors.New("endpoint rules: too large")
	}
	var set struct {
		Parameters map[string]parameter `json:"parameters"`
		Rules      []rule               `json:"rules"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("endpoint rules: %w", err)
	}
	if set.Rules == nil {
		return nil, errors.New("endpoint rules: there are none")
	}
	return &Rules{parameters: set.Parameters, rules: set.Rules}, nil
}

// Has reports whether the rules have a parameter.
func (r *Rules) Has(name string) bool {
	_, ok := r.parameters[name]
	return ok
}

// BuiltIn returns the parameter with a built-in meaning, e.g. "AWS::Region". It returns "" if none has it.
func (r *Rules) BuiltIn(meaning string) string {
	for name, p := range r.parameters {
		if p.BuiltIn == meaning {
			return name
		}
	}
	return ""
}

// Resolve finds the endpoint for parameters: strings, bools and lists of strings. Its error is the text in the rules.
func (r *Rules) Resolve(partitions *Partitions, params map[string]any) (Endpoint, error) {
	scope := &scope{partitions: partitions, values: make(map[string]any, len(r.parameters)+4)}
	for name, p := range r.parameters {
		v, ok := params[name]
		if !ok || v == nil {
			v = p.Default
		}
		if v == nil && p.Required {
			return Endpoint{}, fmt.Errorf("the endpoint depends on %s, which is not given", name)
		}
		if v != nil {
			scope.values[name] = v
		}
	}
	e, matched, err := scope.rules(r.rules, 0)
	if err == nil && !matched {
		err = errors.New("no endpoint rule applies")
	}
	return e, err
}

// scope holds the values that rules see. Assignments in a branch are dropped at its end.
type scope struct {
	partitions *Partitions
	values     map[string]any
}

func (s *scope) rules(rules []rule, depth int) (Endpoint, bool, error) {
	if depth > maxNesting {
		return Endpoint{}, false, errors.New("endpoint rules: nested too deep")
	}
	for i := range rules {
		e, matched, err := s.rule(&rules[i], depth)
		if matched || err != nil {
			return e, matched, err
		}
	}
	return Endpoint{}, false, nil
}

func (s *scope) rule(r *rule, depth int) (Endpoint, bool, error) {
	var assigned []string
	defer func() {
		for _, name := range assigned {
			delete(s.values, name)
		}
	}()
	for _, c := range r.Conditions {
		v, err := s.call(c.Fn, c.Argv, depth)
		if err != nil {
			return Endpoint{}, false, err
		}
		if v == nil || v == false {
			return Endpoint{}, false, nil
		}
		if c.Assign != "" {
			if _, taken := s.values[c.Assign]; taken {
				return Endpoint{}, false, fmt.Errorf("endpoint rules: %s is assigned twice", c.Assign)
			}
			s.values[c.Assign] = v
			assigned = append(assigned, c.Assign)
		}
	}
	switch r.Type {
	case "tree":
		return s.rules(r.Rules, depth+1)
	case "error":
		text, err := s.text(r.Error, depth)
		if err == nil {
			err = errors.New(text)
		}
		return Endpoint{}, false, err
	case "endpoint":
		if r.Endpoint != nil {
			e, err := s.endpoint(r, depth)
			return e, err == nil, err
		}
	}
	return Endpoint{}, false, fmt.Errorf("endpoint rules: a rule of type %q", r.Type)
}

func (s *scope) endpoint(r *rule, depth int) (Endpoint, error) {
	var e Endpoint
	var err error
	if e.URL, err = s.text(r.Endpoint.URL, depth); err != nil {
		return e, err
	}
	for name, values := range r.Endpoint.Headers {
		for _, value := range values {
			text, err := s.text(value, depth)
			if err != nil {
				return e, err
			}
			if e.Headers == nil {
				e.Headers = map[string][]string{}
			}
			e.Headers[name] = append(e.Headers[name], text)
		}
	}
	schemes, _ := r.Endpoint.Properties["authSchemes"].([]any)
	for _, raw := range schemes {
		scheme, _ := raw.(map[string]any)
		name, _ := scheme["name"].(string)
		if e.Scheme != "" && name != "sigv4" {
			continue // the first scheme named, unless a supported one follows
		}
		e.Scheme = name
		if e.SigningName, err = s.text(scheme["signingName"], depth); err != nil {
			return e, err
		}
		if e.SigningRegion, err = s.text(scheme["signingRegion"], depth); err != nil {
			return e, err
		}
		if name == "sigv4" {
			break
		}
	}
	return e, nil
}

// text evaluates a value that must be text. A missing value is empty text.
func (s *scope) text(v any, depth int) (string, error) {
	v, err := s.value(v, depth)
	if err != nil || v == nil {
		return "", err
	}
	text, ok := v.(string)
	if !ok {
		return "", errors.New("endpoint rules: text is wanted where something else is")
	}
	return text, nil
}

// value evaluates an argument: a literal, a template, a reference or a call.
func (s *scope) value(v any, depth int) (any, error) {
	switch v := v.(type) {
	case string:
		if !strings.ContainsAny(v, "{}") {
			return v, nil
		}
		return s.template(v)
	case map[string]any:
		if ref, ok := v["ref"].(string); ok {
			return s.values[ref], nil
		}
		if fn, ok := v["fn"].(string); ok {
			argv, _ := v["argv"].([]any)
			return s.call(fn, argv, depth+1)
		}
		return nil, errors.New("endpoint rules: an argument that is neither a reference nor a call")
	}
	return v, nil
}

// template fills {Name} and {Name#path}; {{ and }} stand for braces.
func (s *scope) template(text string) (any, error) {
	var out strings.Builder
	for text != "" {
		i := strings.IndexAny(text, "{}")
		if i < 0 {
			out.WriteString(text)
			break
		}
		out.WriteString(text[:i])
		if i+1 < len(text) && text[i+1] == text[i] {
			out.WriteByte(text[i])
			text = text[i+2:]
			continue
		}
		end := strings.IndexByte(text[i:], '}')
		if text[i] == '}' || end < 0 {
			return nil, errors.New("endpoint rules: a brace stands alone")
		}
		name, path, _ := strings.Cut(text[i+1:i+end], "#")
		v := s.values[name]
		if path != "" {
			v = attribute(v, path)
		}
		switch v := v.(type) {
		case string:
			out.WriteString(v)
		case bool:
			fmt.Fprint(&out, v)
		default:
			return nil, fmt.Errorf("endpoint rules: %s has no text", text[i+1:i+end])
		}
		text = text[i+end+1:]
	}
	return out.String(), nil
}
