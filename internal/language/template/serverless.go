package template

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// ServerlessFunction is the type of a function in a SAM template.
const ServerlessFunction = "AWS::Serverless::Function"

// ParseServerless parses a SAM template without expanding it, for a caller that looks for its functions. They have
// the properties that the section Globals gives them. The template has no outputs, and may refer to resources that the
// expansion would add. ok is false if the template does not use [Serverless], or calls macros too; then there is no
// error. The error is an [Errors].
func ParseServerless(body string, limits Limits) (t *Template, ok bool, err error) {
	u, err := ReadUnexpanded(body, limits)
	if err != nil {
		return nil, false, nil //nolint:nilerr // other functions report it
	}
	calls := u.calls()
	if !u.serverless() || slices.ContainsFunc(calls, func(call *Transform) bool {
		return !call.Listed() || call.Name != Serverless && call.Name != languageExtensions
	}) {
		return nil, false, nil
	}
	globals, root := calls[0].Fragment.without(globalsSection)
	_, root = root.without("Outputs")
	resources := root.Get("Resources")
	for _, r := range resources.members {
		if r.Value.Get("Type").text != ServerlessFunction {
			continue
		}
		if properties := globals.Get("Function").overriddenBy(r.Value.Get("Properties")); !properties.IsZero() {
			resources = resources.with(r.Key, r.Value.with("Properties", properties))
		}
	}
	if !resources.IsZero() {
		root = root.with("Resources", resources)
	}
	if len(calls) > 1 {
		root = root.extending()
	}
	p := &parser{template: newTemplate(body, u.limits)}
	p.template.incomplete = true
	t, err = p.whole(root)
	return t, true, err
}

// overriddenBy returns the object with the members of another one, whose values win. Objects in both are merged.
// Source: AWS SAM developer guide, "Globals section of the AWS SAM template", overridable properties.
func (n Node) overriddenBy(own Node) Node {
	switch {
	case own.IsZero():
		return n
	case n.kind != value.Map || own.kind != value.Map:
		return own
	}
	for _, m := range own.members {
		n = n.with(m.Key, n.Get(m.Key).overriddenBy(m.Value))
	}
	return n
}
