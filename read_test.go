package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pintle-dev/pintle/wire"
)

// readableSite is a provider with Read.
type readableSite struct{}

type siteProperties struct{ Size int }

func (readableSite) Create(context.Context, *CreateRequest[siteProperties]) (Response[Map], error) {
	return Response[Map]{}, nil
}

func (readableSite) Update(context.Context, *UpdateRequest[siteProperties]) (Response[Map], error) {
	return Response[Map]{}, nil
}

func (readableSite) Delete(context.Context, *DeleteRequest[siteProperties]) error { return nil }

func (readableSite) Read(_ context.Context, r *ReadRequest[siteProperties]) (ReadResponse[siteProperties, Map], error) {
	if r.ID == "gone" {
		return ReadResponse[siteProperties, Map]{}, ErrGone
	}
	return ReadResponse[siteProperties, Map]{Properties: siteProperties{r.Properties.Size + 1}, Attributes: Map{"URL": "u"}}, nil
}

// Map is a shorthand of this test.
type Map = map[string]any

// The pintletest package tests Lambda and ROS.
func TestReadOnOtherTransports(t *testing.T) {
	for name, deliver := range map[string]func(*world, []byte) []byte{
		"SNS": func(w *world, document []byte) []byte {
			event, err := json.Marshal(Map{"Records": []any{Map{"Sns": Map{"Message": string(document)}}}})
			if err == nil {
				err = w.ServeEvent(t.Context(), event)
			}
			if err != nil {
				t.Fatal(err)
			}
			return nil
		},
		"HTTP": func(w *world, document []byte) []byte {
			w.web.unsigned = true
			reply := httptest.NewRecorder()
			w.ServeHTTP(reply, httptest.NewRequest(http.MethodPost, "http://p.test/", bytes.NewReader(document)))
			return reply.Body.Bytes()
		},
	} {
		for id, want := range map[PhysicalID]string{
			"site": `SUCCESS site {"URL":"u"} {"properties":{"Size":6}}`,
			"gone": `SUCCESS gone  {"gone":true}`,
		} {
			w := newWorld(t, New(readableSite{}))
			document, err := w.event(Read, id, `{"Size":"5"}`, "").Encode()
			if err != nil {
				t.Fatal(err)
			}
			var answer wire.Response
			if reply := deliver(w, document); reply != nil {
				answer, err = wire.ParseResponse(reply)
			} else {
				answer = w.answers[0]
			}
			state, _ := json.Marshal(answer.State)
			got := string(answer.Status) + " " + string(answer.PhysicalResourceID) + " " + string(answer.Data) + " " + string(state)
			if err != nil || got != want {
				t.Errorf("%s: %v, %s, want %s", name, err, got, want)
			}
		}
	}
}

// A method Read with another signature is an error; it is not ignored.
func TestReadIsDeclared(t *testing.T) {
	text, err := Schema(For("Custom::Site", New(readableSite{})))
	var schema struct {
		ResourceTypes map[string]struct{ Reads bool }
	}
	if err != nil || json.Unmarshal(text, &schema) != nil || !schema.ResourceTypes["Custom::Site"].Reads {
		t.Errorf("%v: %s", err, text)
	}
	defer func() {
		if recover() == nil {
			t.Error("New takes a method Read that is never called")
		}
	}()
	New(misread{})
}

type misread struct{ readableSite }

func (misread) Read([]byte) (int, error) { return 0, nil }

// rawSite does not decode its properties. It has a password, which a property repeats.
type rawSite struct{}

type rawAttributes struct{ Password Secret }

func (rawSite) Create(context.Context, *CreateRequest[json.RawMessage]) (Response[rawAttributes], error) {
	return Response[rawAttributes]{}, nil
}

func (rawSite) Update(context.Context, *UpdateRequest[json.RawMessage]) (Response[rawAttributes], error) {
	return Response[rawAttributes]{}, nil
}

func (rawSite) Delete(context.Context, *DeleteRequest[json.RawMessage]) error { return nil }

func (rawSite) Read(context.Context, *ReadRequest[json.RawMessage]) (ReadResponse[json.RawMessage, rawAttributes], error) {
	return ReadResponse[json.RawMessage, rawAttributes]{
		Properties: json.RawMessage(`{"Size": 5, "URL": "https://me:opensesame@host"}`), Attributes: rawAttributes{NewSecret("opensesame")},
	}, nil
}

// The answer names the secret properties, even if the provider does not decode its properties.
func TestReadNamesSecretsInRawProperties(t *testing.T) {
	w := newWorld(t, New(rawSite{}))
	w.web.unsigned = true
	document, err := w.event(Read, "site", `{"Size": 5, "URL": "https://me@host"}`, "").Encode()
	if err != nil {
		t.Fatal(err)
	}
	reply := httptest.NewRecorder()
	w.ServeHTTP(reply, httptest.NewRequest(http.MethodPost, "http://p.test/", bytes.NewReader(document)))
	answer, err := wire.ParseResponse(reply.Body.Bytes())
	if err != nil || answer.State == nil || len(answer.State.Secret) != 1 || answer.State.Secret[0] != "URL" {
		t.Errorf("got %+v, %v: %s", answer.State, err, reply.Body)
	}
}

// safe is a provider whose properties have secrets in all places.
type safe struct{ now safeProperties }

type safeProperties struct {
	Keys  []Secret
	Named map[string]Secret
	Pin   int `pintle:"secret"`
	Users []struct {
		Name     string
		Password string `pintle:"secret"`
	}
	Extra any
	Odd   oddProperty
	Note  string
}

// oddProperty reads itself, so its fields are unknown.
type oddProperty struct{ Key Secret }

func (o *oddProperty) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &o.Key) }

func (safe) Create(context.Context, *CreateRequest[safeProperties]) (Response[Map], error) {
	return Response[Map]{}, nil
}

func (safe) Update(context.Context, *UpdateRequest[safeProperties]) (Response[Map], error) {
	return Response[Map]{}, nil
}

func (safe) Delete(context.Context, *DeleteRequest[safeProperties]) error { return nil }

func (v safe) Read(context.Context, *ReadRequest[safeProperties]) (ReadResponse[safeProperties, Map], error) {
	return ReadResponse[safeProperties, Map]{Properties: v.now, Attributes: Map{"Note": v.now.Note}}, nil
}

// The answer has no secret, wherever it is in the properties, and names the properties that have or repeat one.
func TestReadHidesSecrets(t *testing.T) {
	leaked := NewSecret("leaked-1")
	user := safeProperties{Users: []struct {
		Name     string
		Password string `pintle:"secret"`
	}{{"a", "leaked-1"}}, Note: "is leaked-1"}
	for name, of := range map[string]struct {
		given string
		now   safeProperties
		want  string
	}{
		"list":         {`{"Keys":["old-1","old-2"]}`, safeProperties{Keys: []Secret{NewSecret("old-1"), leaked}}, `{"Keys":["old-1","****"]} [Keys]`},
		"map":          {`{}`, safeProperties{Named: map[string]Secret{"a": leaked}}, `{"Named":{"a":"****"}} [Named]`},
		"any":          {`{"Extra":"old"}`, safeProperties{Extra: leaked}, `{"Extra":"****"} [Extra]`},
		"pointer":      {`{"Extra":"old"}`, safeProperties{Extra: &leaked}, `{"Extra":"****"} [Extra]`},
		"equal any":    {`{"Extra":"old-1"}`, safeProperties{Extra: NewSecret("old-1")}, `{"Extra":"old-1"} [Extra]`},
		"empty any":    {`{"Extra":"old-1"}`, safeProperties{Extra: Secret{}}, `{"Extra":"old-1"} [Extra]`},
		"in any":       {`{"Extra":{"a":1,"b":"old-1"}}`, safeProperties{Extra: Map{"a": 2, "b": NewSecret("old-1"), "c": []any{leaked}}}, `{"Extra":{"a":2,"b":"old-1","c":["****"]}} [Extra]`},
		"typed in any": {`{}`, safeProperties{Extra: []oddProperty{{leaked}}}, `{"Extra":[{"Key":"****"}]} [Extra]`},
		"own encoding": {`{}`, safeProperties{Odd: oddProperty{leaked}}, `{"Odd":{"Key":"****"}} [Odd]`},
		"repeated":     {`{}`, safeProperties{Note: "is leaked-1", Keys: []Secret{leaked}}, `{"Keys":["****"],"Note":"is leaked-1"} [Keys Note] NoEcho`},
		"tagged":       {`{}`, safeProperties{Note: "is 987654", Pin: 987654}, `{"Note":"is 987654","Pin":"****"} [Note Pin] NoEcho`},
		"tagged field": {`{}`, user, `{"Note":"is leaked-1","Users":[{"Name":"a","Password":"****"}]} [Note Users] NoEcho`},
	} {
		w := newWorld(t, New(safe{of.now}))
		w.web.unsigned = true
		document, err := w.event(Read, "safe", of.given, "").Encode()
		if err != nil {
			t.Fatal(err)
		}
		reply := httptest.NewRecorder()
		w.ServeHTTP(reply, httptest.NewRequest(http.MethodPost, "http://p.test/", bytes.NewReader(document)))
		answer, err := wire.ParseResponse(reply.Body.Bytes())
		if err != nil || answer.State == nil {
			t.Fatalf("%s: %v, %s", name, err, reply.Body)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(answer.State.Properties, &members); err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(members, func(_ string, member json.RawMessage) bool { return string(member) == "null" })
		text, _ := json.Marshal(members)
		shown := answer.State.Secret[:0]
		for _, name := range answer.State.Secret {
			if members[name] != nil {
				shown = append(shown, name)
			}
		}
		got := fmt.Sprintf("%s %v", text, shown)
		if answer.NoEcho {
			got += " NoEcho"
		}
		if got != of.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, of.want)
		}
	}
}
