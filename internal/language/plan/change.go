package plan

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// Unknown stands for a value that only the execution of a plan brings.
const Unknown = template.Unknown

// UnknownUUID takes the place of a UUID that is not known before the stack exists, such as the id of a stack of ROS, where what is
// made of it must keep to bounds of names.
const UnknownUUID = "00000000-0000-4000-8000-000000000000"

// ChangeAction is what a plan does to a resource, in CloudFormation's words.
type ChangeAction string

// The actions.
const (
	Add    ChangeAction = "Add"
	Modify ChangeAction = "Modify"
	Remove ChangeAction = "Remove"
	// Import makes an existing resource one of the stack.
	Import ChangeAction = "Import"
)

// Replacement says whether a change replaces the resource. It is "" for a resource that is not modified.
type Replacement string

// The replacements.
const (
	ReplacementFalse Replacement = "False"
	ReplacementTrue  Replacement = "True"
	// ReplacementConditional is for what only the provider can decide, by the id that it answers with.
	ReplacementConditional Replacement = "Conditional"
)

// Recreation says whether a change of one place replaces the resource.
type Recreation string

// The recreations.
const (
	RecreationNever  Recreation = "Never"
	RecreationAlways Recreation = "Always"
	// RecreationConditional is for what only the provider can decide.
	RecreationConditional Recreation = "Conditionally"
)

// Source is what a change comes from.
type Source string

// The sources.
const (
	// DirectModification is a change of the template's text.
	DirectModification Source = "DirectModification"
	// ParameterReference is another value of a parameter.
	ParameterReference Source = "ParameterReference"
	// ResourceReference is a Ref to a resource that may get another id.
	ResourceReference Source = "ResourceReference"
	// ResourceAttribute is an attribute of a resource that may get other ones.
	ResourceAttribute Source = "ResourceAttribute"
	// Automatic is what a nested stack's own template may bring, which is not looked at.
	Automatic Source = "Automatic"
)

// Attributes of a resource that change.
const (
	Properties          = "Properties"
	Metadata            = "Metadata"
	Tags                = "Tags"
	CreationPolicy      = "CreationPolicy"
	DeletionPolicy      = "DeletionPolicy"
	UpdateReplacePolicy = "UpdateReplacePolicy"
)

// Change is what a plan does, or may do, to one resource. As JSON, the form in which it is kept, it holds no secret.
type Change struct {
	Action     ChangeAction `json:"action"`
	LogicalID  string       `json:"logicalId"`
	PhysicalID string       `json:"physicalId,omitempty"` // "" of one that is added
	Type       string       `json:"type"`
	// PolicyAction is what becomes of a resource that is removed, Delete or Retain, or certainly replaced, ReplaceAndDelete
	// or ReplaceAndRetain.
	PolicyAction string      `json:"policyAction,omitempty"`
	Replacement  Replacement `json:"replacement,omitempty"`
	// Immutable are the changed properties that only a new resource can have, by the schema of the provider, which only
	// a dry run looks at.
	Immutable []string `json:"immutable,omitempty"`
	// Again says that the last update of it failed, so that it is updated in any case.
	Again bool `json:"again,omitempty"`
	// KeepsReplaced says that the old resource is kept if it is replaced.
	KeepsReplaced bool `json:"keepsReplaced,omitempty"`
	// Scope names the attributes of one that is modified.
	Scope   []string `json:"scope,omitempty"`
	Details []Detail `json:"details,omitempty"`
	// Before and After are its Properties and Metadata, an object; null where there is no such side. A value of Before that
	// comes from another resource is Unknown.
	Before value.Value `json:"before,omitzero"`
	After  value.Value `json:"after,omitzero"`
	// Problem says why the execution is going to fail at this resource, "" if nothing is known to be wrong.
	Problem string `json:"problem,omitempty"`
	// Import is the first name that the resource imports and no stack exports, "" if there is none.
	Import string `json:"import,omitempty"`
}

// Detail is one place in a resource that changes, and one reason why.
type Detail struct {
	// Attribute is Properties, Metadata, Tags, which are those of the stack, or a policy.
	Attribute string `json:"attribute"`
	// Name is the property, "" for other attributes.
	Name string `json:"name,omitempty"`
	// Path is the JSON pointer of the place in the resource, e.g. /Properties/Size.
	Path string `json:"path"`
	// Recreation says whether the resource is replaced because of it.
	Recreation Recreation `json:"recreation"`
	// Dynamic says that whether it changes at all is known only when the plan is executed.
	Dynamic bool   `json:"dynamic,omitempty"`
	Source  Source `json:"source"`
	// Cause is the parameter, the resource, or the resource and its attribute with a dot between; "" of a
	// DirectModification and of Automatic.
	Cause string `json:"cause,omitempty"`
	// Before and After are the values as texts, masked, of [MaxShown] bytes at most; nil where there is none.
	Before *string `json:"before,omitempty"`
	After  *string `json:"after,omitempty"`
}

// May reports whether the change is only a possible one: everything in it depends on what providers answer.
func (c *Change) May() bool {
	return c.Action == Modify && len(c.Details) > 0 && c.Problem == "" && c.Certain() == nil
}

// Certain returns the attributes of a modified resource in which it is certain to change, whatever providers answer.
func (c *Change) Certain() []string {
	var list []string
	if c.Again || c.Replacement == ReplacementTrue {
		list = append(list, Properties)
	}
	for _, d := range c.Details {
		if !d.Dynamic && !slices.Contains(list, d.Attribute) {
			list = append(list, d.Attribute)
		}
	}
	return list
}
