package native

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// Schema describes the valid declarations of a type.
type Schema struct {
	// Name is the type's name, e.g. "AWS::CDK::Metadata".
	Name string
	// Dialect is the dialect whose templates may declare the type. The zero value is CloudFormation.
	Dialect wire.Dialect
	// Properties are the known properties of the type.
	Properties []Property
	// Attributes are the attributes that Fn::GetAtt reads.
	Attributes []string
	// CreationPolicy is set if the attribute of that name may be declared, with a ResourceSignal.
	CreationPolicy bool
	// Identifier are the properties that together identify an existing resource; nil if the type does not support imports.
	// Source: the resource schemas, primaryIdentifier.
	Identifier []string
	// Open is the prefix of additional attributes that are known only when the resource exists; "" for none.
	Open string
	// Nested is set if resources of the type are stacks. The engine runs those itself: see
	// docs/design/003-nested-stacks.md.
	Nested bool
	// Fixed is set if no property of an existing resource can change.
	Fixed bool
	// Recorded is set if resources of the type are only records. Any property may be declared, every attribute can be
	// read as a [StandIn], and requests do nothing.
	Recorded bool
	// RecordedName is the property of a recorded type whose value is the physical ID. It is empty if there is no such property, or if
	// the type is unknown.
	RecordedName string
	// Forwarded is the endpoint that provides the type, for people; "" for all other types. Any property and attribute
	// may be declared, because only the endpoint knows them. Properties keep their JSON types.
	Forwarded string
}

// Property is one property of a type.
type Property struct {
	Name string
	Kind Kind
	// Min and Max are the inclusive bounds of an [Integer].
	Min, Max int64
	// Required is set for a mandatory property. Waived makes it optional if there is a CreationPolicy.
	Required, Waived bool
	// Change is the effect of changing the property.
	Change Change
	// Readable is set if Fn::GetAtt reads the property of a resource that declares it.
	Readable bool
}

// Kind is the type of a property's value.
type Kind int

// The kinds. The zero Kind is Text.
const (
	// Text is a string; numbers and booleans are converted to text.
	Text Kind = iota
	// Integer is a whole number, or its text.
	Integer
	// Truth is true or false, or its text.
	Truth
	// List is a list of any values.
	List
	// Object is an object.
	Object
	// Document is an object or its JSON text. Its values keep their JSON types.
	Document
)

// Change is the effect of a property change on a resource.
type Change int

// The effects, in ascending order. The zero Change is InPlace.
const (
	// InPlace updates the resource.
	InPlace Change = iota
	// Replaces creates a new resource, and deletes the old one after everything else has succeeded.
	Replaces
	// Refused fails the update.
	Refused
)

// Problem is a problem with a declaration.
type Problem struct {
	// Text is CloudFormation's text if that is known. It quotes no value.
	Text string
	// Detail explains more than Text; may be "".
	Detail string
	// Line and Column are the position in the template, counted from 1.
	Line, Column int
	// Missing is the required property that is not declared, if that is the problem; otherwise "".
	Missing string
}

// wrong is an error text that people see unchanged.
type wrong string

func (w wrong) Error() string { return string(w) }

func unsupported(property string) error { return wrong("Encountered unsupported property " + property) }

func missing(property string) error {
	return wrong("Property validation failure: [The property {/" + property + "} is required]")
}

// unsupported returns the error for an unknown property, and missing the error for a missing required property.
func (s *Schema) unsupported(property string) error {
	if s.Dialect == wire.ROS {
		return wrong("Unknown Property " + property)
	}
	return unsupported(property)
}

func (s *Schema) missing(property string) error {
	if s.Dialect == wire.ROS {
		return wrong("Property " + property + " not assigned")
	}
	return missing(property)
}

// BadValue returns the error for a property's value, in the form of the dialect's service. must is a phrase such as
// "be a list".
func BadValue(dialect wire.Dialect, property, must string) error {
	if dialect == wire.ROS {
		return wrong("Property " + property + ": the value must " + must)
	}
	return wrong("Value of property " + property + " must " + must)
}

// property returns a property by its name, or nil.
func (s *Schema) property(name string) *Property {
	for i := range s.Properties {
		if s.Properties[i].Name == name {
			return &s.Properties[i]
		}
	}
	return nil
}

// Reads reports whether Fn::GetAtt with that name reads a property.
func (s *Schema) Reads(name string) bool {
	p := s.property(name)
	return s.Recorded || p != nil && p.Readable && !slices.Contains(s.Attributes, name)
}

// HasAttribute reports whether Fn::GetAtt can read an attribute of that name.
func (s *Schema) HasAttribute(name string) bool {
	p := s.property(name)
	return s.Recorded || s.Forwarded != "" || slices.Contains(s.Attributes, name) || p != nil && p.Readable ||
		s.Open != "" && strings.HasPrefix(name, s.Open) && len(name) > len(s.Open)
}

// Tagged reports whether a resource with these properties takes the tags of its stack, which means that it can have
// tags. A recorded type is known to have tags only if the resource declares some.
func (s *Schema) Tagged(properties value.Value) bool {
	if s.Dialect != wire.CloudFormation || s.Nested {
		return false
	}
	if s.Recorded {
		_, declared := properties.Get("Tags")
		return declared
	}
	if s.Forwarded != "" { // the tags are those of a stack at the endpoint
		return true
	}
	return s.property("Tags") != nil
}

// Normal returns properties in the form that a type gets and that is compared: numbers and booleans are text, except
// in a [Document]. In ROS, null means that a property is not set.
// Properties of forwarded types keep all their types.
func (s *Schema) Normal(properties value.Value) value.Value {
	if s.Forwarded != "" {
		return withoutNulls(properties)
	}
	if s.Dialect == wire.ROS {
		properties = given(properties)
	}
	normal := properties.Stringified()
	for i := range s.Properties {
		if p := &s.Properties[i]; p.Kind == Document {
			if v, given := properties.Get(p.Name); given && v.Kind() == value.Map {
				normal = normal.With(p.Name, v)
			}
		}
	}
	return normal
}

// given returns an object without its null members.
func given(properties value.Value) value.Value {
	var members []value.Member
	for _, m := range properties.Members() {
		if !m.Value.IsNull() {
			members = append(members, m)
		}
	}
	return value.Object(members...)
}

// check returns the first problem with an evaluated declaration.
func (s *Schema) check(d Declaration) error {
	if s.Recorded || s.Forwarded != "" {
		return nil
	}
	for _, m := range d.Properties.Members() {
		p := s.property(m.Key)
		if p == nil {
			return s.unsupported(m.Key)
		}
		if err := p.check(s.Dialect, m.Value); err != nil {
			return err
		}
	}
	for i := range s.Properties {
		p := &s.Properties[i]
		if _, given := d.Properties.Get(p.Name); !given && p.needed(!d.CreationPolicy.IsNull()) {
			return s.missing(p.Name)
		}
	}
	return nil
}

// CheckValues returns an error for the first value that the schema does not allow. Call it after resolving dynamic
// references.
func (s *Schema) CheckValues(properties value.Value) error {
	for _, m := range properties.Members() {
		if p := s.property(m.Key); p != nil {
			if err := p.check(s.Dialect, m.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// Check returns all problems with a declaration that its text shows. Results of functions are checked when they are
// evaluated.
func (s *Schema) Check(r *template.Resource) []Problem {
	switch {
	case s.Recorded:
		return s.checkSecure(r)
	case s.Forwarded != "":
		return append(s.checkPolicy(r), s.checkSecure(r)...)
	}
	problems := append(s.checkPolicy(r), s.checkSecure(r)...)
	add := func(err error, line, column int) {
		if err != nil {
			problems = append(problems, Problem{Text: err.Error(), Line: line, Column: column})
		}
	}
	if r.Properties.IsZero() || !hasOnlyFunction(r.Properties) {
		for _, m := range r.Properties.Members() {
			p := s.property(m.Key)
			switch {
			case p == nil:
				add(s.unsupported(m.Key), m.Value.Line(), m.Value.Column())
			case s.Dialect == wire.ROS && !m.Value.Computed() && m.Value.Value().IsNull(): // it is not set
			case !m.Value.Computed():
				err := p.check(s.Dialect, m.Value.Value())
				add(err, m.Value.Line(), m.Value.Column())
				if err != nil && m.Value.Kind() == value.String && slices.Contains(packaged, s.Name+" "+m.Key) {
					problems[len(problems)-1].Detail = packagedDetail
				}
			}
		}
		for i := range s.Properties {
			p := &s.Properties[i]
			if r.Properties.Get(p.Name).IsZero() && p.needed(!r.CreationPolicy.IsZero()) {
				problems = append(problems, Problem{Text: s.missing(p.Name).Error(), Line: r.Line, Column: r.Column, Missing: p.Name})
			}
		}
	}
	return problems
}

// packaged are properties in which "aws cloudformation package" replaces a local path. Source: AWS CLI Command Reference, cloudformation package.
var packaged = []string{"AWS::Lambda::Function Code", "AWS::Lambda::LayerVersion Content"}

const packagedDetail = `"aws cloudformation package" uploads the file or directory and writes a template with its bucket; it works with "pintle serve" too`

// checkPolicy returns the problems with a declared CreationPolicy.
func (s *Schema) checkPolicy(r *template.Resource) []Problem {
	n := r.CreationPolicy
	switch {
	case n.IsZero():
		return nil
	case s.Forwarded != "": // the signals could reach neither Pintle nor the stack there
		return []Problem{{Text: "CreationPolicy is not for resources of type " + s.Name + ", which is forwarded to " + s.Forwarded +
			": use a WaitCondition", Line: n.Line(), Column: n.Column()}}
	case !s.CreationPolicy:
		return []Problem{{Text: "CreationPolicy is not for resources of type " + s.Name, Line: n.Line(), Column: n.Column()}}
	case n.Computed():
		return nil
	}
	if _, err := parseCreationPolicy(n.Value()); err != nil {
		return []Problem{{Text: err.Error(), Line: n.Line(), Column: n.Column()}}
	}
	return nil
}

// hasOnlyFunction reports whether an object consists of a function call, so its keys are unknown.
func hasOnlyFunction(n template.Node) bool {
	members := n.Members()
	return len(members) == 1 && (members[0].Key == "Ref" || strings.HasPrefix(members[0].Key, "Fn::"))
}

// Change returns the effect of the difference between old and new properties, both as strings. reason explains a
// refusal.
func (s *Schema) Change(before, after value.Value) (change Change, reason string) {
	if s.Fixed {
		return Refused, "Update to resource type " + s.Name + " is not supported."
	}
	for i := range s.Properties {
		p := &s.Properties[i]
		was, _ := before.Get(p.Name)
		is, _ := after.Get(p.Name)
		if was.Equal(is) || p.Change <= change {
			continue
		}
		if change = p.Change; change == Refused {
			reason = "Updates are not allowed for property - " + p.Name + "."
		}
	}
	if change == Replaces && s.RecordedName != "" {
		was, _ := before.Get(s.RecordedName)
		if name, ok := after.Get(s.RecordedName); ok && !name.IsNull() && was.Equal(name) {
			return Refused, customNamed(name)
		}
	}
	return change, reason
}

// customNamed is the reason why a resource with an unchanged declared name cannot be replaced. Source: CloudFormation, observed.
func customNamed(name value.Value) string {
	renamed := name.Text()
	if name.Kind() != value.String || name.Secrets() != nil {
		renamed = "it"
	}
	return "CloudFormation cannot update a stack when a custom-named resource requires replacing. Rename " + renamed + " and update the stack again."
}

func (p *Property) needed(policy bool) bool { return p.Required && (!policy || !p.Waived) }

// check returns an error for an invalid value. The value may be secret, so the error does not quote it.
func (p *Property) check(dialect wire.Dialect, v value.Value) error {
	bad := func(format string, args ...any) error {
		return BadValue(dialect, p.Name, "be "+fmt.Sprintf(format, args...))
	}
	if dialect != wire.ROS && v.Kind() == value.String && dynamic.Has(v) {
		return nil // it is checked again after the reference is resolved
	}
	switch p.Kind {
	case Text:
		if !v.IsScalar() {
			return bad("of type String")
		}
	case Integer:
		n, err := strconv.ParseInt(v.Text(), 10, 64)
		if !v.IsScalar() || v.Kind() == value.Bool || err != nil {
			return bad("of type Integer")
		}
		if n < p.Min || n > p.Max {
			return bad("from %d to %d", p.Min, p.Max)
		}
	case Truth:
		if !v.IsScalar() || v.Text() != "true" && v.Text() != "false" {
			return bad("of type Boolean")
		}
	case List:
		if v.Kind() != value.List {
			return bad("a list")
		}
	case Object:
		if v.Kind() != value.Map {
			return bad("an object")
		}
	case Document:
		if v.Kind() != value.Map && v.Kind() != value.String {
			return bad("an object, or its text as JSON")
		}
	}
	return nil
}
