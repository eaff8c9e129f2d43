package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// preparation is what goes on while the macros of a template run: one after the other, each a request. It lies sealed with the
// request of the macro that is asked, so that whichever node takes the answer knows the rest.
type preparation struct {
	// Options are the client's; Policy is the stack policy of an update.
	Options Options
	Policy  string `json:",omitempty"`
	// Template is the text as it was submitted, and Document what has become of it so far.
	Template string
	Document string
	// Functions are the service tokens of the macros, and Snippets what there is to include.
	Functions map[string]string
	Snippets  map[string]string `json:",omitempty"`
	// Stored is what was read of the parameter store, once.
	Stored map[string]template.Stored `json:",omitempty"`
	// ChangeSet is the one that is made; "" if an operation is prepared.
	ChangeSet store.ChangeSetID `json:",omitempty"`
	Kind      store.Kind
}

// expanded is a template as far as it could be brought without asking anybody.
type expanded struct {
	// t is the template that a stack is made of; processed is its text if it is not the submitted one.
	t         *template.Template
	processed string
	// call is the macro that is to be asked next, and raw the template in which it is called; t is nil then.
	call *template.Transform
	raw  *template.Unexpanded
	// scope has the parameters that macros are told.
	scope *template.Scope
}

// inForce returns the template of a revision for an operation that brings none of its own; t is the one that it goes by. Counted
// resources of ROS are counted anew, by the parameters of that operation.
func (m *machine) inForce(before *store.Revision, t *template.Template) (expanded, error) {
	language := m.dialect.language()
	if language == template.CloudFormation || before.Processed == "" {
		return expanded{t: t, processed: before.Processed}, nil
	}
	submitted, err := m.parsed.submitted(language, before)
	return expanded{t: submitted}, err
}

// expand brings a submitted template as far as it goes. It fails with [needSnippets] if it lacks some. previous has the
// parameters of before, as of bind.
func (m *machine) expand(s *submission, in *Options, before *store.Revision) (expanded, error) {
	if s.raw == nil {
		return expanded{t: s.t}, nil
	}
	scope, err := m.bindRaw(in, s.raw, before)
	if err != nil {
		return expanded{}, err
	}
	// All of them are fetched now, also those that are included when macros have run.
	need := &needSnippets{}
	for _, call := range s.raw.All() {
		if !call.Include() {
			continue
		}
		location, err := call.Location(scope)
		if err != nil {
			return expanded{}, refused(m.dialect, err)
		}
		if _, ok := s.snippets[location]; !ok && !slices.Contains(need.locations, location) {
			need.locations = append(need.locations, location)
		}
	}
	if need.locations != nil {
		return expanded{}, need
	}
	return m.expandOn(s.raw, scope, s.snippets)
}

// bindRaw computes the values of the parameters of a template whose macros have not run.
func (m *machine) bindRaw(in *Options, raw *template.Unexpanded, before *store.Revision) (*template.Scope, error) {
	inputs, revision, previous := m.inputs(in, before)
	t := raw.Outline()
	outside, err := m.outside(in, t, inputs, previous, before)
	if err != nil {
		return nil, err
	}
	scope, err := t.BindWith(inputs, previous, pseudoOf(&m.stack, &revision), outside)
	return scope, m.unbound(err)
}

// expandOn runs what needs nobody, up to the next macro.
func (m *machine) expandOn(raw *template.Unexpanded, scope *template.Scope, snippets map[string]string) (expanded, error) {
	for {
		call := raw.Next()
		switch {
		case call == nil, !raw.Calls(true):
			text := raw.Text()
			t, err := m.parse(m.dialect, text)
			return expanded{t: t, processed: text, scope: scope}, err
		case call.Macro():
			return expanded{call: call, raw: raw, scope: scope}, nil
		case !call.Include():
			next, err := raw.Extended(scope)
			if err != nil {
				return expanded{}, refused(m.dialect, err)
			}
			raw = next
			continue
		}
		location, err := call.Location(scope)
		if err != nil {
			return expanded{}, refused(m.dialect, err)
		}
		text, ok := snippets[location]
		if !ok {
			return expanded{}, invalid("Transform AWS::Include failed with: its Location has become another one while macros ran.")
		}
		fragment, err := call.Included(text)
		if err == nil {
			raw, err = raw.Replaced(call, fragment)
		}
		if err != nil {
			return expanded{}, refused(m.dialect, err)
		}
	}
}

// preparation returns what is to be prepared of a submitted template.
func (s *submission) preparation(in *Options, kind store.Kind) preparation {
	return preparation{Options: *in, Template: s.text, Functions: s.functions, Snippets: s.snippets, Stored: in.stored, Kind: kind}
}

// prepareCreate begins to create a stack by running the macros of its template. Until they have, the stack has what is submitted,
// for those who look.
func (m *machine) prepareCreate(in *CreateStack, s *submission, e expanded, op store.Operation) error {
	_, revision, _ := m.inputs(&in.Options, nil)
	revision.Template, revision.Unprepared = s.text, true
	revision.Parameters = bound(s.raw.Parameters, e.scope)
	m.addRevision(revision)
	op.Call, op.Kind, op.To = store.CallCreate, store.KindCreate, revision.Number
	m.open(store.PhasePrepare, op)
	m.limit(in.TimeoutMinutes)
	return m.askMacro(s.preparation(&in.Options, store.KindCreate), e)
}

// prepareUpdating begins to update the stack by running the macros of a template. Until they have, the stack stays what it is.
func (m *machine) prepareUpdating(in *UpdateStack, s *submission, e expanded, op store.Operation, policy string) error {
	op.Call, op.Kind, op.From, op.To = store.CallUpdate, store.KindUpdate, m.stack.Revision, m.stack.Revision
	stood := m.op.Stood
	if m.stack.Phase == store.PhaseFailed {
		op.Anew, op.From, op.To, op.Tried = true, m.op.From, m.op.To, m.op.Tried
	}
	m.open(store.PhasePrepare, op)
	if op.Anew {
		m.op.Stood = stood
	}
	m.stack.Updated = m.now
	p := s.preparation(&in.Options, store.KindUpdate)
	p.Policy = policy
	return m.askMacro(p, e)
}

// askMacro makes the request of the next macro.
func (m *machine) askMacro(p preparation, e expanded) error {
	p.Document = e.raw.Text()
	state, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write what is prepared: %w", err)
	}
	id := wire.RequestID(m.newID())
	parameters := value.Object()
	if e.call.Parameters.Kind() == value.Map {
		parameters = e.call.Parameters.Value()
	}
	r := &store.Request{
		ID: id, Stack: m.stack.Key, Operation: m.op.Number, Type: store.TypeMacro,
		State: store.RequestReady, Owner: m.node(), First: m.node(), Created: m.now,
		Body: &store.RequestBody{
			Dialect: m.dialect.Name(), StackID: m.stack.ID, Region: m.stack.Region, ResourceType: e.call.Name,
			Timeout: m.macroTimeout, Trace: cmp.Or(m.trace, m.op.Trace), Token: value.Str(p.Functions[e.call.Name]), ChangeSet: p.ChangeSet,
			Properties: value.Object(
				value.Member{Key: "region", Value: value.Str(m.stack.Region)},
				value.Member{Key: "accountId", Value: value.Str(m.stack.Account)},
				value.Member{Key: "fragment", Value: e.call.Fragment.Value()},
				value.Member{Key: "transformId", Value: value.Str(transformID(m.stack.Account, e.call.Name))},
				value.Member{Key: "params", Value: parameters},
				value.Member{Key: "requestId", Value: value.Str(string(id))},
				value.Member{Key: "templateParameterValues", Value: parameterValues(e.scope)},
			),
			Pending: value.SecretStr(string(state)),
		},
	}
	m.requests[r.ID] = r
	m.changeRequest(r)
	m.newReq.add(r.ID)
	m.madeReady.add(r.ID)
	return nil
}

// parameterValues returns the values of parameters by name, those of NoEcho parameters secret.
func parameterValues(scope *template.Scope) value.Value {
	members := make([]value.Member, 0, len(scope.Parameters))
	for _, name := range sortedKeys(scope.Parameters) {
		members = append(members, value.Member{Key: name, Value: scope.Parameters[name]})
	}
	return value.Object(members...)
}

// transformed takes what became of a macro that was asked.
func (m *machine) transformed(r *store.Request, outcome Outcome) error {
	if outcome.Kind == Accepted {
		m.accepted(r, outcome)
		return nil
	}
	if err := m.whole(); err != nil {
		return err
	}
	var p preparation
	if err := json.Unmarshal([]byte(r.Body.Pending.Text()), &p); err != nil {
		return fmt.Errorf("read what is prepared by request %s: %w", r.ID, errors.New("it is no JSON")) // the error may quote it
	}
	p.Options.stored = p.Stored
	id := transformID(m.stack.Account, r.Body.ResourceType)
	reply, failure := m.macroReply(r, id, outcome)
	m.endMacro(r, outcome.Kind.String())
	if !m.preparing(r) {
		return nil
	}
	if failure != nil {
		return m.prepareFailed(p, failure)
	}
	raw, err := template.ReadUnexpanded(p.Document, m.parsed.limits)
	if err != nil {
		return fmt.Errorf("read what is prepared by request %s: %w", r.ID, err)
	}
	call := raw.Next()
	if call == nil || call.Name != r.Body.ResourceType {
		return fmt.Errorf("the macro %s that request %s is for is not the next of its template", r.Body.ResourceType, r.ID)
	}
	if raw, err = raw.Replaced(call, reply); err != nil {
		return m.prepareFailed(p, macroProblem(id, err))
	}
	return m.goOn(p, raw)
}

// goOn brings what is prepared as far as it goes: to the next macro, or to its end.
func (m *machine) goOn(p preparation, raw *template.Unexpanded) error {
	submitted, err := template.ReadUnexpanded(p.Template, template.Unlimited())
	if err != nil {
		return fmt.Errorf("read the template that is prepared: %w", err)
	}
	var before *store.Revision
	if row, ok := m.view.Revisions[m.stack.Revision]; ok && p.Kind == store.KindUpdate {
		before = &row
	}
	scope, err := m.bindRaw(&p.Options, submitted, before)
	if err != nil {
		return m.prepareFailedBy(p, err)
	}
	e, err := m.expandOn(raw, scope, p.Snippets)
	switch {
	case err != nil:
		return m.prepareFailedBy(p, err)
	case e.call != nil:
		return m.askMacro(p, e)
	case p.ChangeSet != "":
		return m.changeSetPrepared(p, e)
	}
	if err := m.prepared(p, e); err != nil {
		return m.prepareFailedBy(p, err)
	}
	return nil
}

// preparing reports whether what a macro was asked for is still wanted.
func (m *machine) preparing(r *store.Request) bool {
	if r.Body.ChangeSet != "" {
		set, ok := m.view.ChangeSets[r.Body.ChangeSet]
		return ok && set.State == store.ChangeSetPreparing
	}
	return r.Operation == m.op.Number && m.op.Phase == store.PhasePrepare
}

// endMacro settles the request of a macro. What is pending is not kept: it is large, and nobody needs it any more.
func (m *machine) endMacro(r *store.Request, ending string) {
	body := *r.Body
	body.Pending = value.Value{}
	r.Body = &body
	m.newReq.add(r.ID)
	r.State, r.Owner, r.Executor, r.Due = store.RequestSettled, 0, 0, zeroTime
	r.Ending, r.Settled = ending, m.now
	m.changeRequest(r)
	delete(m.madeReady, r.ID)
}

// withdrawMacros ends the requests of macros of a change set, or of the operation if set is "": what they return is not wanted any
// more. The view is whole.
func (m *machine) withdrawMacros(set store.ChangeSetID) {
	for _, id := range sortedKeys(m.requests) {
		if r := m.requests[id]; r.Type == store.TypeMacro && r.Body.ChangeSet == set && r.State != store.RequestSettled {
			m.endMacro(r, "withdrawn")
		}
	}
}

// prepared goes on with an operation whose template is known now.
func (m *machine) prepared(p preparation, e expanded) error {
	stack, op := m.stack, m.op
	err := m.startPrepared(p, e)
	if err != nil { // nothing of it counts
		m.stack, m.op, m.delta.Revisions, m.delta.Imports = stack, op, nil, nil
	}
	return err
}

func (m *machine) startPrepared(p preparation, e expanded) error {
	var before *store.Revision
	if m.op.Kind == store.KindUpdate {
		row := m.standing()
		before = &row
	}
	revision, to, err := m.revise(&p.Options, e, p.Template, before)
	if err != nil {
		return err
	}
	revision.Policy = p.Policy
	var candidates []plan.Candidate
	if before == nil {
		if candidates, err = plan.Create(to); err != nil {
			return refused(m.dialect, err)
		}
		m.addRevision(revision)
		m.op.To, m.stack.Description = revision.Number, to.Template.Description
		m.holdImports(&m.op)
	} else {
		op := m.op
		if candidates, err = m.prepareUpdate(revision, to.Template, &op); err != nil {
			return err
		}
		m.op.From, m.op.To, m.op.Tried, m.op.Anew = op.From, op.To, op.Tried, false
	}
	m.stackEvent(store.PhaseApply, m.dialect.texts().transformed)
	return m.beginOrFail(candidates)
}

// prepareFailedBy fails what is prepared if an error is the client's to fix; any other is ours, and returned.
func (m *machine) prepareFailedBy(p preparation, err error) error {
	if want, ok := errors.AsType[*wanting](err); ok { // a macro has made a parameter that nobody has asked for
		err = invalid(unfetched(want.names))
	}
	told, ok := InputError(err)
	if !ok {
		return err
	}
	return m.prepareFailed(p, &macroFailure{text: told.Message})
}

// prepareFailed ends what is prepared because a macro failed, or what the macros have made is no template.
func (m *machine) prepareFailed(p preparation, failure *macroFailure) error {
	var secrets []value.Value
	if submitted, err := template.ReadUnexpanded(p.Template, template.Unlimited()); err == nil {
		var before *store.Revision
		if row, ok := m.view.Revisions[m.stack.Revision]; ok && p.Kind == store.KindUpdate {
			before = &row
		}
		if scope, err := m.bindRaw(&p.Options, submitted, before); err == nil {
			secrets = append(secrets, parameterValues(scope))
		}
	}
	// Cut only when no secret is in it: half of one could not be found.
	text, more := cut(m.presentable(failure.text, secrets...), maxFailureText), ""
	if failure.more != "" && m.fidelity != FidelityAWS {
		more = " (" + cut(m.presentable(failure.more, secrets...), maxFailureMore) + ")"
	}
	if p.ChangeSet != "" {
		return m.failChangeSet(p.ChangeSet, text+more)
	}
	m.unprepared(m.dialect.texts().prepareFailed(text, m.sequel()) + more)
	return m.run()
}

// unprepared ends the preparation of an operation that failed, or is given up. The view is whole.
func (m *machine) unprepared(reason string) {
	m.withdrawMacros("")
	if m.op.Anew { // the stack is left as the operation before has left it
		m.stopTimer()
		m.end(store.PhaseFailed, reason)
		return
	}
	m.applyFailed(reason)
}
