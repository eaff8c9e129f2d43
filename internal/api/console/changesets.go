package console

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/pintle-dev/pintle/internal/api/console/picture"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// changeSetRow is a change set in a list.
type changeSetRow struct {
	engine.ChangeSet
	Status, Standing status
}

// For returns the kind of operation that the change set executes.
func (r changeSetRow) For() store.Kind {
	if r.Import {
		return store.KindImport
	}
	return r.Kind
}

func rowOf(set engine.ChangeSet) changeSetRow {
	row := changeSetRow{ChangeSet: set, Status: status{Text: string(set.State)}, Standing: status{Text: string(set.Execution)}}
	if d, err := engine.DialectOf(set.Owner.Dialect); err == nil {
		row.Status.Text, row.Standing.Text = d.ChangeSetStatus(set.State), d.ExecutionStatus(set.Execution)
	}
	switch set.State {
	case store.ChangeSetPreparing:
		row.Status.Class = picture.Running
	case store.ChangeSetFailed:
		row.Status.Class = picture.Failed
	case store.ChangeSetAvailable, store.ChangeSetExecuted:
		row.Status.Class = picture.Done
	}
	switch set.Execution {
	case engine.ExecutionRunning:
		row.Standing.Class = picture.Running
	case engine.ExecutionSucceeded:
		row.Standing.Class = picture.Done
	case engine.ExecutionFailed:
		row.Standing.Class = picture.Failed
	case engine.ExecutionAvailable:
		row.Standing.Class = picture.Waiting
	case engine.ExecutionObsolete, engine.ExecutionUnavailable:
		row.Standing.Class = picture.Stopped
	}
	return row
}

// changeSetsView is the content of the list of change sets.
type changeSetsView struct {
	Stack *store.Stack
	Rows  []changeSetRow
}

// changeSetPages shows change sets, and executes and deletes them.
type changeSetPages struct {
	*site
}

// changeSetsPage lists the change sets of a stack, of which there are at most 100.
func (cp *changeSetPages) changeSetsPage(v *visit) error {
	stack, err := cp.stack(v)
	if err != nil {
		return err
	}
	sets, err := cp.Engine.ChangeSets(v.r.Context(), stack)
	if err != nil {
		return err
	}
	view := changeSetsView{Stack: &stack}
	for _, set := range sets {
		view.Rows = append(view.Rows, rowOf(set))
	}
	cp.show(v, 200, "changesets.html", page{Title: "Change sets of " + stack.Name, Here: "stacks", Content: view})
	return nil
}

// changeSetView is the content of a change set's page.
type changeSetView struct {
	Stack *store.Stack
	Row   changeSetRow
	// Changes are one page of the changes. All is their total number.
	Changes    []engine.Change
	All        int
	Next       string
	Later      bool
	Parameters []field
	Executable bool
	// Once is the idempotency token of a form, as in a stackView.
	Once string
}

// changeSetPage shows a change set with its changes.
func (cp *changeSetPages) changeSetPage(v *visit) error {
	stack, set, err := cp.changeSet(v)
	if err != nil {
		return err
	}
	return cp.showChangeSet(v, 200, &stack, &set, "")
}

// changeSet returns the change set in the path.
func (cp *changeSetPages) changeSet(v *visit) (stack store.Stack, set engine.ChangeSet, err error) {
	if stack, err = cp.stack(v); err != nil {
		return stack, set, err
	}
	sets, err := cp.Engine.ChangeSets(v.r.Context(), stack)
	if err != nil {
		return stack, set, err
	}
	for _, one := range sets {
		if one.Name == v.r.PathValue("name") {
			set, err = cp.Engine.ChangeSet(v.r.Context(), refOfSet(&stack, &one))
			return stack, set, err
		}
	}
	return stack, set, store.ErrNotFound
}

// refOfSet returns the engine's reference to a change set by ID.
func refOfSet(stack *store.Stack, set *engine.ChangeSet) engine.ChangeSetRef {
	ref := refOf(stack)
	if ref.ByID {
		ref.Stack = ""
	}
	return engine.ChangeSetRef{Ref: ref, Name: string(set.ID)}
}

func (cp *changeSetPages) showChangeSet(v *visit, code int, stack *store.Stack, set *engine.ChangeSet, problem string) error {
	from, err := count(v.r.URL.Query(), "from")
	if err != nil {
		return err
	}
	view := changeSetView{Stack: stack, Row: rowOf(*set), Later: from > 0, Executable: set.Execution == engine.ExecutionAvailable, Once: rand.Text()}
	if set.Body != nil && len(set.Body.Changes) > 0 {
		changes, err := set.Changes()
		if err != nil {
			return err
		}
		view.All = len(changes)
		view.Changes = changes[min(from, len(changes)):min(from+pageSize, len(changes))]
		if err := cp.hideIn(v, stack, set, view.Changes); err != nil {
			return err
		}
		if from+pageSize < len(changes) {
			view.Next = stackURL(stack.ID, "changesets", set.Name) + "?" + url.Values{"from": {strconv.Itoa(from + pageSize)}}.Encode()
		}
	}
	if set.Body != nil {
		for _, p := range set.Body.Revision.Parameters.Members() {
			view.Parameters = append(view.Parameters, field{Name: p.Key, Value: plainText(p.Value)})
		}
	}
	p := page{Title: "Change set " + set.GivenName(), Here: "stacks", Problem: problem, Content: view}
	if v.r.Method == http.MethodPost {
		p.Path = stackURL(stack.ID, "changesets", set.Name)
	}
	cp.show(v, code, "changeset.html", p)
	return nil
}

// hideIn masks secrets of the stack or of the change set that providers have returned in changed values.
func (cp *changeSetPages) hideIn(v *visit, stack *store.Stack, set *engine.ChangeSet, changes []engine.Change) error {
	before, err := cp.Engine.Revision(v.r.Context(), *stack)
	if err != nil && !errors.Is(err, store.ErrNotFound) { // a stack in review has none
		return err
	}
	hidden := slices.Concat(secretsOf(&before), secretsOf(&set.Body.Revision))
	for i := range changes {
		for n := range changes[i].Details {
			for _, text := range []*string{changes[i].Details[n].Before, changes[i].Details[n].After} {
				if text != nil {
					*text = plainText(value.Str(*text).TaintedWith(hidden))
				}
			}
		}
	}
	return nil
}

// changeSetAction executes or deletes a change set.
func (cp *changeSetPages) changeSetAction(v *visit) error {
	stack, set, err := cp.changeSet(v)
	if err != nil {
		return err
	}
	ctx := v.r.Context()
	action, path := Action{Name: actionOf(v.r), Object: set.GivenName()}, stackURL(stack.ID)
	switch action.Name {
	case "execute":
		ctx = engine.Noted(ctx, "change set "+set.GivenName()+" executed by "+v.by())
		_, err = cp.Engine.ExecuteChangeSet(ctx, engine.ExecuteChangeSet{
			ChangeSet: refOfSet(&stack, &set), Token: onceOf(v), Caller: callerOf(&stack),
		})
	case "delete-change-set":
		ctx = engine.Noted(ctx, "change set "+set.GivenName()+" deleted by "+v.by())
		err = cp.Engine.DeleteChangeSet(ctx, refOfSet(&stack, &set))
		path = stackURL(stack.ID, "changesets")
	default:
		return errNothing
	}
	if err != nil {
		return cp.refused(v, &stack, action, err, func(code int, problem string) error {
			return cp.showChangeSet(v, code, &stack, &set, problem)
		})
	}
	if action.Name == "delete-change-set" {
		// A stack that exists only for its change sets is deleted with the last one.
		if now, err := cp.Rows.StackOf(ctx, stack.Key); errors.Is(err, store.ErrNotFound) || err == nil && !now.Live {
			path = Prefix
		}
	}
	cp.done(v, &stack, action, path, action.Name)
	return nil
}
