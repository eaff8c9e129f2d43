package engine

import (
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// Inspect returns every problem of a template that is known before a stack is created: those of
// [Checker.InspectDeclared], and unknown types.
func (c Checker) Inspect(p *template.Partial) template.Errors {
	var list template.Errors
	t := p.Template()
	unknown, reasons := c.env.unrecognized(dialectIn(t), t)
	for i, r := range unknown {
		list = append(list, &template.Error{
			Message: unrecognizedText(dialectIn(t), r.Type), Detail: reasons[i].Error(),
			Path: "/Resources/" + r.LogicalID + "/Type", Line: r.Line, Column: r.Column,
		})
	}
	return append(list, c.InspectDeclared(p)...)
}

// InspectDeclared returns the known problems of a template of any types: functions that cannot be
// evaluated, properties that a custom resource or a native type cannot have, and attributes that a native type does
// not have. Creating, updating and planning a stack run the same checks and return the first problem.
func (c Checker) InspectDeclared(p *template.Partial) template.Errors {
	t := p.Template()
	list := append(p.Problems(), c.env.customProblems(dialectIn(t), p)...)
	for _, d := range append(c.env.declarationProblems(t), c.env.attributeProblems(t)...) {
		list = append(list, d.Error)
	}
	return list
}

// dialectIn returns the dialect of a template.
func dialectIn(t *template.Template) Dialect {
	if t.Language == template.ROS {
		return ROS
	}
	return CloudFormation
}

// customProblems returns the known problems with the properties of custom resources that the engine reads.
func (e *environment) customProblems(dialect Dialect, p *template.Partial) template.Errors {
	if dialect == ROS {
		return e.rosProblems(p)
	}
	var list template.Errors
	for _, r := range p.Resources() {
		if dialect.checkType(r.Type) != nil {
			continue
		}
		token, timeout := r.Properties.Get("ServiceToken"), r.Properties.Get("ServiceTimeout")
		literal, computed, known, err := p.Look(r.Properties)
		if err != nil || !known || literal.IsZero() && !computed.IsNull() {
			continue // the result of a function is checked when the operation reaches the resource
		}
		add := func(n template.Node, property, text, detail string) {
			e := &template.Error{
				Message: text, Detail: detail, Path: "/Resources/" + r.LogicalID + "/Properties/" + property,
				Line: n.Line(), Column: n.Column(),
			}
			if n.IsZero() {
				e.Path, e.Line, e.Column = "/Resources/"+r.LogicalID, r.Line, r.Column
			}
			list = append(list, e)
		}
		const noToken = "Value of property ServiceToken must be of type String"
		switch v, known := settledValue(p, token); {
		case token.IsZero():
			add(token, "ServiceToken", "property ServiceToken is missing", "it names the provider of the resource")
			list[len(list)-1].Answer = noToken
		case known && (!v.IsScalar() || v.Text() == ""):
			add(token, "ServiceToken", noToken, "")
		}
		if v, known := settledValue(p, timeout); known && !v.IsNull() {
			_, err := wire.ParseServiceTimeout(v.Stringified().JSON())
			switch {
			case err != nil && v.HasSecret():
				add(timeout, "ServiceTimeout", secretTimeout, "")
			case err != nil:
				add(timeout, "ServiceTimeout", err.Error(), "")
			}
		}
	}
	return list
}

// settledValue returns the declared value at a place, null for AWS::NoValue; false if it is not known yet.
func settledValue(p *template.Partial, n template.Node) (value.Value, bool) {
	if n.IsZero() {
		return value.Value{}, false
	}
	literal, computed, known, err := p.Look(n)
	switch {
	case err != nil || !known:
		return value.Value{}, false
	case literal.IsZero():
		return computed, true
	case literal.Computed():
		return value.Value{}, false
	}
	return literal.Value(), true
}

// where describes the place of a resource's problem, as part of a sentence.
func where(e *template.Error) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(e.Path, "/Resources/"), "/")
	return fmt.Sprintf("resource %s at line %d, column %d", name, e.Line, e.Column)
}

// declarationProblem is a problem with a declaration, and a sentence that describes it with its place.
type declarationProblem struct {
	*template.Error
	sentence string
}

// checkDeclarations rejects problems that the template's text alone shows. The real service finds most of them when
// the operation reaches the resource, and so does Pintle with FidelityAWS. The exception are required properties of
// native types, which the service validates early: recorded answers, D18.
func (e *environment) checkDeclarations(t *template.Template) error {
	var secure []string
	for _, r := range t.Resources {
		if e.native.Schema(r.Type) != nil && !r.Properties.IsZero() {
			secure = append(secure, native.SecureReferences(r.Type, r.Properties.Value())...)
		}
	}
	if secure != nil {
		return invalid(native.ErrSecure(secure).Error())
	}
	var sentences []string
	for _, p := range append(e.declarationProblems(t), e.attributeProblems(t)...) {
		if p.Answer != "" && e.fidelity == FidelityAWS {
			return invalid(p.Answer)
		}
		sentences = append(sentences, p.sentence)
	}
	if sentences == nil {
		return nil
	}
	return invalid("Template error: " + strings.Join(sentences, "; "))
}

func (e *environment) declarationProblems(t *template.Template) []declarationProblem {
	var list []declarationProblem
	add := func(r *template.Resource, text string, line, column int) {
		problem := &template.Error{Message: text, Path: "/Resources/" + r.LogicalID, Line: line, Column: column}
		list = append(list, declarationProblem{problem, where(problem) + ": " + text})
	}
	for _, r := range t.Resources {
		schema := e.native.Schema(r.Type)
		switch {
		case schema == nil && !r.CreationPolicy.IsZero():
			add(r, "CreationPolicy is not for custom resources", r.Line, r.Column)
		case schema != nil && e.fidelity != FidelityAWS:
			for _, p := range schema.Check(r) {
				add(r, p.Text, p.Line, p.Column)
				list[len(list)-1].Detail = p.Detail
			}
		case schema != nil && schema.Dialect == wire.CloudFormation:
			for _, p := range schema.Check(r) {
				if p.Missing != "" {
					add(r, p.Text, p.Line, p.Column)
					list[len(list)-1].Answer = "Properties validation failed for resource " + r.LogicalID +
						" with message: #: required key [" + p.Missing + "] not found"
				}
			}
		}
	}
	return list
}

// attributeProblems returns the reads of attributes that a native type does not have.
func (e *environment) attributeProblems(t *template.Template) []declarationProblem {
	if e.fidelity == FidelityAWS {
		return nil
	}
	var list []declarationProblem
	look := func(references []template.Reference, where string) {
		for _, use := range references {
			read := t.Resource(use.Resource)
			if use.Attribute == "" || strings.HasPrefix(use.Attribute, "${") || read == nil {
				continue
			}
			if schema := e.native.Schema(read.Type); schema != nil && !schema.HasAttribute(use.Attribute) {
				text := "resource " + use.Resource + " does not support attribute type " + use.Attribute + " in Fn::GetAtt"
				list = append(list, declarationProblem{
					&template.Error{Message: text, Path: where, Line: use.Line, Column: use.Column},
					fmt.Sprintf("%s (line %d, column %d)", text, use.Line, use.Column),
				})
			}
		}
	}
	for _, r := range t.Resources {
		look(r.References(), "/Resources/"+r.LogicalID)
	}
	for _, o := range t.Outputs {
		look(o.References(), "/Outputs/"+o.Key)
	}
	return list
}
