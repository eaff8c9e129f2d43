package engine

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// parse reads a template and rejects types without a provider, and declarations that a native type does not allow.
func (e *environment) parse(dialect Dialect, text string) (*template.Template, error) {
	t, err := e.parsed.parse(dialect.language(), text)
	if err != nil {
		return nil, refused(dialect, err)
	}
	if err := e.runnable(dialect, t); err != nil {
		return nil, err
	}
	return t, nil
}

// runnable makes the checks of parse on a parsed template.
func (e *environment) runnable(dialect Dialect, t *template.Template) error {
	if err := e.checkRecognized(dialect, t); err != nil {
		return inDialect(dialect, err)
	}
	return inDialect(dialect, e.checkDeclarations(t))
}

// checkResourceTypes rejects a template that has a resource type which the client did not allow.
func checkResourceTypes(t *template.Template, allowed []string) error {
	if len(allowed) == 0 {
		return nil
	}
	for _, r := range t.Resources {
		if !slices.ContainsFunc(allowed, func(pattern string) bool { return typeMatches(r.Type, pattern) }) {
			return invalid("Resource type " + r.Type + " is not allowed by parameter ResourceTypes [" +
				strings.Join(allowed, ", ") + "]")
		}
	}
	return nil
}

// typeMatches reports whether a type has the given name or matches the pattern. Custom::* matches all custom resource
// types.
func typeMatches(resourceType, pattern string) bool {
	beginning, open := strings.CutSuffix(pattern, "*")
	if !open {
		return resourceType == pattern
	}
	return strings.HasPrefix(resourceType, beginning) ||
		pattern == "Custom::*" && resourceType == "AWS::CloudFormation::CustomResource"
}
