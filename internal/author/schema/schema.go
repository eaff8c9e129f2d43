// Package schema validates templates against the schemas that providers publish.
//
// A document has a JSON Schema (2020-12) for the properties and the attributes of each resource type. The package knows
// the keywords that the SDK writes and ignores all others, so a provider in another language may publish more than
// Pintle checks. Values are read as a provider gets them. CloudFormation turns numbers and booleans
// into strings, so "5" is valid where the schema wants a number, and 5 where it wants a string.
//
// A general validator for JSON Schema does not fit: it supports neither unknown values, nor places in a
// template, nor secrets, and it would reject "80.0" for the pattern of a string.
//
// Problems never contain values.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// MaxSize is the size of the largest document in bytes. Source: ours.
const MaxSize = 1 << 20

// maxDepth bounds how deep a document nests; a struct in a struct is two levels. Source: ours.
const maxDepth = 128

// AnyType stands in a document for the types that it does not name. Source: pintle.AnyType.
const AnyType = "*"

// Document has the schemas of one provider. It is immutable after [Parse].
type Document struct{ types map[string]Type }

// Type is the schemas of a resource type. Either may be nil: then nothing is known.
type Type struct {
	Properties, Attributes *Schema
	// Reads reports whether the provider answers a Read.
	Reads bool
	// Plans reports whether the provider answers a Plan.
	Plans bool
}

// Parse reads a document. It must be a JSON object with an object resourceTypes in it.
func Parse(text []byte) (*Document, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("the schema is larger than %d bytes", MaxSize)
	}
	if value.Deeper(text, maxDepth) {
		return nil, fmt.Errorf("the schema nests deeper than %d levels", maxDepth)
	}
	var in struct {
		ResourceTypes map[string]struct {
			Properties, Attributes *node
			Reads, Plans           bool
		} `json:"resourceTypes"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, fmt.Errorf("the schema is not JSON from byte %d on", wrong.Offset)
		}
		return nil, fmt.Errorf("invalid schema: %w", err)
	}
	if in.ResourceTypes == nil {
		return nil, errors.New("the schema has no resourceTypes object")
	}
	d := &Document{types: map[string]Type{}}
	for name, t := range in.ResourceTypes {
		d.types[name] = Type{Properties: rooted(t.Properties), Attributes: rooted(t.Attributes), Reads: t.Reads, Plans: t.Plans}
	}
	return d, nil
}

// Names returns the resource types that the document names, sorted.
func (d *Document) Names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(d.types)), func(name string) bool { return name == AnyType })
}

// Plans reports whether the provider answers a Plan for any type.
func (d *Document) Plans() bool {
	for _, t := range d.types {
		if t.Plans {
			return true
		}
	}
	return false
}

// Type returns the schema of a resource type, or the zero Type if it is unknown.
func (d *Document) Type(name string) Type {
	if t, ok := d.types[name]; ok {
		return t
	}
	return d.types[AnyType]
}

// Schema is one schema together with the document in which it may refer to others.
type Schema struct {
	*node
	root *node
}

func rooted(n *node) *Schema {
	if n == nil {
		return nil
	}
	return &Schema{n, n}
}

// node is the keywords that are known. A keyword whose value has another form than JSON Schema gives it counts as not
// there.
type node struct {
	// nothing says that the schema is false, which no value fits.
	nothing bool

	ref        string
	defs       map[string]*node
	types      []string // nil for any
	enum       []string // the texts of scalars; nil for anything
	properties map[string]*node
	required   []string
	// more is the schema of members that have none of their own; nil for any.
	more *node
	// patterned reports whether the schema has patternProperties.
	patterned          bool
	items              *node
	pattern            *regexp.Regexp
	format             string
	least, most        *float64
	minLength          *int
	maxLength          *int
	minItems, maxItems *int
	minProps, maxProps *int
	secret             bool
	// migrates says that the provider also takes properties in an old format.
	migrates bool
	// createOnly has the JSON pointers of the properties that only a new resource can have, each below /properties.
	createOnly []string
}

// UnmarshalJSON reads a schema: an object, or true or false.
func (n *node) UnmarshalJSON(text []byte) error {
	*n = node{}
	var all bool
	if json.Unmarshal(text, &all) == nil {
		n.nothing = !all
		return nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return errors.New("a schema is neither an object nor a boolean")
	}
	read := func(name string, into any) bool {
		value, ok := raw[name]
		return ok && json.Unmarshal(value, into) == nil
	}
	read("$ref", &n.ref)
	read("format", &n.format)
	read("required", &n.required)
	for _, part := range []struct {
		name string
		into any
	}{{"$defs", &n.defs}, {"properties", &n.properties}, {"additionalProperties", &n.more}, {"items", &n.items}} {
		if value, ok := raw[part.name]; ok {
			if err := json.Unmarshal(value, part.into); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
		}
	}
	_, n.patterned = raw["patternProperties"]
	var one string
	if read("type", &one) {
		n.types = []string{one}
	} else if !read("type", &n.types) {
		n.types = nil
	}
	var pattern string
	if read("pattern", &pattern) {
		n.pattern, _ = regexp.Compile(pattern) // one of another dialect is not checked
	}
	for name, into := range map[string]**float64{"minimum": &n.least, "maximum": &n.most} {
		if !read(name, into) {
			*into = nil
		}
	}
	for name, into := range map[string]**int{
		"minLength": &n.minLength, "maxLength": &n.maxLength, "minItems": &n.minItems, "maxItems": &n.maxItems,
		"minProperties": &n.minProps, "maxProperties": &n.maxProps,
	} {
		if !read(name, into) {
			*into = nil
		}
	}
	var written, hidden bool
	read("writeOnly", &written)
	read("x-secret", &hidden)
	n.secret = written || hidden
	read("x-migrates", &n.migrates)
	read("createOnlyProperties", &n.createOnly)
	n.readEnum(raw)
	return nil
}

// readEnum reads enum and const. One with a member that is not a scalar is not checked.
func (n *node) readEnum(raw map[string]json.RawMessage) {
	var members []json.RawMessage
	if one, ok := raw["const"]; ok {
		members = []json.RawMessage{one}
	} else if json.Unmarshal(raw["enum"], &members) != nil {
		return
	}
	texts := []string{}
	for _, member := range members {
		if string(member) == "null" {
			continue // null fits every schema
		}
		var text string
		if json.Unmarshal(member, &text) != nil {
			if text = string(member); strings.ContainsAny(text[:1], "[{") {
				return
			}
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	n.enum = texts
}

// at returns the schema with another node of the same document.
func (s *Schema) at(n *node) *Schema {
	if n == nil {
		return nil
	}
	return &Schema{n, s.root}
}

// maxReferences bounds how many references lead from one to the next.
const maxReferences = 32

// resolved follows references; nil means that any value fits.
func (s *Schema) resolved() *Schema {
	for range maxReferences {
		if s == nil || s.ref == "" {
			return s
		}
		name, ok := strings.CutPrefix(s.ref, "#/$defs/")
		switch {
		case s.ref == "#":
			s = s.at(s.root)
		case !ok:
			return nil
		default:
			s = s.at(s.root.defs[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)])
		}
	}
	return nil
}

// Immutable returns the immutable property that a change at a place is a change of; "" if the schema names none. The place is a JSON
// pointer into the properties, such as /Origin/Region, and the property one without the first slash.
func (s *Schema) Immutable(place string) string {
	for _, pointer := range s.root.createOnly {
		if property, ok := strings.CutPrefix(pointer, "/properties"); ok && (place == property || strings.HasPrefix(place, property+"/")) {
			return strings.TrimPrefix(property, "/")
		}
	}
	return ""
}

// HoldsImmutable reports whether a property is immutable, or one within it is. The place is that of Immutable. A nil schema has none.
func (s *Schema) HoldsImmutable(place string) bool {
	if s == nil {
		return false
	}
	return s.Immutable(place) != "" || slices.ContainsFunc(s.root.createOnly, func(pointer string) bool {
		return strings.HasPrefix(pointer, "/properties"+place+"/")
	})
}

// Closed reports whether an object has no members but the known ones, whose names it returns, sorted.
func (s *Schema) Closed() (names []string, ok bool) {
	if s = s.resolved(); s == nil || s.more == nil || !s.more.nothing || s.patterned {
		return nil, false
	}
	return slices.Sorted(maps.Keys(s.properties)), true
}
