package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// PreviewStack is the input of [Planner.Preview].
type PreviewStack struct {
	Options
	Stack    Ref
	Template string
	// Dialect is the dialect of a stack that does not exist yet; nil means [CloudFormation].
	Dialect Dialect
	// Replace and Taint are options of the update, see [UpdateStack].
	Replace bool
	Taint   []wire.LogicalID
	// Ask asks the providers of custom resources what they would do, see [Config.Plans].
	Ask bool
	// Again is an option of the update too, see [UpdateStack]. It has no effect on a create.
	Again []wire.LogicalID
}

// Preview is the effect that a create or an update would have. It contains no secrets.
type Preview struct {
	// Kind is KindCreate for a stack that does not exist, and KindUpdate for one that does.
	Kind store.Kind `json:"kind"`
	// Unchanged means that the update would change nothing.
	Unchanged bool `json:"unchanged,omitempty"`
	// Changes are the changes of resources. There may be none even if the update would change outputs or tags.
	Changes []plan.Change `json:"changes"`
	// Again are the custom resources that would get an Update because of [PreviewStack].Again, sorted. Servers of earlier versions
	// ignore that option, and return none.
	Again []wire.LogicalID `json:"again,omitempty"`
}

// Preview plans a create or an update of a stack without starting it. It stores nothing, and asks providers only with Ask. A stack
// whose create was rolled back counts as missing. Errors that the client can fix are of type [Error].
func (p Planner) Preview(ctx context.Context, in PreviewStack) (Preview, error) {
	dialect := dialectFor(in.Dialect, in.Stack)
	in.replace, in.taint, in.again = in.Replace, in.Taint, in.Again
	if in.Ask {
		var stop context.CancelFunc
		in.asking, stop = p.asking(ctx)
		defer stop()
	}
	if raw, err := template.ReadUnexpanded(in.Template, p.env.parsed.limits); err == nil && slices.Contains(raw.Macros(), template.Serverless) {
		return Preview{}, afterMacros(raw) // also on a server that does not expand it
	}
	s, err := Checker(p).submit(ctx, dialect, in.Stack.Account, in.Stack.Region, in.Template)
	switch {
	case err != nil:
		return Preview{}, err
	case s.problem != "":
		return Preview{}, invalid(s.problem)
	case s.raw != nil && s.raw.Calls(false):
		return Preview{}, afterMacros(s.raw)
	}
	name := store.StackName{Account: in.Stack.Account, Region: in.Stack.Region, Name: in.Stack.Stack}
	target := store.Target{Name: name}
	if in.Stack.ByID || strings.HasPrefix(in.Stack.Stack, "arn:") {
		if target, err = p.target(ctx, in.Stack); err != nil {
			return Preview{}, err
		}
	}
	var result Preview
	draw := func(d *decision) error {
		d.useDialect(dialect)
		if err := s.usable(); err != nil {
			return err
		}
		kind := store.KindUpdate
		if (drafts{d}).absent() {
			if d.stack.Key != 0 {
				name.Name = d.stack.Name
			}
			// Only the form of the new stack's ID is known.
			id := d.dialect.stackID(name, plan.Unknown)
			if d.dialect == ROS { // it is the whole ID, and names are made from it
				id = d.dialect.stackID(name, plan.UnknownUUID)
			}
			d.stack = store.Stack{ID: id, Account: name.Account, Region: name.Region, Name: name.Name}
			kind = store.KindCreate
		} else if err := (update{d}).check(in.DisableRollback); err != nil {
			return err
		}
		var before *store.Revision
		if kind == store.KindUpdate {
			inForce := d.revisionInForce()
			before = &inForce
		}
		expanded, err := transforms{d}.expand(s, &in.Options, before)
		if err != nil {
			return err
		}
		drawn, err := drafts{d}.draw(&in.Options, kind, expanded, in.Template)
		if err != nil {
			return err
		}
		result = Preview{Kind: kind, Unchanged: drawn.unchanged, Changes: append([]plan.Change{}, drawn.changes...)}
		if kind == store.KindUpdate {
			result.Again = in.forced
		}
		return errDrawn
	}
	for err = p.apply(ctx, target, draw); errors.Is(err, errQuestions) && ctx.Err() == nil; err = p.apply(ctx, target, draw) {
		in.asking.ask()
	}
	if errors.Is(err, errDrawn) {
		err = nil
	}
	return result, err
}

// afterMacros rejects the preview of a template with macros.
func afterMacros(raw *template.Unexpanded) error {
	return invalid("What this template would change is known only when its macros have run: [" + strings.Join(raw.Macros(), ", ") +
		"]. Create a change set, which runs them.")
}

// errDrawn ends a decision whose result must not be written.
var errDrawn = errors.New("nothing is to be written")
