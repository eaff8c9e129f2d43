package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// maxNestedChangeSets is the maximum number of change sets that one with IncludeNested creates, on all levels. The
// limit is Pintle's own.
const maxNestedChangeSets = 100

// NestedTemplate fetches the template of a nested stack, as its resource will do when it is created or updated. It is
// called outside of decisions, and may be slow.
type NestedTemplate func(ctx context.Context, account, region, url string) (string, error)

// planning is the shared state while the change sets of a tree of stacks are created.
type planning struct {
	root store.ChangeSetID
	// parent is the change set that the next one belongs to.
	parent store.ChangeSetID
	// left is the number of change sets that may still be created.
	left *int
	// above are the templates that the stack is nested in.
	above []string
	// asking asks the providers of all stacks of the tree, in one period of time; nil if none is asked.
	asking *asking
}

// asked returns what asks the providers for a change set of the tree; nil for a set that is created by itself.
func (f *planning) asked() *asking {
	if f == nil || f.asking == nil {
		return nil
	}
	f.asking.rounds = 0
	return f.asking
}

// errNoChildChanges means that a nested stack has no changes.
var errNoChildChanges = errors.New("the nested stack has no changes")

// childImportError means that a nested stack cannot import a resource.
type childImportError struct{ text string }

func (e *childImportError) Error() string { return e.text }

// planNested creates the change sets of the stacks nested in a change set's stack, and records them in the set. A
// nested stack gets none if its changes are not known yet, because its template cannot be fetched or its parameters
// depend on resources that do not exist. It is planned when the change set is executed, as without IncludeNested. A
// crash leaves change sets that no other one refers to; each can be deleted on its own.
func (p Planner) planNested(ctx context.Context, in *CreateChangeSet, id store.ChangeSetID) error {
	if p.nestedTemplate == nil || in.drawn == nil {
		return nil
	}
	set, err := p.store.ChangeSet(ctx, id)
	if err != nil || set.State != store.ChangeSetAvailable || set.Nested != nil {
		return err
	}
	parent, err := p.store.Stack(ctx, set.StackID)
	if err != nil {
		return err
	}
	family := in.family
	if family == nil {
		left := maxNestedChangeSets
		family = &planning{root: id, left: &left, asking: in.asking}
	}
	var nested []store.NestedChangeSet
	same := map[string]bool{}
	open := false
	for i := range in.drawn.changes {
		c := &in.drawn.changes[i]
		if !p.env.isNested(c.Type) || c.Action == plan.Remove {
			continue
		}
		child, err := p.planChild(ctx, in, &set, &parent, c, planning{root: family.root, parent: id, left: family.left, above: family.above, asking: family.asking})
		impossible, _ := errors.AsType[*childImportError](err)
		switch {
		case impossible != nil:
			in.drawn.imports.problem = impossible.text
			p.dropNested(ctx, nested)
			return p.apply(ctx, store.Target{Stack: parent.Key}, func(d *decision) error { return nestedChangeSets{d}.fail(&set, impossible.text) })
		case errors.Is(err, errNoChildChanges) && automatic(c):
			same[c.LogicalID] = true
		case err != nil:
			open = open || !errors.Is(err, errNoChildChanges)
			p.log.Debug("a nested stack is planned when the change set is executed", "set", id, "resource", c.LogicalID, "error", err)
		default:
			nested = append(nested, store.NestedChangeSet{Logical: wire.LogicalID(c.LogicalID), ID: child.ID, Stack: child.StackID})
		}
	}
	if nested == nil && len(same) == 0 {
		return nil
	}
	err = p.apply(ctx, store.Target{Stack: parent.Key}, func(d *decision) error {
		return nestedChangeSets{d}.add(&set, nested, same, in.drawn.quiet && nested == nil && !open)
	})
	if err != nil || len(nested) == 0 {
		return err
	}
	now, err := p.store.ChangeSet(ctx, id)
	if err == nil && now.Nested != nil {
		return nil
	}
	p.dropNested(ctx, nested) // it was deleted or executed in the meantime
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// automatic reports whether a nested stack is among the changes only because it may have changes of its own.
func automatic(c *plan.Change) bool {
	return c.Action == plan.Modify && !slices.ContainsFunc(c.Details, func(d plan.Detail) bool { return d.Source != plan.Automatic })
}

// nestedChangeSets adds the change sets of nested stacks to their parent's set, and executes them with it.
type nestedChangeSets struct{ *decision }

// add adds the change sets of nested stacks to a set, and removes unchanged nested stacks from it. quiet means that
// no other change remains.
func (d nestedChangeSets) add(set *store.ChangeSet, nested []store.NestedChangeSet, same map[string]bool, quiet bool) error {
	row, ok := d.view.ChangeSets[set.ID]
	if !ok || row.State != store.ChangeSetAvailable {
		return nil
	}
	var changes []plan.Change
	if err := json.Unmarshal(set.Body.Changes, &changes); err != nil {
		return fmt.Errorf("read the changes of %s: %w", row.ID, err)
	}
	changes = slices.DeleteFunc(changes, func(c plan.Change) bool { return same[c.LogicalID] })
	body := *set.Body
	var err error
	if body.Changes, err = json.Marshal(append([]plan.Change{}, changes...)); err != nil {
		return fmt.Errorf("write the changes of %s: %w", row.ID, err)
	}
	row.Nested, row.Body = nested, &body
	if quiet && len(changes) == 0 {
		row.State, row.Reason = store.ChangeSetFailed, d.dialect.texts().unchanged
	}
	d.delta.ChangeSets = append(d.delta.ChangeSets, row)
	return nil
}

// fail settles a change set that cannot be executed because of a nested stack.
func (d nestedChangeSets) fail(set *store.ChangeSet, reason string) error {
	row, ok := d.view.ChangeSets[set.ID]
	if !ok || row.State != store.ChangeSetAvailable {
		return nil
	}
	body := *set.Body
	body.Changes = json.RawMessage("[]")
	row.State, row.Reason, row.Body = store.ChangeSetFailed, reason, &body
	d.delta.ChangeSets = append(d.delta.ChangeSets, row)
	return nil
}

// imports returns the imports of the change set for the operation in view.
func (d nestedChangeSets) imports(n *nesting) map[wire.LogicalID]store.Import {
	if n == nil {
		return nil
	}
	if row, ok := d.view.ChangeSets[n.planned]; !ok || row.State != store.ChangeSetAvailable || row.Base != d.view.Stack.Operation {
		return nil
	}
	return n.imports
}

// execute marks the change set for the operation as executed, if there is one.
func (d nestedChangeSets) execute(n *nesting) {
	if n == nil {
		return
	}
	row, ok := d.view.ChangeSets[n.planned]
	if !ok || row.State != store.ChangeSetAvailable {
		return
	}
	row.State, row.Operation, row.OperationID = store.ChangeSetExecuted, d.op.Number, d.op.ID
	d.delta.ChangeSets = append(d.delta.ChangeSets, row)
	d.stack.ChangeSet = row.ID
}

// planChild creates the change set of one nested stack. The error is errNoChildChanges if the stack has no changes.
// Any other error means that the stack gets no change set.
func (p Planner) planChild(
	ctx context.Context, in *CreateChangeSet, set *store.ChangeSet, parent *store.Stack, c *plan.Change, family planning,
) (Planned, error) {
	properties, _ := c.After.Get(plan.Properties)
	url, _ := properties.Get("TemplateURL")
	n := &nesting{parent: store.Parent{Stack: parent.ID}, root: parent.ID, depth: parent.Depth + 1}
	if parent.Root != "" {
		n.root = parent.Root
	}
	switch {
	case c.Problem != "" || strings.Contains(url.Text(), plan.Unknown):
		return Planned{}, errors.New("its template is not known yet")
	case n.depth > mostNested:
		return Planned{}, errors.New("it is nested too deep")
	case *family.left == 0:
		return Planned{}, fmt.Errorf("there are %d change sets of nested stacks already", maxNestedChangeSets)
	}
	text, err := p.nestedTemplate(ctx, parent.Account, parent.Region, url.Text())
	if err != nil {
		return Planned{}, err
	}
	family.above = append(slices.Clip(family.above), set.Body.Revision.Template)
	if slices.Contains(family.above, text) {
		return Planned{}, errors.New("it nests itself")
	}
	*family.left--
	child := CreateChangeSet{
		Options: nestedOptionsOf(properties, set.Body.Revision.Tags), Kind: store.KindUpdate, Template: text, IncludeNested: true,
		ImportExisting: in.ImportExisting,
		Stack:          Ref{Account: parent.Account, Region: parent.Region, Stack: c.PhysicalID},
		Name:           withSuffix(in.Name+"-"+c.LogicalID, p.env.random(12)),
		family:         &family,
	}
	child.nested, child.Capabilities, child.RoleARN = n, in.Capabilities, set.Body.RoleARN
	if c.Action == plan.Add {
		child.Kind, child.Stack.Stack = store.KindCreate, withSuffix(parent.Name+"-"+c.LogicalID, p.env.random(12))
	}
	made, err := p.createChangeSet(ctx, &child)
	if err != nil {
		return Planned{}, err
	}
	row, err := p.store.ChangeSet(ctx, made.ID)
	if err != nil || row.State != store.ChangeSetFailed {
		return made, err
	}
	p.dropNested(ctx, []store.NestedChangeSet{{ID: made.ID, Stack: made.StackID}})
	switch {
	case row.Reason == CloudFormation.texts().unchanged:
		return Planned{}, errNoChildChanges
	case child.drawn != nil && child.drawn.imports.problem != "":
		return Planned{}, &childImportError{"Nested stack " + c.LogicalID + ": " + child.drawn.imports.problem}
	}
	return Planned{}, errors.New(row.Reason)
}

// dropNested deletes unexecuted change sets of nested stacks, with those that belong to them, and stacks that contain
// nothing else. It leaves those that cannot be deleted now.
func (p Planner) dropNested(ctx context.Context, list []store.NestedChangeSet) {
	for _, n := range list {
		if row, err := p.store.ChangeSet(ctx, n.ID); err == nil {
			p.dropNested(ctx, row.Nested)
			if row.State != store.ChangeSetExecuted {
				p.leaveOut(p.apply(ctx, store.Target{Stack: row.Stack}, func(d *decision) error { return changeSetDeletion{d}.remove(row.ID) }), n)
			}
		}
		stack, err := p.store.Stack(ctx, n.Stack)
		if err != nil || !stack.Live || stack.Kind != store.KindReview {
			continue
		}
		if rows, err := p.store.ChangeSets(ctx, stack.Key); err != nil || len(rows) > 0 {
			continue
		}
		_, err = p.start(ctx, store.Target{Stack: stack.Key}, func(d *decision) error { return deletion{d}.start(&DeleteStack{unclaimed: true}) })
		p.leaveOut(err, n)
	}
}

func (p Planner) leaveOut(err error, n store.NestedChangeSet) {
	if err != nil {
		p.log.Debug("a change set of a nested stack is left", "set", n.ID, "stack", n.Stack, "error", err)
	}
}

// nestedOf returns the nested stacks' change sets that belong to the change sets of a stack, except those of one set.
func (p Planner) nestedOf(ctx context.Context, key store.StackKey, but store.ChangeSetID) ([]store.NestedChangeSet, error) {
	rows, err := p.store.ChangeSets(ctx, key)
	var list []store.NestedChangeSet
	for _, row := range rows {
		if row.ID != but {
			list = append(list, row.Nested...)
		}
	}
	return list, err
}

// checkOwn rejects a call that is only possible for the root of a tree of change sets.
func (p Planner) checkOwn(ctx context.Context, row *store.ChangeSet, what string) error {
	if row.Parent == "" {
		return nil
	}
	if _, err := p.store.ChangeSet(ctx, row.Parent); errors.Is(err, store.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	return invalid(fmt.Sprintf("ChangeSet [%s] belongs to a nested stack and cannot be %s by itself. Use its root change set [%s].",
		row.ID, what, row.Root))
}
