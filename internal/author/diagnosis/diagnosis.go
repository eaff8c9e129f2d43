// Package diagnosis formats the problems of a template for people, editors and code scanners. It knows the kinds of
// problems by their [Rule], the [Source] of a template without its secrets, and the document of SARIF.
//
// Messages are the words of CloudFormation and ROS, which do not change, so a rule is found by them.
package diagnosis

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// Level is how bad a problem is, in the words of SARIF.
type Level string

// The levels.
const (
	// Err is a problem for which the template, or its stack, fails.
	Err Level = "error"
	// Warning is something that is perhaps not meant.
	Warning Level = "warning"
)

// Problem is one finding.
type Problem struct {
	*template.Error
	Rule  Rule
	Level Level

	language template.Language
}

// Remedy returns the remedy of the problem in the template's language, or "" if it is unknown.
func (p *Problem) Remedy() string { return p.Rule.In(p.language).Remedy }

// File has the findings of one template.
type File struct {
	// Name is the path as it is shown.
	Name string
	// Language is that of the template. It is set before the first Add.
	Language template.Language
	Source   *Source
	Problems []Problem
}

// Add adds findings with their rules, in the order of their places.
func (f *File) Add(level Level, found template.Errors) {
	for _, e := range found {
		if !slices.ContainsFunc(f.Problems, func(p Problem) bool { return same(p.Error, e) }) {
			f.Problems = append(f.Problems, Problem{e, RuleOf(e), level, f.Language})
		}
	}
	slices.SortStableFunc(f.Problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
}

// Found returns the problems without their rules, in the order of the places.
func (f *File) Found() template.Errors {
	list := make(template.Errors, len(f.Problems))
	for i, p := range f.Problems {
		list[i] = p.Error
	}
	return list
}

// Remedies returns the remedy of each problem, in the order of [File.Found].
func (f *File) Remedies() []string {
	list := make([]string, len(f.Problems))
	for i := range f.Problems {
		list[i] = f.Problems[i].Remedy()
	}
	return list
}

func same(a, b *template.Error) bool {
	return a.Message == b.Message && a.Line == b.Line && a.Column == b.Column
}

// Errors returns how many problems are errors.
func (f *File) Errors() int {
	n := 0
	for _, p := range f.Problems {
		if p.Level == Err {
			n++
		}
	}
	return n
}
