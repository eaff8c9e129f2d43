package template

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/value"
)

// Summary is what a client learns of a template without creating anything.
type Summary struct {
	Description string
	Parameters  []ParameterSummary
	// ResourceTypes are the types of the resources, sorted, each once.
	ResourceTypes []string
}

// ParameterSummary is one parameter in a [Summary].
type ParameterSummary struct {
	Key         string
	Type        string
	Description string
	NoEcho      bool
	// Default is nil if there is none; that of a NoEcho parameter is [value.ParameterMask].
	Default *string
}

// Summary returns what ValidateTemplate answers.
func (t *Template) Summary() Summary {
	s := Summary{Description: t.Description}
	for _, p := range t.Parameters {
		shown := p.Default
		if p.NoEcho && shown != nil {
			mask := value.ParameterMask
			shown = &mask
		}
		s.Parameters = append(s.Parameters, ParameterSummary{p.Name, p.Type, p.Description, p.NoEcho, shown})
	}
	for _, r := range t.Resources {
		s.ResourceTypes = append(s.ResourceTypes, r.Type)
	}
	slices.Sort(s.ResourceTypes)
	s.ResourceTypes = slices.Compact(s.ResourceTypes)
	return s
}
