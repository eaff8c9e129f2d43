package check_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// shelf is a provider of notes behind a URL, in this process, with one mistake or none.
type shelf struct {
	mistake mistake
	client  *http.Client

	meet chan struct{} // where one request waits for another

	mu    sync.Mutex
	notes map[string]string // owner by physical ID
	kept  map[string]any    // state that a seeded bug keeps
}

// mistake is a bug seeded into a shelf. The zero mistake changes nothing.
type mistake struct {
	// handle runs before the shelf's own handler. It returns an answer, an error for FAILED, or nil to continue with the shelf's handler.
	handle func(s *shelf, r wire.Request, p map[string]any) (answer, error)
	// answer changes the answer.
	answer func(s *shelf, r wire.Request, a answer)
	// body makes the answer's document.
	body func(a answer) []byte
	// send sends it.
	send func(s *shelf, r wire.Request, body []byte)
	// reply is the status of the reply to the request; zero is 202.
	reply int
	// id names a note; nil for a name of the owner's.
	id func(r wire.Request, name string) string
}

// answer holds the members of an answer.
type answer map[string]any

var noteName = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

// newShelf returns the URL of a shelf.
func newShelf(t *testing.T, m mistake) string {
	s := &shelf{
		mistake: m, client: &http.Client{Timeout: time.Minute}, meet: make(chan struct{}),
		notes: map[string]string{}, kept: map[string]any{},
	}
	server := httptest.NewServer(s)
	shelves.Store(server.URL+"/notes", s)
	t.Cleanup(func() {
		server.Close()
		s.client.CloseIdleConnections()
	})
	return server.URL + "/notes"
}

// shelves are those that serve, by URL.
var shelves sync.Map

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent, err := io.ReadAll(io.LimitReader(r.Body, wire.MaxRequest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request, _ := wire.ParseRequest(sent) // a request of unknown type is parsed as far as possible
	a := s.respond(request)
	body := document(a)
	if s.mistake.body != nil {
		body = s.mistake.body(a)
	}
	switch {
	case body == nil:
	case s.mistake.send != nil:
		s.mistake.send(s, request, body)
	default:
		s.put(request.ResponseURL, body)
	}
	if s.mistake.reply != 0 {
		w.WriteHeader(s.mistake.reply)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// respond makes the answer, as the protocol asks for.
func (s *shelf) respond(r wire.Request) answer {
	var properties map[string]any
	_ = json.Unmarshal(r.ResourceProperties, &properties) // no properties, if they cannot be read
	a := answer{
		"Status": "SUCCESS", "StackId": r.StackID, "RequestId": r.RequestID, "LogicalResourceId": r.LogicalResourceID,
		"PhysicalResourceId": string(r.PhysicalResourceID),
	}
	result, err := answer(nil), error(nil)
	if s.mistake.handle != nil {
		result, err = s.mistake.handle(s, r, properties)
	}
	if result == nil && err == nil {
		result, err = s.handle(r, properties)
	}
	if err != nil {
		a["Status"], a["Reason"] = "FAILED", err.Error()
		if r.PhysicalResourceID == "" {
			a["PhysicalResourceId"] = "failed-" + string(r.RequestID)
		}
	}
	maps.Copy(a, result)
	if a["PhysicalResourceId"] == "" {
		a["PhysicalResourceId"] = "none-made"
	}
	if s.mistake.answer != nil {
		s.mistake.answer(s, r, a)
	}
	return a
}

// document returns the answer as JSON, with long members at the end.
func document(a answer) []byte {
	rest := maps.Clone(a)
	text := []byte("{")
	add := func(name string) {
		value, ok := rest[name]
		if !ok {
			return
		}
		delete(rest, name)
		if len(text) > 1 {
			text = append(text, ',')
		}
		key, _ := json.Marshal(name)     // a text
		member, _ := json.Marshal(value) // of texts and numbers
		text = append(append(append(text, key...), ':'), member...)
	}
	for _, name := range slices.Concat([]string{"Status", "PhysicalResourceId"}, slices.Sorted(maps.Keys(a))) {
		add(name)
	}
	return append(text, '}')
}

// owner returns the name of the owner of a note.
func owner(r wire.Request) string {
	sum := sha256.Sum256([]byte(string(r.StackID) + string(r.LogicalResourceID)))
	return hex.EncodeToString(sum[:5])
}

// id returns the name of the note that the properties ask for, or an error if they name none.
func (s *shelf) id(r wire.Request, properties map[string]any) (string, error) {
	name, _ := properties["Name"].(string)
	switch {
	case !noteName.MatchString(name):
		return "", fmt.Errorf("Name: want lower-case letters, got %.60s", fmt.Sprint(properties["Name"]))
	case s.mistake.id != nil:
		return s.mistake.id(r, name), nil
	case r.Dialect == wire.ROS && r.PhysicalResourceID != "":
		return string(r.PhysicalResourceID), nil
	}
	return name + "-" + owner(r), nil
}

func (s *shelf) handle(r wire.Request, properties map[string]any) (answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.RequestType == wire.Delete {
		delete(s.notes, string(r.PhysicalResourceID))
		return answer{}, nil
	}
	if r.RequestType != wire.Create && r.RequestType != wire.Update {
		return nil, errors.New("RequestType is not known")
	}
	id, err := s.id(r, properties)
	if err != nil {
		return nil, err
	}
	if _, ok := s.notes[id]; !ok && r.RequestType == wire.Update && id == string(r.PhysicalResourceID) {
		return nil, errors.New("there is no such note")
	}
	size, err := strconv.Atoi(text(properties, "Size", "1"))
	if err != nil {
		return nil, errors.New("Size: want a number")
	}
	s.notes[id] = owner(r)
	return answer{"PhysicalResourceId": id, "Data": map[string]any{
		"Path": "/notes/" + id, "Size": size, "Open": text(properties, "Open", "false") == "true",
	}}, nil
}

// text returns a property as a text.
func text(properties map[string]any, name, otherwise string) string {
	v, ok := properties[name]
	if !ok {
		return otherwise
	}
	return fmt.Sprint(v)
}

// put sends an answer as the protocol asks for, again while it is asked to come later.
func (s *shelf) put(to string, body []byte) {
	for range 4 {
		if s.do(http.MethodPut, to, bytes.NewReader(body), nil) < http.StatusInternalServerError {
			return
		}
	}
}

// do sends an answer once. It returns the status, 0 for none.
func (s *shelf) do(method, to string, body io.Reader, header map[string]string) int {
	r, err := http.NewRequestWithContext(context.Background(), method, to, body)
	if err != nil {
		return 0
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	response, err := s.client.Do(r)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

// The parts that mistakes are made of.

func onAnswer(kind wire.RequestType, change func(s *shelf, r wire.Request, a answer)) mistake {
	return mistake{answer: func(s *shelf, r wire.Request, a answer) {
		if r.RequestType == kind {
			change(s, r, a)
		}
	}}
}

// whenFailed changes answers that say FAILED.
func whenFailed(change func(r wire.Request, a answer)) mistake {
	return mistake{answer: func(_ *shelf, r wire.Request, a answer) {
		if a["Status"] == "FAILED" {
			change(r, a)
		}
	}}
}

// whenMade changes answers that say a note was made or changed.
func whenMade(change func(r wire.Request, a answer)) mistake {
	return mistake{answer: func(_ *shelf, r wire.Request, a answer) {
		if a["Status"] == "SUCCESS" && r.RequestType != wire.Delete {
			change(r, a)
		}
	}}
}

// always sets a member.
func always(member string, value any) mistake {
	return mistake{answer: func(_ *shelf, _ wire.Request, a answer) { a[member] = value }}
}

func without(member string) mistake {
	return mistake{answer: func(_ *shelf, _ wire.Request, a answer) { delete(a, member) }}
}

// refusing answers FAILED where a request is so.
func refusing(reason string, when func(s *shelf, r wire.Request, p map[string]any) bool) mistake {
	return mistake{handle: func(s *shelf, r wire.Request, p map[string]any) (answer, error) {
		if when(s, r, p) {
			return nil, errors.New(reason)
		}
		return nil, nil //nolint:nilnil // it goes on
	}}
}

// silentOn answers nothing where it is so.
func silentOn(when func(a answer, r wire.Request) bool) mistake {
	return mistake{send: func(s *shelf, r wire.Request, body []byte) {
		var a answer
		_ = json.Unmarshal(body, &a) // which this program has made
		if !when(a, r) {
			s.put(r.ResponseURL, body)
		}
	}}
}

// sentBy sends each answer in another way.
func sentBy(send func(s *shelf, r wire.Request, body []byte) int) mistake {
	return mistake{send: func(s *shelf, r wire.Request, body []byte) {
		for range 4 {
			if send(s, r, body) < http.StatusInternalServerError {
				return
			}
		}
	}}
}

// to returns the response URL after a change.
func to(change func(u string) string) mistake {
	return sentBy(func(s *shelf, r wire.Request, body []byte) int {
		return s.do(http.MethodPut, change(r.ResponseURL), bytes.NewReader(body), nil)
	})
}

func encoded(change func(text []byte) []byte) mistake {
	return mistake{body: func(a answer) []byte {
		return change(document(a))
	}}
}

func old(r wire.Request) (properties map[string]any) {
	_ = json.Unmarshal(r.OldResourceProperties, &properties) // nil without old properties
	return properties
}

func owned(s *shelf, id wire.PhysicalID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.notes[string(id)]
	return ok
}

// memory returns whether a mistake has kept something by that name, and keeps it.
func (s *shelf) memory(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.kept[name]
	s.kept[name] = true
	return ok
}

// webBugs are the mistakes of the provider behind a URL.
var webBugs = []bug{
	// How it is sent.
	{"post", "answer-verb", "", "urllib and axios where only the data was given",
		sentBy(func(s *shelf, r wire.Request, body []byte) int {
			return s.do(http.MethodPost, r.ResponseURL, bytes.NewReader(body), nil)
		})},
	{"patch", "answer-verb", "", "REST clients that update", sentBy(func(s *shelf, r wire.Request, body []byte) int {
		return s.do(http.MethodPatch, r.ResponseURL, bytes.NewReader(body), nil)
	})},
	{"drops-query", "answer-url", "", "path = url.pathname, as in ports of cfn-response", to(func(u string) string {
		before, _, _ := strings.Cut(u, "?")
		return before
	})},
	{"encoded-twice", "answer-url", "", "encodeURI on what is encoded",
		to(func(u string) string { return strings.ReplaceAll(u, "%", "%25") })},
	{"more-query", "answer-url", "", "clients that add a parameter against caches", to(func(u string) string { return u + "&_=1" })},
	{"chunked", "answer-length", "", "streams as bodies: Go's io.Pipe, Node without Content-Length",
		sentBy(func(s *shelf, r wire.Request, body []byte) int {
			return s.do(http.MethodPut, r.ResponseURL, io.MultiReader(bytes.NewReader(body)), nil)
		})},
	{"content-type", "answer-content-type", "", "most HTTP clients, by default",
		sentBy(func(s *shelf, r wire.Request, body []byte) int {
			return s.do(http.MethodPut, r.ResponseURL, bytes.NewReader(body), map[string]string{"Content-Type": "application/json"})
		})},
	{"gzip", "answer-encoding", "answer-json", "middleware that compresses", sentBy(func(s *shelf, r wire.Request, body []byte) int {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(body) // never fails
		_ = w.Close()
		return s.do(http.MethodPut, r.ResponseURL, &b, map[string]string{"Content-Encoding": "gzip"})
	})},
	{"gives-up", "gives-up", "", "aws-lambda-go, cfn-response, crhelper: one attempt",
		mistake{send: func(s *shelf, r wire.Request, body []byte) {
			s.do(http.MethodPut, r.ResponseURL, bytes.NewReader(body), nil)
		}}},
	{"twice", "answered-twice", "", "a send in the branch and one in finally",
		mistake{send: func(s *shelf, r wire.Request, body []byte) {
			s.put(r.ResponseURL, body)
			s.put(r.ResponseURL, body)
		}}},
	{"success-then-failed", "answers-disagree", "", "except around the send",
		mistake{send: func(s *shelf, r wire.Request, body []byte) {
			s.put(r.ResponseURL, body)
			if bytes.Contains(body, []byte("SUCCESS")) {
				s.put(r.ResponseURL, bytes.Replace(body, []byte("SUCCESS"), []byte("FAILED"), 1))
			}
		}}},
	{"failed-then-success", "answers-disagree", "", "a missing return after the failure",
		mistake{send: func(s *shelf, r wire.Request, body []byte) {
			s.put(r.ResponseURL, body)
			if bytes.Contains(body, []byte("FAILED")) {
				s.put(r.ResponseURL, bytes.Replace(body, []byte("FAILED"), []byte("SUCCESS"), 1))
			}
		}}},

	// Whether it is sent.
	{"silent-failure", "silence", "unknown-request-type", "exceptions that are logged and no more (aws-cdk 2126)",
		silentOn(func(a answer, _ wire.Request) bool { return a["Status"] == "FAILED" })},
	{"silent-delete", "silence", "missing-id-unanswered", "handlers with nothing to delete",
		silentOn(func(_ answer, r wire.Request) bool { return r.RequestType == wire.Delete })},
	{"silent-update", "silence", "", "handlers that switch on Create and Delete only",
		silentOn(func(_ answer, r wire.Request) bool { return r.RequestType == wire.Update })},
	{"silent-always", "silence", "missing-id-unanswered,unknown-request-type", "handlers that return the answer instead",
		silentOn(func(answer, wire.Request) bool { return true })},
	{"silent-unchanged", "silence", "", "an early return where nothing has changed", silentOn(func(_ answer, r wire.Request) bool {
		return r.RequestType == wire.Update && bytes.Equal(r.ResourceProperties, r.OldResourceProperties)
	})},
	{"silent-unknown-type", "unknown-request-type", "", "if and else if without an else",
		silentOn(func(_ answer, r wire.Request) bool { return !r.RequestType.Valid() })},
	{"no-id-no-answer", "missing-id-unanswered", "", "event['PhysicalResourceId'] outside of the try",
		silentOn(func(_ answer, r wire.Request) bool {
			return r.PhysicalResourceID == "" && r.RequestType == wire.Delete
		})},
	{"refuses-delivery", "delivery-refused", "missing-id-unanswered,unknown-request-type", "gateways that want a login",
		mistake{send: func(*shelf, wire.Request, []byte) {}, reply: http.StatusUnauthorized}},

	// What is in it.
	{"byte-order-mark", "answer-encoding", "answer-json", "PowerShell's UTF8",
		encoded(func(text []byte) []byte { return append([]byte("\xef\xbb\xbf"), text...) })},
	{"latin-1", "answer-encoding", "answer-json", "platforms whose default is not UTF-8", encoded(func(text []byte) []byte {
		var b []byte
		for _, letter := range string(text) {
			b = append(b, byte(letter)) // as a platform does that knows 256 letters
		}
		return b
	})},
	{"length-in-characters", "answer-json", "answer-length", "cfn-response 1.0.1: body.length",
		encoded(func(text []byte) []byte { return text[:len([]rune(string(text)))] })},
	{"form", "answer-json", "", "requests.put(data=dict)", mistake{body: func(a answer) []byte {
		form := url.Values{}
		for name, value := range a {
			form.Set(name, fmt.Sprint(value))
		}
		return []byte(form.Encode())
	}}},
	{"json-in-json", "answer-json", "", "requests.put(json=json.dumps(answer))", encoded(func(text []byte) []byte {
		again, _ := json.Marshal(string(text)) // a text
		return again
	})},
	{"base64", "answer-json", "", "bodies as API Gateway has them",
		encoded(func(text []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(text)) })},
	{"list", "answer-json", "", "batches of answers", encoded(func(text []byte) []byte { return []byte("[" + string(text) + "]") })},
	{"empty", "answer-json", "", "bodies that were read already: custom-cf's retries",
		encoded(func([]byte) []byte { return []byte{} })},
	{"proxy-reply", "answer-status", "", "handlers written for API Gateway", encoded(func(text []byte) []byte {
		again, _ := json.Marshal(map[string]any{"statusCode": 200, "body": string(text)}) // texts
		return again
	})},
	{"status-ok", "answer-status", "", "words of other APIs", whenMade(func(_ wire.Request, a answer) { a["Status"] = "OK" })},
	{"status-lower", "answer-status", "", "success in lower case",
		whenMade(func(_ wire.Request, a answer) { a["Status"] = "success" })},
	{"status-failure", "answer-status", "", "FAILURE, as the signals of CloudFormation have it",
		whenFailed(func(_ wire.Request, a answer) { a["Status"] = "FAILURE" })},
	{"no-status", "answer-status", "", "answers of AwsCustomResource's shape", without("Status")},
	{"json-from-texts", "answer-json", "", "the answer as a template string: f'{{\"Data\": \"{text}\"}}'",
		mistake{
			answer: func(_ *shelf, r wire.Request, a answer) {
				var properties map[string]any
				_ = json.Unmarshal(r.ResourceProperties, &properties)
				a["text"] = fmt.Sprintf("%.60s", text(properties, "Text", ""))
			},
			body: func(a answer) []byte {
				quoted := a["text"].(string)
				delete(a, "text")
				body := document(a)
				return fmt.Appendf(nil, `%s,"Echo":"%s"}`, body[:len(body)-1], quoted)
			},
		}},
	{"long-data", "answer-too-long", "", "AwsCustomResource without outputPaths (aws-cdk 28145)",
		whenMade(func(_ wire.Request, a answer) { a["Data"] = map[string]any{"All": strings.Repeat("x", 5000)} })},
	{"long-reason", "answer-too-long", "", "stack traces: the CDK's Provider, cfn-response",
		whenFailed(func(_ wire.Request, a answer) { a["Reason"] = strings.Repeat("at handler ", 500) })},
	{"reason-quotes", "answer-too-long", "", "validators that quote the value",
		mistake{answer: func(_ *shelf, r wire.Request, a answer) {
			var properties map[string]any
			_ = json.Unmarshal(r.ResourceProperties, &properties)
			if a["Status"] == "FAILED" {
				a["Reason"] = "Name: want lower-case letters, got " + text(properties, "Name", "nothing")
			}
		}}},
	{"failed-by-name", "answer-too-long", "", "PhysicalResourceId: properties.Name, also where the name is wrong", whenFailed(func(r wire.Request, a answer) {
		var properties map[string]any
		_ = json.Unmarshal(r.ResourceProperties, &properties)
		if name := text(properties, "Name", ""); r.RequestType == wire.Create && len(name) > 1000 {
			a["PhysicalResourceId"] = name
		}
	})},
	{"near-limit", "answer-near-limit", "", "Data that grows with each release",
		whenMade(func(_ wire.Request, a answer) { a["Data"] = map[string]any{"All": strings.Repeat("x", 3500)} })},
	{"long-text-in-data", "answer-grows", "", "handlers that return what they got", whenMade(func(r wire.Request, a answer) {
		var properties map[string]any
		_ = json.Unmarshal(r.ResourceProperties, &properties)
		delete(properties, "Password")
		a["Data"] = properties
	})},
	{"no-reason", "answer-reason", "", "binxio and custom-cf lose it",
		whenFailed(func(_ wire.Request, a answer) { delete(a, "Reason") })},
	{"reason-object", "answer-types", "", "Reason: error in JavaScript",
		whenFailed(func(_ wire.Request, a answer) { a["Reason"] = map[string]any{} })},
	{"reason-list", "answer-types", "", "lists of validation errors",
		whenFailed(func(_ wire.Request, a answer) { a["Reason"] = []string{"Name"} })},
	{"colours", "answer-control-characters", "", "ANSI colours of tools (roadmap 1601)",
		whenFailed(func(_ wire.Request, a answer) { a["Reason"] = "\x1b[31mno\x1b[0m" })},
	{"data-text", "answer-types", "", "Data: JSON.stringify(data)",
		whenMade(func(_ wire.Request, a answer) { a["Data"] = `{"Size":5}` })},
	{"data-list", "answer-types", "", "lists of outputs", whenMade(func(_ wire.Request, a answer) { a["Data"] = []string{"a"} })},
	{"status-number", "answer-types", "", "the status of HTTP for that of the answer",
		whenMade(func(_ wire.Request, a answer) { a["Status"] = 200 })},
	{"other-request", "answer-copies", "", "the function's own request ID",
		mistake{answer: func(_ *shelf, _ wire.Request, a answer) { a["RequestId"] = uuid.NewString() }}},
	{"first-request", "answer-copies", "", "an answer made at start and used again",
		mistake{answer: func(s *shelf, _ wire.Request, a answer) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if first, ok := s.kept["request"]; ok {
				a["RequestId"] = first
			}
			s.kept["request"] = a["RequestId"]
		}}},
	{"one-at-a-time", "answer-copies", "", "the request in a global: two at once get one answer",
		mistake{answer: func(s *shelf, r wire.Request, a answer) {
			if r.RequestType != wire.Create {
				return
			}
			s.mu.Lock()
			s.kept["request"] = r.RequestID
			s.mu.Unlock()
			select {
			case s.meet <- struct{}{}:
			case <-s.meet:
			case <-time.After(200 * time.Millisecond): // it was alone
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			a["RequestId"] = s.kept["request"]
		}}},
	{"stack-name", "answer-copies", "", "the name for the ARN", mistake{answer: func(_ *shelf, r wire.Request, a answer) {
		a["StackId"] = strings.Split(string(r.StackID), "/")[1]
	}}},
	{"type-for-name", "answer-copies", "", "LogicalResourceId from the ResourceType",
		mistake{answer: func(_ *shelf, r wire.Request, a answer) {
			a["LogicalResourceId"] = r.ResourceType
		}}},
	{"no-request-id", "answer-copies", "", "misspelt members: RequestID", mistake{answer: func(_ *shelf, _ wire.Request, a answer) {
		a["RequestID"] = a["RequestId"]
		delete(a, "RequestId")
	}}},

	// The physical ID.
	{"no-id", "id-missing", "", "handlers with nothing to name", without("PhysicalResourceId")},
	{"empty-id", "id-missing", "", "custom-cf, crhelper's watchdog", always("PhysicalResourceId", "")},
	{"null-id", "id-missing", "answer-types", "None in Python, null in JavaScript", always("PhysicalResourceId", nil)},
	{"number-id", "answer-types", "", "IDs of databases", always("PhysicalResourceId", 7)},
	{"failed-without-id", "id-missing", "", "failures before anything was made", whenFailed(func(r wire.Request, a answer) {
		if r.RequestType == wire.Create {
			delete(a, "PhysicalResourceId")
		}
	})},
	{"none", "id-placeholder", "id-shared,id-changed", "custom-resource-helper: 'None'",
		onAnswer(wire.Create, func(_ *shelf, _ wire.Request, a answer) { a["PhysicalResourceId"] = "None" })},
	{"undefined", "id-placeholder", "", "`${undefined}` where it failed", whenFailed(func(r wire.Request, a answer) {
		if r.RequestType == wire.Create {
			a["PhysicalResourceId"] = "undefined"
		}
	})},
	{"long-id", "id-too-long", "", "documents as IDs", whenFailed(func(r wire.Request, a answer) {
		if r.RequestType == wire.Create {
			a["PhysicalResourceId"] = strings.Repeat("x", 1025)
		}
	})},
	{"id-in-bold", "answer-control-characters", "", "the output of a command, as it came",
		whenFailed(func(r wire.Request, a answer) {
			if r.RequestType == wire.Create {
				a["PhysicalResourceId"] = "\x1b[1mfailed\x1b[0m"
			}
		})},
	{"log-stream", "id-log-stream", "", "cfn-response without an ID, where it failed", whenFailed(func(r wire.Request, a answer) {
		if r.RequestType == wire.Create {
			a["PhysicalResourceId"] = "2026/11/23/[$LATEST]0123456789abcdef0123456789abcdef"
		}
	})},
	{"one-id", "id-shared", "not-replaced", "constants as IDs",
		mistake{id: func(wire.Request, string) string { return "the-note" }}},
	{"by-logical-id", "delete-harms-other", "", "state by logical ID: a second stack with the same one shares it",
		mistake{handle: func(s *shelf, r wire.Request, _ map[string]any) (answer, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if made, ok := s.kept[string(r.LogicalResourceID)].([]string); ok && r.RequestType == wire.Delete {
				for _, id := range made {
					if s.kept[id] != r.StackID {
						delete(s.notes, id)
					}
				}
			}
			if id, err := s.id(r, map[string]any{"Name": "alpha"}); err == nil && r.RequestType == wire.Create {
				made, _ := s.kept[string(r.LogicalResourceID)].([]string)
				s.kept[string(r.LogicalResourceID)], s.kept[id] = append(made, id), r.StackID
			}
			return nil, nil //nolint:nilnil // it goes on
		}}},
	{"one-partition", "region-refused", "", "ARNs taken apart after arn:aws:",
		refusing("not an ARN", func(_ *shelf, r wire.Request, _ map[string]any) bool {
			return !strings.HasPrefix(string(r.StackID), "arn:aws:") && r.RequestType == wire.Create
		})},
	{"request-id", "id-changed", "created-twice", "the RequestId as ID, in Updates too",
		mistake{answer: func(s *shelf, r wire.Request, a answer) {
			if r.RequestType == wire.Update && a["Status"] == "SUCCESS" {
				a["PhysicalResourceId"] = string(r.RequestID)
				s.mu.Lock()
				defer s.mu.Unlock()
				s.notes[string(r.RequestID)] = owner(r)
			}
		}}},
	{"failed-update", "id-changed-on-failure", "", "aws-cdk 13527, 30012; custom-resource-helper",
		whenFailed(func(r wire.Request, a answer) {
			if r.RequestType == wire.Update {
				a["PhysicalResourceId"] = "failed-" + string(r.RequestID)
			}
		})},
	{"deleted", "id-changed-on-delete", "", "custom-resource-helper's Delete",
		onAnswer(wire.Delete, func(_ *shelf, _ wire.Request, a answer) { a["PhysicalResourceId"] = "deleted" })},
	{"never-replaces", "not-replaced", "bad-accepted", "renames in place that cannot be",
		mistake{handle: func(s *shelf, r wire.Request, _ map[string]any) (answer, error) {
			if r.RequestType == wire.Update && owned(s, r.PhysicalResourceID) {
				return answer{"Data": map[string]any{"Path": "", "Size": 1, "Open": false}}, nil
			}
			return nil, nil //nolint:nilnil // it goes on
		}}},

	// What becomes of resources.
	{"takes-anything", "bad-accepted", "", "no validation: what a template misspells is stored",
		mistake{handle: func(s *shelf, r wire.Request, p map[string]any) (answer, error) {
			if name := text(p, "Name", "none"); !noteName.MatchString(name) && r.RequestType != wire.Delete {
				p["Name"] = fmt.Sprintf("n%x", sha256.Sum256([]byte(name)))[:20]
			}
			return nil, nil //nolint:nilnil // it goes on
		}}},
	{"no-updates", "update-refused", "rollback-refused,old-format-refused,old-values-refused", "Create and Delete only",
		refusing("not supported", func(_ *shelf, r wire.Request, _ map[string]any) bool { return r.RequestType == wire.Update })},
	{"only-grows", "rollback-refused", "old-values-refused", "sizes that cannot shrink (volumes, tables)",
		refusing("it cannot shrink", func(_ *shelf, r wire.Request, p map[string]any) bool {
			return r.RequestType == wire.Update && text(p, "Size", "1") < text(old(r), "Size", "1")
		})},
	{"never-deletes", "delete-refused", "delete-unknown-refused,old-values-refused", "buckets that are not empty",
		refusing("it is not empty", func(s *shelf, r wire.Request, _ map[string]any) bool {
			return r.RequestType == wire.Delete && owned(s, r.PhysicalResourceID)
		})},
	{"unknown-is-404", "delete-unknown-refused", "delete-after-failure-refused", "APIs' 404 passed on (aws-cdk 5524)",
		refusing("there is no such note", func(s *shelf, r wire.Request, _ map[string]any) bool {
			return r.RequestType == wire.Delete && !owned(s, r.PhysicalResourceID)
		})},
	{"parses-id", "delete-unknown-refused", "delete-after-failure-refused", "IDs that are taken apart",
		refusing("not an ID", func(_ *shelf, r wire.Request, _ map[string]any) bool {
			return r.RequestType == wire.Delete && len(strings.Split(string(r.PhysicalResourceID), "-")) != 2 && r.PhysicalResourceID != ""
		})},
	{"delete-validates", "delete-after-failure-refused", "old-values-refused", "validation before the switch",
		refusing("Name: want lower-case letters", func(s *shelf, r wire.Request, p map[string]any) bool {
			_, err := s.id(r, p)
			return r.RequestType == wire.Delete && err != nil
		})},
	{"deletes-by-name", "delete-harms-other", "", "Delete by properties (aws-cdk 22670)",
		mistake{handle: func(s *shelf, r wire.Request, p map[string]any) (answer, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for id := range s.notes {
				if r.RequestType == wire.Delete && strings.HasPrefix(id, text(p, "Name", "?")+"-") {
					delete(s.notes, id)
				}
			}
			return nil, nil //nolint:nilnil // it goes on
		}}},
	{"deletes-by-owner", "delete-harms-other", "", "state by logical ID: the replaced one's Delete ends the new",
		mistake{handle: func(s *shelf, r wire.Request, _ map[string]any) (answer, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for id, of := range s.notes {
				if r.RequestType == wire.Delete && of == owner(r) {
					delete(s.notes, id)
				}
			}
			return nil, nil //nolint:nilnil // it goes on
		}}},
	{"deletes-all", "delete-harms-other", "", "clean-up of the folder",
		mistake{handle: func(s *shelf, r wire.Request, _ map[string]any) (answer, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if r.RequestType == wire.Delete {
				clear(s.notes)
			}
			return nil, nil //nolint:nilnil // it goes on
		}}},
	{"failed-as-the-other", "failed-with-other-id", "", "names as IDs, also of who failed for the name", mistake{
		id: func(_ wire.Request, name string) string { return name },
		handle: func(s *shelf, r wire.Request, p map[string]any) (answer, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			name := text(p, "Name", "")
			if of, ok := s.notes[name]; ok && r.RequestType == wire.Create && of != owner(r) {
				return answer{"PhysicalResourceId": name}, errors.New("there is one already")
			}
			return nil, nil //nolint:nilnil // it goes on
		},
	}},
	{"uses-old", "old-format-refused", "", "OldResourceProperties['Name'] without a default",
		refusing("KeyError: 'Name'", func(_ *shelf, r wire.Request, _ map[string]any) bool {
			_, ok := old(r)["Name"]
			return r.RequestType == wire.Update && !ok
		})},
	{"old-must-fit", "old-values-refused", "", "old properties held to today's schema",
		refusing("Name: want a text", func(_ *shelf, r wire.Request, _ map[string]any) bool {
			_, text := old(r)["Name"].(string)
			return r.RequestType == wire.Update && !text && old(r)["Name"] != nil
		})},
	{"no-data-on-update", "attributes-lost", "", "Data of Creates only (aws-cdk 29949)",
		onAnswer(wire.Update, func(_ *shelf, _ wire.Request, a answer) { delete(a, "Data") })},
	{"random-id", "created-twice", "", "uuid4 at each Create", mistake{id: func(r wire.Request, name string) string {
		if r.PhysicalResourceID != "" && strings.HasPrefix(string(r.PhysicalResourceID), name+"-") {
			return string(r.PhysicalResourceID)
		}
		return name + "-" + uuid.NewString()
	}}},
	{"exclusive", "redelivery-refused", "", "AlreadyExists for what is its own (aws-cdk 5873)",
		refusing("it exists already", func(s *shelf, r wire.Request, p map[string]any) bool {
			id, err := s.id(r, p)
			return err == nil && r.RequestType == wire.Create && owned(s, wire.PhysicalID(id))
		})},
	{"execution-name", "redelivery-refused", "", "ExecutionAlreadyExists by RequestId (aws-cdk 35957)",
		refusing("ExecutionAlreadyExists", func(s *shelf, r wire.Request, _ map[string]any) bool {
			return r.RequestType.Valid() && r.RequestType != wire.Delete && s.memory(string(r.RequestID))
		})},
	{"delete-once", "delete-unknown-refused", "", "a second Delete of the same",
		refusing("deleted already", func(s *shelf, r wire.Request, _ map[string]any) bool {
			return r.RequestType == wire.Delete && r.PhysicalResourceID != "" && s.memory(string(r.StackID)+string(r.PhysicalResourceID))
		})},
	{"strict-event", "unknown-field-refused", "", "schemas with additionalProperties: false",
		refusing("additional properties", func(_ *shelf, r wire.Request, _ map[string]any) bool { return len(r.Extra) > 0 })},
	{"strict-properties", "service-timeout-refused", "", "dataclass(**properties) (aws-cdk 30517)",
		refusing("unexpected argument", func(_ *shelf, _ wire.Request, p map[string]any) bool {
			_, ok := p["ServiceTimeout"]
			return ok
		})},
	{"unknown-is-success", "unknown-request-type", "", "else: success",
		mistake{handle: func(_ *shelf, r wire.Request, _ map[string]any) (answer, error) {
			if !r.RequestType.Valid() {
				return answer{}, nil
			}
			return nil, nil //nolint:nilnil // it goes on
		}}},
	{"numbers-only", "strings-refused", "create-refused", "types as a test has them (aws-cdk 15249)",
		refusing("Size: want a number", func(_ *shelf, r wire.Request, p map[string]any) bool {
			_, ok := p["Size"].(float64)
			return r.RequestType == wire.Create && p["Size"] != nil && !ok
		})},
	{"truthy", "strings-misread", "", "'false' is true (roadmap 1037)", mistake{answer: func(_ *shelf, r wire.Request, a answer) {
		var properties map[string]any
		_ = json.Unmarshal(r.ResourceProperties, &properties)
		if data, ok := a["Data"].(map[string]any); ok {
			data["Open"] = properties["Open"] != nil && properties["Open"] != false && properties["Open"] != ""
		}
	}}},
	{"concatenates", "strings-misread", "", "'5' + 1 is '51'", mistake{answer: func(_ *shelf, r wire.Request, a answer) {
		var properties map[string]any
		_ = json.Unmarshal(r.ResourceProperties, &properties)
		if data, ok := a["Data"].(map[string]any); ok {
			if n, number := properties["Size"].(float64); number {
				data["Size"] = n + 1
			} else {
				data["Size"] = text(properties, "Size", "") + "1"
			}
		}
	}}},

	// Secrets.
	{"secret-in-reason", "secret-in-reason", "", "errors that quote all properties",
		mistake{answer: func(_ *shelf, r wire.Request, a answer) {
			var properties map[string]any
			_ = json.Unmarshal(r.ResourceProperties, &properties)
			a["Reason"] = "done as " + text(properties, "Password", "nobody")
			a["Reason"] = fmt.Sprintf("%.300s", a["Reason"])
		}}},
	{"secret-in-id", "secret-in-id", "secret-in-data", "connection strings as IDs",
		mistake{id: func(r wire.Request, name string) string {
			return name + "://correct horse battery@" + owner(r)
		}}},
	{"secret-attribute", "secret-attribute", "", "keys of a new user, without NoEcho", whenMade(func(r wire.Request, a answer) {
		a["Data"].(map[string]any)["SecretAccessKey"] = "key of " + owner(r)
	})},
	{"secret-in-data", "secret-in-data", "", "passwords that were made, without NoEcho", whenMade(func(_ wire.Request, a answer) {
		a["Data"].(map[string]any)["Login"] = "user:correct horse battery"
	})},
}

// webConfig is the check of a shelf.
func webConfig(t *testing.T, m mistake) check.Config {
	t.Helper()
	parsed, err := local.ParseTarget("", newShelf(t, m))
	if err != nil {
		t.Fatal(err)
	}
	return catalogued(check.Config{
		Session: harness.SessionConfig{
			Provider: local.Provider{Name: "P", Target: parsed}, Runtime: local.Config{CacheDir: t.TempDir()},
		},
		Settle: 100 * time.Millisecond,
	})
}
