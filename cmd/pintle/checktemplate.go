package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/internal/author/schema"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// templateResource is the resource of a template that a check is about.
type templateResource struct {
	language template.Language
	partial  *template.Partial
	resource *template.Resource
}

// templateResource finds the resource that --resource names, or the only custom one.
func (a *checkCommands) templateResource(o *checkOptions) (*templateResource, error) {
	p, err := a.locate(filepath.Dir(a.path(o.template)), "")
	if err != nil {
		return nil, err
	}
	d := &deployOptions{template: o.template, parameters: o.parameters, parameterFile: o.parameterFile}
	if p.project == nil {
		d.stack = "check"
	}
	want, err := a.desire(p, d)
	if err != nil {
		return nil, err
	}
	t, isSAM, err := template.ParseServerless(want.template, template.Unlimited())
	if !isSAM {
		t, err = want.parsed()
	}
	if err != nil {
		return nil, usageError(fmt.Errorf("%s: %w", o.template, err), "pintle validate "+o.template+" says more")
	}
	partial, err := want.foreseen(t, a.region(want.language, o.region), []string{stackIDOf(want.language)}, nil)
	if err != nil {
		return nil, usageError(fmt.Errorf("%s: %w", o.template, err))
	}
	r, err := oneResource(partial, o.resource)
	if err != nil {
		return nil, err
	}
	return &templateResource{want.language, partial, r}, nil
}

// fromTemplate takes the properties of a resource from a template, unless -p sets them, and its type.
func (a *checkCommands) fromTemplate(o *checkOptions, of *templateResource, c *check.Config) error {
	partial, r, properties := of.partial, of.resource, of.resource.Properties
	if c.ResourceType == "" {
		c.ResourceType = r.Type
	}
	if o.properties != "" {
		return nil
	}
	if of.language == template.ROS {
		properties, c.Dialect, c.Region = r.Properties.Get("Parameters"), wire.ROS, o.region
		if c.SNS || c.Session.Send != nil {
			return usagef("", "ROS requests cannot be sent to SNS or AWS, and the template is a ROS template")
		}
	}
	v, open, err := settled(partial, properties, "")
	switch {
	case err != nil:
		return usageError(fmt.Errorf("%s: resource %s: %w", o.template, r.LogicalID, err))
	case open != "":
		return usagef("set the properties with -p, or the parameters with --parameter",
			"%s: %s of resource %s depends on values that only a stack has", o.template, strings.TrimPrefix(open, "."), r.LogicalID)
	}
	v = providersOwn(v)
	c.SecretValues = v.Secrets()
	scope, _ := partial.Scope() // also if something in it is not known
	for _, parameter := range scope.Parameters {
		c.SecretValues = append(c.SecretValues, parameter.Secrets()...) // a provider may split joined values
	}
	c.Properties = v.JSON()
	return nil
}

// providersOwn returns properties without those that the service reads: the token is that of the provider that is checked.
func providersOwn(v value.Value) value.Value {
	return value.Object(slices.DeleteFunc(slices.Clone(v.Members()), func(m value.Member) bool {
		return slices.Contains(schema.ServiceKeys, m.Key)
	})...)
}

// oneResource finds the resource of a name, or the only one of a custom type.
func oneResource(p *template.Partial, name string) (*template.Resource, error) {
	var found []*template.Resource
	var names []string
	for _, r := range p.Resources() {
		custom := strings.HasPrefix(r.Type, "Custom::") || strings.HasSuffix(r.Type, "::CustomResource")
		if name != "" && r.LogicalID == name || name == "" && custom {
			found = append(found, r)
		}
		if custom {
			names = append(names, r.LogicalID)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(names) == 0:
		return nil, usagef("", "the template has no custom resource")
	case name == "":
		return nil, usagef("name one with --resource: "+strings.Join(names, ", "), "the template has %d custom resources", len(names))
	}
	return nil, usagef("the custom ones are "+strings.Join(names, ", "), "the template has no resource %s", name)
}

// settled returns the value of a template node, or the path of a part that only a stack determines.
func settled(p *template.Partial, n template.Node, path string) (v value.Value, open string, err error) {
	if n.IsZero() {
		return value.Object(), "", nil
	}
	literal, computed, known, err := p.Look(n)
	switch {
	case err != nil:
		return v, "", err
	case !known && strings.HasSuffix(path, ".ServiceToken"):
		return value.Str(""), "", nil // ours is sent
	case !known:
		return v, path, nil
	case literal.IsZero():
		return computed, "", nil
	}
	switch literal.Kind() {
	case value.Map:
		var members []value.Member
		for _, m := range literal.Members() {
			below, open, err := settled(p, m.Value, path+"."+m.Key)
			if err != nil || open != "" {
				return v, open, err
			}
			if !below.IsNull() {
				members = append(members, value.Member{Key: m.Key, Value: below})
			}
		}
		return value.Object(members...), "", nil
	case value.List:
		items := []value.Value{}
		for i, item := range literal.Items() {
			below, open, err := settled(p, item, fmt.Sprintf("%s.%d", path, i))
			if err != nil || open != "" {
				return v, open, err
			}
			if !below.IsNull() {
				items = append(items, below)
			}
		}
		return value.Items(items...), "", nil
	case value.Null, value.Bool, value.Number, value.String:
	}
	return literal.Value(), "", nil
}
