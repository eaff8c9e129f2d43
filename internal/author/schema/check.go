package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/suggest"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// maxProblems bounds the number of problems in one report.
const maxProblems = 100

// Check validates a template against the documents of its providers. find returns the document of the provider behind
// a service token, or nil. A value that is unknown until the stack is deployed matches every schema.
// Check returns all problems, in the order of their places.
func Check(t *template.Template, p *template.Partial, find func(token string) *Document) template.Errors {
	c := &check{partial: p, types: map[string]Type{}, own: ServiceKeys}
	if c.ros = t.Language == template.ROS; c.ros {
		c.own = nil // it reads other properties than the provider gets
	}
	resources := p.Resources()
	for _, r := range resources {
		if custom(r.Type) {
			if d := find(c.token(r)); d != nil {
				c.types[r.LogicalID] = d.Type(r.Type)
			}
		}
	}
	for _, r := range resources {
		if s := c.types[r.LogicalID].Properties; s != nil {
			c.resource(r, s)
		}
		c.attributes(r.Properties, "/Resources/"+r.LogicalID+"/Properties")
		c.attributes(r.Metadata, "/Resources/"+r.LogicalID+"/Metadata")
	}
	for _, o := range p.Outputs() {
		c.attributes(o.Value, "/Outputs/"+o.Key+"/Value")
	}
	Sort(c.found)
	return c.found
}

// Sort puts problems in the order of their places, those without one first.
func Sort(found template.Errors) {
	slices.SortStableFunc(found, func(a, b *template.Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
}

// custom reports whether a type is that of a custom resource.
func custom(resourceType string) bool {
	return strings.HasPrefix(resourceType, "Custom::") || resourceType == "AWS::CloudFormation::CustomResource" ||
		resourceType == "ALIYUN::ROS::CustomResource"
}

// check is one run of [Check].
type check struct {
	partial *template.Partial
	types   map[string]Type // by logical ID
	ros     bool            // the template is one of ROS
	own     []string        // properties that the service itself reads
	found   template.Errors
}

// place is where something is declared.
type place struct {
	path         string // in the template
	name         string // below the properties
	line, column int
}

func (p place) to(key string, line, column int) place {
	name := key
	if p.name != "" {
		name = p.name + "." + key
	}
	return place{p.path + "/" + key, name, line, column}
}

func (p place) item(i int, n template.Node) place {
	return place{p.path + "/" + strconv.Itoa(i), fmt.Sprintf("%s[%d]", p.name, i), n.Line(), n.Column()}
}

func (c *check) problem(at place, format string, args ...any) {
	if len(c.found) < maxProblems {
		c.found = append(c.found, &template.Error{
			Message: fmt.Sprintf(format, args...), Path: at.path, Line: at.line, Column: at.column,
		})
	}
}

// failed reports why a function could not be evaluated.
func (c *check) failed(at place, err error) {
	templateErr, ok := errors.AsType[*template.Error](err)
	if !ok {
		return
	}
	if templateErr.Line > 0 {
		at.line, at.column = templateErr.Line, templateErr.Column
	}
	c.problem(at, "%s", templateErr.Message)
}

// token returns the service token of a resource; empty if it is not known.
func (c *check) token(r *template.Resource) string {
	literal, computed, known, err := c.partial.Look(r.Properties.Get("ServiceToken"))
	switch {
	case err != nil || !known:
		return ""
	case !literal.IsZero():
		return literal.Text()
	}
	return computed.Text()
}

// resource holds the properties of a resource against their schema.
func (c *check) resource(r *template.Resource, s *Schema) {
	at := place{path: "/Resources/" + r.LogicalID + "/Properties", line: r.Line, column: r.Column}
	if r.Properties.IsZero() {
		at.path = "/Resources/" + r.LogicalID
	}
	if !c.ros {
		c.object(s.resolved(), literals(r.Properties), at)
		return
	}
	given := r.Properties.Get("Parameters")
	if at.path += "/Parameters"; given.IsZero() {
		c.object(s.resolved(), nil, at)
		return
	}
	c.node(s, given, at)
}

// ServiceKeys are the properties that CloudFormation reads, not the provider, and that stand among those. Source: CloudFormation, custom resource reference.
var ServiceKeys = []string{"ServiceToken", "ServiceTimeout"}

// member is one of an object, whether it is a literal or was computed.
type member struct {
	key          string
	node         template.Node // absent if it was computed
	value        value.Value
	line, column int // of the key; 0 if it was computed
}

func literals(n template.Node) []member {
	list := make([]member, len(n.Members()))
	for i, m := range n.Members() {
		list[i] = member{key: m.Key, node: m.Value, line: m.Line(), column: m.Column()}
	}
	return list
}

func computed(v value.Value) []member {
	list := make([]member, len(v.Members()))
	for i, m := range v.Members() {
		list[i] = member{key: m.Key, value: m.Value}
	}
	return list
}

// object holds members against the schema of their object.
func (c *check) object(s *Schema, members []member, at place) {
	if s == nil || s.nothing {
		return
	}
	top := at.name == ""
	given := map[string]bool{}
	open, strange := 0, false // members that may not be there in the end, and whether there are some that no one knows
	for _, m := range members {
		below := at.to(m.key, m.line, m.column)
		if m.line == 0 {
			below.line, below.column = at.line, at.column
		}
		if m.node.IsZero() {
			given[m.key] = !m.value.IsNull()
		} else {
			literal, v, known, err := c.partial.Look(m.node)
			if err == nil && known && literal.IsZero() && v.IsNull() {
				continue // AWS::NoValue
			}
			if !known {
				open++
			}
			given[m.key] = true
		}
		known, declared := s.properties[m.key]
		switch {
		case declared:
			c.member(s.at(known), m, below)
		case top && slices.Contains(c.own, m.key):
			delete(given, m.key)
		case s.patterned || s.more == nil:
			c.member(nil, m, below)
		case s.more.nothing:
			strange = true
			c.unknown(s, top, m.key, below)
		default:
			c.member(s.at(s.more), m, below)
		}
	}
	for _, name := range s.required {
		if !given[name] && !(s.migrates && strange) { // it may be made of that one
			c.problem(at, "property %s is missing", at.to(name, 0, 0).name)
		}
	}
	if open == 0 && !fitsLength(len(given), s.minProps, s.maxProps) {
		c.wrong(s, at)
	}
}

// unknown reports a member that the schema does not know. A provider that migrates properties may know it from another
// time, unless it looks like a mistake in the name of one of today.
func (c *check) unknown(s *Schema, top bool, name string, at place) {
	names := slices.Sorted(maps.Keys(s.properties))
	if top {
		names = append(names, c.own...)
	}
	if near := suggest.Name(name, names); near != "" {
		c.problem(at, "property %s is not known, did you mean %s?", at.name, near)
	} else if !s.migrates {
		c.problem(at, "property %s is not known", at.name)
	}
}

func (c *check) wrong(s *Schema, at place) {
	if at.name == "" {
		c.problem(at, "properties: want %s", s.wanted())
		return
	}
	c.problem(at, "property %s: want %s", at.name, s.wanted())
}

func (c *check) member(s *Schema, m member, at place) {
	if m.node.IsZero() {
		c.value(s, m.value, at)
		return
	}
	at.line, at.column = m.node.Line(), m.node.Column()
	c.node(s, m.node, at)
}

// node checks a part of a template against its schema.
func (c *check) node(s *Schema, n template.Node, at place) {
	literal, v, known, err := c.partial.Look(n)
	switch {
	case err != nil:
		c.failed(at, err)
		return
	case !known:
		return
	case literal.IsZero():
		c.value(s, v, at)
		return
	}
	s = s.resolved()
	if s == nil {
		c.inner(literal, at)
		return
	}
	at.line, at.column = literal.Line(), literal.Column()
	switch literal.Kind() {
	case value.Map:
		if !s.wants("object") || s.nothing || s.enum != nil {
			c.wrong(s, at)
			return
		}
		c.object(s, literals(literal), at)
	case value.List:
		c.list(s, literal, at)
	case value.Bool, value.Number, value.String:
		if !s.fitsText(literal.Text()) {
			c.wrong(s, at)
		}
	case value.Null:
	}
}

// inner checks the functions in a part of a template without a schema.
func (c *check) inner(n template.Node, at place) {
	for i, item := range n.Items() {
		c.node(nil, item, at.item(i, item))
	}
	for _, m := range n.Members() {
		c.node(nil, m.Value, at.to(m.Key, m.Value.Line(), m.Value.Column()))
	}
}

func (c *check) list(s *Schema, n template.Node, at place) {
	if !s.wants("array") || s.nothing || s.enum != nil {
		c.wrong(s, at)
		return
	}
	count, certain := 0, true
	for i, item := range n.Items() {
		literal, v, known, err := c.partial.Look(item)
		certain = certain && known && err == nil
		if known && literal.IsZero() && v.IsNull() {
			continue // AWS::NoValue
		}
		count++
		c.node(s.at(s.items), item, at.item(i, item))
	}
	if certain && !fitsLength(count, s.minItems, s.maxItems) {
		c.wrong(s, at)
	}
}

// value checks the result of a function against its schema. Its problems are at the place of the call.
func (c *check) value(s *Schema, v value.Value, at place) {
	s = s.resolved()
	if s == nil || v.IsNull() {
		return
	}
	switch v.Kind() {
	case value.Map:
		if !s.wants("object") || s.nothing || s.enum != nil {
			c.wrong(s, at)
			return
		}
		c.object(s, computed(v), at)
	case value.List:
		if !s.wants("array") || s.nothing || s.enum != nil || !fitsLength(len(v.Items()), s.minItems, s.maxItems) {
			c.wrong(s, at)
			return
		}
		for i, item := range v.Items() {
			below := at.item(i, template.Node{})
			below.line, below.column = at.line, at.column
			c.value(s.at(s.items), item, below)
		}
	case value.Bool, value.Number, value.String:
		if !s.fitsText(v.Text()) {
			c.wrong(s, at)
		}
	case value.Null:
	}
}

// attributes looks for uses of attributes that are not published.
func (c *check) attributes(n template.Node, path string) {
	for _, use := range c.partial.References(n) {
		names, closed := c.types[use.Resource].Attributes.Closed()
		if use.Attribute == "" || !closed || slices.Contains(names, use.Attribute) || c.ros && use.Attribute == "Outputs" { // all of them
			continue
		}
		hint := ""
		if near := suggest.Name(use.Attribute, names); near != "" {
			hint = ", did you mean " + near + "?"
		} else if len(names) > 0 {
			hint = ", it has " + strings.Join(names, ", ")
		}
		c.problem(place{path: path, line: use.Line, column: use.Column}, "%s has no attribute %s%s", use.Resource, use.Attribute, hint)
	}
}
