package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/wire"
)

// An Update that returns another ID without Replaces must not make the service delete the live resource.
func TestReplacementIsExplicit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer Answer
		err    error
		want   string
	}{
		{"no ID", Answer{}, nil, "SUCCESS old"},
		{"the same ID", Answer{ID: "old"}, nil, "SUCCESS old"},
		{"the same ID, replacing", Answer{ID: "old", Replaces: true}, nil, "SUCCESS old"},
		{"another ID", Answer{ID: "new"}, nil, `FAILED old (the Update of "old" returned another physical ID, "new", without Replaces. `},
		{"another ID, replacing", Answer{ID: "new", Replaces: true}, nil, "SUCCESS new"},
		{"another ID and an error", Answer{ID: "new"}, errors.New("disk full"), "FAILED old (disk full)"},
	} {
		raw := HandlerFunc(func(context.Context, *Request) (Answer, error) { return tt.answer, tt.err })
		if got := newWorld(t, raw).ask(t, Update, "old", "{}", "{}"); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		u := &updating{answer: Response[map[string]string]{ID: tt.answer.ID, Replaces: tt.answer.Replaces}, err: tt.err}
		if got := newWorld(t, New(u)).ask(t, Update, "old", "{}", "{}"); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s, with a Poller: %s, want %s", tt.name, got, tt.want)
		}
		if tt.name == "another ID" && u.polled != "" {
			t.Errorf("%s was polled, which the service does not know", u.polled)
		}
		if tt.name == "another ID, replacing" && u.polled != "new" {
			t.Errorf("%q was polled, want new", u.polled)
		}
	}
}

// updating is a provider with a fixed answer to an Update. It polls.
type updating struct {
	answer Response[map[string]string]
	err    error
	polled PhysicalID
}

func (u *updating) Create(context.Context, *CreateRequest[json.RawMessage]) (Response[map[string]string], error) {
	return Response[map[string]string]{}, nil
}

func (u *updating) Update(context.Context, *UpdateRequest[json.RawMessage]) (Response[map[string]string], error) {
	return u.answer, u.err
}

func (u *updating) Delete(_ context.Context, r *DeleteRequest[json.RawMessage]) error {
	r.SetState("job-7")
	return nil
}

func (u *updating) Poll(_ context.Context, r *PollRequest[json.RawMessage]) (Progress[map[string]string], error) {
	u.polled = r.ID
	if r.Type != Delete {
		return Progress[map[string]string]{Done: true}, nil
	}
	var job string
	if err := r.DecodeState(&job); err != nil || job != "job-7" {
		return Progress[map[string]string]{}, fmt.Errorf("state %q: %w", job, err)
	}
	if r.Try == 1 {
		return Progress[map[string]string]{}, nil
	}
	if strings.Contains(string(r.Properties), "stuck") {
		return Progress[map[string]string]{}, errors.New("it is stuck")
	}
	return Progress[map[string]string]{}, fmt.Errorf("describe: %w", ErrGone)
}

// A Delete is polled. ErrGone completes it, and any other error names the method.
func TestPollAfterDelete(t *testing.T) {
	w := newWorld(t, New(&updating{}))
	if got := w.ask(t, Delete, "old", "{}", ""); got != "SUCCESS old" {
		t.Error(got)
	}
	if got, want := w.ask(t, Delete, "old", `{"A":"stuck"}`, ""), "FAILED old (Poll after Delete: it is stuck)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A Create whose ID is known only at the end answers with that ID.
func TestProgressID(t *testing.T) {
	w := newWorld(t, New(late{}))
	if got, want := w.ask(t, Create, "", "{}", ""), `SUCCESS db-7 {"Host":"h"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

type late struct{}

func (late) Create(context.Context, *CreateRequest[json.RawMessage]) (Response[map[string]string], error) {
	return Response[map[string]string]{}, nil
}

func (late) Update(context.Context, *UpdateRequest[json.RawMessage]) (Response[map[string]string], error) {
	return Response[map[string]string]{}, nil
}

func (late) Delete(context.Context, *DeleteRequest[json.RawMessage]) error { return nil }

func (late) Poll(_ context.Context, r *PollRequest[json.RawMessage]) (Progress[map[string]string], error) {
	return Progress[map[string]string]{Done: r.Try > 1, ID: "db-7", Attributes: map[string]string{"Host": "h"}}, nil
}

// An attribute or an ID that contains the value of a secret property is secret, on every transport.
func TestSecretsFollowValues(t *testing.T) {
	const secret = "hunter2-and-more"
	type made func(w *world) wire.Request
	aws := func(w *world) wire.Request { return w.event(Create, "", `{"Password":"`+secret+`"}`, "") }
	ros := func(w *world) wire.Request { return w.ros(Create, "", `{"Password":"`+secret+`"}`, "") }
	event := func(wrap func(text []byte) []byte) func(*testing.T, *world, wire.Request) wire.Response {
		return func(t *testing.T, w *world, r wire.Request) wire.Response {
			t.Helper()
			text, err := r.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if err := w.ServeEvent(t.Context(), wrap(text)); err != nil || len(w.answers) != 1 {
				t.Fatalf("%d answers, %v", len(w.answers), err)
			}
			return w.answers[0]
		}
	}
	post := func(path string, inReply bool) func(*testing.T, *world, wire.Request) wire.Response {
		return func(t *testing.T, w *world, r wire.Request) wire.Response {
			t.Helper()
			text, err := r.Encode()
			if err != nil {
				t.Fatal(err)
			}
			w.web.unsigned = true
			reply := httptest.NewRecorder()
			w.ServeHTTP(reply, httptest.NewRequest(http.MethodPost, path, bytes.NewReader(text)))
			if err := w.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !inReply && len(w.answers) == 1 {
				return w.answers[0]
			}
			a, err := r.Dialect.ParseResponse(reply.Body.Bytes())
			if err != nil {
				t.Fatalf("%d: %v", reply.Code, err)
			}
			return a
		}
	}
	plain := func(text []byte) []byte { return text }
	notification := func(text []byte) []byte {
		out, _ := json.Marshal(map[string]any{"Records": []any{map[string]any{"Sns": map[string]any{"Message": string(text)}}}})
		return out
	}
	message := func(text []byte) []byte {
		out, _ := json.Marshal(map[string]any{"Type": "Notification", "Message": string(text)})
		return out
	}
	for _, transport := range []struct {
		name    string
		request made
		deliver func(*testing.T, *world, wire.Request) wire.Response
	}{
		{"Lambda", aws, event(plain)},
		{"SNS to Lambda", aws, event(notification)},
		{"SNS by SQS", aws, event(message)},
		{"HTTP", aws, post("http://p.test/", true)},
		{"Function Compute", ros, event(plain)},
		{"ROS web", ros, post("http://p.test/", false)},
		{"ROS web[sync]", ros, post("http://p.test/sync", true)},
	} {
		for what, answer := range map[string]Answer{
			"attribute": {ID: "a", Attributes: map[string]any{"Login": "user:" + secret}},
			"ID":        {ID: PhysicalID("id-" + secret)},
			"nothing":   {ID: "a", Attributes: map[string]any{"Login": "user"}},
		} {
			t.Run(transport.name+"/"+what, func(t *testing.T) {
				w := newROSWorld(t, ROSConfig{}, HandlerFunc(func(_ context.Context, r *Request) (Answer, error) {
					var p struct{ Password Secret }
					return answer, r.Decode(&p)
				}))
				r := transport.request(w)
				got := transport.deliver(t, w, r)
				holds := what != "nothing"
				switch {
				case r.Dialect == ROS && (got.Status == wire.Failed) != holds:
					t.Errorf("%v, want FAILED: %t", got, holds)
				case r.Dialect == CloudFormation && (got.Status != wire.Success || got.NoEcho != holds):
					t.Errorf("%v, want NoEcho %t", got, holds)
				}
				if what == "attribute" && strings.Contains(w.log.String(), secret) {
					t.Errorf("the log shows the secret:\n%s", &w.log)
				}
			})
		}
	}
}

// TestReplacementThatCannotBeSent checks that a replacement whose attributes are too long, or cannot be encoded, keeps the old ID: with
// the new one the service would delete the resource that is still in use.
func TestReplacementThatCannotBeSent(t *testing.T) {
	for name, attributes := range map[string]map[string]any{
		"too long":           {"Big": strings.Repeat("x", wire.MaxResponse)},
		"not encodable":      {"Bad": make(chan int)},
		"too long, long IDs": {"Big": strings.Repeat("x", wire.MaxResponse)},
	} {
		t.Run(name, func(t *testing.T) {
			old := PhysicalID("old")
			if strings.Contains(name, "long IDs") {
				old = PhysicalID(strings.Repeat("o", wire.MaxPhysicalID))
			}
			w := newWorld(t, HandlerFunc(func(context.Context, *Request) (Answer, error) {
				return Answer{ID: "new", Replaces: true, Attributes: attributes}, nil
			}))
			a := w.deliver(t, w.event(Update, old, `{"Name":"b"}`, `{"Name":"a"}`))
			if a.Status != wire.Failed || a.PhysicalResourceID != old {
				t.Errorf("answered %s", short(a))
			}
			if !strings.Contains(w.log.String(), "left behind") {
				t.Errorf("the log does not name the new resource:\n%s", &w.log)
			}
		})
	}
}
