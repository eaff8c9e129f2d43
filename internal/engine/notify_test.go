package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

const watched = "arn:aws:sns:eu-west-1:123456789012:watchers"

// reported takes the dispatched notifications and returns the status in each, sorted, because topics do not keep an
// order.
func (w *world) reported() (statuses []string) {
	w.t.Helper()
	var rest []store.Request
	for _, r := range w.inbox {
		if r.Type != store.TypeNotification {
			rest = append(rest, r)
			continue
		}
		if got := r.Body.Token.Text(); got != watched || r.Body.Region != "eu-west-1" {
			w.t.Errorf("notified %s in %s", got, r.Body.Region)
		}
		message, _ := r.Body.Properties.Get("Message")
		line := ""
		for text := range strings.Lines(message.Text()) {
			key, value, _ := strings.Cut(strings.TrimSuffix(text, "'\n"), "='")
			switch key {
			case "LogicalResourceId":
				line = value
			case "ResourceStatus":
				line += " " + value
			}
		}
		statuses = append(statuses, line)
		w.accept(r)
	}
	w.inbox = rest
	slices.Sort(statuses)
	return statuses
}

func TestNotifications(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.createWith(one(`"K": "1"`), engine.CreateStack{Options: engine.Options{NotificationARNs: []string{watched}}})
	wantLines(t, w.reported(), "C CREATE_IN_PROGRESS", "S CREATE_IN_PROGRESS")
	w.succeed("C", "c")
	wantLines(t, w.reported(), "C CREATE_COMPLETE", "C CREATE_IN_PROGRESS", "S CREATE_COMPLETE")
	w.quiet()

	// A failed notification is recorded and changes nothing else.
	w.must(w.update(one(`"K": "2"`)))
	for _, r := range w.inbox {
		if r.Type == store.TypeNotification {
			w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Refused, Text: "no such topic"}))
		}
	}
	w.fail("C", "c", "no")
	w.reported()
	w.succeed("C", "c")
	w.reported()
	if got := w.status(); got != "UPDATE_ROLLBACK_COMPLETE" {
		t.Error(got)
	}
	audit, err := w.store.Audit(w.ctx, w.stack().Key, 100)
	w.must(err)
	if len(audit) != 2 || audit[0].Text != "a notification to "+watched+" was not delivered: no such topic" {
		t.Errorf("audit %+v", audit)
	}

	// A change of the topics alone is enough for an update.
	_, err = w.engine.Update(w.ctx, engine.UpdateStack{
		Stack: w.ref(), UsePrevious: true, Options: engine.Options{NotificationARNs: []string{}},
	})
	w.must(err)
	if len(w.inbox) > 0 || w.status() != "UPDATE_COMPLETE" {
		t.Errorf("%s, %d requests", w.status(), len(w.inbox))
	}
	w.quiet()
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
