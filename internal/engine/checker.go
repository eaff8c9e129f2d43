package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// Checker reads templates and checks them.
type Checker struct{ *runner }

// Parse parses a template with any resource types. A template with macros has no resources before the macros run.
func (c Checker) Parse(text string) (*template.Template, error) {
	t, err := template.ParseSubmitted(text, c.env.parsed.limits)
	if err != nil {
		return nil, refused(CloudFormation, err)
	}
	return t, nil
}

// Unrecognized returns the resource types in a template that Pintle cannot run, each once; nil if it can run all.
func (c Checker) Unrecognized(t *template.Template) []string {
	var types []string
	list, _ := c.env.unrecognized(CloudFormation, t)
	for _, r := range list {
		if !slices.Contains(types, r.Type) {
			types = append(types, r.Type)
		}
	}
	return types
}

// CheckIn is [Checker.Check] for a template of a dialect.
func (c Checker) CheckIn(dialect Dialect, text string) (*template.Template, error) {
	if dialect == CloudFormation {
		return c.Check(text)
	}
	return c.checkROS(text)
}

// Check parses a template and rejects one that cannot run. A template with macros has no resources before the macros
// run.
func (c Checker) Check(text string) (*template.Template, error) {
	raw, err := template.ReadUnexpanded(text, c.env.parsed.limits)
	if err == nil && raw.Calls(true) {
		return c.Parse(text)
	}
	return c.env.parse(CloudFormation, text)
}

// Outline is [Checker.Check] for a caller that only describes a template. It accepts a template with a transform that
// only AWS can expand, and returns it without resources. If types is false, it accepts any resource type.
func (c Checker) Outline(text string, types bool) (*template.Template, error) {
	raw, err := template.ReadUnexpanded(text, c.env.parsed.limits)
	switch {
	case err == nil && raw.Foreign():
		return raw.Outline(), nil
	case types:
		return c.Check(text)
	}
	return c.Parse(text)
}

// Identifiers returns, by logical ID, the properties that together identify an existing resource for its import. It leaves
// out resources whose type is not known to support imports. A custom resource has one if the template names its provider
// literally and the provider declares Read. Each provider is asked once, and so are the endpoints of forwarded types for a
// caller of the account and the region.
func (c Checker) Identifiers(ctx context.Context, account, region string, t *template.Template) map[string][]string {
	identifiers, providers := map[string][]string{}, map[string]string{}
	var types []string
	for _, r := range t.Resources {
		types = append(types, r.Type)
	}
	forwarded := c.env.native.ForwardedIdentifiers(ctx, account, region, types)
	for _, r := range t.Resources {
		if schema := c.env.native.Schema(r.Type); schema != nil {
			identifier := schema.Identifier
			if schema.Forwarded != "" {
				identifier = forwarded[r.Type]
			}
			if identifier != nil {
				identifiers[r.LogicalID] = identifier
			}
			continue
		}
		token := r.Properties.Get("ServiceToken")
		if isCustom(r.Type) && token.Kind() == value.String && !token.Computed() {
			providers[r.LogicalID] = token.Text()
		}
	}
	declared := c.declareReads(ctx, slices.Collect(maps.Values(providers)))
	for _, r := range t.Resources {
		if token, literal := providers[r.LogicalID]; literal && declared[token].types.has(r.Type) {
			identifiers[r.LogicalID] = []string{customIdentifier}
		}
	}
	return identifiers
}
