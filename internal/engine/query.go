package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Find returns the stack that a client names: a live one by its name, any by its id. It returns [store.ErrNotFound] if
// there is none in the account and region of the ref.
func (e *Engine) Find(ctx context.Context, ref Ref) (store.Stack, error) {
	if !ref.ByID && !strings.HasPrefix(ref.Stack, "arn:") {
		return e.store.LiveStack(ctx, store.StackName{Account: ref.Account, Region: ref.Region, Name: ref.Stack})
	}
	stack, err := e.store.Stack(ctx, wire.StackID(ref.Stack))
	if err == nil && (stack.Account != ref.Account || stack.Region != ref.Region) {
		return store.Stack{}, store.ErrNotFound
	}
	return stack, err
}

// Revision returns a stack's revision in force, template included.
func (e *Engine) Revision(ctx context.Context, stack store.Stack) (store.Revision, error) {
	revision, err := e.store.Revision(ctx, stack.Key, stack.Revision)
	return stack.Tagged(revision), err
}

// Resources returns what stands for each logical ID of a stack, by logical ID: the current instance or, in a stack that
// was deleted or rolled back, the last one. Resources removed by an update are not among them.
func (e *Engine) Resources(ctx context.Context, stack store.Stack) ([]store.Instance, error) {
	instances, err := e.store.Instances(ctx, stack.Key)
	if err != nil {
		return nil, err
	}
	shown := map[wire.LogicalID]store.Instance{}
	for _, i := range instances { // by number: a later one wins, but a current one always
		if i.Role != store.RoleCurrent && !i.Shown {
			continue
		}
		if known, ok := shown[i.Logical]; !ok || known.Role != store.RoleCurrent {
			shown[i.Logical] = i
		}
	}
	list := make([]store.Instance, 0, len(shown))
	for _, id := range sortedKeys(shown) {
		list = append(list, shown[id])
	}
	return list, nil
}

// Expected returns the resources that a stack has and those that it is to have, by logical ID: those of
// [Engine.Resources] with which somebody has begun and, of a create or an update that is under way or was left as it failed,
// those of its template with which nobody has. An instance of these has no number and no verb, and of its body the type alone.
func (e *Engine) Expected(ctx context.Context, stack store.Stack) ([]store.Instance, error) {
	list, err := e.Resources(ctx, stack) // after the stack was read: what has begun since is among them
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(i store.Instance) bool { return i.Verb == "" })
	changes := stack.Kind == store.KindCreate || stack.Kind == store.KindUpdate || stack.Kind == store.KindImport
	if !changes || stack.Phase != store.PhaseApply && stack.Phase != store.PhaseFailed {
		return list, nil
	}
	revision, err := e.Revision(ctx, stack)
	if err != nil {
		return nil, err
	}
	dialect, err := DialectOf(stack.Dialect)
	if err != nil {
		return nil, err
	}
	t, err := e.env.parsed.of(dialect.language(), &revision)
	if err != nil {
		return nil, fmt.Errorf("parse revision %d of stack %s: %w", revision.Number, stack.ID, err)
	}
	begun := set[wire.LogicalID]{}
	for _, i := range list {
		begun.add(i.Logical)
	}
	for _, r := range t.Active(template.NewScope(nil, revision.Conditions, template.Pseudo{})) {
		if id := wire.LogicalID(r.LogicalID); !begun[id] {
			list = append(list, store.Instance{Stack: stack.Key, Logical: id, Body: &store.InstanceBody{Type: r.Type}})
		}
	}
	slices.SortFunc(list, func(a, b store.Instance) int { return cmp.Compare(a.Logical, b.Logical) })
	return list, nil
}

// FindOperation returns the operation that has this operation id, as its own or as that of its rollback, and its stack.
// It returns [store.ErrNotFound] if there is none in the account and region.
func (e *Engine) FindOperation(ctx context.Context, account, region, id string) (store.Stack, store.Operation, error) {
	stack, operation, err := e.store.FindOperation(ctx, id)
	if err == nil && (stack.Account != account || stack.Region != region) {
		return store.Stack{}, store.Operation{}, store.ErrNotFound
	}
	return stack, operation, err
}

// maxLast bounds how many operations [Engine.LastOperations] returns: a rollback can be tried any number of times.
const maxLast = 5

// LastOperations returns a stack's newest operation and, if that undoes an earlier one, those before it down to the one
// that is undone, newest first and five at most.
func (e *Engine) LastOperations(ctx context.Context, stack store.Stack) ([]store.Operation, error) {
	var last []store.Operation
	for number := stack.Operation; number > 0 && len(last) < maxLast; number-- {
		op, err := e.store.Operation(ctx, stack.Key, number)
		if errors.Is(err, store.ErrNotFound) && len(last) > 0 {
			break // it was swept
		}
		if err != nil {
			return nil, err
		}
		last = append(last, op)
		if op.Call != store.CallContinue && op.Call != store.CallRollback {
			break
		}
	}
	return last, nil
}

// Parse parses a template, whatever the types of its resources. One whose macros have not run has none.
func (e *Engine) Parse(text string) (*template.Template, error) {
	t, err := template.ParseSubmitted(text, e.env.parsed.limits)
	if err != nil {
		return nil, refused(CloudFormation, err)
	}
	return t, nil
}

// Unrecognized returns the types of resources in a template that could not be run, each once; nil if all could be.
func (e *Engine) Unrecognized(t *template.Template) []string {
	var types []string
	list, _ := e.env.unrecognized(CloudFormation, t)
	for _, r := range list {
		if !slices.Contains(types, r.Type) {
			types = append(types, r.Type)
		}
	}
	return types
}

// CheckIn is [Engine.Check] of a template of a dialect.
func (e *Engine) CheckIn(dialect Dialect, text string) (*template.Template, error) {
	if dialect == CloudFormation {
		return e.Check(text)
	}
	return e.checkROS(text)
}

// Check parses a template and refuses what could not be run. One whose macros have not run has no resources.
func (e *Engine) Check(text string) (*template.Template, error) {
	raw, err := template.ReadUnexpanded(text, e.env.parsed.limits)
	if err == nil && raw.Calls(true) {
		return e.Parse(text)
	}
	return e.env.parse(CloudFormation, text)
}

// Outline is [Engine.Check] for a caller that only describes a template: one with a transform that only AWS expands is not refused, and
// has no resources either. Anything is a resource type if types is false.
func (e *Engine) Outline(text string, types bool) (*template.Template, error) {
	raw, err := template.ReadUnexpanded(text, e.env.parsed.limits)
	switch {
	case err == nil && raw.Foreign():
		return raw.Outline(), nil
	case types:
		return e.Check(text)
	}
	return e.Parse(text)
}

// Protect turns a stack's protection against deletes on or off and returns the stack's id. Errors that the client can
// fix are of type [Error].
func (e *Engine) Protect(ctx context.Context, ref Ref, on bool) (wire.StackID, error) {
	stack, err := e.Find(ctx, ref)
	if errors.Is(err, store.ErrNotFound) {
		return "", noStack(ref)
	} else if err != nil {
		return "", err
	}
	return stack.ID, e.apply(ctx, store.Target{Stack: stack.Key}, func(m *machine) error {
		if !m.stack.Live || m.stack.Kind == store.KindDelete && !m.stack.Phase.Final() {
			switch {
			case m.dialect == CloudFormation:
			case m.stack.Live:
				return m.dialect.refusals().busy(&m.stack, &m.op, m.status(), "protected")
			default:
				return noStack(ref)
			}
			return invalid("Stack:" + string(m.stack.ID) + " is in " + m.status() +
				" state and its termination protection can not be changed.")
		}
		if m.stack.Root != "" {
			return invalid("Stack [" + m.stack.Name + "] is nested: its termination protection is that of its root stack, " +
				string(m.stack.Root) + ".")
		}
		m.stack.TerminationProtection, m.stackChanged = on, true
		return nil
	})
}

// MoveToGroup puts a stack into another resource group, of which templates learn at the next update. Nested stacks stay in theirs. Errors
// that the client can fix are of type [Error].
func (e *Engine) MoveToGroup(ctx context.Context, ref Ref, group string) error {
	target, err := e.target(ctx, ref)
	if err != nil {
		return err
	}
	return e.apply(ctx, target, func(m *machine) error {
		if !m.stack.Live {
			return noStack(ref)
		}
		m.stackChanged = m.stackChanged || m.stack.ResourceGroup != group
		m.stack.ResourceGroup = group
		return nil
	})
}

// InputError reports whether an error is the client's to fix, and how it is to be told.
func InputError(err error) (*Error, bool) {
	var input *Error
	ok := errors.As(err, &input)
	return input, ok
}
