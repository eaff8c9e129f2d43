package engine

import (
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// setTimer limits the time of the operation that begins. The timer is a request row that asks nobody, so that it lives
// as long as the operation, on whichever node.
func (m *machine) setTimer(limit time.Duration) {
	m.remind(store.TypeTimer, limit)
}

// remind makes a row of the operation that asks nobody, and comes up when its time is over.
func (m *machine) remind(kind wire.RequestType, after time.Duration) {
	r := &store.Request{
		ID: wire.RequestID(m.newID()), Stack: m.stack.Key, Operation: m.op.Number, Type: kind,
		State: store.RequestDelayed, Due: m.now.Add(after), Created: m.now,
		Body: &store.RequestBody{Dialect: m.dialect.Name(), StackID: m.stack.ID, Region: m.stack.Region},
	}
	m.requests[r.ID] = r
	m.changeRequest(r)
	m.newReq.add(r.ID)
}

// stopTimer ends the operation's timer, if it has one. The view is whole.
func (m *machine) stopTimer() {
	for _, id := range sortedKeys(m.requests) {
		if r := m.requests[id]; r.Type == store.TypeTimer && r.State != store.RequestSettled {
			m.settleTimer(r, "stopped")
		}
	}
}

func (m *machine) settleTimer(r *store.Request, ending string) {
	r.State, r.Due, r.Ending, r.Settled = store.RequestSettled, zeroTime, ending, m.now
	m.changeRequest(r)
}

// expire gives the operation up, because its time is over: what is running is cancelled as if a sibling had failed.
func (m *machine) expire(timer *store.Request) error {
	if err := m.whole(); err != nil {
		return err
	}
	m.settleTimer(timer, "expired")
	if timer.Operation != m.op.Number || m.op.Phase != store.PhaseApply && m.op.Phase != store.PhasePrepare {
		return nil // it was not stopped, and has nothing to stop
	}
	m.op.Expired, m.opChanged = true, true
	if m.op.Phase == store.PhasePrepare {
		m.unprepared(m.dialect.texts().expired(&m.op, m.sequel()))
	}
	m.cancelRunning()
	return m.run()
}
