package resources

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

// Table lists the properties of a type. Its lists are names separated by spaces. Source: the resource schemas of
// CloudFormation, properties, required, createOnlyProperties and readOnlyProperties.
type Table struct {
	Name string
	// Dialect is the dialect of the templates that may declare the type.
	Dialect wire.Dialect
	// Texts, Numbers, Truths, Lists, Objects and Documents are the properties by kind.
	Texts, Numbers, Truths, Lists, Objects, Documents string
	// Required are the required properties. A change to one of Replaces replaces the resource.
	Required, Replaces string
	// Attributes are the names that Fn::GetAtt reads in addition to properties. In CloudFormation templates, it reads
	// every declared property, except those in Unreadable. Source: the resource schemas, writeOnlyProperties;
	// recorded answers, D8.
	Attributes, Unreadable string
	// Identifier are the properties that together identify an existing resource. Empty means that none can be
	// imported. Source: the resource schemas, primaryIdentifier.
	Identifier string
	// Named is the property that names the resource, or empty. A name has at most Longest bytes and matches Letters.
	// If Letters is nil, the maker checks the name.
	Named   string
	Longest int
	Letters *regexp.Regexp
}

// Schema converts the table to a schema of package native.
func (t *Table) Schema() *native.Schema {
	s := &native.Schema{Name: t.Name, Dialect: t.Dialect, Attributes: strings.Fields(t.Attributes)}
	if t.Identifier != "" {
		s.Identifier = strings.Fields(t.Identifier)
	}
	required, replaces, unreadable := strings.Fields(t.Required), strings.Fields(t.Replaces), strings.Fields(t.Unreadable)
	for _, of := range []struct {
		kind  native.Kind
		names string
	}{
		{native.Text, t.Texts}, {native.Integer, t.Numbers}, {native.Truth, t.Truths}, {native.List, t.Lists},
		{native.Object, t.Objects}, {native.Document, t.Documents},
	} {
		for _, name := range strings.Fields(of.names) {
			name, bounds, bounded := strings.Cut(name, ":")
			p := native.Property{Name: name, Kind: of.kind, Required: slices.Contains(required, name)}
			p.Readable = t.Dialect == wire.CloudFormation && !slices.Contains(unreadable, name)
			if slices.Contains(replaces, name) {
				p.Change = native.Replaces
			}
			if p.Kind == native.Integer { // the maker checks the bounds
				p.Min, p.Max = math.MinInt32, math.MaxInt32
			}
			if bounded {
				p.Min, p.Max = parseBounds(bounds)
			}
			s.Properties = append(s.Properties, p)
		}
	}
	slices.SortFunc(s.Properties, func(a, b native.Property) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// parseBounds parses LEAST-MOST. Tables are constants, so an error is a bug in this program.
func parseBounds(text string) (least, most int64) {
	if n, err := fmt.Sscanf(text, "%d-%d", &least, &most); n != 2 || err != nil {
		panic("bad bounds " + text)
	}
	return least, most
}
