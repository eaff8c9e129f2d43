package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// binding binds the parameters of a template to values.
type binding struct{ *decision }

// revise makes the new revision of an operation from the submitted text and its expanded form. It also returns the
// plan's side: the template after its transforms. before is the previous revision, or nil.
func (d binding) revise(in *Options, e expanded, text string, before *store.Revision) (store.Revision, plan.Side, error) {
	revision, to, err := d.bind(in, e.t, before)
	revision.Template, revision.Processed = text, cmp.Or(revision.Processed, e.processed)
	return revision, to, err
}

// inputs returns the inputs for parameters, the initial fields of a revision, and the previous revision's parameters.
func (d binding) inputs(in *Options, before *store.Revision) (
	map[string]template.Input, store.Revision, map[string]value.Value,
) {
	inputs := make(map[string]template.Input, len(in.Parameters))
	given := make([]string, 0, len(in.Parameters))
	for _, p := range in.Parameters {
		inputs[p.Key] = template.Input{Value: p.Value, UsePrevious: p.UsePrevious, Secret: p.Secret}
		given = append(given, p.Key)
	}
	revision := store.Revision{
		Stack: d.stack.Key, Number: d.stack.Revisions + 1, Inputs: given, Tags: in.Tags, NotificationARNs: in.NotificationARNs,
		RollbackTriggers: in.Rollback.Triggers,
	}
	if in.Rollback.Minutes != nil {
		revision.MonitoringMinutes = *in.Rollback.Minutes
	}
	var previous map[string]value.Value
	if before != nil {
		previous = d.scopeOf(before).Parameters
		if in.Tags == nil {
			revision.Tags = before.Tags
		}
		if in.NotificationARNs == nil {
			revision.NotificationARNs = before.NotificationARNs
		}
		if in.Rollback.Triggers == nil {
			revision.RollbackTriggers = before.RollbackTriggers
		}
		if in.Rollback.Minutes == nil {
			revision.MonitoringMinutes = before.MonitoringMinutes
		}
	}
	return inputs, revision, previous
}

// bind is revise without the texts.
func (d binding) bind(in *Options, t *template.Template, before *store.Revision) (store.Revision, plan.Side, error) {
	inputs, revision, previous := d.inputs(in, before)
	outside, err := d.stored(in, t, inputs, previous, before)
	if err != nil {
		return store.Revision{}, plan.Side{}, err
	}
	if t.WantsZones() {
		outside.Zones = d.zones
	}
	if t.WantsTime() {
		outside.Now = d.now.UTC().Format(time.RFC3339Nano)
	}
	scope, err := t.BindWith(inputs, previous, pseudoOf(&d.stack, &revision), outside)
	if err != nil {
		return store.Revision{}, plan.Side{}, d.refused(err)
	}
	processed, scope, err := t.Process(scope)
	if err != nil {
		return store.Revision{}, plan.Side{}, refused(d.dialect, err)
	}
	if t.Unprocessed() {
		if err := d.runnable(d.dialect, processed); err != nil {
			return store.Revision{}, plan.Side{}, err
		}
	}
	if err := checkResourceTypes(processed, in.ResourceTypes); err != nil {
		return store.Revision{}, plan.Side{}, err
	}
	if err := d.check(processed, scope); err != nil {
		return store.Revision{}, plan.Side{}, err
	}
	if err := d.checkForwarded(processed, scope); err != nil {
		return store.Revision{}, plan.Side{}, err
	}
	revision.Parameters, revision.Conditions = bound(t.Parameters, scope), scope.Conditions
	if err := crossStack(d).resolve(processed, scope, &revision); err != nil {
		return store.Revision{}, plan.Side{}, err
	}
	revision.Processed = processed.Processed()
	return revision, plan.Side{Template: processed, Scope: scope}, nil
}

// stored returns the values for a template that the caller does not pass. The error is [needParameters] if they have
// to be read. before is the stack's revision, or nil. keepResolved may change inputs.
func (d binding) stored(
	in *Options, t *template.Template, inputs map[string]template.Input, previous map[string]value.Value, before *store.Revision,
) (template.Outside, error) {
	names := t.StoredNames(inputs, previous)
	unread := func(name string) bool { _, read := in.stored[name]; return !read }
	if !slices.ContainsFunc(names, unread) && before != nil && keepResolved(in, t, inputs, before) {
		names = append(names, t.StoredNames(inputs, previous)...)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	if slices.ContainsFunc(names, unread) {
		return template.Outside{}, &needParameters{options: in, account: d.stack.Account, region: d.stack.Region, names: names}
	}
	return template.Outside{Stored: in.stored}, nil
}

// keepResolved accepts the value that the stack resolved for a stored parameter, instead of the parameter's name in
// the store. The parameter then keeps its name. A text that is a name in the store always counts as a name.
// keepResolved reports whether it changed an input. Source: recorded answers, D24 (2025-09-24).
func keepResolved(in *Options, t *template.Template, inputs map[string]template.Input, before *store.Revision) bool {
	resolved := template.NewOutside(before.Outside).Parameters
	changed := false
	for name, input := range inputs {
		declared, value := t.Parameter(name), resolved[name]
		if declared == nil || !declared.Stored() || value.IsNull() || input.UsePrevious {
			continue
		}
		if in.stored[input.Value].State == template.StoredMissing && input.Value == declared.Typed(value) {
			inputs[name] = template.Input{UsePrevious: true, Secret: input.Secret}
			changed = true
		}
	}
	return changed
}

// bound returns the values of parameters in the order of their declarations.
func bound(declared []*template.Parameter, scope *template.Scope) value.Value {
	members := make([]value.Member, 0, len(declared))
	for _, p := range declared {
		members = append(members, value.Member{Key: p.Name, Value: scope.Parameters[p.Name]})
	}
	return value.Object(members...)
}

// check rejects problems that can be found once the parameters are known. Source: recorded answers, D3.
func (d binding) check(t *template.Template, scope *template.Scope) error {
	p := template.NewPartial(t, scope)
	if d.dialect == ROS {
		if !d.upfront {
			return nil
		}
		return d.rosRefused(append(p.Problems(), d.rosProblems(p)...))
	}
	if found := p.Problems(); len(found) > 0 {
		return invalid(cmp.Or(found[0].Answer, found[0].Message))
	}
	if !d.upfront || d.fidelity == FidelityAWS {
		return nil
	}
	var sentences []string
	for _, e := range d.customProblems(d.dialect, p) {
		sentences = append(sentences, where(e)+": "+cmp.Or(e.Answer, e.Message))
	}
	if sentences == nil {
		return nil
	}
	return invalid("Template error: " + strings.Join(sentences, "; "))
}

// refused returns the error for invalid parameters. With [FidelityAWS] it is the service's answer, which may be less
// specific.
func (d binding) refused(err error) error {
	if problem, ok := errors.AsType[*template.Error](err); ok && problem.Answer != "" && d.fidelity == FidelityAWS {
		return &Error{d.dialect.refusals().code, problem.Answer}
	}
	return refused(d.dialect, err)
}

func unfetched(names []string) string {
	return fmt.Sprintf("Unable to fetch parameters [%s] from parameter store for this account.", strings.Join(names, ", "))
}

// checkForwarded rejects types that the endpoints in --forward lack. The error is [needForwarded] if they have to be
// asked.
func (d binding) checkForwarded(t *template.Template, scope *template.Scope) error {
	if !d.native.Forwards() {
		return nil
	}
	var types []string
	for _, r := range t.Active(scope) {
		types = append(types, r.Type)
	}
	problem, known := d.native.CheckedForwarded(d.stack.Account, d.stack.Region, types)
	switch {
	case !known:
		return &needForwarded{region: d.stack.Region, types: types}
	case problem != "":
		return invalid(problem + " Nothing was changed.")
	}
	return nil
}
