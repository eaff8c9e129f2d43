package template

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one problem with a template or its inputs.
type Error struct {
	// Message is CloudFormation's text where that is known; otherwise it is ours in the same style. It never contains a
	// parameter's value.
	Message string
	// Answer is the service's answer to a call that is rejected for this problem, if it says less than Message;
	// otherwise "".
	Answer string
	// Detail explains more than CloudFormation does; may be "".
	Detail string
	// Code is the class of the error in the spelling of ROS, e.g. InvalidTemplateReference; "" in templates of
	// CloudFormation.
	Code string
	// Path is the place in the template, e.g. "/Resources/Site/Properties/Name"; "" for the template as a whole.
	Path string
	// Line and Column are the position in the text, counted from 1, the column in characters. Column is 0 if only the
	// line is known. Both are 0 if the error is not about a position in the text.
	Line, Column int
}

// Error returns the Message alone.
func (e *Error) Error() string { return e.Message }

// Describe returns the whole problem in one line: position, message, detail.
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

// Errors is a list of problems. It is never empty when it is returned as an error.
type Errors []*Error

// Error returns the message of the first problem, because CloudFormation reports one at a time. Range over the Errors
// for all of them.
func (e Errors) Error() string {
	if len(e) == 0 {
		return "no errors"
	}
	return e[0].Message
}

// Unwrap returns every problem, so that errors.As finds them.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// orNil returns e as an error, or nil if e is empty.
func (e Errors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// sort sorts the problems by position in the text.
func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b *Error) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
}

// path is a place in a template during a walk.
type path []string

func (p path) String() string {
	if len(p) == 0 {
		return ""
	}
	return "/" + strings.Join(p, "/")
}

// to returns the path of a child; the receiver stays unchanged.
func (p path) to(keys ...string) path { return append(slices.Clip(p), keys...) }

// problems collects problems; its zero value is ready for use.
type problems struct {
	found Errors
	// tried is the work spent so far on trying out patterns and scripts in the text.
	tried int
}

// maxTried limits that work to some tenths of a second. Errors in the remaining patterns and scripts are found when
// they are evaluated.
const maxTried = 1 << 20

// try reports whether to try out a pattern or script that needs this much work.
func (p *problems) try(work int) bool {
	if p.tried > maxTried {
		return false
	}
	p.tried += work
	return true
}

// maxProblems limits the number of problems for one text.
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

// explain sets the detail of the last added problem.
func (p *problems) explain(detail string) { p.found[len(p.found)-1].Detail = detail }
