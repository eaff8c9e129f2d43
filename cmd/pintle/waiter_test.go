package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/dev/pgtest"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// waiterVar is the environment variable with the address of the test that controls the provider.
const waiterVar = "WAITER_TEST"

// waiter is a provider on the bare Runtime API. It passes every event to the test and returns its response.
func waiter() {
	api := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/"
	say := func(url string, body io.Reader) []byte {
		response, err := http.Post(url, "application/json", body)
		if err != nil {
			os.Exit(4)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			os.Exit(5)
		}
		return text
	}
	for {
		event, err := http.Get(api + "next")
		if err != nil {
			os.Exit(6)
		}
		if event.Header.Get("Pintle-Waits") != "true" {
			fmt.Println("nobody asks again")
			os.Exit(7)
		}
		does := say(os.Getenv(waiterVar), event.Body)
		event.Body.Close()
		if string(does) == "die" {
			fmt.Println("these are my last words")
			os.Exit(3)
		}
		say(api+event.Header.Get("Lambda-Runtime-Aws-Request-Id")+"/response", bytes.NewReader(does))
	}
}

// waited is an event that the process of a provider has got.
type waited struct {
	Resume *struct {
		Pending json.RawMessage `json:"pending"`
		Try     int             `json:"try"`
	} `json:"pintleResume"`
	Request map[string]any `json:"request"` // the whole event, if it asks for the first time
	does    chan string
}

const waiterToken = "arn:aws:lambda:us-east-1:000000000000:function:Waiter"

// newWaiter returns the events of all processes of the provider, and the provider flag for a server.
func newWaiter(t *testing.T) (events chan waited, provider string) {
	t.Helper()
	events = make(chan waited, 16)
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		e := waited{does: make(chan string, 1)}
		if err := json.Unmarshal(text, &e); err != nil {
			t.Error(err)
		}
		if e.Resume == nil {
			if err := json.Unmarshal(text, &e.Request); err != nil {
				t.Error(err)
			}
		}
		events <- e
		select {
		case does := <-e.does:
			_, _ = io.WriteString(w, does)
		case <-r.Context().Done(): // the process died
		case <-ended:
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })
	t.Setenv(waiterVar, server.URL)
	path, err := exec.LookPath("waiter")
	if err != nil {
		t.Fatal(err)
	}
	return events, "Waiter=" + path
}

func (e waited) waits(seconds float64, n int) {
	e.does <- fmt.Sprintf(`{"pintleWaiting": {"afterSeconds": %g, "until": %q, "reason": "step %d", "pending": {"n": %d, "key": "hunter2-pending"}}}`,
		seconds, time.Now().Add(time.Hour).Format(time.RFC3339), n, n)
}

// answers answers the request at its response URL, and lets the process continue.
func (e waited) answers(t *testing.T, more map[string]any) {
	t.Helper()
	if err := new(httpProvider).answer(e.Request, more); err != nil {
		t.Error(err)
	}
	e.does <- "null"
}

// next returns the next event, which asks again in a try with a number, or is a request if that is 0.
func next(t *testing.T, s *served, events chan waited, kind string, try, n int) waited {
	t.Helper()
	select {
	case e := <-events:
		got, want := fmt.Sprint(e.Request["RequestType"]), kind
		if e.Resume != nil {
			got += fmt.Sprint(" try ", e.Resume.Try, " with ", string(e.Resume.Pending))
		}
		if try > 0 {
			want += fmt.Sprint(" try ", try, ` with {"n":`, n, `,"key":"hunter2-pending"}`)
		}
		if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Fatalf("the provider got %s, want %s\n%s", got, want, s.output())
		}
		return e
	case <-time.After(time.Minute):
		t.Fatalf("the provider waits in vain for a %s, try %d\n%s", kind, try, s.output())
		return waited{}
	}
}

// shows waits until a stack is described with a text.
func (s *served) shows(stack, text string) {
	s.t.Helper()
	s.until("it is shown: "+text, func() bool {
		out, err := exec.CommandContext(s.t.Context(), "pintle", "describe", stack, "--data", s.dir).Output()
		return err == nil && strings.Contains(string(out), text)
	})
}

// TestWaitingIsDurable kills the server while the provider is asked again, and between two tries.
func TestWaitingIsDurable(t *testing.T) {
	events, provider := newWaiter(t)
	s := serve(t, t.TempDir(), "--provider", provider)
	s.create("slow", thing(waiterToken, ""))
	next(t, s, events, "Create", 0, 0).waits(0.1, 1)
	next(t, s, events, "Create", 1, 1)
	s.shows("slow", "step 1")
	s.kill() // and the process with it
	s.start()
	next(t, s, events, "Create", 1, 1).waits(2, 2)
	s.shows("slow", "step 2")
	s.kill()
	s.start()
	e := next(t, s, events, "Create", 2, 2)
	e.answers(t, map[string]any{"PhysicalResourceId": "made"})
	if status := s.settled("slow"); status != types.StackStatusCreateComplete {
		t.Errorf("status %s\n%s", status, s.output())
	}
	s.kill()
	places := map[string][]byte{"log": []byte(s.output())}
	if err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		places[path], err = os.ReadFile(path)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for place, text := range places {
		if bytes.Contains(text, []byte("hunter2")) {
			t.Errorf("%s holds what was pending", place)
		}
	}
}

// TestWaitingEndsWithItsStack cancels an update whose provider is not done, and then deletes the stack, and answers for the
// provider: it is asked on until its answer is there, and no longer.
func TestWaitingEndsWithItsStack(t *testing.T) {
	events, provider := newWaiter(t)
	s := serve(t, t.TempDir(), "--provider", provider)
	s.create("slow", thing(waiterToken, `"P": "1"`))
	next(t, s, events, "Create", 0, 0).answers(t, nil)
	if status := s.settled("slow"); status != types.StackStatusCreateComplete {
		t.Fatalf("status %s\n%s", status, s.output())
	}
	name := aws.String("slow")
	if _, err := s.client().UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
		StackName: name, TemplateBody: aws.String(thing(waiterToken, `"P": "2"`)),
	}); err != nil {
		t.Fatal(err)
	}
	next(t, s, events, "Update", 0, 0).waits(0.1, 1)
	e := next(t, s, events, "Update", 1, 1)
	if _, err := s.client().CancelUpdateStack(t.Context(), &cloudformation.CancelUpdateStackInput{StackName: name}); err != nil {
		t.Fatal(err)
	}
	e.waits(0.1, 2)
	next(t, s, events, "Update", 2, 2).answers(t, nil)
	e = next(t, s, events, "Update", 0, 0) // back
	if properties := fmt.Sprint(e.Request["ResourceProperties"]); !strings.Contains(properties, "P:1") {
		t.Errorf("it is rolled back to %s", properties)
	}
	e.waits(0.1, 3)
	next(t, s, events, "Update", 1, 3).answers(t, nil)
	if status := s.settled("slow"); status != types.StackStatusUpdateRollbackComplete {
		t.Errorf("status %s\n%s", status, s.output())
	}
	id := aws.ToString(s.events("slow")[0].StackId)
	if _, err := s.client().DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: name}); err != nil {
		t.Fatal(err)
	}
	next(t, s, events, "Delete", 0, 0).waits(3600, 4)
	s.shows("slow", "step 4")
	respond := exec.CommandContext(t.Context(), "pintle", "respond", "slow", "C", "--status", "SUCCESS", "--data", s.dir)
	if out, err := respond.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if status := s.settled(id); status != types.StackStatusDeleteComplete {
		t.Errorf("status %s\n%s", status, s.output())
	}
	if len(events) > 0 {
		t.Errorf("the provider was asked %d times more", len(events))
	}
}

// TestWaitingProcessDies: the process of a provider dies whenever it is asked again.
func TestWaitingProcessDies(t *testing.T) {
	events, provider := newWaiter(t)
	s := serve(t, t.TempDir(), "--provider", provider)
	s.create("slow", thing(waiterToken, ""))
	next(t, s, events, "Create", 0, 0).waits(0.1, 1)
	for try := 1; try <= 3; try++ {
		next(t, s, events, "Create", try, 1).does <- "die"
	}
	next(t, s, events, "Delete", 0, 0).answers(t, nil)
	if status := s.settled("slow"); status != types.StackStatusRollbackComplete {
		t.Errorf("status %s\n%s", status, s.output())
	}
	for _, e := range s.events("slow") {
		reason := aws.ToString(e.ResourceStatusReason)
		if e.ResourceStatus == types.ResourceStatusCreateFailed &&
			(!strings.Contains(reason, "exited with code 3") || !strings.Contains(reason, "these are my last words")) {
			t.Errorf("it failed with %q", reason)
		}
	}
}

// patient is a provider made with the SDK: a thing is ready when there is a file of its name in a directory.
type patient struct{}

type patientThing struct{ Folder, Name string }

func (patient) Create(_ context.Context, r *pintle.CreateRequest[patientThing]) (pintle.Response[struct{}], error) {
	return pintle.Response[struct{}]{ID: pintle.PhysicalID(r.Properties.Name)}, nil
}

func (patient) Update(_ context.Context, r *pintle.UpdateRequest[patientThing]) (pintle.Response[struct{}], error) {
	return pintle.Response[struct{}]{ID: r.ID}, nil
}

func (patient) Delete(context.Context, *pintle.DeleteRequest[patientThing]) error { return nil }

// Poll implements [pintle.Poller].
func (patient) Poll(_ context.Context, r *pintle.PollRequest[patientThing]) (pintle.Progress[struct{}], error) {
	_, err := os.Stat(filepath.Join(r.Properties.Folder, r.Properties.Name))
	return pintle.Progress[struct{}]{
		Done: r.Type == pintle.Delete || err == nil, Reason: "there is no " + r.Properties.Name, After: time.Second,
	}, nil
}

// newPatient returns a handler that gives things some time.
func newPatient(timeout time.Duration) pintle.Handler {
	return pintle.New(patient{}, pintle.WithPollPolicy(pintle.PollPolicy{Timeout: timeout}))
}

// TestWaitingWithSDK checks that the SDK's pending data survive a kill of the server, and that the stack knows the ID of a resource
// after a timeout.
func TestWaitingWithSDK(t *testing.T) {
	patient, err := exec.LookPath("patient")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	s := serve(t, t.TempDir(), "--provider", "Waiter="+patient, "--provider", "Hasty="+filepath.Join(filepath.Dir(patient), "hasty"))
	for name, token := range map[string]string{"hoped-for": waiterToken, "hopeless": strings.Replace(waiterToken, "Waiter", "Hasty", 1)} {
		s.create(name, thing(token, fmt.Sprintf(`"Folder": %q, "Name": %q`, folder, name)))
	}
	s.shows("hoped-for", "there is no hoped-for")
	s.kill()
	if err := os.WriteFile(filepath.Join(folder, "hoped-for"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.start()
	if status := s.settled("hoped-for"); status != types.StackStatusCreateComplete {
		t.Errorf("status %s\n%s", status, s.output())
	}
	if status := s.settled("hopeless"); status != types.StackStatusRollbackComplete {
		t.Errorf("status %s\n%s", status, s.output())
	}
	for _, e := range s.events("hopeless") {
		if e.ResourceStatus == types.ResourceStatusCreateFailed && (aws.ToString(e.PhysicalResourceId) != "hopeless" ||
			!strings.Contains(aws.ToString(e.ResourceStatusReason), "Operation timed out")) {
			t.Errorf("%s failed with %q", aws.ToString(e.PhysicalResourceId), aws.ToString(e.ResourceStatusReason))
		}
	}
}

// slowPair has two functions: onEvent records its event; isComplete records each call, and completes once a file exists.
const slowPair = `
import os

here = os.path.dirname(os.path.abspath(__file__))


def note(name, event):
    with open(os.path.join(here, name), "a") as f:
        f.write(event["RequestType"] + " " + event["RequestId"] + "\n")


def on_event(event, context):
    note("begun", event)
    return {"PhysicalResourceId": "made", "Data": {"From": "onEvent"}, "Passed": ["on"]}


def is_complete(event, context):
    note("asked", event)
    if event["Passed"] != ["on"]:
        raise ValueError("it is not the same")
    return {"IsComplete": os.path.exists(os.path.join(here, "ready"))}
`

// TestWaitingOfAPair kills the server between two questions to a provider of two functions, and again while it waits: onEvent
// is not called another time.
func TestWaitingOfAPair(t *testing.T) {
	require.Tool(t, "python3")
	folder := t.TempDir()
	for name, text := range map[string]string{
		"pair.py":     slowPair,
		"pintle.yaml": "providers:\n  Waiter: {onEvent: ./pair.py, isComplete: ./pair.py, queryInterval: 1s, totalTimeout: 10m}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lines := func(name string) []string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return slices.Collect(strings.Lines(string(text)))
	}
	s := serve(t, t.TempDir(), "--project", folder)
	s.create("slow", thing(waiterToken, ""))
	for range 2 {
		waits := func() int { return strings.Count(s.output(), "a provider is to be asked again") }
		n := waits()
		s.until("isComplete was asked twice more, and is to be asked again", func() bool { return waits() >= n+2 })
		s.kill()
		s.start()
	}
	if err := os.WriteFile(filepath.Join(folder, "ready"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if status := s.settled("slow"); status != types.StackStatusCreateComplete {
		t.Errorf("status %s\n%s", status, s.output())
	}
	begun := lines("begun")
	if len(begun) != 1 || !strings.HasPrefix(begun[0], "Create ") {
		t.Fatalf("onEvent was called for %q\n%s", begun, s.output())
	}
	for _, line := range lines("asked") {
		if line != begun[0] {
			t.Errorf("isComplete was asked about %q, onEvent about %q", line, begun[0])
		}
	}
}

// TestWaitingAmongNodes has two servers on one database, one of which has no such provider: it leaves the asking to the
// other one.
func TestWaitingAmongNodes(t *testing.T) {
	events, provider := newWaiter(t)
	dsn, dir := pgtest.Start(t, pgtest.Options{}).Database(t), t.TempDir()
	args := []string{"--database", dsn, "--key-file", filepath.Join(dir, "keys")}
	other := serve(t, filepath.Join(dir, "without"), args...)
	s := serve(t, filepath.Join(dir, "with"), append(args, "--provider", provider)...)
	for n := range 4 { // each with an order of its own among the nodes
		s.create(fmt.Sprint("slow-", n), thing(waiterToken, ""))
	}
	tries := map[string]int{} // by request: each of them asks in its own time
	for range 4 * 3 {
		select {
		case e := <-events:
			id, try := fmt.Sprint(e.Request["RequestId"]), 0
			if e.Resume != nil {
				try = e.Resume.Try
			}
			if try != tries[id] {
				t.Fatalf("try %d of %s, want %d: somebody else has tried\n%s", try, id, tries[id], s.output())
			}
			if tries[id]++; try < 2 {
				e.waits(0.1, 1)
			} else {
				e.answers(t, nil)
			}
		case <-time.After(time.Minute):
			t.Fatalf("the provider waits in vain\n%s", s.output())
		}
	}
	for n := range 4 {
		if status := other.settled(fmt.Sprint("slow-", n)); status != types.StackStatusCreateComplete {
			t.Errorf("status %s\n%s", status, s.output())
		}
	}
}
