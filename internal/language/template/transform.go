package template

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// transformKey is the function that calls a transform inside a template.
const transformKey = "Fn::Transform"

const (
	transformName    = "Key Name of transform definition must be a string."
	transformMessage = "Template format error: Every Transform must be an object with the keys Name and Parameters."
	transformLiteral = "Template format error: Every Transform member must be a string, or an object with the keys Name and Parameters."
)

// Transforms returns the names of the transforms that the template declares at the top level, in the order in which
// they are applied; may be nil.
func (t *Template) Transforms() []string {
	if t.declared != nil {
		return t.declared
	}
	return slices.Concat(t.idle, t.transforms)
}

// transformSection reads the names of the transforms at the top of a template: a string, or a list.
func (p *parser) transformSection(n Node, where path) {
	declared := []Node{n}
	if n.kind == value.List {
		declared = n.items
	}
	for i, d := range declared {
		at := where
		if n.kind == value.List {
			at = where.to(strconv.Itoa(i))
		}
		name := d
		if d.kind == value.Map {
			s := &shapes{problems: &p.problems}
			if !s.transform(d, at) {
				continue
			}
			name = d.Get("Name")
		}
		if name.kind != value.String || name.text == "" {
			p.at(d, at, transformLiteral)
			continue
		}
		p.declaredTransform(name, at, i)
	}
}

// declaredTransform adds a supported transform.
func (p *parser) declaredTransform(name Node, where path, position int) {
	t := p.template
	t.transforms = append(t.transforms, name.text)
	switch {
	case name.text == languageExtensions && position > 0:
		for _, earlier := range t.transforms[:position] {
			if earlier == languageExtensions {
				p.at(name, where, "Template format error: the transform %s is declared twice.", languageExtensions)
			}
		}
	case name.text == languageExtensions:
	case name.text == blueGreen, name.text == Serverless && !usesServerless(p.root):
		t.transforms = t.transforms[:len(t.transforms)-1]
		t.idle = append(t.idle, name.text)
	case name.text == Serverless:
		p.at(name, where, "Template format error: the transform %s must expand this template first.", name.text)
		p.explain("deploy it to a server with --run-functions, and use what GetTemplate returns with TemplateStage Processed")
	default:
		p.at(name, where, "%s", unknownTransform(name.text))
	}
}

// Serverless is the transform of the Serverless Application Model. A template that uses it is expanded like one that
// calls a macro of this name.
const Serverless = "AWS::Serverless-2016-10-31"

// usesServerless reports whether a template has something that [Serverless] expands: a section Globals, or a resource
// of one of its types. Tools such as the SAM CLI declare the transform even in templates without either, which it
// leaves unchanged. An absent template is assumed to use it.
func usesServerless(root Node) bool {
	if root.kind != value.Map || !root.Get(globalsSection).IsZero() {
		return true
	}
	return declaresServerless(root.Get("Resources"))
}

// globalsSection has the properties that functions and APIs of [Serverless] share.
const globalsSection = "Globals"

// declaresServerless reports whether resources, or loops over resources, have a type of [Serverless].
func declaresServerless(resources Node) bool {
	return slices.ContainsFunc(resources.members, func(m Member) bool {
		if strings.HasPrefix(m.Key, loopPrefix) {
			return slices.ContainsFunc(m.Value.items, declaresServerless)
		}
		return m.Value.kind == value.Map && strings.HasPrefix(m.Value.Get("Type").text, "AWS::Serverless::")
	})
}

func unknownTransform(name string) string {
	return fmt.Sprintf("Template format error: the transform %s is not supported by this version of Pintle.", name)
}

// transform checks the shape of a transform's declaration, {Name: a string, Parameters: an object}, and reports whether
// it is valid.
func (s *shapes) transform(declared Node, where path) bool {
	if declared.kind != value.Map {
		s.at(declared, where, transformMessage)
		return false
	}
	fine := true
	for _, m := range declared.members {
		at := where.to(m.Key)
		switch {
		case m.Key == "Name" && m.Value.kind == value.String, m.Key == "Parameters" && m.Value.kind == value.Map:
			continue
		case m.Key == "Name":
			s.at(m.Value, at, transformName)
		default:
			s.key(m, at, transformMessage)
		}
		fine = false
	}
	if fine && declared.Get("Name").IsZero() {
		s.at(declared, where, transformName)
		fine = false
	}
	return fine
}

// loopOutOfPlace rejects a loop that was not expanded.
func (p *parser) loopOutOfPlace(m Member, where path, what string) bool {
	if !strings.HasPrefix(m.Key, loopPrefix) {
		return false
	}
	p.key(m, where, "Template format error: [%s] %s definition is malformed", where, what)
	p.explain("loops are a part of AWS::LanguageExtensions: add Transform: AWS::LanguageExtensions to the template")
	return true
}
