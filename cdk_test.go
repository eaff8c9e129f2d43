package pintle

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/wire"
)

// TestCompareWithCDK compares how the CDK's provider framework (aws-cdk-lib 2.276.0) and this package turn a handler's result
// into an answer. Every difference is intentional; the field why explains it.
func TestCompareWithCDK(t *testing.T) {
	boom := errors.New("boom")
	answer := func(a Answer, err error) Handler {
		return HandlerFunc(func(context.Context, *Request) (Answer, error) { return a, err })
	}
	long := strings.Repeat("x", 5000)
	for _, tt := range []struct {
		name    string
		handler Handler
		kind    RequestType
		cdk     string // the CDK's answer
		ours    string // this package's answer; empty if it is the same
		why     string
	}{
		{"Create without an ID gets that of the request", answer(Answer{}, nil), Create,
			"SUCCESS r-1 (SUCCESS)", "SUCCESS r-1", "a reason of a success says nothing"},
		{"Create with an ID", answer(Answer{ID: "new"}, nil), Create, "SUCCESS new (SUCCESS)", "SUCCESS new", "as above"},
		{"Update without an ID keeps it", answer(Answer{}, nil), Update, "SUCCESS old (SUCCESS)", "SUCCESS old", "as above"},
		{"Update with another ID replaces", answer(Answer{ID: "new", Replaces: true}, nil), Update, "SUCCESS new (SUCCESS)", "SUCCESS new", "as above"},
		{"Delete keeps the ID", answer(Answer{}, nil), Delete, "SUCCESS old (SUCCESS)", "SUCCESS old", "as above"},
		{"Delete cannot change the ID", answer(Answer{ID: "new"}, nil), Delete,
			`FAILED old (DELETE: cannot change the physical resource ID from "old" to "new" during deletion)`,
			`FAILED old (a Delete cannot change the physical ID, the handler answered "new" to the Delete of "old")`, "the same in our words"},
		{"attributes", answer(Answer{ID: "new", Attributes: map[string]any{"A": 1}}, nil), Create,
			`SUCCESS new {"A":1} (SUCCESS)`, `SUCCESS new {"A":1}`, "as above"},
		{"NoEcho", answer(Answer{ID: "new", Attributes: map[string]any{"A": 1}, NoEcho: true}, nil), Create,
			`SUCCESS new {"A":1} NoEcho (SUCCESS)`, `SUCCESS new {"A":1} NoEcho`, "as above"},
		{"attributes of a Delete are sent", answer(Answer{Attributes: map[string]any{"A": 1}}, nil), Delete,
			`SUCCESS old {"A":1} (SUCCESS)`, "SUCCESS old", "nobody can read them, and they count against the limit"},
		{"Create that throws gets a marker", answer(Answer{}, boom), Create,
			"FAILED AWSCDK::CustomResourceProviderFramework::CREATE_FAILED (Error: boom\n    at handler…)", "FAILED Pintle::CreateFailed (boom)",
			"the stack trace is for the log; uncut it breaks the limit of 4,096 bytes"},
		{"Update that throws keeps the ID", answer(Answer{}, boom), Update, "FAILED old (Error: boom\n    at handler…)", "FAILED old (boom)", "as above"},
		{"Delete that throws", answer(Answer{}, boom), Delete, "FAILED old (Error: boom\n    at handler…)", "FAILED old (boom)", "as above"},
		{"Create that throws after creating a resource", answer(Answer{ID: "half"}, boom), Create,
			"FAILED AWSCDK::CustomResourceProviderFramework::CREATE_FAILED (Error: boom\n    at handler…)", "FAILED half (boom)",
			"a handler of the CDK cannot say both; what it made is never deleted"},
		{"message replaces the error", answer(Answer{Reason: "no quota"}, boom), Update, "FAILED old (Error: boom\n    at handler…)", "FAILED old (no quota)",
			"the author chooses what people see"},
		{"a reason of a success is kept", answer(Answer{Reason: "nothing to do"}, nil), Update, "SUCCESS old (SUCCESS)", "SUCCESS old (nothing to do)",
			"the CDK has no way to give one"},
		{"large attributes", answer(Answer{Attributes: map[string]any{"A": long}}, nil), Update, "nothing: Response object is too long.",
			`FAILED old (the response is 5181 bytes long, 4096 are allowed: Data takes 5008 of them, the largest attributes are "A" with 5002; ` +
				"return the name of a place where the value is kept instead)", "the reason names what to change"},
		{"an ID that is too long", answer(Answer{ID: PhysicalID(long)}, nil), Update, "nothing: Invalid PhysicalResourceId",
			"FAILED old (the physical ID from the handler is 5000 bytes long, 1024 are allowed: \"" + long[:40] + "\"…)", "as above"},
		{"a panic", HandlerFunc(func(context.Context, *Request) (Answer, error) { panic("boom") }), Update,
			"FAILED old (Error: boom\n    at handler…)", "FAILED old (panic: boom)", "the trace is in the log"},
		{"Delete of a missing resource", answer(Answer{}, ErrGone), Delete, "FAILED old (Error: the resource is gone…)", "SUCCESS old",
			"the CDK leaves it to each handler to catch that"},
	} {
		w := newWorld(t, tt.handler)
		id := PhysicalID("old")
		if tt.kind == Create {
			id = ""
		}
		want := tt.ours
		if want == "" {
			want = tt.cdk
		}
		if got := w.ask(t, tt.kind, id, "{}", ""); got != want {
			t.Errorf("%s: %s\nwant %s\n(the CDK: %s; %s)", tt.name, got, want, tt.cdk, tt.why)
		}
	}
}

// TestCompareDeliveryWithCDK compares deliveries and retries.
func TestCompareDeliveryWithCDK(t *testing.T) {
	calls := 0
	w := newWorld(t, counting(&calls))

	// As in the CDK, the Delete after a Create that made nothing is answered without the handler.
	if got := w.ask(t, Delete, CreateFailed, "{}", ""); got != "SUCCESS Pintle::CreateFailed" || calls != 0 {
		t.Errorf("%s after %d calls", got, calls)
	}
	// As in the CDK, missing properties count as empty.
	r := w.event(Create, "", "", "")
	r.ResourceProperties = nil
	if got := short(w.deliver(t, r)); got != "SUCCESS thing-1" {
		t.Error(got)
	}
	// As in the CDK, a request with an unknown type is rejected as malformed, without calling the handler.
	r = w.event("Move", "old", "{}", "")
	if got := w.deliver(t, r); got.Status != wire.Failed || got.PhysicalResourceID != "old" || calls != 1 {
		t.Errorf("%s after %d calls", short(got), calls)
	}
	// A failed PUT is retried: eight times here, six times in the CDK, after pauses of up to one, two, four seconds and
	// so on.
	w.refuse = 7
	if got := w.ask(t, Create, "", "{}", ""); got != "SUCCESS thing-2" {
		t.Error(got)
	}
	// When all fail, Lambda repeats the event. The CDK runs the handler again; this package sends the answer again.
	r = w.event(Create, "", "{}", "")
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	w.refuse = 8
	if err := w.ServeEvent(t.Context(), text); err == nil {
		t.Error("an event whose answer did not arrive was dealt with")
	}
	if got := short(w.deliver(t, r)); got != "SUCCESS thing-3" || calls != 3 {
		t.Errorf("%s after %d calls", got, calls)
	}
	// No log contains the URL. The CDK also removes it from the log, but keeps it in the history of the state machine.
	if strings.Contains(w.log.String(), "5ec2e7") {
		t.Errorf("the log shows the response URL:\n%s", &w.log)
	}
}
