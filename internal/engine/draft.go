package engine

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// draft is a planned operation that has not started.
type draft struct {
	revision store.Revision
	// role is the stack's role with the requested options applied.
	role      string
	unchanged bool
	// quiet means that only nested stacks may have changes.
	quiet   bool
	changes []plan.Change
	// imports are the existing resources to import.
	imports importsOf
	// missing is the reason why the operation will fail at its start, "" if none.
	missing string
}

// drafts plans a create or an update without starting it.
type drafts struct{ *decision }

// absent reports whether the stack does not exist, or is empty and can only be deleted.
func (d drafts) absent() bool {
	return d.stack.Key == 0 || d.stack.Kind == store.KindReview ||
		d.stack.Phase == store.PhaseReverted && (d.stack.Kind == store.KindCreate || d.stack.Kind == store.KindImport && d.op.From == 0)
}

// draw plans a create or an update. e has no template if the current one is used. draw works on a copy of the
// decision, so it changes nothing.
func (d drafts) draw(in *Options, kind store.Kind, e expanded, text string) (draft, error) {
	view := *d.view
	if kind == store.KindCreate {
		view.Instances = nil
	}
	own := newDecision(d.environment, d.dialect, &view)
	for _, i := range own.instances {
		if i.Body != nil {
			body := *i.Body
			i.Body = &body
		}
	}
	own.stack = d.stack
	own.applyOptions(in)
	own.op.Replace, own.op.Taint, own.op.Forced = in.replace, in.taint, in.forced
	own.op.Import, own.op.Imports = false, nil // those of the previous operation
	var drawn draft
	var err error
	if kind == store.KindCreate {
		err = drafts{own}.drawCreate(&drawn, in, e, text)
	} else {
		err = drafts{own}.drawUpdate(&drawn, in, e, text)
	}
	if err != nil {
		return draft{}, err
	}
	for i := range drawn.changes {
		drawn.changes[i].Problem = own.presentable(drawn.changes[i].Problem, drawn.revision.Parameters, drawn.revision.Outside)
	}
	drawn.missing = own.presentable(own.missing)
	drawn.role, drawn.revision.Stack, drawn.revision.Number = own.stack.RoleARN, 0, 0
	return drawn, nil
}

func (d drafts) drawCreate(drawn *draft, in *Options, e expanded, text string) error {
	revision, to, err := binding(d).revise(in, e, text, nil)
	if err != nil {
		return err
	}
	drawn.revision = revision
	d.addRevision(revision)
	candidates, err := plan.Create(to)
	if err != nil {
		return refused(d.dialect, err)
	}
	return d.drawChanges(drawn, in, nil, to, candidates)
}

func (d drafts) drawUpdate(drawn *draft, in *Options, e expanded, text string) error {
	before := d.revisionInForce()
	from, err := d.side(before.Number)
	if err != nil {
		return err
	}
	switch {
	case e.t == nil && before.Unprepared:
		return errUnprepared
	case e.t == nil:
		text = before.Template
		if e, err = transforms(d).ofRevision(&before, from.Template); err != nil {
			return err
		}
	}
	revision, to, err := binding(d).revise(in, e, text, &before)
	if err != nil {
		return err
	}
	if err := update(d).checkTaint(in.taint, to); err != nil {
		return err
	}
	if in.again != nil {
		if in.forced, err = again(d).named(in.again, to); err != nil {
			return err
		}
		d.op.Forced = in.forced
	}
	drawn.revision = revision
	failed := update(d).leftFailed() // then the update always has work
	candidates, err := update(d).plan(drawn.revision, to.Template, &store.Operation{})
	if err != nil {
		return err
	}
	importing := in.importing != nil && in.importing.only
	same := !importing && !failed && in.taint == nil && len(in.forced) == 0 && unchanged(&before, &revision, from, to)
	if drawn.unchanged = same && !nestedRequests(d).nests(to); drawn.unchanged {
		return nil
	}
	drawn.quiet = same
	if err := d.drawChanges(drawn, in, &from, to, candidates); err != nil {
		return err
	}
	return stackPolicy(d).foresee(drawn.changes, candidates)
}

// drawChanges plans the changes of resources. With imports it plans twice, because only the first plan shows the
// added resources.
func (d drafts) drawChanges(drawn *draft, in *Options, from *plan.Side, to plan.Side, candidates []plan.Candidate) (err error) {
	drawn.changes = plan.Preview(from, to, candidates, d.world())
	if drawn.imports, err = importPlan(d).draw(in, from, to, drawn.changes); err != nil {
		return err
	}
	if drawn.imports.resources == nil {
		return d.consult(in.asking, drawn.changes, drawn.revision.Parameters, drawn.revision.Outside)
	}
	d.op.Imports = drawn.imports.resources
	drawn.changes = plan.Preview(from, to, candidates, d.world())
	if in.importing.only { // other changes can only be consequences
		drawn.changes = slices.DeleteFunc(drawn.changes, func(c plan.Change) bool { return c.Action != plan.Import })
	}
	return d.consult(in.asking, drawn.changes, drawn.revision.Parameters, drawn.revision.Outside)
}

// world returns the current state as a preview needs it.
func (d drafts) world() plan.World {
	return plan.World{
		Now: func(logicalID string) *plan.Now {
			i := d.current(wire.LogicalID(logicalID))
			if i == nil {
				return nil
			}
			return &plan.Now{
				PhysicalID: string(i.PhysicalID), Type: i.Body.Type, Properties: d.dialect.shown(askedOf(i)), Metadata: i.Body.Metadata,
				Unsettled: !i.Body.Attempted.IsNull() || resource(d).forced(i.Logical), Unborn: i.Unborn(),
			}
		},
		Resources:   attributes{d.decision},
		Form:        d.form,
		Consequence: d.consequence,
		Nested:      d.isNested,
		Retagged:    d.retagged,
		Imports: func(logicalID string) (string, bool) {
			of, ok := d.op.Imports[wire.LogicalID(logicalID)]
			return string(of.ID), ok
		},
		ForceReplace: func(logicalID string) bool { return slices.Contains(d.op.Taint, wire.LogicalID(logicalID)) },
		KeptBy:       d.dialect.rules().keptBy(),
	}
}

// retagged reports whether the resource of a logical ID gets different stack tags.
func (d drafts) retagged(logicalID string, properties value.Value) bool {
	i := d.current(wire.LogicalID(logicalID))
	return !sameTags(i.Body.Tags, evaluation(d).stackTags(i.Body.Type, properties, d.stack.Revision))
}

// consequence returns the effect of a property change on a resource of a type.
func (d drafts) consequence(resourceType string, before, after value.Value) (plan.Consequence, string) {
	idsStay := d.dialect.rules().idsStay
	if d.native.ForwardedTo(resourceType) != "" {
		return plan.Decided, "" // by the endpoint
	}
	if schema := d.native.Schema(resourceType); schema != nil {
		change, reason := schema.Change(before, after)
		switch {
		case change == native.InPlace:
			return plan.InPlace, ""
		case idsStay && replacement(d).allowed(), !idsStay && change == native.Replaces:
			return plan.Replaces, ""
		case idsStay:
			return plan.Refused, d.dialect.texts().notUpdatable(reason)
		}
		return plan.Refused, reason
	}
	for name, reason := range d.dialect.fixed() {
		was, _ := before.Get(name)
		is, _ := after.Get(name)
		switch {
		case was.Equal(is):
		case replacement(d).allowed():
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

// form returns the properties of a declaration in the form that a provider gets. While a value is unknown, properties
// that look invalid may still turn out to be valid, so form returns them without an error.
func (d drafts) form(declared *template.Resource, properties value.Value) (value.Value, error) {
	scope, err := d.scope(d.stack.Revision)
	if err != nil {
		return value.Value{}, err
	}
	policy, err := template.Evaluate(declared.CreationPolicy, scope, nil)
	if err != nil {
		return value.Value{}, err
	}
	ask, err := evaluation(d).split(declared, properties, policy)
	if err == nil {
		return d.dialect.shown(ask), nil
	}
	for _, p := range properties.Members() {
		if p.Value.Kind() == value.String && p.Value.Text() == plan.Unknown {
			if d.dialect.rules().typesStay {
				return properties, nil
			}
			return properties.Stringified(), nil
		}
	}
	return value.Value{}, err
}
