package engine

import (
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// CancelUpdate is what it takes to cancel an update.
type CancelUpdate struct {
	Stack Ref
	Token string
}

// startCancel decides to give up an update that is under way and to roll it back. What is running is cancelled as if a
// sibling had failed.
func (m *machine) startCancel(in *CancelUpdate) error {
	if again, err := m.repeated(in.Token, store.CallCancel); again || err != nil {
		return err
	}
	if m.stack.Kind != store.KindUpdate || m.stack.Phase != store.PhaseApply && m.stack.Phase != store.PhasePrepare {
		return m.dialect.refusals().cannotCancel(&m.stack, m.status())
	}
	m.cancelRunning()
	if m.op.Anew { // there is nothing to go back from
		m.unprepared(m.dialect.texts().stackCancelled)
		m.remember(in.Token, store.CallCancel, m.op.ID)
		return nil
	}
	m.stopTimer()
	m.withdrawMacros("")
	m.op.RollbackToken = in.Token
	m.beginRevert(m.dialect.texts().stackCancelled)
	m.remember(in.Token, store.CallCancel, m.op.RollbackID)
	return m.run()
}

// cancelRunning gives up every running step. The view is whole.
func (m *machine) cancelRunning() {
	for _, s := range m.sortedSteps() {
		if s.State == store.StepRunning {
			m.cancel(s)
		}
	}
}

func (m *machine) failing(logical wire.LogicalID, verb store.Verb) {
	if verb == store.VerbCreate || verb == store.VerbImport {
		m.op.FailedCreates = append(m.op.FailedCreates, logical)
	} else {
		m.op.FailedUpdates = append(m.op.FailedUpdates, logical)
	}
	m.opChanged = true
}

// cancel gives up a running step, because another one failed or a client says so. Its request stays with the provider:
// what that has made is known only by its answer, so what undoes the step waits for the answer, within bounds.
func (m *machine) cancel(s *store.Step) {
	request, instance := m.requests[s.Request], m.instances[s.Instance]
	s.State = store.StepCancelled
	m.changeStep(s)
	m.working(-1)

	verb, reason, shown := store.VerbUpdate, m.dialect.texts().updateCancelled, instance
	switch {
	case request.Type == wire.Create && instance.Role == store.RoleCondemned: // it was to take another one's place
		shown = m.current(s.Logical)
	case request.Type == wire.Create:
		verb, reason = store.VerbCreate, m.dialect.texts().createCancelled
	case request.Type == store.TypeImport:
		verb, reason = store.VerbImport, m.dialect.texts().createCancelled
	case request.Type == wire.Delete: // it was to make room for a Create
		verb, reason = store.VerbDelete, m.dialect.texts().createCancelled
	}
	if request.Type == wire.Create && instance.PhysicalID == "" && !m.dialect.rules().idsAsGiven {
		instance.PhysicalID = m.dialect.generateID(m.stack, s.Logical, m.random)
		m.changeInstance(instance)
	}
	// A Create or Update that waits for signals is with no provider, and nothing is to be learned of it.
	atOnce := request.Type != wire.Delete && request.Body.Await != nil ||
		request.Type == wire.Create && m.fidelity == FidelityAWS && !request.Body.Native()
	switch {
	case m.newReq[request.ID]: // made by this very decision: nobody has been asked, and nobody is
		delete(m.requests, request.ID)
		delete(m.changedReq, request.ID)
		delete(m.newReq, request.ID)
		instance.Reached = request.Type != wire.Create && request.Type != store.TypeImport
		if request.Type == wire.Delete && m.dialect.rules().idsStay { // it stays what its logical ID stands for
			instance.Role = store.RoleCurrent
			m.changeInstance(instance)
		}
		if m.startedOver[instance.Number] { // and is whole
			verb, reason = store.VerbUpdate, m.dialect.texts().updateCancelled
		}
		if instance != shown {
			instance.Role = store.RoleGone
		}
		s.Request = ""
	case atOnce: // the Delete does not wait, and what a provider's Create makes leaks
		request.State, request.Owner, request.Executor, request.Due = store.RequestSettled, 0, 0, zeroTime
		request.Ending, request.Settled, request.Cancelled = "cancelled", m.now, true
		m.changeRequest(request)
		m.stopAsking(request)
		s.Request = ""
	default: // one that waits is asked on, for it says by its answer what there is
		request.Cancelled = true
		switch {
		case request.Body.Aim != "":
			m.withNested(request)
		case request.State == store.RequestWaiting:
			request.Due = minTime(request.Due, m.now.Add(m.cancelledWait))
			m.hurry(request)
		}
		m.changeRequest(request)
	}
	if request.Type != wire.Delete || s.Request == "" { // else its end is told when it is known
		reason = m.failure(failedByAnother, s.Logical, reason)
		m.resourceEvent(shown, verb, store.ProgressFailed, reason, request.Body.Properties, false)
	}
	if verb == store.VerbDelete {
		verb = store.VerbCreate
	}
	m.failing(s.Logical, verb)
}
