package aws

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/native"
)

// table says what may be declared of a type. Its lists are names with blanks between them.
// Source: the resource schemas of CloudFormation, properties, required, createOnlyProperties and readOnlyProperties.
type table struct {
	name string
	// texts, numbers, truths, lists, objects and documents are the properties by their kinds.
	texts, numbers, truths, lists, objects, documents string
	// required are those that must be there, replaces those whose change makes a new resource.
	required, replaces string
	// attributes are what Fn::GetAtt reads.
	attributes string
	// named is the property that names the resource, empty for none. A name has at most longest bytes and matches letters; nil
	// leaves that to whoever makes the resource.
	named   string
	longest int
	letters *regexp.Regexp
}

// schema returns the table in the form of package native.
func (t *table) schema() *native.Schema {
	s := &native.Schema{Name: t.name, Attributes: strings.Fields(t.attributes)}
	required, replaces := strings.Fields(t.required), strings.Fields(t.replaces)
	for _, of := range []struct {
		kind  native.Kind
		names string
	}{
		{native.Text, t.texts}, {native.Integer, t.numbers}, {native.Truth, t.truths}, {native.List, t.lists},
		{native.Object, t.objects}, {native.Document, t.documents},
	} {
		for _, name := range strings.Fields(of.names) {
			p := native.Property{Name: name, Kind: of.kind, Required: slices.Contains(required, name)}
			if slices.Contains(replaces, name) {
				p.Change = native.Replaces
			}
			if p.Kind == native.Integer { // whoever makes the resource knows the bounds
				p.Min, p.Max = math.MinInt32, math.MaxInt32
			}
			s.Properties = append(s.Properties, p)
		}
	}
	slices.SortFunc(s.Properties, func(a, b native.Property) int { return strings.Compare(a.Name, b.Name) })
	return s
}
