package engine

import (
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/template"
)

// Inspect returns everything that can be told from a template's text to be wrong with its resources: types that nobody
// provides, declarations that a native type cannot have, attributes that it does not have. [Engine.Check] says the same in
// one sentence.
func (e *Engine) Inspect(t *template.Template) template.Errors {
	var list template.Errors
	dialect := CloudFormation
	if t.Language == template.ROS {
		dialect = ROS
	}
	unknown, reasons := e.env.unrecognized(dialect, t)
	for i, r := range unknown {
		list = append(list, &template.Error{
			Message: unrecognizedText(r.Type), Detail: reasons[i].Error() + "; this version runs " + e.env.runs(CloudFormation),
			Path: "/Resources/" + r.LogicalID + "/Type", Line: r.Line, Column: r.Column,
		})
	}
	for _, d := range append(e.env.declarationProblems(t), e.env.attributeProblems(t)...) {
		list = append(list, d.Error)
	}
	return list
}

// declarationProblem is something that is wrong with a declaration, and the sentence that says so with its place.
type declarationProblem struct {
	*template.Error
	sentence string
}

// checkDeclarations refuses what can be told to be wrong from the text of the template alone. The real service finds most
// of it when the resource's turn comes, and so do we if we are to be like it.
func (e *environment) checkDeclarations(t *template.Template) error {
	var sentences []string
	for _, p := range append(e.declarationProblems(t), e.attributeProblems(t)...) {
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
		list = append(list, declarationProblem{
			&template.Error{Message: text, Path: "/Resources/" + r.LogicalID, Line: line, Column: column},
			fmt.Sprintf("resource %s at line %d, column %d: %s", r.LogicalID, line, column, text),
		})
	}
	for _, r := range t.Resources {
		schema := e.native.Schema(r.Type)
		switch {
		case schema == nil && !r.CreationPolicy.IsZero():
			add(r, "CreationPolicy is not for custom resources", r.Line, r.Column)
		case schema != nil && e.fidelity != FidelityAWS:
			for _, p := range schema.Check(r) {
				add(r, p.Text, p.Line, p.Column)
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
