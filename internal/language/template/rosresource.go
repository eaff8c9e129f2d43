package template

import (
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

func (p rosParser) rosResources(section Node, where path) {
	p.rosDeclared(section, where, p.template.limits.Resources, "a resource", func(m Member, at path) {
		r := p.rosResource(m, at)
		p.template.Resources, p.template.byID[r.LogicalID] = append(p.template.Resources, r), r
	})
}

// rosDeclared reads a section of at most limit declarations, each an object under its name. Messages refer to a
// declaration by what.
func (p rosParser) rosDeclared(section Node, where path, limit int, what string, read func(m Member, at path)) {
	if !p.rosMap(section, where) {
		return
	}
	p.rosCount(section, where, limit)
	for _, m := range section.members {
		at := where.to(m.Key)
		p.rosName(m, at, what)
		if p.rosMap(m.Value, at) {
			read(m, at)
		}
	}
}

func (p rosParser) rosResource(declared Member, where path) *Resource {
	r := &Resource{LogicalID: declared.Key, Line: declared.line, Column: declared.column, language: ROS}
	for _, m := range declared.Value.members {
		at := where.to(m.Key)
		switch m.Key {
		case "Type":
			r.Type = p.rosTextOf(m.Value, at, "the name of a type")
			if strings.HasPrefix(r.Type, "MODULE::") {
				p.coded(rosNotSupported, m.Value, at, "The module %s of the resource %s is not supported: only ROS expands modules; "+
					"write out the resources that it stands for.", r.Type, r.LogicalID)
			}
		case "Properties":
			r.Properties = p.rosFunctions(m.Value, at, inProperties)
		case "Metadata":
			r.Metadata = p.rosFunctions(m.Value, at, inMetadata)
		case "DependsOn":
			r.DependsOn = p.rosDependsOn(m.Value, at)
		case "Condition":
			r.Condition = p.rosTextOf(m.Value, at, "the name of a condition")
		case "DeletionPolicy":
			r.DeletionPolicy = p.rosTextOf(m.Value, at, "Delete or Retain")
			if m.Value.kind == value.String && r.DeletionPolicy != "Delete" && r.DeletionPolicy != "Retain" {
				p.coded(rosValidationFailed, m.Value, at, "The DeletionPolicy %s of the resource %s is neither Delete nor Retain.", r.DeletionPolicy, r.LogicalID)
			}
		case "Description", "Version":
			p.rosDescription(m.Value, at)
		case "Count":
			p.rosCounted(r, m.Value, at)
		default:
			p.codedKey(rosValidationFailed, m, at, "The attribute %s of the resource %s is not supported.", m.Key, r.LogicalID)
			p.explain("a resource has Type, Properties, Condition, DependsOn, DeletionPolicy, Metadata, Description and Count")
		}
	}
	if declared.Value.Get("Type").IsZero() {
		p.codedKey(rosValidationFailed, declared, where, "The resource %s has no Type.", r.LogicalID)
	}
	return r
}

// rosTextOf returns the text of a literal.
func (p rosParser) rosTextOf(n Node, where path, what string) string {
	if n.kind != value.String {
		p.wrongType(n, where, what)
		return ""
	}
	return n.text
}

// rosFunctions returns a map in which functions may be called, after it checked the shape of the calls.
func (p rosParser) rosFunctions(n Node, where path, in place) Node {
	if !p.rosMap(n, where) {
		return Node{}
	}
	p.rosShapes(in).node(n, where)
	return n
}

func (p rosParser) rosShapes(in place) *shapes {
	return &shapes{
		problems: &p.problems, language: ROS, in: in, extended: true, dynamic: &p.dynamic, limit: p.template.limits.DynamicReferences,
	}
}

func (p rosParser) rosDependsOn(n Node, where path) []string {
	if n.kind == value.String {
		return []string{n.text}
	}
	if n.kind != value.List {
		p.wrongType(n, where, "the name of a resource or a list of such names")
		return nil
	}
	var all names
	for i, item := range n.items {
		if name := p.rosTextOf(item, where.to(strconv.Itoa(i)), "the name of a resource"); name != "" {
			all.add(name)
		}
	}
	return all.list
}

func (p rosParser) rosOutputs(section Node, where path) {
	p.rosDeclared(section, where, p.template.limits.Outputs, "an output", func(m Member, at path) {
		p.template.Outputs = append(p.template.Outputs, p.rosOutput(m, at))
	})
}

func (p rosParser) rosOutput(declared Member, where path) *DeclaredOutput {
	o := &DeclaredOutput{Key: declared.Key, Line: declared.line, Column: declared.column}
	for _, m := range declared.Value.members {
		at := where.to(m.Key)
		switch m.Key {
		case "Value":
			p.rosShapes(inOutputs).node(m.Value, at)
			o.Value = m.Value
		case "Description":
			o.Description = p.rosDescription(m.Value, at)
		case "Label":
			// only used by consoles, and may be computed
		case "Condition":
			o.Condition = p.rosTextOf(m.Value, at, "the name of a condition")
		case "NoEcho":
			o.NoEcho = rosParameterParser(p).rosBoolean(m.Value, at)
		case "Export":
			p.codedKey(rosNotSupported, m, at, "The attribute Export of an output is not supported.")
			p.explain("ROS has no exports: another stack reads an output with Fn::GetStackOutput")
		default:
			p.codedKey(rosValidationFailed, m, at, "The attribute %s of the output %s is not supported.", m.Key, o.Key)
			p.explain("an output has Value, Description, Label, Condition and NoEcho")
		}
	}
	if declared.Value.Get("Value").IsZero() {
		p.codedKey(rosValidationFailed, declared, where, "The output %s has no Value.", o.Key)
	}
	return o
}
