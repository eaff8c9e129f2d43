package engine

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// verdict is what an outcome means for the resource.
type verdict struct {
	success bool
	// id is the one the provider reported, empty if it reported none.
	id wire.PhysicalID
	// reason is the event's text if the request failed, scrubbed.
	reason string
	// reached says that the provider may have acted.
	reached bool
	data    value.Value
	noEcho  bool
	// ref is what Ref returns from now on; null if it is the id, or stays.
	ref value.Value
	// held says that it is a nested stack which waits to be released.
	held bool
}

// settle takes what became of the view's request and drives the stack on. It returns false if it changed nothing
// because the request was settled before.
func (m *machine) settle(outcome Outcome) (bool, error) {
	if t := m.view.Request.Type; t == store.TypeTimer || t == store.TypeTie {
		return false, store.ErrNotFound // nobody was asked
	}
	request := m.requests[m.view.Request.ID]
	m.hidden = outcome.hidden
	switch {
	case request == nil && !m.view.Request.Asks():
		return false, nil
	case request == nil:
		m.late(m.view.Request, outcome)
		return false, nil
	case request.Type == store.TypeExecution:
		return true, m.stepped(request, outcome)
	case m.fenced(request, outcome):
		return false, nil
	case request.Type == store.TypeNotification:
		m.told(request, outcome)
		return true, nil
	case request.Type == store.TypeIsComplete:
		return true, m.polled(request, outcome)
	case request.Type == store.TypeMacro:
		return true, m.transformed(request, outcome)
	}
	if outcome.Kind == Accepted {
		m.accepted(request, outcome)
		return true, nil
	}
	if outcome.Kind == Awaiting {
		return true, m.awaiting(request, outcome)
	}
	if outcome.Kind == Waiting {
		return true, m.waits(request, outcome)
	}
	if outcome.Kind == Silent {
		m.silent(request, outcome)
		return true, nil
	}
	if outcome.Kind == TimedOut && request.Silence.Settles() {
		return true, m.finish(request, endedSilent, m.silence(request, request.Silence))
	}
	if outcome.Kind == TimedOut && request.Body.Aim != "" {
		m.withNested(request) // it ends when the nested stack's operation does
		return true, nil
	}
	if outcome.Kind == TimedOut && request.Body.Await != nil {
		_, err := m.awaited(request, true)
		return true, err
	}
	return true, m.finish(request, outcome.Kind.String(), m.judge(request, outcome))
}

// finish settles a request and drives the stack on.
func (m *machine) finish(request *store.Request, ending string, v verdict) error {
	request.State, request.Owner, request.Executor = store.RequestSettled, 0, 0
	request.Ending, request.Settled = ending, m.now
	request.Due = zeroTime
	m.changeRequest(request)
	m.stopAsking(request)
	m.settling = request
	defer func() { m.settling = nil }()

	instance := m.instances[request.Instance]
	if instance == nil {
		return fmt.Errorf("instance %d of stack %s was not loaded", request.Instance, m.stack.ID)
	}
	step := m.steps[request.Logical]
	if step == nil || step.Request != request.ID {
		m.absorb(nil, instance, request, v) // its operation has ended without it
		return nil
	}
	step.Request = ""
	if request.Body.Aim != "" {
		step.Held = v.held
	}
	m.changeStep(step)
	if request.Cancelled {
		m.absorb(step, instance, request, v)
		switch step.State {
		case store.StepHeld:
			step.State = store.StepPending
			m.working(-1)
			m.todo = append(m.todo, step.Logical)
		case store.StepAwaited:
			step.State = store.StepIdle
			m.working(-1)
		case store.StepIdle, store.StepPending, store.StepRunning, store.StepDone, store.StepFailed, store.StepCancelled:
		}
		m.settling = nil
		return m.run()
	}
	m.working(-1)
	if err := m.conclude(step, instance, request, v); err != nil {
		return err
	}
	m.settling = nil
	return m.run()
}

// fenced reports whether an outcome is void since another node has taken the request over: this one was taken for dead,
// and what became of its own sending says nothing of the other's. Answers count, whoever brings them, and so does what a
// native type has done.
func (m *machine) fenced(r *store.Request, outcome Outcome) bool {
	own := r.State == store.RequestReady && r.Owner == m.node()
	executed := r.State == store.RequestWaiting && r.Executor == m.node()
	switch outcome.Kind {
	case Accepted:
		m.void = !own && (outcome.Local || !executed)
	case Refused:
		m.void = !own
	case Died:
		m.void = !own && !executed
	case Waiting:
		m.void = !executed
	case Silent:
		m.void = !executed && (r.State != store.RequestWaiting || r.Executor != 0)
	case Answered, Provided, Awaiting, TimedOut, Returned:
		return false
	}
	m.void = m.void || r.Type == store.TypeIsComplete && outcome.Try != r.Wait.Try // said of a try before
	return m.void
}

// accepted notes that the provider has the request: from now on its time runs, or what is left of it.
func (m *machine) accepted(r *store.Request, outcome Outcome) {
	if r.State != store.RequestReady {
		r.Executor = 0 // should this node die, nothing dies with it
		m.changeRequest(r)
		return
	}
	if holder(r) != r.First {
		r.First = 0
	}
	left := max(r.Body.Timeout-max(outcome.Took, 0), 0)
	r.State, r.Delivered, r.Due, r.Silence = store.RequestWaiting, m.now, m.now.Add(left), nil
	if r.Cancelled {
		r.Due = minTime(r.Due, m.now.Add(m.cancelledWait))
	}
	if r.Body.Aim != "" {
		m.withNested(r)
	}
	r.Within = 0
	if outcome.Local {
		r.Executor = m.node()                                                         // not its owner: another node may have taken the row over meanwhile
		if outcome.Within < r.Body.Timeout && m.environment.fidelity != FidelityAWS { // AWS does not tell of it
			r.Within = max(outcome.Within, 0)
		}
	}
	r.Owner = 0
	m.changeRequest(r)
}

// holder is the node that has a request in hand: its owner or, once it was accepted, the one whose process executes it. 0 is
// none: the provider is elsewhere and has it.
func holder(r *store.Request) store.Incarnation { return cmp.Or(r.Owner, r.Executor) }

// lateOnRecord is how many answers to a request are kept after it was settled: whoever has its URL can send any number.
const lateOnRecord = 10

// late keeps an outcome that came after its request was settled. It changes nothing else.
func (m *machine) late(r *store.Request, outcome Outcome) {
	if outcome.Kind != Answered {
		return
	}
	got := m.taken(r, outcome)
	m.tellAnswer(r, outcome, &got)
	if r.Late >= lateOnRecord {
		return
	}
	again := *r
	again.Late++
	again.Body = nil
	m.delta.Requests = append(m.delta.Requests, again)
	text := "answer to a request that was settled before (" + r.Ending + ")"
	status := "FAILED"
	switch {
	case got.problem != "":
		status = "invalid"
	case got.success:
		status = "SUCCESS"
	}
	m.audit(r, text+": "+status+", physical id "+strconv.Quote(m.scrub(r, string(got.id), got.data)))
}

// audit puts something on record that is no event.
func (m *machine) audit(r *store.Request, text string) {
	m.delta.Audit = append(m.delta.Audit, store.Audit{Time: m.now, Request: r.ID, Logical: r.Logical, Text: text})
}

// judge turns an outcome into a verdict.
func (m *machine) judge(r *store.Request, outcome Outcome) verdict {
	words := m.dialect.texts()
	switch outcome.Kind {
	case Answered:
		got := m.taken(r, outcome)
		m.tellAnswer(r, outcome, &got)
		v := verdict{success: got.success, id: got.id, reached: true, data: got.data, noEcho: got.noEcho}
		switch {
		case got.problem != "" && m.fidelity == FidelityAWS:
			v.id, v.reason = "", m.failure(failedInAnswer, r.Logical, m.scrub(r, got.problem, got.data))
		case got.problem != "":
			v.reason = m.failure(failedInAnswer, r.Logical, m.scrub(r, got.explained, got.data)+" (RequestId: "+string(r.ID)+")")
		case !got.success:
			v.reason = m.failure(failedByProvider, r.Logical, words.failed(m.scrub(r, got.reason, got.data), r.ID))
		}
		m.holdID(r, &v, got)
		m.holdCopies(r, &v, got)
		return v
	case Provided:
		v := verdict{
			success: outcome.Text == "", id: outcome.Result.PhysicalID, reached: true,
			data: outcome.Result.Attributes, ref: outcome.Result.Ref, held: outcome.Held,
		}
		if r.Body.Aim == store.AimReach && !v.success && v.id == "" && holder(r) == r.First {
			v.reached = false // nothing was begun
		}
		if !v.success {
			v.reason = m.failure(failedByNative, r.Logical, m.scrub(r, outcome.Text, v.data, v.ref))
		}
		return v
	case TimedOut:
		text := words.timedOut(r.ID) + m.lastSaid(r, " Its provider said last: ")
		if r.Silence != nil && m.fidelity != FidelityAWS {
			text += " Its handler had returned without an answer."
		}
		return verdict{reason: m.failure(failedInTime, r.Logical, text), reached: true}
	case Refused, Died:
		// A node that died may have delivered it, and only not have come to say so.
		reached := outcome.Delivered || holder(r) != r.First
		text := outcome.Text
		if len(outcome.Log) > 0 {
			text += "\nLast lines of its log:\n" + strings.Join(outcome.Log, "\n")
		}
		return verdict{reason: m.failure(failedInDelivery, r.Logical, m.scrub(r, text)), reached: reached}
	case Accepted, Awaiting, Waiting, Silent, Returned:
	}
	return verdict{reason: "unknown outcome", reached: true}
}

// holdID takes from a verdict the id of another resource, where an Update cannot replace the one that it is about.
func (m *machine) holdID(r *store.Request, v *verdict, got answer) {
	is := r.Body.PhysicalID
	if !m.dialect.rules().idsStay || r.Type != wire.Update || v.id == "" || is == "" || v.id == is {
		return
	}
	words := m.dialect.texts()
	v.id = ""
	switch {
	case !v.success:
	case m.rosIDChange == IDChangeIgnored:
		m.audit(r, m.scrub(r, words.idIgnored(is, got.id), got.data))
	default:
		v.success = false
		v.reason = m.failure(failedByID, r.Logical, m.scrub(r, words.idChanged(is, got.id), got.data)+" (RequestId: "+string(r.ID)+")")
	}
}

// conclude ends a step's request in the phase that made it.
func (m *machine) conclude(s *store.Step, i *store.Instance, r *store.Request, v verdict) error {
	switch r.Type {
	case wire.Create:
		return m.concludeCreate(s, i, r, v)
	case wire.Update:
		return m.concludeUpdate(s, i, r, v)
	case wire.Delete:
		return m.concludeDelete(s, i, v)
	case store.TypeImport:
		return m.concludeImport(s, i, r, v)
	case store.TypeRelease:
		return m.launch(s) // there may be something to delete
	}
	return fmt.Errorf("request %s of stack %s has type %q", r.ID, m.stack.ID, r.Type)
}

func (m *machine) concludeCreate(s *store.Step, i *store.Instance, r *store.Request, v verdict) error {
	if i.Role == store.RoleCondemned {
		return m.concludeRecreate(s, i, r, v)
	}
	m.absorb(s, i, r, v)
	if !v.success {
		return m.fail(s, i, store.VerbCreate, v.reason, r.Body.Properties)
	}
	m.initiated(i, store.VerbCreate, r)
	m.resourceEvent(i, store.VerbCreate, store.ProgressSucceeded, "", r.Body.Properties, false)
	m.done(s)
	return nil
}

// initiated says that a resource has an id, unless that was said when it began to wait for signals.
func (m *machine) initiated(i *store.Instance, verb store.Verb, r *store.Request) {
	text := m.dialect.texts().createInitiated
	if text != "" && (r.Body.Await == nil && r.Body.Aim == "" || r.Delivered.IsZero()) {
		m.resourceEvent(i, verb, store.ProgressRunning, text, r.Body.Properties, false)
	}
}

func (m *machine) concludeUpdate(s *store.Step, i *store.Instance, r *store.Request, v verdict) error {
	before := i
	m.absorb(s, i, r, v)
	i = m.current(s.Logical)
	s.Instance = i.Number
	if !v.success {
		if m.op.Phase == store.PhaseRevert && v.reached {
			// The next try is to undo the same attempt: from what this one asked for to the same nobody would do anything.
			i.Body.Attempted, i.Body.Back = r.Body.OldProperties, false
		}
		return m.fail(s, i, store.VerbUpdate, v.reason, r.Body.Properties)
	}
	if i != before {
		m.resourceEvent(i, store.VerbUpdate, store.ProgressRunning, m.dialect.texts().replaced, r.Body.Properties, false)
	}
	denied, err := m.deniedReplacement(i)
	switch {
	case err != nil:
		return err
	case denied != "":
		return m.fail(s, i, store.VerbUpdate, denied, r.Body.Properties)
	}
	m.resourceEvent(i, store.VerbUpdate, store.ProgressSucceeded, "", r.Body.Properties, false)
	m.done(s)
	return nil
}

func (m *machine) concludeDelete(s *store.Step, i *store.Instance, v verdict) error {
	cleanup := m.cleaning()
	if v.success {
		m.gone(i, cleanup)
		return m.launch(s) // there may be another one
	}
	m.resourceEvent(i, store.VerbDelete, store.ProgressFailed, v.reason, i.Body.Properties, cleanup)
	switch {
	case !cleanup && m.op.Force:
		m.abandon(i, v.reason)
		return m.launch(s)
	case !cleanup:
		m.reprieve(s.Logical)
		s.State = store.StepFailed
		m.changeStep(s)
		if m.op.Phase == store.PhaseApply && m.op.Kind == store.KindUpdate {
			m.failing(s.Logical, store.VerbCreate) // it was to make room for a new Create
			return nil
		}
		m.op.FailedDeletes = append(m.op.FailedDeletes, s.Logical)
		m.opChanged = true
		return nil
	}
	if i.Tries++; i.Tries < cleanupTries {
		again := m.ask(s, i, wire.Delete, askedOf(i), value.Value{})
		again.State, again.Owner, again.Due = store.RequestDelayed, 0, m.now.Add(m.cleanupPause)
		m.begin(s)
		return nil
	}
	i.Role, i.Left = store.RoleOrphan, v.reason
	m.op.Orphaned, m.opChanged = true, true
	return m.launch(s)
}

// cleaning reports whether the phase is one that deletes what an update has left behind.
func (m *machine) cleaning() bool {
	return m.op.Phase == store.PhaseCleanup || m.op.Phase == store.PhaseRevertCleanup
}

// reprieve gives a logical ID back what was to go, because a Delete has failed: whatever deletes it next has to ask its
// policy anew. What was replaced stays condemned.
func (m *machine) reprieve(logical wire.LogicalID) {
	for _, i := range m.condemned(logical) {
		if !i.Replaced {
			i.Role = store.RoleCurrent
			m.changeInstance(i)
		}
	}
}

// retry makes a delayed request ready: its pause is over.
func (m *machine) retry(r *store.Request) {
	r.State, r.Owner, r.First, r.Due = store.RequestReady, m.node(), m.node(), zeroTime
	m.madeReady.add(r.ID)
	m.changeRequest(r)
	if i := m.instances[r.Instance]; i != nil {
		m.resourceEvent(i, store.VerbDelete, store.ProgressRunning, "", i.Body.Properties, true)
	}
}

// absorb brings an instance to what a verdict says of it, without a word to anyone but of a Delete. step is nil if the
// operation that asked has ended.
func (m *machine) absorb(s *store.Step, i *store.Instance, r *store.Request, v verdict) {
	m.changeInstance(i)
	switch r.Type {
	case wire.Create:
		i.Reached = v.reached
		if v.id != "" {
			i.PhysicalID = v.id
		}
		if i.PhysicalID == "" && i.Reached && !m.dialect.rules().idsAsGiven {
			i.PhysicalID = m.dialect.generateID(m.stack, i.Logical, m.random)
		}
		if v.success {
			m.confirm(i, r, v)
		}
	case store.TypeImport:
		if v.success {
			m.confirm(i, r, v)
		}
	case wire.Update:
		if !v.reached {
			return
		}
		if v.id != "" && v.id != i.PhysicalID && (i.Role == store.RoleCurrent || i.Role == store.RoleCondemned) {
			i = m.replace(s, i, r, v.id)
		}
		if v.success {
			m.confirm(i, r, v)
			return
		}
		i.Body.Attempted, i.Body.Back = r.Body.Properties, i.Number == r.Instance && r.Body.Properties.Equal(i.Body.Properties)
		if i.Body.Back {
			i.Body.Attempted = r.Body.OldProperties // it may still have what it was to leave
		}
		m.changeBody(i)
	case wire.Delete:
		if v.success {
			m.gone(i, true)
		} else {
			m.resourceEvent(i, store.VerbDelete, store.ProgressFailed, v.reason, i.Body.Properties, true)
			if !m.cleaning() { // a clean-up asks the policy of what is condemned itself
				m.reprieve(i.Logical)
			}
		}
	}
}

// confirm notes what a provider has made.
func (m *machine) confirm(i *store.Instance, r *store.Request, v verdict) {
	i.Body.Properties, i.Body.Timeout, i.Body.Attempted, i.Body.Back = r.Body.Properties, r.Body.Timeout, value.Value{}, false
	i.Body.Data, i.Body.NoEcho, i.Body.AnsweredBy = v.data, v.noEcho, r.ID
	i.Body.HTTPConfig = r.Body.HTTPConfig
	if !v.ref.IsNull() {
		i.Body.Ref = v.ref
	}
	m.changeBody(i)
}

// replace makes another physical resource what one was, the current one or one that is to go: the one with that id which is
// still there, or a new one. The loser is condemned.
func (m *machine) replace(
	s *store.Step, loser *store.Instance, r *store.Request, id wire.PhysicalID,
) *store.Instance {
	role := loser.Role
	loser.Role, loser.Replaced = store.RoleCondemned, true
	m.changeInstance(loser)
	var winner *store.Instance
	for _, other := range m.condemned(loser.Logical) {
		if other != loser && other.PhysicalID == id {
			winner = other
		}
	}
	if winner == nil {
		body := *loser.Body
		body.Properties, body.Timeout = r.Body.Properties, r.Body.Timeout // those it came to be with
		body.Signals, body.Ref = nil, value.Value{}
		winner = m.newInstance(loser.Logical, body)
		winner.Role, winner.PhysicalID, winner.Reached = role, id, true
		winner.Verb, winner.Progress, winner.Changed = loser.Verb, loser.Progress, loser.Changed
	} else {
		winner.Role, winner.Replaced = role, false
	}
	if s != nil {
		s.Instance = winner.Number
		m.changeStep(s)
	}
	return winner
}

// fail ends a step badly: the resource's own event, then whatever that means for its siblings.
func (m *machine) fail(s *store.Step, i *store.Instance, verb store.Verb, reason string, properties value.Value) error {
	first := !m.failed()
	m.resourceEvent(i, verb, store.ProgressFailed, reason, properties, false)
	s.State = store.StepFailed
	m.changeStep(s)
	if m.op.Phase == store.PhaseRevert && m.op.Force {
		return m.assume(s, i)
	}
	m.failing(s.Logical, verb)
	if m.op.Phase != store.PhaseApply || !first || m.op.DisableRollback {
		return nil
	}
	if err := m.whole(); err != nil {
		return err
	}
	m.cancelRunning()
	return nil
}

// scrub removes from a text what nobody may read: signatures, the secrets that the provider was given, those that it or
// its neighbours hold, and those in what it says beside the text.
func (m *machine) scrub(r *store.Request, text string, beside ...value.Value) string {
	return m.without(text, m.calledWith(r.Body.Token, r.Body.HTTPConfig), append(beside, r.Body.Properties, r.Body.OldProperties)...)
}

// presentable makes a text fit for people: without signatures, without control characters, and without any secret that this
// decision knows of.
func (m *machine) presentable(text string, more ...value.Value) string {
	return m.without(text, nil, more...)
}

// calledWith returns what is secret of how a provider is called.
func (m *machine) calledWith(token, config value.Value) []string {
	if m.dialect != ROS {
		return token.Secrets()
	}
	return append(store.ConfigSecrets(config), store.TokenSecrets(token)...)
}

// without is presentable, of which further secrets are given as they are.
func (m *machine) without(text string, secrets []string, more ...value.Value) string {
	secrets = append(secrets, m.hidden...)
	for _, v := range more {
		secrets = append(secrets, v.Secrets()...)
	}
	for _, revision := range m.view.Revisions {
		secrets = append(secrets, revision.Parameters.Secrets()...)
		secrets = append(secrets, revision.Outside.Secrets()...)
	}
	for _, i := range m.instances {
		if i.Body != nil {
			for _, v := range []value.Value{
				i.Body.Properties, i.Body.Attempted, i.Body.Data, i.Body.Ref,
			} {
				secrets = append(secrets, v.Secrets()...)
			}
			secrets = append(secrets, m.calledWith(i.Body.Token, i.Body.HTTPConfig)...)
		}
	}
	// A secret or a signature may hold such a character, or have one put into it by a program that colours its output.
	return scrub(wire.Redact(wire.CleanText(wire.Redact(scrub(text, secrets)))), secrets)
}
