package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// The simulated stack has neighbours: "Net" has exports for it, and "App" imports from it. They only have outputs, so
// their operations finish with the calls that start them.

const (
	exporter = "Net"
	importer = "App"
	// netExports is the number of names that the exporter may export.
	netExports = 3
)

func netExport(n int) string { return fmt.Sprint("net-", n) }

// exportOf returns the export name for a resource's ID.
func exportOf(logical string) string { return "of-" + logical }

// neighbour creates, updates or deletes one of the neighbours.
func (s *sim) neighbour(name string) {
	ref := engine.Ref{Account: account, Region: region, Stack: name}
	var outputs [][3]string
	if name == exporter {
		for n := range netExports {
			if s.chance(80) {
				outputs = append(outputs, [3]string{fmt.Sprint("O", n), fmt.Sprintf("%q", fmt.Sprint("value-", s.rng.IntN(2))), netExport(n)})
			}
		}
		if s.chance(5) {
			outputs = append(outputs, [3]string{"Taken", `"x"`, exportOf("RA")})
		}
	} else {
		for _, from := range []string{exportOf("RA"), exportOf("RB"), netExport(0)} {
			if s.chance(50) {
				outputs = append(outputs, [3]string{fmt.Sprint("O", len(outputs)), imported(from), ""})
			}
		}
	}
	outputs = append(outputs, [3]string{"Own", fmt.Sprintf("%q", fmt.Sprint(s.rng.IntN(1000))), ""})
	template := still(outputs...)
	stack, err := s.rows.LiveStack(context.Background(), store.StackName{Account: account, Region: region, Name: name})
	there := err == nil
	c := simCall{note: "neighbour " + name + ": " + template}
	switch {
	case there && (s.chance(10) || stack.Kind == store.KindCreate && stack.Phase == store.PhaseReverted):
		c.note = "neighbour " + name + " goes"
		c.call = func(e *engine.Engine) error {
			_, err := e.Delete(context.Background(), engine.DeleteStack{Stack: ref})
			return err
		}
	case there:
		c.call = func(e *engine.Engine) error {
			_, err := e.Update(context.Background(), engine.UpdateStack{Stack: ref, Template: template})
			return err
		}
	default:
		c.call = func(e *engine.Engine) error {
			_, err := e.Create(context.Background(), engine.CreateStack{
				Name: store.StackName{Account: account, Region: region, Name: name}, Template: template,
			})
			return err
		}
	}
	s.call(c)
	if now, err := s.rows.LiveStack(context.Background(), store.StackName{Account: account, Region: region, Name: name}); err == nil {
		s.count("neighbour: " + engine.CloudFormation.StackStatus(now.Kind, now.Phase))
		if !now.Phase.Final() {
			s.breaks(itEnds, "the neighbour %s has nothing to wait for, and is %s", name, now.Phase)
		}
	}
}

// trade makes a call for one of the neighbours.
func (s *sim) trade() { s.neighbour([]string{exporter, importer}[s.rng.IntN(2)]) }

// quit deletes the importer, so that the stack can be deleted.
func (s *sim) quit() {
	ref := engine.Ref{Account: account, Region: region, Stack: importer}
	s.call(simCall{note: "neighbour " + importer + " quits", call: func(e *engine.Engine) error {
		_, err := e.Delete(context.Background(), engine.DeleteStack{Stack: ref})
		return err
	}})
}

// exportsNow returns all exports by name, with their importers.
func (s *sim) exportsNow() map[string]store.Exported {
	ctx := context.Background()
	list, err := s.rows.Exports(ctx, account, region, "", 1000)
	s.must(err)
	exports := make(map[string]store.Exported, len(list))
	for _, e := range list {
		e.Importers, err = s.rows.Importers(ctx, account, region, e.Name, "", 1000)
		s.must(err)
		exports[e.Name] = e
	}
	return exports
}

// checkTrade checks that every stack has its imports, and that its exports match its outputs.
func (s *sim) checkTrade() {
	ctx := context.Background()
	exports := s.exportsNow()
	stacks, err := s.rows.Stacks(ctx, account, region, false, 0, 10)
	s.must(err)
	exported := map[string]bool{}
	for _, stack := range stacks {
		op, err := s.rows.Operation(ctx, stack.Key, stack.Operation)
		s.must(err)
		held := map[string]bool{}
		for _, number := range inPlay(&stack, &op) {
			revision, err := s.rows.Revision(ctx, stack.Key, number)
			s.must(err)
			for name, v := range template.NewOutside(revision.Outside).Imports {
				held[name] = true
				s.checkImport(stack.Name, exports[name], name, v)
			}
		}
		for name, e := range exports {
			if slices.Contains(e.Importers, stack.Name) && !held[name] && op.Phase.Final() && op.Kind != store.KindDelete {
				s.breaks(traded, "%s is %s, and holds %s, which it does not import", stack.Name, op.Phase, name)
			}
		}
		if op.Kind == store.KindDelete {
			continue
		}
		for _, o := range stack.Outputs {
			if e := exports[o.ExportName]; o.ExportName != "" && e.Stack != stack.Key {
				s.breaks(traded, "%s has an output that exports %s, which is %+v", stack.Name, o.ExportName, e)
			}
			exported[o.ExportName] = true
		}
	}
	for name, e := range exports {
		if !exported[name] {
			s.breaks(traded, "%s exports %s, but has no such output or is being deleted", e.StackName, name)
		}
	}
}

// inPlay returns the revisions that a stack uses, or may go to or back to.
func inPlay(stack *store.Stack, op *store.Operation) []int {
	numbers := append([]int{op.From, op.To}, op.Tried...)
	switch {
	case op.Kind == store.KindDelete, op.Phase == store.PhaseReverted && op.Kind == store.KindCreate, op.Call == store.CallReview:
		return nil // the exports end when a delete starts, and a rolled-back create has none
	case op.Phase == store.PhaseSucceeded, op.Phase == store.PhaseReverted:
		numbers = []int{stack.Revision}
	}
	return slices.DeleteFunc(numbers, func(number int) bool { return number == 0 })
}

func (s *sim) checkImport(by string, e store.Exported, name string, v value.Value) {
	switch {
	case e.Stack == 0:
		s.breaks(traded, "%s imports %s, which no longer exists", by, name)
	case !e.Value.Equal(v):
		s.breaks(traded, "%s imports %s as %s, and it is %s", by, name, v, e.Value)
	case !slices.Contains(e.Importers, by):
		s.breaks(traded, "%s imports %s, but the import is not recorded", by, name)
	}
}

// inUse reports whether a stack imports one of the stack's exports.
func (s *sim) inUse() bool {
	for _, e := range s.exportsNow() {
		if e.Stack == s.row().Key && len(e.Importers) > 0 {
			return true
		}
	}
	return false
}

// countTrade counts an event about exports and imports for coverage.
func (s *sim) countTrade(e store.Event) {
	for text, what := range map[string]string{
		"No export named": "import of a missing export", "cannot be updated as it is in use": "export in use changed",
		"cannot be deleted as it is in use": "export in use removed", "is already exported": "export taken", "Delete canceled": "delete of exports in use",
	} {
		if strings.Contains(e.Reason, text) {
			s.count(what)
		}
	}
}

// keptFrom reports whether an error says that the stack cannot be deleted because of its exports.
func keptFrom(err error) bool {
	var input *engine.Error
	return errors.As(err, &input) && strings.HasPrefix(input.Message, "Delete canceled.")
}
