package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
)

// submission is a submitted template with the external inputs of its macros.
type submission struct {
	text string
	// t is the template. It is nil if the macros have to run first; raw is then the unexpanded template.
	t   *template.Template
	raw *template.Unexpanded
	// functions are the service tokens of the macros that it calls, by their names in the template.
	functions map[string]string
	// snippets are the texts for AWS::Include, by location.
	snippets map[string]string
	// problem explains why the macros cannot run, in CloudFormation's words; "" if they can.
	problem string
}

// submit reads a template for an account and region. It looks up the macros that the template names; snippets are
// fetched when their locations are known.
func (c Checker) submit(ctx context.Context, dialect Dialect, account, region, text string) (*submission, error) {
	if dialect.language() != template.CloudFormation { // only CloudFormation has macros
		t, err := c.env.parse(dialect, text)
		return &submission{text: text, t: t}, err
	}
	raw, err := template.ReadUnexpanded(text, c.env.parsed.limits)
	if template.BadCall(err) {
		return nil, refused(dialect, err)
	}
	if err != nil || !raw.Calls(true) {
		t, err := c.env.parse(dialect, text)
		return &submission{text: text, t: t}, err
	}
	s := &submission{text: text, raw: raw, functions: map[string]string{}, snippets: map[string]string{}}
	if err := raw.Check(); err != nil {
		return nil, refused(dialect, err)
	}
	if c.env.serverless { // another macro may return something that it expands
		s.functions[template.Serverless] = store.ServedMacro(template.Serverless)
	}
	for _, name := range raw.Macros() {
		function, err := c.macro(ctx, account, region, name)
		switch {
		case errors.Is(err, store.ErrNotFound) && name == template.Serverless:
			return nil, invalid(noServerless)
		case errors.Is(err, store.ErrNotFound):
			if s.problem == "" {
				s.problem = "No transform named " + transformID(account, name) + " found."
			}
		case err != nil:
			return nil, fmt.Errorf("look for the macro %s: %w", name, err)
		default:
			s.functions[name] = function
		}
	}
	return s, nil
}

// noServerless rejects a template on a server without functions.
const noServerless = "Template format error: this server does not expand the transform " + template.Serverless +
	". Start it with --run-functions, which runs the functions of templates."

// macro returns the service token of a macro: one of the server's own, or one that a stack created. The error is
// [store.ErrNotFound] if it does not exist.
func (c Checker) macro(ctx context.Context, account, region, written string) (string, error) {
	if written == template.Serverless && c.env.serverless {
		return store.ServedMacro(written), nil
	}
	of, name, ok := template.SplitMacro(written)
	if !ok {
		return "", store.ErrNotFound
	}
	if of == "" || of == account {
		of = account
		served := store.ServedMacro(name)
		if _, err := c.store.Provider(ctx, served); !errors.Is(err, store.ErrNotFound) {
			return served, err
		}
	}
	row, err := c.store.Provider(ctx, store.HeldMacro(of, region, name))
	if err != nil {
		return "", err
	}
	var m store.Macro
	if err := json.Unmarshal(row.Definition, &m); err != nil {
		return "", err
	}
	return m.Function, nil
}

// transformID returns the full name of a macro, with its account.
func transformID(account, written string) string {
	if strings.Contains(written, "::") {
		return written
	}
	return account + "::" + written
}

// acknowledged rejects a template with macros that the client has not acknowledged. A change set needs no such
// acknowledgement, because it shows the result of the macros.
func (s *submission) acknowledged(dialect Dialect, capabilities []string) error {
	switch {
	case !dialect.rules().consents:
		return nil
	case s.raw == nil:
		return checkCapabilities(s.t, capabilities)
	case !slices.Contains(capabilities, capabilityAutoExpand):
		return requires(capabilityAutoExpand)
	}
	return nil
}

// usable rejects a template whose macros cannot run.
func (s *submission) usable() error {
	if s.problem != "" {
		return invalid(s.problem)
	}
	return nil
}

// description returns the template's description, as far as it is known.
func (s *submission) description() string {
	if s.t == nil {
		return s.raw.Description
	}
	return s.t.Description
}

// mostSnippets is the maximum total size of a template's snippets in bytes. The limit is Pintle's own; a larger
// template would be too long.
const mostSnippets = 4_000_000

// fetch adds a snippet to the submission.
func (s *submission) fetch(ctx context.Context, snippet func(context.Context, string) (string, error), location string) error {
	const failed = "Transform AWS::Include failed with: "
	if snippet == nil {
		s.problem = failed + "The location parameter is not a valid S3 uri."
		return nil
	}
	text, err := snippet(ctx, location)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		s.problem = failed + err.Error()
		return nil //nolint:nilerr // it is reported with the template's other problems
	}
	size := len(text)
	for _, other := range s.snippets {
		size += len(other)
	}
	if size > mostSnippets {
		s.problem = fmt.Sprintf("%sthe snippets of the template are more than %d bytes together.", failed, mostSnippets)
		return nil
	}
	s.snippets[location] = text
	return nil
}
