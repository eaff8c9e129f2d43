package template

import (
	"math"

	"github.com/pintle-dev/pintle/internal/language/dynamic"
)

// Limits are the limits of a template. A zero field means CloudFormation's own quota.
type Limits struct {
	// Bytes is the size of the template's text. Zero means 1,000,000, the quota of a template that is passed by URL.
	Bytes int
	// Resources is the number of resources. Zero means 500.
	Resources int
	// Parameters is the number of parameters. Zero means 200.
	Parameters int
	// Outputs is the number of outputs. Zero means 200.
	Outputs int
	// Mappings is the number of mappings. Zero means 200.
	Mappings int
	// MappingAttributes is the number of attributes in one mapping. Zero means 200.
	MappingAttributes int
	// NameLength is the length in characters of the name of a parameter, resource, output, condition or mapping. Zero
	// means 255.
	NameLength int
	// ParameterBytes is the size of one parameter's value. Zero means 4,096.
	ParameterBytes int
	// DescriptionBytes is the size of the template's description. Zero means 1,024.
	DescriptionBytes int
	// ParameterDescription is the length of a parameter's description in characters. Zero means 4,000.
	ParameterDescription int
	// DynamicReferences is the number of dynamic references in the properties of all resources. Zero means 60.
	DynamicReferences int
}

// Quotas returns CloudFormation's own limits, which are those of the zero Limits.
func Quotas() Limits { return Limits{}.withDefaults() }

// Unlimited returns limits that are never reached. Use them for templates that were checked when they were submitted.
func Unlimited() Limits {
	var l Limits
	for _, field := range l.fields() {
		*field.value = math.MaxInt
	}
	return l
}

// Set changes one limit by its name in settings, e.g. "resources", and returns false for an unknown name.
func (l *Limits) Set(name string, limit int) bool {
	for _, field := range l.fields() {
		if field.name == name {
			*field.value = limit
			return true
		}
	}
	return false
}

// LimitNames returns the names that [Limits.Set] accepts, and the quotas, in the order in which they are documented.
func LimitNames() (names []string, quotas []int) {
	for _, field := range new(Limits).fields() {
		names, quotas = append(names, field.name), append(quotas, field.quota)
	}
	return names, quotas
}

// limit is one field of [Limits].
type limit struct {
	value *int
	name  string
	quota int
}

func (l *Limits) fields() []limit {
	return []limit{
		{&l.Bytes, "bytes", 1_000_000},
		{&l.Resources, "resources", 500},
		{&l.Parameters, "parameters", 200},
		{&l.Outputs, "outputs", 200},
		{&l.Mappings, "mappings", 200},
		{&l.MappingAttributes, "mapping-attributes", 200},
		{&l.NameLength, "name-length", 255},
		{&l.ParameterBytes, "parameter-bytes", 4_096},
		{&l.DescriptionBytes, "description-bytes", 1_024},
		{&l.ParameterDescription, "parameter-description", 4_000},
		{&l.DynamicReferences, "dynamic-references", dynamic.Limit},
	}
}

func (l Limits) withDefaults() Limits {
	for _, field := range l.fields() {
		if *field.value == 0 {
			*field.value = field.quota
		}
	}
	return l
}
