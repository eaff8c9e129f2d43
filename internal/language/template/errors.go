package template

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one thing that is wrong with a template or with what was passed for it.
type Error struct {
	// Message is the text CloudFormation would answer, where that is known; else ours in its manner. It never holds a
	// parameter's value.
	Message string
	// Answer is what the service answers to a call that is refused for this, if that says less than Message; "" if it does not.
	Answer string
	// Detail explains more than CloudFormation does; "" if there is nothing to add.
	Detail string
	// Code is the class of the error in the spelling of ROS, e.g. InvalidTemplateReference; "" in templates of CloudFormation.
	Code string
	// Path is the place in the template, e.g. "/Resources/Site/Properties/Name"; "" for the template as a whole.
	Path string
	// Line and Column are the place in the text, counted from 1, the column in characters. Column is 0 when only the line
	// is known, both are 0 when the error is about no place in the text.
	Line, Column int
}

// Error returns the Message alone.
func (e *Error) Error() string { return e.Message }

// Describe returns everything there is to say in one line: place, message, detail.
func (e *Error) Describe() string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "%d:", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, "%d:", e.Column)
		}
		b.WriteByte(' ')
	}
	b.WriteString(e.Message)
	if e.Path != "" && !strings.Contains(e.Message, "["+e.Path+"]") {
		fmt.Fprintf(&b, " [%s]", e.Path)
	}
	if e.Detail != "" {
		fmt.Fprintf(&b, " (%s)", e.Detail)
	}
	return b.String()
}

// Errors is everything found wrong at once, never empty when it is returned as an error.
type Errors []*Error

// Error returns the message of the first problem, as CloudFormation reports one at a time. Range over the Errors for
// all of them.
func (e Errors) Error() string {
	if len(e) == 0 {
		return "no errors"
	}
	return e[0].Message
}

// Unwrap returns every problem, for errors.As.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// orNil returns e as an error that is nil when nothing is wrong.
func (e Errors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// sort puts the problems in the order of the text.
func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b *Error) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
}

// path names a place in a template while it is walked.
type path []string

func (p path) String() string {
	if len(p) == 0 {
		return ""
	}
	return "/" + strings.Join(p, "/")
}

// to returns the path of a child; the receiver stays as it is.
func (p path) to(keys ...string) path { return append(slices.Clip(p), keys...) }

// problems collects what is wrong; its zero value is ready.
type problems struct {
	found Errors
	// tried is how much work it was to try out patterns and scripts that stand in the text.
	tried int
}

// maxTried bounds that work to some tenths of a second. Errors in the remaining ones are found when they are
// evaluated.
const maxTried = 1 << 20

// try reports whether something is to be tried out that is so much work.
func (p *problems) try(work int) bool {
	if p.tried > maxTried {
		return false
	}
	p.tried += work
	return true
}

// maxProblems bounds what one text can make us say.
const maxProblems = 100

// at adds a problem at a node.
func (p *problems) at(n Node, where path, format string, args ...any) {
	p.add(&Error{Message: fmt.Sprintf(format, args...), Path: where.String(), Line: n.line, Column: n.column})
}

// key adds a problem at the key of a member.
func (p *problems) key(m Member, where path, format string, args ...any) {
	p.add(&Error{Message: fmt.Sprintf(format, args...), Path: where.String(), Line: m.line, Column: m.column})
}

func (p *problems) add(e *Error) {
	if len(p.found) < maxProblems {
		p.found = append(p.found, e)
	}
}

// explain says more of the problem that was added last.
func (p *problems) explain(detail string) { p.found[len(p.found)-1].Detail = detail }
