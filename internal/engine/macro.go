package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// preparation is the state while the macros of a template run, one request after the other. It is stored encrypted
// with the macro's request, so that any node that receives the answer can continue.
type preparation struct {
	// Options are the client's; Policy is the stack policy of an update.
	Options Options
	Policy  string `json:",omitempty"`
	// Template is the submitted text, and Document the result so far.
	Template string
	Document string
	// Functions are the service tokens of the macros, and Snippets the texts to include.
	Functions map[string]string
	Snippets  map[string]string `json:",omitempty"`
	// Stored contains the values that were read from the parameter store, once.
	Stored map[string]template.Stored `json:",omitempty"`
	// ChangeSet is the new change set; "" if an operation is prepared.
	ChangeSet store.ChangeSetID `json:",omitempty"`
	Kind      store.Kind
	// Body has the options of the change set, without the results of the macros.
	Body *store.ChangeSetBody `json:",omitempty"`
	// ImportExisting means that the change set imports added resources that exist.
	ImportExisting bool `json:",omitempty"`
}

// preparation returns the initial state of preparing a submitted template.
func (s *submission) preparation(in *Options, kind store.Kind) preparation {
	return preparation{Options: *in, Template: s.text, Functions: s.functions, Snippets: s.snippets, Stored: in.stored, Kind: kind}
}

// macros continues an operation or a change set when a macro has returned.
type macros struct{ *decision }

// report handles the outcome of a macro's request.
func (d macros) report(r *store.Request, outcome Outcome) error {
	if outcome.Kind == Accepted {
		requests(d).accept(r, outcome)
		return nil
	}
	if err := d.whole(); err != nil {
		return err
	}
	var p preparation
	if err := json.Unmarshal([]byte(r.Body.Pending.Text()), &p); err != nil {
		return fmt.Errorf("read what is prepared by request %s: %w", r.ID, errors.New("it is not JSON")) // the error may quote it
	}
	p.Options.stored = p.Stored
	if p.ImportExisting {
		p.Options.importing = outcome.imports
	}
	id := transformID(d.stack.Account, r.Body.ResourceType)
	reply, failure := macroRequests(d).reply(r, id, outcome)
	macroRequests(d).settle(r, outcome.Kind.String())
	if !macroRequests(d).wanted(r) {
		return nil
	}
	if failure != nil {
		return d.fail(p, failure)
	}
	raw, err := template.ReadUnexpanded(p.Document, d.parsed.limits)
	if err != nil {
		return fmt.Errorf("read what is prepared by request %s: %w", r.ID, err)
	}
	call := raw.Next()
	if call == nil || call.Name != r.Body.ResourceType {
		return fmt.Errorf("the macro %s that request %s is for is not the next of its template", r.Body.ResourceType, r.ID)
	}
	if raw, err = raw.Replaced(call, reply); err != nil {
		return d.fail(p, macroProblem(id, err))
	}
	return d.resume(p, raw)
}

// resume expands a template until its next macro, or to its end.
func (d macros) resume(p preparation, raw *template.Unexpanded) error {
	submitted, err := template.ReadUnexpanded(p.Template, template.Unlimited())
	if err != nil {
		return fmt.Errorf("read the template that is prepared: %w", err)
	}
	var before *store.Revision
	if row, ok := d.view.Revisions[d.stack.Revision]; ok && p.Kind == store.KindUpdate {
		before = &row
	}
	scope, err := transforms(d).bind(&p.Options, submitted, before)
	if err != nil {
		return d.failBy(p, err)
	}
	e, err := transforms(d).expandFrom(raw, scope, p.Snippets)
	switch {
	case err != nil:
		return d.failBy(p, err)
	case e.call != nil:
		return macroRequests(d).send(p, e)
	case p.ChangeSet != "":
		return changeSets(d).resume(p, e)
	}
	if err := d.finish(p, e); err != nil {
		return d.failBy(p, err)
	}
	return nil
}

// finish continues an operation whose template is now known. If that fails, it undoes its changes.
func (d macros) finish(p preparation, e expanded) error {
	stack, op := d.stack, d.op
	err := d.begin(p, e)
	if err != nil { // undo the changes
		d.stack, d.op, d.delta.Revisions, d.delta.Imports = stack, op, nil, nil
	}
	return err
}

func (d macros) begin(p preparation, e expanded) error {
	var before *store.Revision
	if d.op.Kind == store.KindUpdate {
		row := d.revisionInForce()
		before = &row
	}
	revision, to, err := binding(d).revise(&p.Options, e, p.Template, before)
	if err != nil {
		return err
	}
	revision.Policy = p.Policy
	var candidates []plan.Candidate
	if before == nil {
		if candidates, err = plan.Create(to); err != nil {
			return refused(d.dialect, err)
		}
		d.addRevision(revision)
		d.op.To, d.stack.Description = revision.Number, to.Template.Description
		crossStack(d).holdImports(&d.op)
	} else {
		op := d.op
		if candidates, err = update(d).plan(revision, to.Template, &op); err != nil {
			return err
		}
		d.op.From, d.op.To, d.op.Tried, d.op.Retry = op.From, op.To, op.Tried, false
		if d.op.Forced, err = again(d).named(d.op.Forced, to); err != nil {
			return err
		}
	}
	d.stackEvent(store.PhaseApply, d.dialect.texts().transformed)
	return operation(d).begin(candidates)
}

// failBy fails a preparation if the client can fix the error, and returns any other error.
func (d macros) failBy(p preparation, err error) error {
	if lacking, ok := errors.AsType[*needParameters](err); ok { // a macro added a parameter that was not read
		err = invalid(unfetched(lacking.names))
	}
	inputErr, ok := InputError(err)
	if !ok {
		return err
	}
	return d.fail(p, &macroFailure{text: inputErr.Message})
}

// fail ends a preparation because a macro failed or its reply is not a valid template.
func (d macros) fail(p preparation, failure *macroFailure) error {
	var secrets []value.Value
	if submitted, err := template.ReadUnexpanded(p.Template, template.Unlimited()); err == nil {
		var before *store.Revision
		if row, ok := d.view.Revisions[d.stack.Revision]; ok && p.Kind == store.KindUpdate {
			before = &row
		}
		if scope, err := transforms(d).bind(&p.Options, submitted, before); err == nil {
			secrets = append(secrets, parameterValues(scope, true))
		}
	}
	// Redact before cutting, because a partial secret could not be found.
	text, more := cut(d.presentable(failure.text, secrets...), maxFailureText), ""
	if failure.more != "" && d.fidelity != FidelityAWS {
		more = " (" + cut(d.presentable(failure.more, secrets...), maxFailureMore) + ")"
	}
	if p.ChangeSet != "" {
		return changeSets(d).fail(p.ChangeSet, text+more)
	}
	d.abandon(d.dialect.texts().prepareFailed(text, operation(d).onFailure()) + more)
	return scheduler(d).run()
}

// abandon ends the preparation of an operation that failed or was cancelled. The view is whole.
func (d macros) abandon(reason string) {
	macroRequests(d).withdraw("")
	if d.op.Retry { // the stack keeps the state of the previous operation
		timers(d).stop()
		operation(d).end(store.PhaseFailed, reason)
		return
	}
	operation(d).fail(reason)
}
