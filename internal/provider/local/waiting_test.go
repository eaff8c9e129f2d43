package local_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// TestWaitingResult checks results that ask to wait, valid and invalid.
func TestWaitingResult(t *testing.T) {
	k := newKit(t, "handle", nil)
	run := func(id, answer string) local.Outcome {
		event := local.Event{ID: id, Payload: task{Do: "answer", Answer: answer}.payload(), Secrets: []string{"hunter2"}, Waits: true}
		if err := k.Invoke("P", event); err != nil {
			t.Fatal(err)
		}
		return k.next().outcome
	}
	got := run("1", `{"pintleWaiting": {"afterSeconds": 1.5, "until": "2026-11-21T10:00:00Z", "reason": "at \u001b[1mhunter2", "physicalResourceId": "it", "pending": {"p": "hunter2"}}}`)
	want := local.Outcome{Kind: local.Waiting, Delivered: true, Waiting: &wire.Waiting{
		After: 1500 * time.Millisecond, Until: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
		Reason: "at *****", PhysicalResourceID: "it", Pending: json.RawMessage(`{"p": "hunter2"}`),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The runtime, which knows every secret, shortens a long reason. Truncating before redacting would leave part of a
	// secret.
	for n := range 12 {
		reason := strings.Repeat("x", wire.MaxWaitingReason-n) + "hunter2, " + strings.Repeat("y", 10)
		got := run("3", `{"pintleWaiting": {"afterSeconds": 0, "until": "2026-11-21T10:00:00Z", "reason": "`+reason+`", "pending": 1}}`)
		if got.Kind != local.Waiting || strings.Contains(got.Waiting.Reason, "h") {
			t.Errorf("%d before the end: %s", n, got.Waiting.Reason)
		}
	}
	waiting := func(pending string) string {
		return `{ "pintleWaiting": {"afterSeconds": 0, "until": "2026-11-21T10:00:00Z", "pending": "` + pending + `"}}`
	}
	for name, test := range map[string]struct {
		answer string
		kind   local.OutcomeKind
		says   string
	}{
		"null":               {`null`, local.Returned, ""},
		"no JSON":            {`pintleWaiting`, local.Returned, ""},
		"something":          {`{"PhysicalResourceId": "pintleWaiting"}`, local.Returned, ""},
		"large":              {`{"Data": "` + strings.Repeat("x", 1<<20) + `"}`, local.Returned, ""},
		"no pause":           {`{"pintleWaiting": {"until": "2026-11-21T10:00:00Z", "pending": "hunter3"}}`, local.Errored, "cannot be read: "},
		"most":               {waiting(strings.Repeat("x", wire.MaxPending-2)), local.Waiting, ""},
		"too large":          {waiting(strings.Repeat("x", wire.MaxPending-1)), local.Errored, "cannot be read: "},
		"far too large":      {waiting(strings.Repeat("x", wire.MaxPending+17<<10)), local.Errored, "of more than 278528 bytes"},
		"too large in total": {waiting(strings.Repeat("x", 6<<20)), local.Errored, "more than 6291456 bytes"},
	} {
		got := run("2", test.answer)
		if got.Kind != test.kind || !strings.Contains(got.Message, test.says) || strings.Contains(got.Message, "hunter") {
			t.Errorf("%s: %s", name, got)
		}
	}
	for answer, want := range map[string]bool{
		`{"Status": "SUCCESS", "RequestId": "2", "StackId": "s"}`: true,
		`{"Status": "FAILED", "PhysicalResourceId": "x"}`:         true,
		`{"Status": "SUCCESS"}`:                                   false,
		`{"PhysicalResourceId": "x", "Data": {}}`:                 false,
		`{"Status": 200, "RequestId": "2"}`:                       false,
		`"SUCCESS"`:                                               false,
	} {
		if got := run("2", answer); got.Kind != local.Returned || got.Document != want {
			t.Errorf("%s: %s, a response document: %t", answer, got, got.Document)
		}
	}
}

// TestWaitsHeader checks that only a provider that can be polled gets the header, and that a requested result is
// returned anyway.
func TestWaitsHeader(t *testing.T) {
	k := newKit(t, "handle", nil)
	for _, waits := range []bool{false, true} {
		event := local.Event{ID: "1", Payload: task{Do: "describe"}.payload(), WantResult: true, Waits: waits}
		if err := k.Invoke("P", event); err != nil {
			t.Fatal(err)
		}
		var got struct{ Header map[string][]string }
		outcome := k.next().outcome
		if err := json.Unmarshal(outcome.Result, &got); err != nil {
			t.Fatalf("%s: %v", outcome, err)
		}
		if header := got.Header["Pintle-Waits"]; waits != cmp.Equal(header, []string{"true"}) || !waits && header != nil {
			t.Errorf("waits %t: header %q", waits, header)
		}
	}
	if got := k.run("2", task{Do: "answer", Answer: `{"pintleWaiting": {}}`}); got.Kind != local.Returned {
		t.Errorf("who is not asked again waits: %s", got)
	}
}
