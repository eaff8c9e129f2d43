package template

import "github.com/pintle-dev/pintle/internal/dynamic"

// Limits is how large a template may be. A zero field means CloudFormation's own quota.
type Limits struct {
	// Bytes of the template's text. Zero means 1,000,000, the quota of a template that is passed by URL.
	Bytes int
	// Resources in one template. Zero means 500.
	Resources int
	// Parameters in one template. Zero means 200.
	Parameters int
	// Outputs in one template. Zero means 200.
	Outputs int
	// Mappings in one template. Zero means 200.
	Mappings int
	// MappingAttributes in one mapping. Zero means 200.
	MappingAttributes int
	// NameLength of a parameter, resource, output, condition or mapping, in characters. Zero means 255.
	NameLength int
	// ParameterBytes of one parameter's value. Zero means 4,096.
	ParameterBytes int
	// DescriptionBytes of the template's description. Zero means 1,024.
	DescriptionBytes int
	// ParameterDescription is the length of a parameter's description in characters. Zero means 4,000.
	ParameterDescription int
	// DynamicReferences in the properties of all resources. Zero means 60.
	DynamicReferences int
}

// Quotas returns CloudFormation's own limits: what the zero Limits stands for.
func Quotas() Limits { return Limits{}.withDefaults() }

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		field *int
		quota int
	}{
		{&l.Bytes, 1_000_000},
		{&l.Resources, 500},
		{&l.Parameters, 200},
		{&l.Outputs, 200},
		{&l.Mappings, 200},
		{&l.MappingAttributes, 200},
		{&l.NameLength, 255},
		{&l.ParameterBytes, 4_096},
		{&l.DescriptionBytes, 1_024},
		{&l.ParameterDescription, 4_000},
		{&l.DynamicReferences, dynamic.Limit},
	} {
		if *d.field == 0 {
			*d.field = d.quota
		}
	}
	return l
}
