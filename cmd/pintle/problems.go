package main

import (
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/template"
)

// problems is everything that is wrong with a template, or with the parameters given for it.
type problems struct {
	// where begins each line: the template's file, or the stack.
	where string
	found template.Errors
}

// problemDocument is one of them in a JSON document.
type problemDocument struct {
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"`
}

// Error returns a line for each problem: file:line:column: text, as compilers do.
func (p *problems) Error() string {
	lines := make([]string, len(p.found))
	for i, problem := range p.found {
		between := ": "
		if problem.Line > 0 {
			between = ":"
		}
		lines[i] = p.where + between + problem.Describe()
	}
	return strings.Join(lines, "\n")
}

func (p *problems) documents() []problemDocument {
	list := make([]problemDocument, len(p.found))
	for i, e := range p.found {
		list[i] = problemDocument{Line: e.Line, Column: e.Column, Path: e.Path, Message: e.Message, Detail: e.Detail}
	}
	return list
}

// check reads the template as the engine will. The engine answers as the service does, with the first problem and
// often without its place; here are all of them. It is done before anything is built or deleted.
func (w desired) check(a *app) error {
	_, err := w.parsed()
	found, ok := errors.AsType[template.Errors](err)
	if !ok {
		return nil // what is wrong with it otherwise, the engine tells
	}
	return usageError(&problems{where: a.short(w.path), found: found}, "mend "+a.short(w.path)+", then "+a.again())
}

// checkParameters returns all that is wrong with the parameters of a new stack, if that is more than one thing.
func (w desired) checkParameters() error {
	inputs := w.inputs()
	t, err := w.parsed()
	if err == nil && t.StoredNames(inputs, nil) != nil {
		return nil // what the parameter store has, the engine tells
	}
	if err == nil {
		var scope *template.Scope
		if scope, err = t.Bind(inputs, nil, template.Pseudo{}); err == nil {
			_, _, err = t.Process(scope)
		}
	}
	found, _ := errors.AsType[template.Errors](err)
	if len(found) < 2 {
		return nil
	}
	plain := make(template.Errors, len(found))
	for i, e := range found {
		plain[i] = &template.Error{Message: e.Message, Detail: e.Detail} // the place is not in the template
	}
	return &problems{where: "stack " + w.stack, found: plain}
}
