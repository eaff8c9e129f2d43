package plan

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// Unknown stands for a value that is known only after the plan is executed.
const Unknown = template.Unknown

// UnknownUUID stands for a UUID that is unknown before the stack exists, such as the ID of a ROS stack. It has the
// length of a UUID, because names derived from it must satisfy length limits.
const UnknownUUID = "00000000-0000-4000-8000-000000000000"

// ChangeAction is the action of a plan on a resource, in CloudFormation's words.
type ChangeAction string

// The actions.
const (
	Add    ChangeAction = "Add"
	Modify ChangeAction = "Modify"
	Remove ChangeAction = "Remove"
	// Import adds an existing resource to the stack.
	Import ChangeAction = "Import"
)

// Replacement says whether a change replaces the resource. It is "" for a resource that is not modified.
type Replacement string

// The replacements.
const (
	ReplacementFalse Replacement = "False"
	ReplacementTrue  Replacement = "True"
	// ReplacementConditional means that only the provider decides, by the ID in its answer.
	ReplacementConditional Replacement = "Conditional"
)

// Recreation says whether a change at one place replaces the resource.
type Recreation string

// The recreations.
const (
	RecreationNever  Recreation = "Never"
	RecreationAlways Recreation = "Always"
	// RecreationConditional means that only the provider decides.
	RecreationConditional Recreation = "Conditionally"
)

// Source is the origin of a change.
type Source string

// The sources.
const (
	// DirectModification is a change of the template's text.
	DirectModification Source = "DirectModification"
	// ParameterReference is a changed value of a parameter.
	ParameterReference Source = "ParameterReference"
	// ResourceReference is a Ref to a resource whose ID may change.
	ResourceReference Source = "ResourceReference"
	// ResourceAttribute is an attribute of another resource that may change.
	ResourceAttribute Source = "ResourceAttribute"
	// Automatic is a possible change in a nested stack, whose template is not read.
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

// Change is a certain or possible change of one resource. Its stored JSON form holds no secret.
type Change struct {
	Action     ChangeAction `json:"action"`
	LogicalID  string       `json:"logicalId"`
	PhysicalID string       `json:"physicalId,omitempty"` // "" for an added resource
	Type       string       `json:"type"`
	// PolicyAction is Delete or Retain for a removed resource, and ReplaceAndDelete or ReplaceAndRetain for one that is
	// certainly replaced.
	PolicyAction string      `json:"policyAction,omitempty"`
	Replacement  Replacement `json:"replacement,omitempty"`
	// Immutable are the changed properties that require a new resource, by the provider's schema, which only a dry run
	// reads.
	Immutable []string `json:"immutable,omitempty"`
	// Again says that the resource is updated in any case: its last update failed, it drifted, or the client asked for it.
	Again bool `json:"again,omitempty"`
	// KeepsReplaced says that the old resource is kept if it is replaced.
	KeepsReplaced bool `json:"keepsReplaced,omitempty"`
	// Scope lists the changing attributes of a modified resource.
	Scope   []string `json:"scope,omitempty"`
	Details []Detail `json:"details,omitempty"`
	// Before and After are objects of its Properties and Metadata; null for a missing side. A value in Before that
	// comes from another resource is Unknown.
	Before value.Value `json:"before,omitzero"`
	After  value.Value `json:"after,omitzero"`
	// Problem says why the execution will fail at this resource; "" for no known problem.
	Problem string `json:"problem,omitempty"`
	// Import is the first imported name without an export; "" for none.
	Import string `json:"import,omitempty"`
	// Reason is why the provider announces a replacement, by its answer to a Plan; "" if it does not.
	Reason string `json:"reason,omitempty"`
	// Refused is why the provider refuses the change, by its answer to a Plan; "" if it does not.
	Refused string `json:"refused,omitempty"`
	// Unplanned is why a provider that plans was not asked or has no answer; "" for no such problem.
	Unplanned string `json:"unplanned,omitempty"`
	// Awaits are the resources on which unknown properties depend, sorted.
	Awaits []string `json:"-"`
}

// Detail is one changing place in a resource, with one reason for the change.
type Detail struct {
	// Attribute is Properties, Metadata, Tags (the tags of the stack), or a policy.
	Attribute string `json:"attribute"`
	// Name is the property, "" for other attributes.
	Name string `json:"name,omitempty"`
	// Path is the JSON pointer of the place in the resource, e.g. /Properties/Size.
	Path string `json:"path"`
	// Recreation says whether the change replaces the resource.
	Recreation Recreation `json:"recreation"`
	// Dynamic says that only the execution of the plan shows whether it changes at all.
	Dynamic bool   `json:"dynamic,omitempty"`
	Source  Source `json:"source"`
	// Cause is the parameter, the resource, or the resource and its attribute joined by a dot; "" for
	// DirectModification and Automatic.
	Cause string `json:"cause,omitempty"`
	// Before and After are the values as texts, masked, at most [MaxShown] bytes long; nil for a missing value.
	Before *string `json:"before,omitempty"`
	After  *string `json:"after,omitempty"`
}

// May reports whether the change is only possible: all of it depends on the answers of providers.
func (c *Change) May() bool {
	return c.Action == Modify && len(c.Details) > 0 && c.Problem == "" && c.Certain() == nil
}

// Certain returns the attributes of a modified resource that certainly change, independent of the answers of providers.
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
