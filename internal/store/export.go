package store

import (
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// Export is a name under which a stack offers one of its outputs to other stacks.
type Export struct {
	// Name is unique among what the stacks of an account and region export.
	Name string
	// Output is the key of the output, whose value is in the stack's OutputValues.
	Output string
}

// Exported is what is known of the name of an export.
type Exported struct {
	Name string
	// Stack is who exports it, 0 if no one does; then the other fields are empty.
	Stack   StackKey
	StackID wire.StackID
	// StackName is the name of that stack.
	StackName string
	// Value is the output's; it is secret if that is.
	Value value.Value
	// Importers are the names of the stacks that import it, sorted; in views only.
	Importers []string
}

// NewExported returns what a stack exports under a name.
func NewExported(e Export, of *Stack) Exported {
	v, _ := of.OutputValues.Get(e.Output)
	return Exported{Name: e.Name, Stack: of.Key, StackID: of.ID, StackName: of.Name, Value: v}
}

// Home returns the account and the region that a decision is about: those of its stack, or of the name that it may make one
// of.
func (t Target) Home(s *Stack) (account, region string) {
	if s.Key == 0 {
		return t.Name.Account, t.Name.Region
	}
	return s.Account, s.Region
}

// ErrExport returns the error of a decision that exports what another stack does, ends an export that is imported, or
// imports what no one exports: which it should have seen. For implementations of [Store].
func ErrExport(name string) error {
	return fmt.Errorf("export %q: it is another stack's, is in use, or is not there, and the decision does as if not", name)
}

// checkExports reports exports and imports that no decision may write.
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
