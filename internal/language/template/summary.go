package template

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Summary describes a template without creating a stack.
type Summary struct {
	// Version is the value of AWSTemplateFormatVersion, "" if the template has none.
	Version     string
	Description string
	// Metadata is the section as JSON; may be "".
	Metadata   string
	Parameters []ParameterSummary
	// ResourceTypes are the types of the resources, sorted, each once.
	ResourceTypes []string
}

// ParameterSummary is one parameter in a [Summary].
type ParameterSummary struct {
	Key         string
	Type        string
	Description string
	NoEcho      bool
	// Default may be nil. For a NoEcho parameter it may be [value.ParameterMask].
	Default *string
	// AllowedValues are the texts of the allowed values; nil if all are allowed. They may be left out for a NoEcho
	// parameter.
	AllowedValues []string
}

// Summary returns the answer of ValidateTemplate and GetTemplateSummary. If clear is true, it masks nothing.
func (t *Template) Summary(clear bool) Summary {
	s := Summary{Version: t.Version, Description: t.Description}
	if !t.Metadata.IsZero() {
		s.Metadata = t.Metadata.Value().String()
	}
	for _, p := range t.Parameters {
		shown := ParameterSummary{Key: p.Name, Type: p.Type, Description: p.Description, NoEcho: p.NoEcho}
		if !p.NoEcho || clear {
			shown.Default, shown.AllowedValues = p.Default, p.AllowedValues
		} else if p.Default != nil {
			mask := value.ParameterMask
			shown.Default = &mask
		}
		s.Parameters = append(s.Parameters, shown)
	}
	for _, r := range t.Resources {
		s.ResourceTypes = append(s.ResourceTypes, r.Type)
	}
	slices.Sort(s.ResourceTypes)
	s.ResourceTypes = slices.Compact(s.ResourceTypes)
	return s
}
