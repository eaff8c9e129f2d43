package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// notifyTimeout is how long a topic may take to accept a notification.
const notifyTimeout = 5 * time.Minute

// notify makes a request for every event of this decision and every topic that is to be told, so that what was committed
// is told, sooner or later, at least once and in no certain order.
func (m *machine) notify() {
	if len(m.delta.Events) == 0 {
		return
	}
	for _, arn := range m.view.Revisions[m.stack.Revision].NotificationARNs {
		token, err := wire.ParseToken(wire.ServiceToken(arn))
		if err != nil {
			continue // none that was let in
		}
		for _, e := range m.delta.Events {
			if text, told := m.dialect.notification(&m.stack, e); told {
				m.tell(arn, token.Region, text)
			}
		}
	}
}

func (m *machine) tell(arn, region, text string) {
	r := &store.Request{
		ID: wire.RequestID(m.newID()), Stack: m.stack.Key, Operation: m.op.Number, Type: store.TypeNotification,
		State: store.RequestReady, Owner: m.node(), Created: m.now,
		Body: &store.RequestBody{
			Dialect: m.dialect.Name(), StackID: m.stack.ID, Region: region, Timeout: notifyTimeout, Token: value.Str(arn),
			Properties: value.Object(value.Member{Key: "Message", Value: value.Str(text)}),
		},
	}
	m.requests[r.ID] = r
	m.changeRequest(r)
	m.newReq.add(r.ID)
	m.madeReady.add(r.ID)
}

// told ends a notification: nobody answers it.
func (m *machine) told(r *store.Request, outcome Outcome) {
	r.State, r.Owner, r.Ending, r.Settled = store.RequestSettled, 0, "told", m.now
	m.changeRequest(r)
	switch outcome.Kind {
	case Refused, Died:
		r.Ending = outcome.Kind.String()
		m.audit(r, "a notification to "+store.ShownURL(r.Body.Token.Text())+" was not delivered: "+m.scrub(r, outcome.Text))
	case Accepted, Answered, TimedOut, Provided, Awaiting, Waiting, Silent, Returned:
	}
}

// notification is an event as CloudFormation tells it to a topic: lines of quoted values.
func (d cloudFormation) notification(stack *store.Stack, e store.Event) (string, bool) {
	status := d.StackStatus(e.Kind, e.Phase)
	if e.Verb != "" {
		status = d.ResourceStatus(e.Verb, e.Progress)
	}
	var text strings.Builder
	for _, line := range []struct{ key, value string }{
		{"StackId", string(stack.ID)},
		{"Timestamp", e.Time.Format("2006-01-02T15:04:05.000Z")},
		{"EventId", e.ID},
		{"LogicalResourceId", string(e.Logical)},
		{"Namespace", stack.Account},
		{"PhysicalResourceId", string(e.Physical)},
		{"ResourceProperties", e.Properties},
		{"ResourceStatus", status},
		{"ResourceStatusReason", e.Reason},
		{"ResourceType", e.Type},
		{"StackName", stack.Name},
		{"ClientRequestToken", e.Token},
	} {
		fmt.Fprintf(&text, "%s='%s'\n", line.key, line.value)
	}
	return text.String(), true
}
