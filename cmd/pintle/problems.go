package main

import (
	"context"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/author/diagnosis"
	"github.com/pintle-dev/pintle/internal/language/template"
)

// problems is everything that is wrong with a template, or with the parameters given for it.
type problems struct {
	// where begins each line: the template's file, or the stack.
	where string
	found template.Errors
	// remedies has the remedy of each problem; nil if they are not shown.
	remedies []string
}

// problemDocument is one of them in a JSON document.
type problemDocument struct {
	// Rule is the code of the problem, which "pintle explain" takes.
	Rule    string `json:"rule"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"`
}

// Error returns a line for each problem: file:line:column: text, as compilers do. A remedy follows the first problem that it is for.
func (p *problems) Error() string {
	lines := make([]string, 0, len(p.found))
	said := map[string]bool{}
	for i, problem := range p.found {
		between := ": "
		if problem.Line > 0 {
			between = ":"
		}
		lines = append(lines, p.where+between+problem.Describe()+" ["+diagnosis.RuleOf(problem).ID+"]")
		if p.remedies != nil && p.remedies[i] != "" && !said[p.remedies[i]] {
			said[p.remedies[i]] = true
			lines = append(lines, "  = remedy: "+p.remedies[i])
		}
	}
	return strings.Join(lines, "\n")
}

func (p *problems) documents() []problemDocument {
	list := make([]problemDocument, len(p.found))
	for i, e := range p.found {
		list[i] = problemDocument{Rule: diagnosis.RuleOf(e).ID, Line: e.Line, Column: e.Column, Path: e.Path, Message: e.Message, Detail: e.Detail}
	}
	return list
}

// check returns everything that is known to be wrong with the template, as validate does, before anything is built, created or deleted.
// The engine answers as the service does, with the first problem and often without its place. Types, and values of parameters that are
// not given, are left to the engine: it may have more types, and the stack may have other values.
func (w desired) check(ctx context.Context, sh *shell, region string) (err error) {
	file := diagnosis.File{Language: w.language}
	t, found := examine(w.template, template.Unlimited())
	file.Add(diagnosis.Err, found)
	if t != nil && !t.Outlined() {
		idle, err := newIdleEngine(ctx, w, template.Unlimited(), nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, idle.close()) }()
		open := []string{stackIDOf(w.language)}
		given := w.inputs()
		for _, p := range t.Parameters {
			if _, ok := given[p.Name]; !ok {
				open = append(open, p.Name)
			}
		}
		// The engine reports problems with the parameters.
		partial, bad := w.foreseen(t, sh.region(w.language, region), open, nil)
		file.Add(diagnosis.Err, idle.InspectDeclared(partial))
		if scope, whole := partial.Scope(); whole && bad == nil && len(file.Problems) == 0 {
			if _, err := partial.Template().Graph(scope); err != nil {
				if list, ok := errors.AsType[template.Errors](err); ok {
					file.Add(diagnosis.Err, list)
				}
			}
		}
	}
	if len(file.Problems) == 0 {
		return nil
	}
	where := sh.short(w.path)
	return usageError(&problems{where: where, found: file.Found(), remedies: file.Remedies()}, "fix "+where+", then "+sh.again())
}

// checkParameters returns all that is wrong with the parameters of a new stack, if that is more than one thing.
func (w desired) checkParameters() error {
	inputs := w.inputs()
	t, err := w.parsed()
	if err == nil && t.StoredNames(inputs, nil) != nil {
		return nil // the engine knows the values of the parameter store
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
