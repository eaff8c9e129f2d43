package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
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
func (e *Engine) Preview(ctx context.Context, in PreviewStack) (Preview, error) {
	dialect := dialectFor(in.Dialect, in.Stack)
	in.replace, in.taint = in.Replace, in.Taint
	s, err := e.submit(ctx, dialect, in.Stack.Account, in.Stack.Region, in.Template)
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
		if target, err = e.target(ctx, in.Stack); err != nil {
			return Preview{}, err
		}
	}
	var result Preview
	draw := func(m *machine) error {
		m.become(dialect)
		kind := store.KindUpdate
		if m.absent() {
			if m.stack.Key != 0 {
				name.Name = m.stack.Name
			}
			// The id that the stack is going to have is not known, but for its form.
			id := m.dialect.stackID(name, plan.Unknown)
			if m.dialect == ROS { // it is all of the id, and names are made of it
				id = m.dialect.stackID(name, plan.UnknownUUID)
			}
			m.stack = store.Stack{ID: id, Account: name.Account, Region: name.Region, Name: name.Name}
			kind = store.KindCreate
		} else if err := m.checkUpdatable(in.DisableRollback); err != nil {
			return err
		}
		var before *store.Revision
		if kind == store.KindUpdate {
			inForce := m.standing()
			before = &inForce
		}
		expanded, err := m.expand(s, &in.Options, before)
		if err != nil {
			return err
		}
		drawn, err := m.draft(&in.Options, kind, expanded, in.Template)
		if err != nil {
			return err
		}
		result = Preview{Kind: kind, Unchanged: drawn.unchanged, Changes: append([]plan.Change{}, drawn.changes...)}
		return errDrawn
	}
	err = e.with(ctx, s, func() error {
		if s.problem != "" {
			return invalid(s.problem)
		}
		return e.apply(ctx, target, draw)
	})
	if errors.Is(err, errDrawn) {
		err = nil
	}
	return result, err
}

// errDrawn ends a decision that was only to be looked at.
var errDrawn = errors.New("nothing is to be written")

// absent reports whether there is no stack, or nothing in it and no way from it but its deletion.
func (m *machine) absent() bool {
	return m.stack.Key == 0 || m.stack.Kind == store.KindReview ||
		m.stack.Phase == store.PhaseReverted && (m.stack.Kind == store.KindCreate || m.stack.Kind == store.KindImport && m.op.From == 0)
}

// draft is an operation that is thought through and not begun.
type draft struct {
	revision store.Revision
	// role is the stack's with the options that were asked for.
	role      string
	unchanged bool
	// quiet says that only nested stacks may have changes.
	quiet   bool
	changes []plan.Change
	// imports are the existing resources that become the stack's.
	imports importsOf
	// missing is what the operation is going to fail with at its beginning, "" for nothing.
	missing string
}

// draft thinks a create or an update through. e has no template for the one in force. It changes nothing: it thinks with a
// machine of its own.
func (m *machine) draft(in *Options, kind store.Kind, e expanded, text string) (draft, error) {
	view := *m.view
	if kind == store.KindCreate {
		view.Instances = nil
	}
	own := newMachine(m.environment, m.dialect, &view)
	for _, i := range own.instances {
		if i.Body != nil {
			body := *i.Body
			i.Body = &body
		}
	}
	own.stack = m.stack
	own.applyOptions(in)
	own.op.Replace, own.op.Taint, own.op.Revert = in.replace, in.taint, in.revert
	own.op.Import, own.op.Imports = false, nil // those of the operation before
	var d draft
	var err error
	if kind == store.KindCreate {
		err = own.draftCreate(&d, in, e, text)
	} else {
		err = own.draftUpdate(&d, in, e, text)
	}
	if err != nil {
		return draft{}, err
	}
	for i := range d.changes {
		d.changes[i].Problem = own.presentable(d.changes[i].Problem, d.revision.Parameters, d.revision.Outside)
	}
	d.missing = own.presentable(own.missing)
	d.role, d.revision.Stack, d.revision.Number = own.stack.RoleARN, 0, 0
	return d, nil
}

func (m *machine) draftCreate(d *draft, in *Options, e expanded, text string) error {
	revision, to, err := m.revise(in, e, text, nil)
	if err != nil {
		return err
	}
	d.revision = revision
	m.addRevision(revision)
	candidates, err := plan.Create(to)
	if err != nil {
		return refused(m.dialect, err)
	}
	return m.draftChanges(d, in, nil, to, candidates)
}

// draftChanges plans the changes of resources. It plans twice if resources are imported: only the first plan says what is added.
func (m *machine) draftChanges(d *draft, in *Options, from *plan.Side, to plan.Side, candidates []plan.Candidate) (err error) {
	d.changes = plan.Preview(from, to, candidates, m.world())
	if d.imports, err = m.draftImports(in, from, to, d.changes); err != nil || d.imports.resources == nil {
		return err
	}
	m.op.Imports = d.imports.resources
	d.changes = plan.Preview(from, to, candidates, m.world())
	if in.importing.only { // what else there is only may follow
		d.changes = slices.DeleteFunc(d.changes, func(c plan.Change) bool { return c.Action != plan.Import })
	}
	return nil
}

func (m *machine) draftUpdate(d *draft, in *Options, e expanded, text string) error {
	before := m.standing()
	from, err := m.side(before.Number)
	if err != nil {
		return err
	}
	switch {
	case e.t == nil && before.Unprepared:
		return errUnprepared
	case e.t == nil:
		text = before.Template
		if e, err = m.inForce(&before, from.Template); err != nil {
			return err
		}
	}
	revision, to, err := m.revise(in, e, text, &before)
	if err != nil {
		return err
	}
	if err := m.checkTaint(in.taint, to); err != nil {
		return err
	}
	d.revision = revision
	failed := m.leftAsFailed() // then there is something to do in any case
	candidates, err := m.prepareUpdate(d.revision, to.Template, &store.Operation{})
	if err != nil {
		return err
	}
	importing := in.importing != nil && in.importing.only
	same := !importing && !failed && in.taint == nil && len(in.revert) == 0 && unchanged(&before, &revision, from, to)
	if d.unchanged = same && !m.nests(to); d.unchanged {
		return nil
	}
	d.quiet = same
	if err := m.draftChanges(d, in, &from, to, candidates); err != nil {
		return err
	}
	return m.foreseeDenials(d.changes, candidates)
}

// foreseeDenials says what the stack policy is not going to let happen. What may not happen anyway is not said to fail.
func (m *machine) foreseeDenials(changes []plan.Change, candidates []plan.Candidate) error {
	if m.view.Stack.Policy == "" {
		return nil
	}
	policy, err := plan.ParsePolicy(m.view.Stack.Policy)
	if err != nil {
		return fmt.Errorf("read the policy of stack %s: %w", m.stack.ID, err)
	}
	stood := set[string]{} // the resources of the stack as it last stood: only those are protected from their removal
	for _, c := range candidates {
		if c.Old != nil {
			stood.add(c.Logical)
		}
	}
	for i := range changes {
		c := &changes[i]
		if c.Problem != "" || c.Action == plan.Remove && !stood[c.LogicalID] {
			continue
		}
		switch c.Action {
		case plan.Add, plan.Import:
		case plan.Remove:
			c.Problem = policy.Denies(plan.ActionDelete, c.LogicalID, c.Type)
		case plan.Modify:
			if !slices.Contains(c.Certain(), plan.Properties) {
				continue
			}
			action := plan.ActionModify
			if c.Replacement == plan.ReplacementTrue {
				action = plan.ActionReplace
			}
			c.Problem = policy.Denies(action, c.LogicalID, c.Type)
		}
	}
	return nil
}

// world is what there is now, for a preview.
func (m *machine) world() plan.World {
	return plan.World{
		Now: func(logicalID string) *plan.Now {
			i := m.current(wire.LogicalID(logicalID))
			if i == nil {
				return nil
			}
			return &plan.Now{
				PhysicalID: string(i.PhysicalID), Type: i.Body.Type, Properties: m.dialect.shown(askedOf(i)), Metadata: i.Body.Metadata,
				Unsettled: !i.Body.Attempted.IsNull() || m.reverts(i.Logical), Unborn: i.Unborn(),
			}
		},
		Resources:   attributes{m},
		Form:        m.form,
		Consequence: m.consequence,
		Nested:      m.isNested,
		Imports: func(logicalID string) (string, bool) {
			of, ok := m.op.Imports[wire.LogicalID(logicalID)]
			return string(of.ID), ok
		},
		Anew:   func(logicalID string) bool { return slices.Contains(m.op.Taint, wire.LogicalID(logicalID)) },
		KeptBy: m.dialect.rules().keptBy(),
	}
}

// consequence says what a change of properties means to a resource of a type.
func (m *machine) consequence(resourceType string, before, after value.Value) (plan.Consequence, string) {
	idsStay := m.dialect.rules().idsStay
	if schema := m.native.Schema(resourceType); schema != nil {
		change, reason := schema.Change(before, after)
		switch {
		case change == native.InPlace:
			return plan.InPlace, ""
		case idsStay && m.replaces(), !idsStay && change == native.Replaces:
			return plan.Replaces, ""
		case idsStay:
			return plan.Refused, m.dialect.texts().notUpdatable(reason)
		}
		return plan.Refused, reason
	}
	for name, reason := range m.dialect.fixed() {
		was, _ := before.Get(name)
		is, _ := after.Get(name)
		switch {
		case was.Equal(is):
		case m.replaces():
			return plan.Replaces, ""
		default:
			return plan.Refused, reason
		}
	}
	if idsStay {
		return plan.InPlace, ""
	}
	return plan.Decided, ""
}

// form returns the properties of a declaration as they are sent to a provider. What is not known yet may still turn out to
// be right.
func (m *machine) form(declared *template.Resource, properties value.Value) (value.Value, error) {
	scope, err := m.scope(m.stack.Revision)
	if err != nil {
		return value.Value{}, err
	}
	policy, err := template.Evaluate(declared.CreationPolicy, scope, nil)
	if err != nil {
		return value.Value{}, err
	}
	ask, err := m.request(declared, properties, policy)
	if err == nil {
		return m.dialect.shown(ask), nil
	}
	for _, p := range properties.Members() {
		if p.Value.Kind() == value.String && p.Value.Text() == plan.Unknown {
			if m.dialect.rules().typesStay {
				return properties, nil
			}
			return properties.Stringified(), nil
		}
	}
	return value.Value{}, err
}
