package pintle

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

func request(t wire.RequestType) wire.Request {
	r := wire.Request{
		RequestType: t, StackID: wire.NewStackID("us-east-1", "123456789012", "web", "5f1a"),
		RequestID: "r-1", LogicalResourceID: "Site", ResourceType: "Custom::Site",
	}
	if t != Create {
		r.PhysicalResourceID = "site-1"
	}
	return r
}

func TestSettle(t *testing.T) {
	long := PhysicalID(strings.Repeat("x", wire.MaxPhysicalID+1))
	boom := errors.New("boom")
	running := make(chan struct{})
	for _, tt := range []struct {
		name    string
		request wire.RequestType
		outcome outcome
		status  wire.Status
		id      PhysicalID
		reason  string // a part of it; "" means that it must be empty
	}{
		{"create", Create, outcome{answer: Answer{ID: "site-2"}}, wire.Success, "site-2", ""},
		{"create without ID", Create, outcome{}, wire.Success, "r-1", ""},
		{"create fails", Create, outcome{err: boom}, wire.Failed, CreateFailed, "boom"},
		{"create fails with ID", Create, outcome{answer: Answer{ID: "site-2"}, err: boom}, wire.Failed, "site-2", "boom"},
		{"create abandoned", Create, outcome{err: boom, running: running}, wire.Failed, "r-1", "boom"},
		{"create with long ID", Create, outcome{answer: Answer{ID: long}}, wire.Failed, "r-1", "1025 bytes long"},
		{"create with long ID fails", Create, outcome{answer: Answer{ID: long}, err: boom}, wire.Failed, "r-1", "failed: boom"},
		{"create with bad ID", Create, outcome{answer: Answer{ID: "a\nb"}}, wire.Failed, "r-1", "control character"},
		{"create with ID not UTF-8", Create, outcome{answer: Answer{ID: "a\xff"}}, wire.Failed, "r-1", "not UTF-8"},
		{"update", Update, outcome{}, wire.Success, "site-1", ""},
		{"update replaces", Update, outcome{answer: Answer{ID: "site-2", Replaces: true}}, wire.Success, "site-2", ""},
		{"update changes ID", Update, outcome{answer: Answer{ID: "site-2"}}, wire.Failed, "site-1", "without Replaces"},
		{"update fails", Update, outcome{err: boom}, wire.Failed, "site-1", "boom"},
		{"update fails with ID", Update, outcome{answer: Answer{ID: "site-2"}, err: boom}, wire.Failed, "site-1", "boom"},
		{"update abandoned", Update, outcome{err: boom, running: running}, wire.Failed, "site-1", "boom"},
		{"update with long ID", Update, outcome{answer: Answer{ID: long}}, wire.Failed, "site-1", "1025 bytes long"},
		{"delete", Delete, outcome{}, wire.Success, "site-1", ""},
		{"delete with the ID", Delete, outcome{answer: Answer{ID: "site-1"}}, wire.Success, "site-1", ""},
		{"delete fails", Delete, outcome{err: boom}, wire.Failed, "site-1", "boom"},
		{"delete changes ID", Delete, outcome{answer: Answer{ID: "site-2"}}, wire.Failed, "site-1", `"site-2" to the Delete of "site-1"`},
		{"success with reason", Update, outcome{answer: Answer{Reason: "as before"}}, wire.Success, "site-1", "as before"},
		{"reason instead of error", Update, outcome{answer: Answer{Reason: "quota"}, err: boom}, wire.Failed, "site-1", "quota"},
		{"delete of a missing resource", Delete, outcome{err: fmt.Errorf("look up: %w", ErrGone)}, wire.Success, "site-1", ""},
		{"update of a missing resource", Update, outcome{err: ErrGone}, wire.Failed, "site-1", "gone"},
		{"error without text", Update, outcome{err: errors.New("")}, wire.Failed, "site-1", "*errors.errorString"},
		{"reason cleaned", Update, outcome{err: errors.New("a\x1b?X-Amz-Signature=abc")}, wire.Failed, "site-1", "a?X-Amz-Signature=REDACTED"},
	} {
		w := settle(request(tt.request), tt.outcome, nil)
		if w.Status != tt.status || w.PhysicalResourceID != tt.id || !strings.Contains(w.Reason, tt.reason) || (w.Reason == "") != (tt.reason == "") {
			t.Errorf("%s: %v, want %s %s %q", tt.name, w, tt.status, tt.id, tt.reason)
		}
		if m := w.Mismatches(request(tt.request)); m != nil {
			t.Errorf("%s: does not copy %v", tt.name, m)
		}
	}
}

// A reason quotes the beginning of a bad ID, without part of a secret in it.
func TestSettleMasksIDs(t *testing.T) {
	secret := "start-" + strings.Repeat("k", 300)
	hide := newSecrets()
	hide.Add(secret)
	for kind, id := range map[wire.RequestType]string{Create: secret + strings.Repeat("i", 1000), Delete: secret, Update: secret} {
		w := settle(request(kind), outcome{answer: Answer{ID: PhysicalID(id)}}, hide)
		if w.Status != wire.Failed || !strings.Contains(w.Reason, mask) || strings.Contains(w.Reason, "start-") {
			t.Errorf("%s: %s", kind, w.Reason)
		}
	}
	for _, id := range []string{secret + "\n", secret + "\xff"} {
		w := settle(request(Create), outcome{answer: Answer{ID: PhysicalID(id)}}, hide)
		if w.Status != wire.Failed || !strings.Contains(w.Reason, mask) || strings.Contains(w.Reason, "start-") {
			t.Errorf("%q: %s", id, w.Reason)
		}
	}
}

func TestEncodeFits(t *testing.T) {
	ok := wire.ResponseTo(request(Update), wire.Success)
	failed := ok
	failed.Status = wire.Failed
	reason := func(w wire.Response, text string) wire.Response {
		w.Reason = text
		return w
	}
	for _, tt := range []struct {
		name   string
		in     wire.Response
		data   map[string]any
		status wire.Status
		reason string // its beginning
		cut    bool
	}{
		{"small", ok, map[string]any{"a": "<&>"}, wire.Success, "", false},
		{"long reason of a failure", reason(failed, strings.Repeat("é\n", 4000)), nil, wire.Failed, "é\né\n", true},
		{"long reason of a success", reason(ok, strings.Repeat("x", 4000)), map[string]any{"a": 1}, wire.Success, "xxx", true},
		{"large attribute", ok, map[string]any{"a": 1, "page": strings.Repeat("x", 5000)}, wire.Failed, "the response is 5", false},
		{"large attribute and reason", reason(ok, "why"), map[string]any{"page": strings.Repeat("x", 5000)}, wire.Failed, "the response is 5", false},
		{"data of a failure", reason(failed, "why"), map[string]any{"page": strings.Repeat("x", 5000)}, wire.Failed, "why", false},
		{"unencodable", ok, map[string]any{"a": math.Inf(1)}, wire.Failed, "the attributes cannot be encoded: ", false},
	} {
		w, body, err := encode(tt.in, tt.data, false)
		if err != nil || len(body) > wire.MaxResponse {
			t.Errorf("%s: %d bytes, %v", tt.name, len(body), err)
			continue
		}
		if tt.cut != strings.Contains(w.Reason, "bytes are left out here, the log of the provider has them]") || tt.cut && len(body) < wire.MaxResponse-4 {
			t.Errorf("%s: %d bytes, reason ends %q", tt.name, len(body), w.Reason[max(0, len(w.Reason)-50):])
		}
		back, err := wire.ParseResponse(body)
		if err != nil || back.Status != tt.status || !strings.HasPrefix(back.Reason, tt.reason) || back.PhysicalResourceID != "site-1" {
			t.Errorf("%s: %v, %v", tt.name, back, err)
		}
		if back.Status == wire.Failed && back.Data != nil {
			t.Errorf("%s: a failure with data", tt.name)
		}
	}
	w, _, _ := encode(ok, map[string]any{"a": 1, "page": strings.Repeat("x", 5000)}, true)
	if want := `the largest attributes are "page" with 5002, "a" with 1;`; !strings.Contains(w.Reason, want) {
		t.Errorf("reason %q lacks %s", w.Reason, want)
	}
	w, body, err := encode(ok, map[string]any{"a": 10000000}, true)
	if err != nil || !w.NoEcho || !strings.Contains(string(body), `"NoEcho":true,"Data":{"a":10000000}`) {
		t.Errorf("%s, %v", body, err)
	}
}

func FuzzEncode(f *testing.F) {
	f.Add("why", "value", true)
	f.Fuzz(func(t *testing.T, reason, value string, failed bool) {
		w := wire.ResponseTo(request(Update), wire.Success)
		if failed {
			w.Status = wire.Failed
		}
		w.Reason = wire.CleanText(reason)
		_, body, err := encode(w, map[string]any{"a": value}, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wire.ParseResponse(body); err != nil {
			t.Errorf("%v: %s", err, body)
		}
	})
}

func TestBudget(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, left := range []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second, 3 * time.Second, 15 * time.Minute} {
		b := newBudget(now, now.Add(left))
		if !now.Before(b.handler) || !b.handler.Before(b.watchdog) || !b.watchdog.Before(b.send) || !b.send.Before(b.deadline) {
			t.Errorf("%v: out of order: %+v", left, b)
		}
		if spent := b.deadline.Sub(b.handler); left >= time.Minute && spent > 8*time.Second {
			t.Errorf("%v: takes %v from the handler", left, spent)
		}
	}
}

func TestDecode(t *testing.T) {
	r := newRequest(wire.Request{ResourceProperties: []byte(`{"Port":"80","On":"yes","Name":{}}`)}, nil)
	var good struct {
		Port int `json:",string"`
	}
	if err := r.Decode(&good); err != nil || good.Port != 80 {
		t.Errorf("%+v, %v", good, err)
	}
	var flag struct {
		On bool `json:",string"`
	}
	if err := r.Decode(&flag); err == nil || strings.Contains(err.Error(), "yes") {
		t.Errorf("error shows the value: %v", err)
	}
	var name struct{ Name string }
	if err := r.Decode(&name); err == nil || err.Error() != "properties: Name cannot be read as string" {
		t.Errorf("error = %v", err)
	}
	if err := r.DecodeOld(&good); err != nil {
		t.Errorf("old properties that are not there: %v", err)
	}
	if text := fmt.Sprintf("%v", r); strings.Contains(text, "yes") {
		t.Errorf("shows the properties: %s", text)
	}
}

func TestUnwrap(t *testing.T) {
	for _, tt := range []struct {
		name, event string
		want        []string
	}{
		{"request", `{"RequestType":"Create"}`, []string{`{"RequestType":"Create"}`}},
		{"not JSON", `{`, []string{`{`}},
		{"SNS", `{"Records":[{"EventSource":"aws:sns","Sns":{"Message":"{\"a\":1}"}},{"Sns":{"Message":"b"}}]}`, []string{`{"a":1}`, "b"}},
		{"notification", `{"Type":"Notification","Message":"{}"}`, []string{"{}"}},
		{"other records", `{"Records":[{"s3":{}}]}`, nil},
	} {
		got, err := unwrap([]byte(tt.event))
		var texts []string
		for _, text := range got {
			texts = append(texts, string(text))
		}
		if strings.Join(texts, "\x00") != strings.Join(tt.want, "\x00") || (err == nil) != (tt.want != nil) {
			t.Errorf("%s: %q, %v", tt.name, texts, err)
		}
	}
}
