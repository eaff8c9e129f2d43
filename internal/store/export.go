package store

import (
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// Export is a name under which a stack exports one of its outputs to other stacks.
type Export struct {
	// Name is unique among the exports of an account and region.
	Name string
	// Output is the key of the output, whose value is in the stack's OutputValues.
	Output string
}

// Exported is an export as other stacks see it, or the name of a missing export.
type Exported struct {
	Name string
	// Stack is the exporting stack; 0 for a missing export, and the other fields are then empty.
	Stack   StackKey
	StackID wire.StackID
	// StackName is the name of that stack.
	StackName string
	// Value is the value of the output; it is secret if the output's value is.
	Value value.Value
	// Importers are the names of the stacks that import it, sorted; in views only.
	Importers []string
}

// NewExported returns the export of a stack with the value of its output.
func NewExported(e Export, of *Stack) Exported {
	v, _ := of.OutputValues.Get(e.Output)
	return Exported{Name: e.Name, Stack: of.Key, StackID: of.ID, StackName: of.Name, Value: v}
}

// Home returns the account and region of a decision: those of its stack, or of the name under which it may create one.
func (t Target) Home(s *Stack) (account, region string) {
	if s.Key == 0 {
		return t.Name.Account, t.Name.Region
	}
	return s.Account, s.Region
}

// ErrExport returns the error of a decision that exports another stack's export, ends an imported one, or imports a
// missing one. The decision should have noticed. It is for implementations of [Store].
func ErrExport(name string) error {
	return fmt.Errorf("export %q: it is another stack's, is in use, or is not there, and the decision does as if not", name)
}

// checkExports returns an error for exports and imports that no decision may write.
func (d *Delta) checkExports() error {
	seen := make(map[string]bool)
	if d.Exports != nil {
		for _, e := range *d.Exports {
			if e.Name == "" || e.Output == "" || seen[e.Name] {
				return fmt.Errorf("export %q of output %q: it needs both, and a stack exports a name once", e.Name, e.Output)
			}
			seen[e.Name] = true
		}
	}
	if d.Imports != nil {
		clear(seen)
		for _, name := range *d.Imports {
			if name == "" || seen[name] {
				return fmt.Errorf("import %q: it needs a name, and is imported once", name)
			}
			seen[name] = true
		}
	}
	return nil
}
