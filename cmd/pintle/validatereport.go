package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/internal/author/diagnosis"
)

// validationsDocument is the document of validate -o json.
type validationsDocument struct {
	// Valid says that no file has an error; there may be warnings.
	Valid bool                 `json:"valid"`
	Files []validationDocument `json:"files"`
}

// validationDocument is the result of validating one template.
type validationDocument struct {
	Template string              `json:"template"`
	Valid    bool                `json:"valid"`
	Problems []diagnosedDocument `json:"problems"`
	// Providers are those that the template's resources name and that run on this machine.
	Providers []publishedDocument `json:"providers"`
	// Open lists the parameters without a value. Parts that depend on them were not checked.
	Open []string `json:"open"`
}

// diagnosedDocument is a problem with its rule.
type diagnosedDocument struct {
	Level diagnosis.Level `json:"level"`
	problemDocument
	Remedy string `json:"remedy,omitempty"`
}

// publishedDocument says whether a provider publishes a schema, or why it does not.
type publishedDocument struct {
	Name   string `json:"name"`
	Schema bool   `json:"schema"`
	Reason string `json:"reason,omitempty"`
	// failed says that the command fails with the reason.
	failed bool
}

// report prints the findings, and returns the error that the command exits with.
func (v *validator) report(output string) error {
	var err error
	switch output {
	case "json":
		err = v.terminal.document(v.document())
	case "sarif":
		err = v.printSARIF()
	default:
		v.print()
	}
	return errors.Join(err, v.failure())
}

// failure returns an error with the number of problems, or nil.
func (v *validator) failure() error {
	count, files, name := 0, 0, ""
	for _, one := range v.list {
		if n := one.file.Errors(); n > 0 {
			count, files, name = count+n, files+1, one.file.Name
		}
	}
	if count == 0 {
		return v.broken
	}
	noun := "errors"
	if count == 1 {
		noun = "error"
	}
	where := name
	if len(v.list) > 1 {
		where = fmt.Sprintf("%d of %d templates", files, len(v.list))
	}
	err := error(failed(fmt.Errorf("%d %s in %s", count, noun, where)))
	if v.broken != nil {
		if cause, ok := errors.AsType[*failure](v.broken); ok {
			err = failed(fmt.Errorf("%w\n%w", err, cause.err), cause.hints...)
		}
	}
	return err
}

func (v *validator) document() validationsDocument {
	whole := validationsDocument{Valid: true, Files: []validationDocument{}}
	for _, one := range v.list {
		d := validationDocument{
			Template: one.file.Name, Valid: one.file.Errors() == 0, Problems: []diagnosedDocument{},
			Providers: append([]publishedDocument{}, one.providers...), Open: append([]string{}, one.open...),
		}
		for _, p := range one.file.Problems {
			d.Problems = append(d.Problems, diagnosedDocument{
				p.Level,
				problemDocument{Rule: p.Rule.ID, Line: p.Line, Column: p.Column, Path: p.Path, Message: p.Message, Detail: p.Detail}, p.Remedy(),
			})
		}
		whole.Valid = whole.Valid && d.Valid
		whole.Files = append(whole.Files, d)
	}
	return whole
}

func (v *validator) printSARIF() error {
	files := make([]diagnosis.File, len(v.list))
	for i, one := range v.list {
		files[i] = one.file
	}
	text, err := diagnosis.SARIF(buildRelease().Version, files)
	if err != nil {
		return err
	}
	_, err = v.stdout.Write(text)
	return err
}

// print prints the problems in the form of compilers, and the checks that ran on valid templates.
func (v *validator) print() {
	remedies := map[string]bool{} // printed ones, each once
	for _, one := range v.list {
		for _, p := range one.file.Problems {
			v.printProblem(one, p, !remedies[p.Rule.ID])
			remedies[p.Rule.ID] = true
		}
		if one.file.Errors() == 0 {
			if note := one.want.unresolved(); note != "" && !one.want.references.secrets {
				v.say("%s: %s", one.file.Name, note)
			}
			one.print(&v.terminal)
		}
	}
}

func (v *validator) printProblem(one *validation, p diagnosis.Problem, remedy bool) {
	place := one.file.Name
	if p.Line > 0 {
		place = fmt.Sprintf("%s:%d", place, p.Line)
		if p.Column > 0 {
			place = fmt.Sprintf("%s:%d", place, p.Column)
		}
	}
	v.say("%s: %s: %s [%s]", place, p.Level, p.Message, p.Rule.ID)
	if shown, ok := one.file.Source.Excerpt(p.Line, p.Column); ok {
		fmt.Fprint(v.stderr, display.Snippet(p.Line, shown.Text, shown.Column, shown.Length))
	}
	note := func(label, text string) {
		if text != "" {
			fmt.Fprintf(v.stderr, "      = %s: %s\n", label, display.Clean(text))
		}
	}
	note("note", p.Detail)
	if remedy {
		note("remedy", p.Remedy())
	}
}

// print prints the checks that ran on a template without errors.
func (one *validation) print(t *terminal) {
	resources := 0
	if one.template != nil {
		resources = len(one.template.Resources)
	}
	noun := "resources"
	if resources == 1 {
		noun = "resource"
	}
	if one.template != nil && (one.template.Unprocessed() || one.template.Outlined()) {
		fmt.Fprintf(t.stdout, "%s: no errors found before its transforms are applied\n", display.Clean(one.file.Name))
	} else {
		fmt.Fprintf(t.stdout, "%s: no errors in its %d %s\n", display.Clean(one.file.Name), resources, noun)
	}
	for _, p := range one.providers {
		switch {
		case p.Schema:
			fmt.Fprintf(t.stdout, "  checked with the schema of provider %s\n", p.Name)
		case p.failed:
			fmt.Fprintf(t.stdout, "  not checked with the schema of provider %s: it could not be printed\n", p.Name)
		default:
			fmt.Fprintf(t.stdout, "  provider %s has no schema here: %s\n", p.Name, p.Reason)
		}
	}
	if len(one.open) > 0 {
		fmt.Fprintf(t.stdout, "  unknown, and dependent values were not checked: %s\n", strings.Join(one.open, ", "))
	}
}
