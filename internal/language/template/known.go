package template

import (
	"errors"
	"strconv"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// NewPartial returns a scope for checks before resources exist, in which every parameter has a value and every
// condition is decided. t is processed.
func NewPartial(t *Template, s *Scope) *Partial {
	return &Partial{template: t, scope: s, open: make(map[string]bool), undecided: make(map[string]bool)}
}

// maxLooked limits the total size in bytes of the function results in [Partial.Problems]. Later functions are evaluated
// only with their resource. Source: ours; a call waits for it.
const maxLooked = 4 * MaxEvaluated

// Problems returns the errors of functions in properties and metadata of resources and in outputs, as far as their
// values are known before resources exist. They are in the order of the text.
func (p *Partial) Problems() Errors {
	l := &look{partial: p}
	for _, r := range p.Resources() {
		l.inner(r.Properties, path{"Resources", r.LogicalID, "Properties"})
		l.inner(r.Metadata, path{"Resources", r.LogicalID, "Metadata"})
	}
	for _, o := range p.Outputs() {
		l.node(o.Value, path{"Outputs", o.Key, "Value"})
		if !o.ExportName.IsZero() {
			l.node(o.ExportName, path{"Outputs", o.Key, "Export", "Name"})
		}
	}
	l.found.sort()
	return l.found
}

// look is one run of [Partial.Problems].
type look struct {
	problems
	partial *Partial
	spent   int // size of the function results
}

func (l *look) node(n Node, where path) {
	if l.spent > maxLooked {
		return
	}
	e := &evaluation{scope: l.partial.scope}
	literal, _, known, err := l.partial.look(e, n)
	l.spent += e.spent
	if templateErr, ok := errors.AsType[*Error](err); ok {
		failed := *templateErr
		failed.Path = where.String()
		if failed.Line == 0 {
			failed.Line, failed.Column = n.line, n.column
		}
		l.add(&failed)
		return
	}
	if err == nil && known && !literal.IsZero() {
		l.inner(literal, where)
	}
}

func (l *look) inner(n Node, where path) {
	if n.kind == value.Map {
		if _, _, call := n.call(); call {
			l.node(n, where)
			return
		}
	}
	for i, item := range n.items {
		l.node(item, where.to(strconv.Itoa(i)))
	}
	for _, m := range n.members {
		l.node(m.Value, where.to(m.Key))
	}
}
