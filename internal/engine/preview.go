package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// PreviewStack is what it takes to say what a create or an update of a stack would do.
type PreviewStack struct {
	Options
	Stack    Ref
	Template string
	// Dialect is whose stack it would be if there is none; nil is [CloudFormation].
	Dialect Dialect
	// Replace and Taint are those of the update, see [UpdateStack].
	Replace bool
	Taint   []wire.LogicalID
}

// Preview is what a create or an update would do. It holds no secret.
type Preview struct {
	// Kind is KindCreate for a stack that is not there, KindUpdate for one that is.
	Kind store.Kind `json:"kind"`
	// Unchanged says that there is nothing for which the stack would be updated.
	Unchanged bool `json:"unchanged,omitempty"`
	// Changes are those of resources. There may be none though the stack would be updated: of its outputs or tags.
	Changes []plan.Change `json:"changes"`
}

// Preview returns what it would come to if the stack was created or updated so. It asks no provider and leaves nothing
// behind. A stack whose create was rolled back counts as one that is not there. Errors that the client can fix are of
// type [Error].
func (p Planner) Preview(ctx context.Context, in PreviewStack) (Preview, error) {
	dialect := dialectFor(in.Dialect, in.Stack)
	in.replace, in.taint = in.Replace, in.Taint
	s, err := Checker(p).submit(ctx, dialect, in.Stack.Account, in.Stack.Region, in.Template)
	switch {
	case err != nil:
		return Preview{}, err
	case s.problem != "":
		return Preview{}, invalid(s.problem)
	case s.raw != nil && s.raw.Calls(false):
		return Preview{}, invalid("What this template would change is known only when its macros have run: [" +
			strings.Join(s.raw.Macros(), ", ") + "]. Create a change set, which runs them.")
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
			// The id that the stack is going to have is not known, but for its form.
			id := d.dialect.stackID(name, plan.Unknown)
			if d.dialect == ROS { // it is all of the id, and names are made of it
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
		return errDrawn
	}
	err = p.apply(ctx, target, draw)
	if errors.Is(err, errDrawn) {
		err = nil
	}
	return result, err
}

// errDrawn ends a decision that was only to be looked at.
var errDrawn = errors.New("nothing is to be written")
