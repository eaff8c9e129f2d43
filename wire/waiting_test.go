package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

func TestWaiting(t *testing.T) {
	until := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	w := wire.Waiting{After: 1500 * time.Millisecond, Until: until, Reason: "copying\x1b[31m <3", Pending: json.RawMessage(`{"a": "5ec2e7"}`)}
	text, err := w.Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"pintleWaiting":{"afterSeconds":1.5,"until":"2026-01-02T15:04:05Z","reason":"copying[31m <3","pending":{"a":"5ec2e7"}}}`
	if string(text) != want {
		t.Errorf("%s\nwant %s", text, want)
	}
	back, ok, err := wire.ParseWaiting(text)
	if !ok || err != nil || back.After != w.After || !back.Until.Equal(until) || back.Reason != "copying[31m <3" || string(back.Pending) != `{"a":"5ec2e7"}` {
		t.Errorf("%#v, %v, %v", back, ok, err)
	}
	for _, shown := range []string{fmt.Sprint(w), fmt.Sprintf("%#v", w), w.LogValue().String()} {
		if strings.Contains(shown, "5ec2e7") {
			t.Errorf("it shows the state: %s", shown)
		}
	}
	w.PhysicalResourceID = wire.PhysicalID(strings.Repeat("x", wire.MaxPhysicalID))
	w.Reason = strings.Repeat("ä", wire.MaxWaitingReason)
	if text, err = w.Encode(); err != nil {
		t.Fatal(err)
	}
	if back, _, err = wire.ParseWaiting(text); err != nil || back.PhysicalResourceID != w.PhysicalResourceID ||
		len(back.Reason) > wire.MaxWaitingReason || !strings.HasSuffix(back.Reason, "ä…") {
		t.Errorf("a long reason: %d bytes, %v", len(back.Reason), err)
	}
	for name, bad := range map[string]wire.Waiting{
		"pending is missing":       {Until: until},
		"pending is not JSON":      {Until: until, Pending: json.RawMessage("{")},
		"262145 bytes":             {Until: until, Pending: json.RawMessage(`"` + strings.Repeat("x", wire.MaxPending-1) + `"`)},
		"holds control characters": {Until: until, Pending: json.RawMessage("1"), PhysicalResourceID: "a\nb"},
		"is 1025 bytes long":       {Until: until, Pending: json.RawMessage("1"), PhysicalResourceID: wire.PhysicalID(strings.Repeat("x", 1025))},
		"until is not set":         {Pending: json.RawMessage("1")},
		"after is -1s, want 0 to":  {After: -time.Second, Until: until, Pending: json.RawMessage("1")},
	} {
		if _, err := bad.Encode(); !errors.Is(err, wire.ErrWaitingDocument) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseWaiting(t *testing.T) {
	for _, other := range []string{``, `null`, `{}`, `[]`, `"pintleWaiting"`, `{"pintleWaiting`, `{"x":"pintleWaiting"}`, `{"a":{"pintleWaiting":{}}}`} {
		if _, ok, err := wire.ParseWaiting([]byte(other)); ok || err != nil {
			t.Errorf("%s: %v, %v", other, ok, err)
		}
	}
	for in, want := range map[string]string{
		`{}`:                  "afterSeconds is missing",
		`5`:                   "is not an object",
		`null`:                "afterSeconds is missing",
		`{"afterSeconds":-1}`: "afterSeconds is negative",
		`{"afterSeconds":1}`:  "until is missing",
		`{"afterSeconds":"1","until":"2026-01-02T15:04:05Z","pending":1}`:                                   "a number afterSeconds",
		`{"afterSeconds":1,"until":"soon","pending":"5ec2e7"}`:                                              "a time until",
		`{"afterSeconds":1,"until":"2026-01-02T15:04:05Z"}`:                                                 "pending is missing",
		`{"afterSeconds":1,"until":"2026-01-02T15:04:05Z","pending":null}`:                                  "pending is missing",
		`{"afterSeconds":1,"until":"2026-01-02T15:04:05Z","pending":1,"reason":1}`:                          "a text reason",
		`{"afterSeconds":1e999,"until":"2026-01-02T15:04:05Z","pending":1}`:                                 "a number afterSeconds",
		`{"afterSeconds":1,"until":"2026-01-02T15:04:05Z","pending":1,"physicalResourceId":"5ec2e7\u0000"}`: "physicalResourceId holds",
	} {
		_, ok, err := wire.ParseWaiting([]byte(`{"pintleWaiting":` + in + `}`))
		if !ok || !errors.Is(err, wire.ErrWaitingDocument) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "5ec2e7") {
			t.Errorf("%s: %v, %v, want %s", in, ok, err, want)
		}
	}
	w, ok, err := wire.ParseWaiting([]byte(`{"new":1,"pintleWaiting":{"afterSeconds":1e300,"until":"2026-01-02T15:04:05Z","pending":[1],"newer":2}}`))
	if !ok || err != nil || w.After != wire.MaxWaitingAfter || string(w.Pending) != "[1]" {
		t.Errorf("%v, %v, %v", w, ok, err)
	}
}

func TestResume(t *testing.T) {
	until := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	r := wire.Resume{Pending: json.RawMessage(`{"a":1}`), Try: 3, Until: until, Request: wire.Request{
		RequestType: wire.Create, ResponseURL: "https://b/k?X-Amz-Signature=5ec2e7&x=1", StackID: "s", RequestID: "r", LogicalResourceID: "l"}}
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"pintleResume":{"pending":{"a":1},"try":3,"until":"2026-01-02T15:04:05Z"},"request":{"RequestType":"Create","ResponseURL":"https://b/k?X-Amz-Signature=5ec2e7&x=1",` +
		`"StackId":"s","RequestId":"r","LogicalResourceId":"l"}}`
	if string(text) != want {
		t.Errorf("%s\nwant %s", text, want)
	}
	back, ok, err := wire.ParseResume(text)
	if !ok || err != nil || back.Try != 3 || !back.Until.Equal(until) || string(back.Pending) != `{"a":1}` || back.Request.ResponseURL != r.Request.ResponseURL {
		t.Errorf("%#v, %v, %v", back, ok, err)
	}
	for _, shown := range []string{fmt.Sprint(r), fmt.Sprintf("%#v", r), r.LogValue().String()} {
		if strings.Contains(shown, "5ec2e7") || strings.Contains(shown, `"a"`) {
			t.Errorf("it shows a secret: %s", shown)
		}
	}
	request, err := r.Request.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := wire.ParseResume(request); ok || err != nil {
		t.Errorf("a request: %v, %v", ok, err)
	}
	for in, want := range map[string]string{
		`{"pintleResume":1}`:                                                    "is not an object",
		`{"pintleResume":{"pending":1}}`:                                        "try is missing",
		`{"pintleResume":{"try":1}}`:                                            "pending is missing",
		`{"pintleResume":{"pending":1,"try":1.5}}`:                              "a whole number try",
		`{"pintleResume":{"pending":1,"try":1}}`:                                "request is not valid",
		`{"pintleResume":{"pending":1,"try":1},"request":{"RequestType":"Go"}}`: `RequestType is "Go"`,
	} {
		if _, ok, err := wire.ParseResume([]byte(in)); !ok || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", in, ok, err, want)
		}
	}
	r.Try = 0
	if _, err := r.Encode(); !errors.Is(err, wire.ErrWaitingDocument) {
		t.Errorf("try 0: %v", err)
	}
}

func FuzzParseWaiting(f *testing.F) {
	f.Add([]byte(`{"pintleWaiting":{"afterSeconds":1.5,"until":"2026-01-02T15:04:05Z","reason":"x","pending":{"a":[1]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		w, ok, err := wire.ParseWaiting(text)
		if !ok || err != nil {
			if err != nil && !errors.Is(err, wire.ErrWaitingDocument) {
				t.Errorf("error %v", err)
			}
			return
		}
		once, err := w.Encode()
		if errors.Is(err, wire.ErrWaitingDocument) && len(text) > wire.MaxPending/4 {
			return // invalid UTF-8 became longer
		}
		if err != nil {
			t.Fatalf("%v: %q", err, text)
		}
		back, ok, err := wire.ParseWaiting(once)
		if !ok || err != nil {
			t.Fatalf("%v, %v: %q", ok, err, once)
		}
		if twice, err := back.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("changed on the way: %v\n%s\n%s", err, once, twice)
		}
	})
}

func FuzzParseResume(f *testing.F) {
	f.Add([]byte(`{"pintleResume":{"pending":1,"try":1},"request":{"RequestType":"Create","ResponseURL":"u","StackId":"s","RequestId":"r","LogicalResourceId":"l"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, ok, err := wire.ParseResume(text)
		if !ok || err != nil {
			return
		}
		once, err := r.Encode()
		if errors.Is(err, wire.ErrWaitingDocument) && len(text) > wire.MaxPending/4 {
			return
		}
		if err != nil {
			t.Fatalf("%v: %q", err, text)
		}
		if len(once) > len(text)*4 {
			return
		}
		if _, ok, err := wire.ParseResume(once); !ok || err != nil {
			t.Fatalf("%v, %v: %q", ok, err, once)
		}
	})
}
