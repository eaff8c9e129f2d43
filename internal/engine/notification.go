package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// notifyTimeout is the time limit for a topic to accept a notification.
const notifyTimeout = 5 * time.Minute

// notifications sends the events of a stack to its topics.
type notifications struct{ *decision }

// sendAll creates a request for every event of this decision and every topic that gets it. So committed events are
// delivered at least once, eventually, and in no particular order.
func (d notifications) sendAll() {
	if len(d.delta.Events) == 0 {
		return
	}
	for _, arn := range d.view.Revisions[d.stack.Revision].NotificationARNs {
		token, err := wire.ParseToken(wire.ServiceToken(arn))
		if err != nil {
			continue // not a valid topic
		}
		for _, e := range d.delta.Events {
			if text, isNotified := d.dialect.notification(&d.stack, e); isNotified {
				d.send(arn, token.Region, text)
			}
		}
	}
}

func (d notifications) send(arn, region, text string) {
	r := &store.Request{
		ID: wire.RequestID(d.newID()), Stack: d.stack.Key, Operation: d.op.Number, Type: store.TypeNotification,
		State: store.RequestReady, Owner: d.node(), Created: d.now,
		Body: &store.RequestBody{
			Dialect: d.dialect.Name(), StackID: d.stack.ID, Region: region, Timeout: notifyTimeout, Token: value.Str(arn),
			Properties: value.Object(value.Member{Key: "Message", Value: value.Str(text)}),
		},
	}
	d.requests[r.ID] = r
	d.changeRequest(r)
	d.newReq.add(r.ID)
	d.madeReady.add(r.ID)
}

// settle ends a notification, which has no answer.
func (d notifications) settle(r *store.Request, outcome Outcome) {
	r.State, r.Owner, r.Ending, r.Settled = store.RequestSettled, 0, "told", d.now
	d.changeRequest(r)
	switch outcome.Kind {
	case Refused, Died:
		r.Ending = outcome.Kind.String()
		d.audit(r, "a notification to "+store.ShownURL(r.Body.Token.Text())+" was not delivered: "+d.redact(r, outcome.Text))
	case Accepted, Answered, TimedOut, Provided, Awaiting, Waiting, Silent, Returned:
	}
}

// notification formats an event as CloudFormation does for a topic: lines of quoted values.
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
