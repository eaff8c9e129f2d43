package template

import (
	"errors"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// DeclaredOutput is the declaration of one output. Its fields are read-only.
type DeclaredOutput struct {
	Key         string
	Description string
	// Condition is the name of the condition under which the output exists, "" if it always does.
	Condition string
	// Value is the declaration of its value.
	Value Node
	// ExportName is the declaration of its export's name, absent if it is not exported.
	ExportName Node
	// NoEcho says that the value is secret; only in ROS.
	NoEcho bool
	// Line and Column are the position of the key.
	Line, Column int

	parameters []string
}

// Output is one computed output.
type Output struct {
	Key string
	// Value is a string, or any value in ROS. It is secret if it was made from a secret.
	Value       value.Value
	Description string
	// ExportName is "" if the output is not exported.
	ExportName string
}

const (
	outputMessage     = "Template format error: The Value field of every Outputs member must evaluate to a String."
	outputMapMessage  = "Template format error: The Value field of every Outputs member must evaluate to a String and not a Map."
	outputListMessage = "Template format error: The Value field of every Outputs member must evaluate to a String and not a List."
)

func (p *parser) outputs(section Node, where path) {
	if !p.object(section, where, "Outputs") {
		return
	}
	p.count(section, where, "outputs", p.template.limits.Outputs)
	for _, m := range section.members {
		at := where.to(m.Key)
		if p.loopOutOfPlace(m, at, "output") {
			continue
		}
		p.name(m, at, "Output")
		if m.Value.kind != value.Map {
			p.at(m.Value, at, "Template format error: Any Outputs member must be an object.")
			continue
		}
		p.template.Outputs = append(p.template.Outputs, p.output(m, at))
	}
}

func (p *parser) output(declared Member, where path) *DeclaredOutput {
	o := &DeclaredOutput{Key: declared.Key, Line: declared.line, Column: declared.column}
	for _, m := range declared.Value.members {
		at := where.to(m.Key)
		switch m.Key {
		case "Value":
			o.Value = p.outputValue(m.Value, at, inOutputs)
		case "Description":
			o.Description = p.scalarText(m.Value, at, m.Key)
		case "Condition":
			o.Condition = p.text(m.Value, at, m.Key)
		case "Export":
			name := m.Value.Get("Name")
			if name.IsZero() || len(m.Value.members) != 1 {
				p.at(m.Value, at, "Template format error: [%s] Every Export member must contain a Name and nothing else.", at)
				continue
			}
			o.ExportName = p.outputValue(name, at.to("Name"), inExportName)
		default:
			p.key(m, at, "Invalid template output property '%s'", m.Key)
		}
	}
	if declared.Value.Get("Value").IsZero() {
		p.key(declared, where, "Template format error: Every Outputs member must contain a Value object")
		p.explain("output " + declared.Key)
	}
	return o
}

// outputValue checks a value that must become a string.
func (p *parser) outputValue(n Node, where path, in place) Node {
	_, _, call := n.call()
	_, stray := n.strayFunction()
	switch {
	case n.kind == value.List:
		p.at(n, where, outputListMessage)
	case n.kind == value.Map && !call && !stray:
		p.at(n, where, outputMapMessage)
	default:
		s := &shapes{problems: &p.problems, language: p.template.Language, in: in, extended: p.extended}
		s.node(n, where)
	}
	return n
}

// References returns the resources that the value uses in all branches, each use once, in the order of the text.
func (o *DeclaredOutput) References() []Reference { return references(o.Value, nil, o.parameters) }

// AttributeRead is a use of a resource's attribute.
type AttributeRead struct {
	// Resource or Output is the logical ID or the key of the reader; the other is empty.
	Resource, Output string
	Attribute        string
}

// AttributeReads returns the attributes of a resource that other resources and outputs read in the branches selected in
// a scope, in template order. It leaves out attributes whose names are computed.
func (t *Template) AttributeReads(s *Scope, logicalID string) []AttributeRead {
	var reads []AttributeRead
	look := func(n Node, parameters []string, by AttributeRead) {
		for _, r := range references(n, s, parameters) {
			if by.Attribute = r.Attribute; r.Resource != logicalID || r.Attribute == "" || strings.HasPrefix(r.Attribute, "${") ||
				slices.Contains(reads, by) {
				continue
			}
			reads = append(reads, by)
		}
	}
	for _, r := range t.Active(s) {
		for _, n := range []Node{r.Properties, r.Metadata, r.CreationPolicy} {
			look(n, r.parameters, AttributeRead{Resource: r.LogicalID})
		}
	}
	for _, o := range t.activeOutputs(s) {
		look(o.Value, o.parameters, AttributeRead{Output: o.Key})
	}
	return reads
}

func (t *Template) activeOutputs(s *Scope) []*DeclaredOutput {
	var active []*DeclaredOutput
	for _, o := range t.Outputs {
		if o.Condition == "" || s.Conditions[o.Condition] {
			active = append(active, o)
		}
	}
	return active
}

// EvaluateOutputs computes the outputs that exist in a scope, in template order. Numbers and booleans become their
// text; in ROS values keep their kind. The error is that of the first output that failed: an [Error], or an error of r.
func (t *Template) EvaluateOutputs(s *Scope, r Resources) ([]Output, error) {
	var outputs []Output
	e := &evaluation{scope: s, resources: r} // one for all: they are stored together
	for _, o := range t.activeOutputs(s) {
		v, err := e.outputOf(o)
		if err != nil {
			return nil, o.placed(err, "Value")
		}
		output := Output{Key: o.Key, Value: v, Description: o.Description}
		if !o.ExportName.IsZero() {
			if output.ExportName, err = o.exportName(s); err != nil {
				return nil, o.placed(err, "Export")
			}
		}
		outputs = append(outputs, output)
	}
	return outputs, nil
}

// placed adds the place to an [Error] and returns other errors unchanged.
func (o *DeclaredOutput) placed(err error, member string) error {
	var e *Error
	if errors.As(err, &e) && e.Path == "" {
		e.Path = path{"Outputs", o.Key, member}.String()
	}
	return err
}

// outputOf evaluates an output, which must become a string; in ROS it may have any kind.
func (e *evaluation) outputOf(o *DeclaredOutput) (value.Value, error) {
	if e.scope.Language != ROS {
		return e.output(o.Value)
	}
	v, err := e.whole(o.Value)
	if o.NoEcho {
		v = v.Tainted(value.OfParameter)
	}
	return v, err
}

// output evaluates a value that must become a string.
func (e *evaluation) output(n Node) (value.Value, error) {
	v, err := e.whole(n)
	if err != nil {
		return value.Value{}, err
	}
	message := outputMessage
	switch v.Kind() {
	case value.Bool, value.Number, value.String:
		return v.Stringified(), nil
	case value.List:
		message = outputListMessage
	case value.Map:
		message = outputMapMessage
	case value.Null:
	}
	return value.Value{}, &Error{Message: message, Line: n.line, Column: n.column}
}
