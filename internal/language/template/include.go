package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// The texts of AWS::Include. Source: reported answers of CloudFormation.
const (
	noSnippet  = "The specified S3 object's content should be valid Yaml/JSON"
	noLocation = "The location parameter is not a valid S3 uri."
)

// IncludeError is a problem with a call of AWS::Include. Its text has CloudFormation's words after the prefix for the
// failure of any transform.
type IncludeError struct {
	Text         string
	Line, Column int
}

// Error implements error.
func (e *IncludeError) Error() string {
	return "Transform " + transformInclude + " failed with: " + e.Text
}

func includeError(n Node, format string, args ...any) error {
	return &IncludeError{Text: fmt.Sprintf(format, args...), Line: n.line, Column: n.column}
}

// Include reports whether the call is one of AWS::Include.
func (t *Transform) Include() bool { return t.Name == transformInclude }

// Location returns the location in a call of AWS::Include: a text, or functions of parameters. The error is an
// [IncludeError].
func (t *Transform) Location(s *Scope) (string, error) {
	location := t.Parameters.Get("Location")
	if location.kind == value.String {
		return location.text, nil
	}
	checked := &shapes{problems: &problems{}, in: inExportName}
	checked.node(location, path{"Location"})
	if len(checked.found) > 0 || location.IsZero() {
		return "", includeError(t.node, "%s", noLocation)
	}
	v, err := Evaluate(location, s, noResources{})
	switch {
	case err != nil:
		return "", includeError(t.node, "its Location: %v", err)
	case v.Kind() != value.String || v.HasSecret():
		return "", includeError(t.node, "%s", noLocation)
	}
	return v.Text(), nil
}

// errNoResources is the error of a function that refers to a resource before resources exist.
var errNoResources = errors.New("only parameters can be referred to")

// noResources is a [Resources] without any.
type noResources struct{}

func (noResources) PhysicalID(string) (value.Value, bool) { return value.Value{}, false }

func (noResources) Attribute(string, string) (value.Value, error) {
	return value.Value{}, errNoResources
}

// Included returns the result of a call of AWS::Include: the snippet, merged with the members next to the call if there
// are any. The error is an [IncludeError].
func (t *Transform) Included(text string) (Node, error) {
	snippet, err := readSnippet(text)
	if err != nil {
		return Node{}, includeError(t.node, "%s", noSnippet)
	}
	switch {
	case len(t.Fragment.members) == 0:
		return snippet, nil
	case snippet.kind != value.Map:
		return Node{}, includeError(t.node, "%s", noSnippet)
	}
	return merge(t.Fragment, snippet, t.Listed() || len(t.at) == 0), nil
}

// merge returns an object with the members of another one, which override members of the same name. If deep is true, it
// merges two objects of the same name instead. Source: recorded answers, D16.
func merge(n, other Node, deep bool) Node {
	n.members = slices.Clone(n.members)
	places := make(map[string]int, len(n.members))
	for i, m := range n.members {
		places[m.Key] = i
	}
	for _, m := range other.members {
		i, there := places[m.Key]
		switch {
		case !there:
			n.members = append(n.members, m)
		case deep && n.members[i].Value.kind == value.Map && m.Value.kind == value.Map:
			n.members[i].Value = merge(n.members[i].Value, m.Value, false)
		default:
			n.members[i] = m
		}
	}
	return n
}

// readSnippet reads a text in JSON or YAML that has no short forms and calls no macro. Source: CloudFormation,
// AWS::Include.
func readSnippet(text string) (Node, error) {
	if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") && shortFormIn(text) {
		return Node{}, errors.New("short forms of functions")
	}
	snippet, err := Read(text, Limits{})
	if err != nil {
		return Node{}, err
	}
	if _, calls := callIn(snippet); calls || snippet.IsZero() {
		return Node{}, errors.New("calls a macro, or is empty")
	}
	return snippet, nil
}

// shortFormIn reports whether a YAML text has a short form of a function. It returns false for a text that is not
// YAML.
func shortFormIn(text string) bool {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return false
	}
	var in func(y *yaml.Node) bool
	in = func(y *yaml.Node) bool {
		_, short := shortForm(y)
		return short || y.Kind != yaml.AliasNode && slices.ContainsFunc(y.Content, in)
	}
	return in(&document)
}
