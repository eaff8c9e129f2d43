package engine

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
)

// expanded is a template that is expanded as far as possible without calling a macro.
type expanded struct {
	// t is the template of the stack, and processed is its text if that differs from the submitted one.
	t         *template.Template
	processed string
	// call is the next macro to call, and raw the template that calls it; t is then nil.
	call *template.Transform
	raw  *template.Unexpanded
	// scope has the parameters that macros get.
	scope *template.Scope
}

// transforms expands the transforms of a template, up to its next macro.
type transforms struct{ *decision }

// ofRevision returns the template of a revision for an operation without a template of its own; t is the current one.
// In ROS it expands counted resources again, with the operation's parameters.
func (d transforms) ofRevision(before *store.Revision, t *template.Template) (expanded, error) {
	language := d.dialect.language()
	if language == template.CloudFormation || before.Processed == "" {
		return expanded{t: t, processed: before.Processed}, nil
	}
	submitted, err := d.parsed.submitted(language, before)
	return expanded{t: submitted}, err
}

// expand expands a submitted template as far as possible. It fails with [needSnippets] if snippets are missing.
// before is the previous revision, or nil.
func (d transforms) expand(s *submission, in *Options, before *store.Revision) (expanded, error) {
	if s.raw == nil {
		return expanded{t: s.t}, nil
	}
	scope, err := d.bind(in, s.raw, before)
	if err != nil {
		return expanded{}, err
	}
	// Fetch all of them now, including those that are included after macros have run.
	need := &needSnippets{of: s}
	for _, call := range s.raw.All() {
		if !call.Include() {
			continue
		}
		location, err := call.Location(scope)
		if err != nil {
			return expanded{}, refused(d.dialect, err)
		}
		if _, ok := s.snippets[location]; !ok && !slices.Contains(need.locations, location) {
			need.locations = append(need.locations, location)
		}
	}
	if need.locations != nil {
		return expanded{}, need
	}
	return d.expandFrom(s.raw, scope, s.snippets)
}

// bind computes the values of the parameters of a template whose macros have not run.
func (d transforms) bind(in *Options, raw *template.Unexpanded, before *store.Revision) (*template.Scope, error) {
	inputs, revision, previous := binding(d).inputs(in, before)
	t := raw.Outline()
	outside, err := binding(d).stored(in, t, inputs, previous, before)
	if err != nil {
		return nil, err
	}
	scope, err := t.BindWith(inputs, previous, pseudoOf(&d.stack, &revision), outside)
	return scope, binding(d).refused(err)
}

// expandFrom expands everything that needs no macro, up to the next macro.
func (d transforms) expandFrom(raw *template.Unexpanded, scope *template.Scope, snippets map[string]string) (expanded, error) {
	for {
		call := raw.Next()
		switch {
		case call == nil, !raw.Calls(true):
			text := raw.Text()
			t, err := d.parse(d.dialect, text)
			return expanded{t: t, processed: text, scope: scope}, err
		case call.Macro():
			return expanded{call: call, raw: raw, scope: scope}, nil
		case !call.Include():
			next, err := raw.Extended(scope)
			if err != nil {
				return expanded{}, refused(d.dialect, err)
			}
			raw = next
			continue
		}
		location, err := call.Location(scope)
		if err != nil {
			return expanded{}, refused(d.dialect, err)
		}
		text, ok := snippets[location]
		if !ok {
			return expanded{}, invalid("Transform AWS::Include failed with: its Location has become another one while macros ran.")
		}
		fragment, err := call.Included(text)
		if err == nil {
			raw, err = raw.Replaced(call, fragment)
		}
		if err != nil {
			return expanded{}, refused(d.dialect, err)
		}
	}
}
