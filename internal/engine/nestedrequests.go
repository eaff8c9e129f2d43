package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// mostNested is how many stacks a stack may be nested in.
	mostNested = 10
	// mostInTree is how many resources a stack and all that is nested in it may have together.
	// Source: CloudFormation, quotas, nested stack resources.
	mostInTree = 2500
	// longestName is how long the name of a stack may be. Source: CloudFormation, CreateStack.
	longestName = 128
)

// Nest does what a request wants of a nested stack, as far as that is to be begun; the same request may come any number of
// times. waits says that what becomes of it is reported when the nested stack's operation has come to that, whatever happens
// to this node. template fetches the text, of a Create, and of an Update whose aim is [store.AimReach]: it is called once it is
// known that there is something to begin. Its error, and that of Nest, are for people; one that wraps [native.ErrAgain] is not.
func (e *Engine) Nest(
	ctx context.Context, r *store.Request, template func(context.Context) (string, error),
) (result native.Result, waits bool, err error) {
	result, waits, err = e.nest(ctx, r, func(ctx context.Context) (string, error) {
		text, err := template(ctx)
		if err != nil && !errors.Is(err, native.ErrAgain) {
			err = invalid(err.Error())
		}
		return text, err
	})
	var input *Error
	if err != nil && !errors.As(err, &input) {
		return native.Result{}, false, fmt.Errorf("%w: %w", native.ErrAgain, err)
	}
	if waits {
		id := wire.StackID(r.Body.PhysicalID)
		if r.Type == wire.Create {
			id = wire.StackID(result.PhysicalID)
		}
		e.attendSoon(ctx, id) // it may have ended before, and nobody have been told
	}
	return result, waits, err
}

type fetch func(context.Context) (string, error)

func (e *Engine) nest(ctx context.Context, r *store.Request, template fetch) (native.Result, bool, error) {
	ctx = trace.NewContext(ctx, trace.Parse(r.Body.Trace)) // of the parent's operation
	own, err := e.store.Request(ctx, r.ID)
	if err != nil {
		return native.Result{}, false, err
	}
	if own.State != store.RequestReady || own.Owner != e.Node() {
		return native.Result{}, false, errTakenOver
	}
	parent, err := e.store.Stack(ctx, r.Body.StackID)
	if err != nil {
		return native.Result{}, false, err
	}
	n := &nesting{parent: store.Parent{Stack: parent.ID, Operation: r.Operation, Request: r.ID, Aim: r.Body.Aim}}
	if r.Type == wire.Create {
		return e.nestCreate(ctx, r, &parent, n, template)
	}
	child, err := e.store.Stack(ctx, wire.StackID(r.Body.PhysicalID))
	gone := errors.Is(err, store.ErrNotFound) || err == nil && !child.Live
	switch {
	case err != nil && !gone:
		return native.Result{}, false, err
	case gone && r.Body.Aim == store.AimReach:
		return native.Result{}, false, invalid("Stack [" + string(r.Body.PhysicalID) + "] does not exist")
	case gone:
		return native.Result{}, false, nil
	}
	target := store.Target{Stack: child.Key}
	waits := true
	switch r.Body.Aim {
	case store.AimReach:
		return e.nestUpdate(ctx, r, &parent, &child, n, template)
	case store.AimUndo:
		if err = e.apply(ctx, target, func(m *machine) error { return m.leavePreparing(n) }); err != nil {
			break
		}
		err = e.apply(ctx, target, func(m *machine) (err error) {
			waits, err = m.startUndo(n, r.Body.Skip, r.Body.Force)
			return err
		})
	case store.AimRelease:
		err = e.apply(ctx, target, func(m *machine) (err error) { waits, err = m.startRelease(n); return err })
	case store.AimRemove:
		err = e.remove(ctx, child.Key, n)
	}
	if err != nil || waits {
		return native.Result{}, waits, err
	}
	result, err := e.standing(ctx, child.ID)
	return result, false, err
}

// errTakenOver says that a request is no longer this node's to serve.
var errTakenOver = errors.New("another node has the request, or it is settled")

// remove deletes a nested stack, or begins to.
func (e *Engine) remove(ctx context.Context, child store.StackKey, n *nesting) error {
	target := store.Target{Stack: child}
	if err := e.apply(ctx, target, func(m *machine) error { return m.leaveHeld(n) }); err != nil {
		return err
	}
	return e.apply(ctx, target, func(m *machine) error { return m.startRemove(n, &DeleteStack{}) })
}

// standing returns what a nested stack is now.
func (e *Engine) standing(ctx context.Context, id wire.StackID) (native.Result, error) {
	child, err := e.store.Stack(ctx, id)
	return native.Result{Attributes: outputsOf(&child)}, err
}

func (e *Engine) nestCreate(
	ctx context.Context, r *store.Request, parent *store.Stack, n *nesting, template fetch,
) (native.Result, bool, error) {
	n.root, n.depth = parent.ID, parent.Depth+1
	if parent.Root != "" {
		n.root = parent.Root
	}
	dialect, err := DialectOf(r.Body.Dialect)
	if err != nil {
		return native.Result{}, false, err
	}
	in := CreateStack{
		Dialect: dialect,
		Name:    store.StackName{Account: parent.Account, Region: parent.Region, Name: nestedName(parent.Name, r)},
	}
	template, made, err := e.planOf(ctx, parent, r, n, template)
	switch {
	case err != nil:
		return native.Result{}, false, err
	case made != nil && made.Kind != store.KindReview:
		return native.Result{PhysicalID: wire.PhysicalID(made.ID)}, true, nil
	case made != nil:
		in.Name.Name = made.Name
	}
	// A repeated request finds what it made, also if the template cannot be fetched any more.
	if made, err := e.store.LiveStack(ctx, in.Name); err == nil && made.Parent == parent.ID && made.Kind != store.KindReview {
		return native.Result{PhysicalID: wire.PhysicalID(made.ID)}, true, nil
	} else if err != nil && !errors.Is(err, store.ErrNotFound) {
		return native.Result{}, false, err
	}
	if in.Template, err = template(ctx); err != nil {
		return native.Result{}, false, err
	}
	declared, err := e.checkNesting(ctx, dialect, parent, n, in.Template)
	if err != nil {
		return native.Result{}, false, err
	}
	if in.Options, err = e.nestedOptions(ctx, r, parent, n, declared); err != nil {
		return native.Result{}, false, err
	}
	if in.TimeoutMinutes, err = nestedTimeout(dialect, r); err != nil {
		return native.Result{}, false, err
	}
	started, err := e.Create(ctx, in)
	if err != nil {
		return native.Result{}, false, err
	}
	return native.Result{PhysicalID: wire.PhysicalID(started.StackID)}, true, nil
}

func (e *Engine) nestUpdate(
	ctx context.Context, r *store.Request, parent, child *store.Stack, n *nesting, template fetch,
) (native.Result, bool, error) {
	op, err := e.store.Operation(ctx, child.Key, child.Operation)
	if err != nil {
		return native.Result{}, false, err
	}
	if op.Parent != nil && op.Parent.Request == r.ID {
		return native.Result{}, true, nil // it was begun, however things stand by now
	}
	template, _, err = e.planOf(ctx, parent, r, n, template)
	if err != nil {
		return native.Result{}, false, err
	}
	text, err := template(ctx)
	if err != nil {
		return native.Result{}, false, err
	}
	dialect, err := DialectOf(r.Body.Dialect)
	if err != nil {
		return native.Result{}, false, err
	}
	n.root, n.depth = child.Root, child.Depth
	declared, err := e.checkNesting(ctx, dialect, parent, n, text)
	if err != nil {
		return native.Result{}, false, err
	}
	options, err := e.nestedOptions(ctx, r, parent, n, declared)
	if err != nil {
		return native.Result{}, false, err
	}
	minutes := 0
	if dialect == ROS { // of CloudFormation it limits the create
		if minutes, err = nestedTimeout(dialect, r); err != nil {
			return native.Result{}, false, err
		}
	}
	if err := e.apply(ctx, store.Target{Stack: child.Key}, func(m *machine) error { return m.leaveHeld(n) }); err != nil {
		return native.Result{}, false, err
	}
	_, err = e.Update(ctx, UpdateStack{
		Options: options, Template: text, TimeoutMinutes: minutes, Replace: options.replace,
		Stack: Ref{Account: child.Account, Region: child.Region, Stack: string(child.ID), ByID: dialect == ROS},
	})
	if errors.Is(err, dialect.refusals().unchanged) {
		e.dropNested(ctx, []store.NestedChangeSet{{ID: n.planned, Stack: child.ID}})
		result, err := e.standing(ctx, child.ID)
		return result, false, err
	}
	return native.Result{}, true, err
}

// nestedName returns the name of the stack that a Create makes: always the same for one request, so that one that comes
// twice makes one stack.
func nestedName(parent string, r *store.Request) string {
	sum := sha256.Sum256([]byte(string(r.Body.StackID) + "|" + string(r.ID)))
	suffix := make([]byte, 12)
	for i := range suffix {
		suffix[i] = nameLetters[int(sum[i])%len(nameLetters)]
	}
	return withSuffix(parent+"-"+string(r.Logical), string(suffix))
}

// withSuffix joins the parts of a name. The front is cut if both are too long.
func withSuffix(front, suffix string) string {
	return front[:min(len(front), longestName-1-len(suffix))] + "-" + suffix
}

// rosNestedMinutes is how long an operation of a nested stack of ROS may take if nothing else is declared.
// Source: ROS, ALIYUN::ROS::Stack, TimeoutMins.
const rosNestedMinutes = 60

// nestedTimeout returns how many minutes an operation of a nested stack may take; 0 is for ever.
func nestedTimeout(dialect Dialect, r *store.Request) (int, error) {
	property, minutes := "TimeoutInMinutes", 0
	if dialect == ROS {
		property, minutes = "TimeoutMins", rosNestedMinutes
	}
	given, ok := r.Body.Properties.Get(property)
	if !ok {
		return minutes, nil
	}
	minutes, err := strconv.Atoi(given.Text())
	if err != nil {
		return 0, invalid(native.BadValue(dialect.wire(), property, "be of type Integer").Error())
	}
	return minutes, nil
}

// nestedOptions returns what a nested stack is made, or updated, with: what its resource declares, and what it has of its
// parent. declared is the template.
func (e *Engine) nestedOptions(
	ctx context.Context, r *store.Request, parent *store.Stack, n *nesting, declared *template.Template,
) (Options, error) {
	op, err := e.store.Operation(ctx, parent.Key, r.Operation)
	if err != nil {
		return Options{}, err
	}
	revision, err := e.Revision(ctx, *parent)
	if err != nil {
		return Options{}, err
	}
	o := nestedOptionsOf(r.Body.Properties, revision.Tags)
	o.Capabilities, o.RoleARN, o.DisableRollback = parent.Capabilities, parent.RoleARN, op.DisableRollback
	o.RetainExceptOnCreate, o.nested = op.RetainExceptOnCreate, n
	group, _ := r.Body.Properties.Get("ResourceGroupId") // of ROS; CloudFormation refuses the property
	o.ResourceGroup = cmp.Or(group.Text(), parent.ResourceGroup)
	o.Caller, o.Parallelism, o.replace = op.Caller, op.Parallelism, op.Replace
	parameters, _ := r.Body.Properties.Get("Parameters")
	for i, p := range o.Parameters {
		given, _ := parameters.Get(p.Key)
		d := declared.Parameter(p.Key)
		if given.Kind() == value.Map || given.Kind() == value.List && d != nil && d.Type == "Json" {
			o.Parameters[i].Value = string(given.JSON())
		}
	}
	return o, nil
}

// joined returns the text of a parameter: that of a list is its items, joined by commas.
func joined(v value.Value) string {
	if v.Kind() != value.List {
		return v.Text()
	}
	items := make([]string, len(v.Items()))
	for i, item := range v.Items() {
		items[i] = item.Text()
	}
	return strings.Join(items, ",")
}

// rosMostNested is how many stacks a stack of ROS may be nested in. Source: ROS, ALIYUN::ROS::Stack.
const rosMostNested = 5

// checkNesting refuses to nest stacks without end: too deep, in themselves, or with too many resources together. It returns the
// template.
func (e *Engine) checkNesting(
	ctx context.Context, dialect Dialect, parent *store.Stack, n *nesting, text string,
) (*template.Template, error) {
	deepest, property := mostNested, "TemplateURL"
	if dialect == ROS {
		deepest = rosMostNested
	}
	if n.depth > deepest {
		return nil, invalid(fmt.Sprintf("Stacks may be nested %d deep, and this one would be nested in %d. "+
			"Move what is in it to one that is less deep.", deepest, n.depth))
	}
	root := *parent
	for {
		revision, err := e.store.Revision(ctx, root.Key, root.Revision)
		if err != nil {
			return nil, err
		}
		if revision.Template == text {
			return nil, invalid("The template of the nested stack is the one of " + root.Name + ", in which it is nested: " +
				"it would nest itself without end. Name another template as " + property + ".")
		}
		if root.Parent == "" {
			break
		}
		if root, err = e.store.Stack(ctx, root.Parent); err != nil {
			return nil, err
		}
	}
	t, err := e.parseNested(dialect, text)
	if err != nil {
		return nil, err
	}
	count := len(t.Resources)
	if err := e.countTree(ctx, root.ID, &count); err != nil {
		return nil, err
	}
	if count > mostInTree {
		return nil, invalid(fmt.Sprintf("A stack and all that is nested in it may have %d resources together. This one would have "+
			"at least %d.", mostInTree, count))
	}
	return t, nil
}

// parseNested reads the template of a nested stack, which is of the dialect of its parent.
func (e *Engine) parseNested(dialect Dialect, text string) (*template.Template, error) {
	if dialect != ROS {
		t, err := template.ParseSubmitted(text, e.env.parsed.limits) // what its macros will make of it nobody knows yet
		if err != nil {
			return nil, refused(dialect, err)
		}
		return t, nil
	}
	t, err := template.ParseROS(text, e.env.parsed.limits)
	if err != nil {
		return nil, refused(dialect, err)
	}
	if t.Locals { // Source: ROS, template section Locals
		return nil, invalid("The template of a nested stack cannot have Locals. Write their values where they are used.")
	}
	return t, nil
}

// countTree adds the resources of a stack, and of all that is nested in it, to count, and stops beyond the limit.
func (e *Engine) countTree(ctx context.Context, id wire.StackID, count *int) error {
	stack, err := e.store.Stack(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !stack.Live {
		return nil
	} else if err != nil {
		return err
	}
	instances, err := e.store.Instances(ctx, stack.Key)
	if err != nil {
		return err
	}
	for _, i := range instances {
		if i.Role != store.RoleCurrent {
			continue
		}
		if *count++; *count > mostInTree {
			return nil
		}
		if e.env.isNested(i.Body.Type) {
			if err := e.countTree(ctx, wire.StackID(i.PhysicalID), count); err != nil {
				return err
			}
		}
	}
	return nil
}

// attendSoon brings a nested stack and its parent together. What it cannot do now, the tie does later.
func (e *Engine) attendSoon(ctx context.Context, id wire.StackID) {
	if _, err := e.attend(context.WithoutCancel(ctx), id, 0); err != nil {
		e.log.Debug("a nested stack and its parent are brought together later", "stack", id, "error", err)
	}
}

// untie brings a nested stack and its parent together, and ends the tie if there is nothing left to be told.
func (e *Engine) untie(ctx context.Context, tie *store.Request) error {
	over, err := e.attend(ctx, tie.Body.StackID, tie.Operation)
	if err != nil || !over {
		return err
	}
	return e.apply(ctx, store.Target{Request: tie.ID, Alone: true}, func(m *machine) error {
		if r := m.requests[tie.ID]; r != nil {
			m.settleTimer(r, "untied")
		}
		return nil
	})
}

// attend tells the parent of a nested stack what that has come to, and the nested stack what its parent wants. Both are
// looked at as they are in the store, so that it does not matter which node does so, nor how often. It returns true if
// neither needs the other any more. The operation is the newest one if its number is 0: there may be another one since, for
// nobody but the tie keeps clients from changing a nested stack.
func (e *Engine) attend(ctx context.Context, id wire.StackID, number int) (over bool, err error) {
	child, err := e.store.Stack(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	op, err := e.store.Operation(ctx, child.Key, cmp.Or(number, child.Operation))
	if errors.Is(err, store.ErrNotFound) {
		return true, nil // it was swept
	} else if err != nil {
		return false, err
	}
	if op.Parent == nil {
		return true, nil
	}
	request, err := e.store.Request(ctx, op.Parent.Request)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	if err == nil && request.State != store.RequestSettled {
		return false, e.mediate(ctx, &child, &op, &request)
	}
	return e.unclaimed(ctx, &child, &op)
}

// mediate is for a parent that waits.
func (e *Engine) mediate(ctx context.Context, child *store.Stack, op *store.Operation, request *store.Request) error {
	if outcome, ok := cameTo(child, op); ok {
		return e.Report(ctx, request.ID, outcome)
	}
	rests := op.Phase.Final() || op.Held
	switch {
	case op.Parent.Aim == store.AimRemove && op.Kind != store.KindDelete && rests && op.Number == child.Operation:
		return e.remove(ctx, child.Key, &nesting{parent: *op.Parent})
	case !request.Cancelled:
		return nil
	}
	return e.apply(ctx, store.Target{Stack: child.Key}, func(m *machine) error { return m.abort(request.ID) })
}

// unclaimed is for a nested stack for whose operation nobody waits, or not now. It returns true if all is in order.
func (e *Engine) unclaimed(ctx context.Context, child *store.Stack, op *store.Operation) (bool, error) {
	parent, err := e.store.Stack(ctx, op.Parent.Stack)
	gone := errors.Is(err, store.ErrNotFound)
	if err != nil && !gone {
		return false, err
	}
	rests := gone || parent.Phase == store.PhaseSucceeded || parent.Phase == store.PhaseReverted
	switch {
	case !op.Phase.Final() && rests: // it was begun too late
		request := op.Parent.Request
		return false, e.apply(ctx, store.Target{Stack: child.Key}, func(m *machine) error { return m.forsake(request) })
	case !op.Phase.Final():
		return false, nil // what the parent does next, it does with this one too
	case op.Call != store.CallCreate || !child.Live || gone:
		return true, nil
	}
	instances, err := e.store.Instances(ctx, parent.Key)
	if err != nil {
		return false, err
	}
	for _, i := range instances {
		if i.PhysicalID == wire.PhysicalID(child.ID) && i.Role != store.RoleGone {
			return true, nil
		}
	}
	_, err = e.start(ctx, store.Target{Stack: child.Key}, func(m *machine) error { return m.startDelete(&DeleteStack{unclaimed: true}) })
	return false, err
}

// checkRoot refuses the delete of a nested stack whose root is protected from it.
func (e *Engine) checkRoot(ctx context.Context, stack *store.Stack) error {
	if stack.Root == "" || !stack.Live {
		return nil
	}
	root, err := e.store.Stack(ctx, stack.Root)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil && root.Live && root.TerminationProtection {
		dialect, err := DialectOf(root.Dialect)
		if err != nil {
			return err
		}
		return dialect.refusals().protected(stack)
	}
	return err
}
