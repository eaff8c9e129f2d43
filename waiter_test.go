package pintle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clock"
	"github.com/pintle-dev/pintle/wire"
)

// shelf is a waiter that stores records like a database, in order of arrival.
type shelf struct {
	mu    sync.Mutex
	texts map[string][]byte
	began int   // number of waits
	err   error // of Wait
}

func (s *shelf) Wait(_ context.Context, p Pending) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.texts[p.Key] != nil {
		return nil
	}
	text, err := p.Encode()
	if s.texts == nil {
		s.texts = map[string][]byte{}
	}
	s.texts[p.Key] = text
	s.began++
	return err
}

func (s *shelf) Waits(_ context.Context, key string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.texts[key] != nil, s.err
}

// only returns the only record.
func (s *shelf) only(t *testing.T) Pending {
	t.Helper()
	if len(s.texts) != 1 {
		t.Fatalf("%d records, want 1", len(s.texts))
	}
	for _, text := range s.texts {
		p, err := ParsePending(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	return Pending{}
}

// settle resumes the only record once, after its pause.
func (s *shelf) settle(t *testing.T, w *world) (waits bool) {
	t.Helper()
	p := s.only(t)
	if err := w.clock.Sleep(t.Context(), p.After); err != nil {
		t.Fatal(err)
	}
	next, err := w.Resume(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	delete(s.texts, p.Key)
	if next == nil {
		return false
	}
	if err := s.Wait(t.Context(), *next); err != nil {
		t.Fatal(err)
	}
	s.began--
	return true
}

// lasting is a provider whose operations are done when the test decides.
type lasting struct {
	mu      sync.Mutex
	made    int
	tries   []int
	states  []string
	deleted []PhysicalID
	ready   func(r *PollRequest[lastingProperties]) (Progress[lastingAttributes], error)
}

type lastingProperties struct {
	Zone string `pintle:"immutable"`
	Key  Secret
	More string
}

type lastingAttributes struct {
	Address  string `json:",omitempty"`
	Password Secret `json:",omitzero"`
}

func (s *lasting) Create(_ context.Context, r *CreateRequest[lastingProperties]) (Response[lastingAttributes], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	return Response[lastingAttributes]{ID: PhysicalID(fmt.Sprint("slow-", s.made)), Attributes: lastingAttributes{"here", NewSecret("pa55word")},
		State: map[string]any{"job": 7, "key": r.Properties.Key, "more": r.Properties.More + r.Properties.More}}, nil
}

func (s *lasting) Update(context.Context, *UpdateRequest[lastingProperties]) (Response[lastingAttributes], error) {
	return Response[lastingAttributes]{}, nil
}

func (s *lasting) Delete(_ context.Context, r *DeleteRequest[lastingProperties]) error {
	s.deleted = append(s.deleted, r.ID)
	return nil
}

func (s *lasting) Poll(_ context.Context, r *PollRequest[lastingProperties]) (Progress[lastingAttributes], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Type == Delete {
		return Progress[lastingAttributes]{Done: true}, nil
	}
	s.tries = append(s.tries, r.Try)
	s.states = append(s.states, string(r.State))
	r.Log().Info("asked", "key", r.Properties.Key.Reveal(), "id", r.ID, "kind", r.Type)
	if r.Try > 1 { // in a process that knows the password only from the record
		r.Log().Info("still asking", "password", "pa55word")
	}
	if s.ready == nil {
		return Progress[lastingAttributes]{}, nil
	}
	return s.ready(r)
}

func doneAfter(tries int) func(*PollRequest[lastingProperties]) (Progress[lastingAttributes], error) {
	return func(r *PollRequest[lastingProperties]) (Progress[lastingAttributes], error) {
		return Progress[lastingAttributes]{Done: r.Try >= tries, Reason: fmt.Sprint("asked ", r.Try)}, nil
	}
}

// newLasting returns a world with a waiter.
func newLasting(t *testing.T, s *lasting, kept *shelf) *world {
	t.Helper()
	w := newWorld(t, New(s))
	w.waiter = kept
	return w
}

// hand delivers a request and checks that its wait is handed over.
func hand(t *testing.T, w *world, r wire.Request) {
	t.Helper()
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	before := len(w.answers)
	if err := w.ServeEvent(t.Context(), text); err != nil || len(w.answers) != before {
		t.Fatalf("error %v, answers %v", err, w.answers[before:])
	}
}

const lastingProps = `{"Zone":"a","Key":"5ec2e7-key"}`

// A wait continues in another process, with all the state of the first one.
func TestWaiterAcrossProcesses(t *testing.T) {
	s, kept := &lasting{ready: doneAfter(3)}, &shelf{}
	w := newLasting(t, s, kept)
	create := w.event(Create, "", lastingProps, "")
	hand(t, w, create)
	logs := ""
	for n := 2; ; n++ {
		p := kept.only(t)
		if until := w.clock.Now().Add(defaultPollTimeout); p.After <= 0 || p.Until.After(until) || p.Until.Before(until.Add(-time.Minute)) {
			t.Errorf("again after %v, until %v", p.After, p.Until)
		}
		logs += w.log.String()
		now := w.clock.Now()
		w = newLasting(t, s, kept) // the process has died
		w.clock.(*fastClock).now = now
		if !kept.settle(t, w) {
			break
		}
	}
	logs += w.log.String()
	want := `SUCCESS slow-1 {"Address":"here","Password":"pa55word"} NoEcho (asked 3)`
	if len(w.answers) != 1 || short(w.answers[0]) != want || w.answers[0].RequestID != create.RequestID {
		t.Errorf("answers %v, want %s", w.answers, want)
	}
	state := `{"job":7,"key":"5ec2e7-key","more":""}`
	if s.made != 1 || fmt.Sprint(s.tries) != "[1 2 3]" || fmt.Sprint(s.states) != fmt.Sprint([]string{state, state, state}) {
		t.Errorf("made %d, tries %v, states %v", s.made, s.tries, s.states)
	}
	for _, secret := range []string{"5ec2e7", "pa55word"} {
		if strings.Contains(logs, secret) {
			t.Errorf("the log shows %s:\n%s", secret, logs)
		}
	}
}

// A request that is delivered again while it waits starts no second wait, neither in this process nor in another.
func TestWaiterDelivery(t *testing.T) {
	s, kept := &lasting{ready: doneAfter(2)}, &shelf{}
	w := newLasting(t, s, kept)
	create := w.event(Create, "", lastingProps, "")
	hand(t, w, create)
	hand(t, w, create)
	w = newLasting(t, s, kept)
	create.ResponseURL += "&again=1"
	create.ResourceProperties = json.RawMessage(strings.ReplaceAll(lastingProps, ",", " , "))
	hand(t, w, create)
	if s.made != 1 || kept.began != 1 || len(s.tries) != 1 {
		t.Errorf("made %d, %d waits, asked %v", s.made, kept.began, s.tries)
	}
	p := kept.only(t)
	if kept.settle(t, w) {
		t.Error("it still waits")
	}
	// After the answer: the same record and the same request again.
	for range 2 {
		if next, err := w.Resume(t.Context(), p); next != nil || err != nil {
			t.Errorf("%v, %v", next, err)
		}
	}
	if got := short(w.deliver(t, create)); got != short(w.answers[0]) {
		t.Errorf("then %s", got)
	}
	if len(w.answers) != 4 || len(s.tries) != 2 {
		t.Errorf("%d answers, asked %v", len(w.answers), s.tries)
	}
	// A process that does not have the answer polls again, and the service uses the first answer.
	w = newLasting(t, s, kept)
	if next, err := w.Resume(t.Context(), p); next != nil || err != nil || len(w.answers) != 1 || w.answers[0].PhysicalResourceID != "slow-1" {
		t.Errorf("%v, %v, %v", next, err, w.answers)
	}
}

func TestResumeTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, answer := make(chan int, 2), make(chan bool)
		s, kept := &lasting{}, &shelf{}
		w := newLasting(t, s, kept)
		w.clock, w.sender.clock = clock.System{}, clock.System{}
		hand(t, w, w.event(Create, "", lastingProps, ""))
		s.ready = func(r *PollRequest[lastingProperties]) (Progress[lastingAttributes], error) {
			asked <- r.Try
			return Progress[lastingAttributes]{Done: <-answer}, nil
		}
		p := kept.only(t)
		for _, done := range []bool{false, true} {
			results := make(chan *Pending, 2)
			for range 2 {
				go func() {
					next, err := w.Resume(t.Context(), p)
					if err != nil {
						t.Error(err)
					}
					results <- next
				}()
			}
			synctest.Wait()
			if len(asked) != 1 {
				t.Errorf("asked %d times", len(asked))
			}
			<-asked
			answer <- done
			one, two := <-results, <-results
			if (one == nil) != done || (two == nil) != done {
				t.Fatalf("done %v: %v and %v", done, one, two)
			}
			if !done {
				if string(one.State) != string(two.State) {
					t.Errorf("%s and %s", one.State, two.State)
				}
				p = *one
			}
		}
		for _, a := range w.answers {
			if short(a) != short(w.answers[0]) {
				t.Errorf("two answers: %v", w.answers)
			}
		}
	})
}

// If an Update is answered by a Create that fails after the handover, the incomplete resource is deleted.
func TestWaiterReplacement(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ready   func(*PollRequest[lastingProperties]) (Progress[lastingAttributes], error)
		want    string
		deleted string
	}{
		{"done", doneAfter(3), `SUCCESS slow-1 {"Address":"here","Password":"pa55word"} NoEcho (asked 3)`, "[]"},
		{"fails", func(r *PollRequest[lastingProperties]) (Progress[lastingAttributes], error) {
			if r.Type != Create || r.ID != "slow-1" {
				t.Errorf("asked about a %s of %q", r.Type, r.ID)
			}
			if r.Try < 2 {
				return Progress[lastingAttributes]{Reason: "copying"}, nil
			}
			return Progress[lastingAttributes]{}, errors.New("disk full, key 5ec2e7-key")
		}, "FAILED old (Poll after Create: disk full, key ****)", "[slow-1]"},
		{"never", nil, "FAILED old (Operation timed out: not ready after ", "[slow-1]"},
	} {
		s, kept := &lasting{ready: tt.ready}, &shelf{}
		w := newLasting(t, s, kept)
		hand(t, w, w.event(Update, "old", lastingProps, `{"Zone":"b"}`))
		for kept.settle(t, w) {
			now := w.clock.Now()
			w = newLasting(t, s, kept)
			w.clock.(*fastClock).now = now
		}
		if len(w.answers) != 1 || !strings.HasPrefix(short(w.answers[0]), tt.want) || fmt.Sprint(s.deleted) != tt.deleted {
			t.Errorf("%s: %v, deleted %v, want %s, %s", tt.name, w.answers, s.deleted, tt.want, tt.deleted)
		}
	}
}

// The answer of a replacement is stored before it is sent, and later failures do not undo it.
func TestWaiterReplacementAnsweredTwice(t *testing.T) {
	s, kept := &lasting{ready: doneAfter(2)}, &shelf{}
	w := newLasting(t, s, kept)
	hand(t, w, w.event(Update, "old", lastingProps, `{"Zone":"b"}`))
	if !kept.settle(t, w) || len(w.answers) != 0 {
		t.Errorf("it was answered before that was kept: %v", w.answers)
	}
	s.ready = func(*PollRequest[lastingProperties]) (Progress[lastingAttributes], error) {
		return Progress[lastingAttributes]{}, errors.New("no connection")
	}
	p := kept.only(t)
	if p.After != 0 {
		t.Errorf("it is sent after %v", p.After)
	}
	for range 2 { // the record was not removed after the first time
		now := w.clock.Now()
		w = newLasting(t, s, kept)
		w.clock.(*fastClock).now = now
		next, err := w.Resume(t.Context(), p)
		if next != nil || err != nil || len(w.answers) != 1 || w.answers[0].Status != wire.Success || len(s.deleted) != 0 {
			t.Errorf("%v, %v, %v, deleted %v", next, err, w.answers, s.deleted)
		}
	}
}

// If another process has answered and the service has sent a request for the new resource, the resource stays.
func TestWaiterReplacementAnsweredByAnother(t *testing.T) {
	s, kept := &lasting{}, &shelf{}
	w := newLasting(t, s, kept)
	hand(t, w, w.event(Update, "old", lastingProps, `{"Zone":"b"}`))
	s.ready = doneAfter(1)
	if got := w.ask(t, Update, "slow-1", lastingProps, lastingProps); !strings.HasPrefix(got, "SUCCESS slow-1") {
		t.Error(got)
	}
	for kept.settle(t, w) {
	}
	if len(w.answers) != 2 || !strings.HasPrefix(short(w.answers[1]), "FAILED old (abandoned") || len(s.deleted) != 0 {
		t.Errorf("%v, deleted %v", w.answers, s.deleted)
	}
}

// TestResumeLate checks that a wait gets some time even if it is resumed after the service has stopped listening.
func TestResumeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, kept := &lasting{}, &shelf{}
		w := newLasting(t, s, kept)
		w.clock, w.sender.clock = clock.System{}, clock.System{}
		hand(t, w, w.event(Create, "", lastingProps, ""))
		time.Sleep(61 * time.Minute) // bubble time
		s.ready = doneAfter(2)
		if next, err := w.Resume(t.Context(), kept.only(t)); next != nil || err != nil || len(w.answers) != 1 || w.answers[0].Status != wire.Success {
			t.Errorf("%v, %v, %v", next, err, w.answers)
		}
	})
}

func TestRequestKey(t *testing.T) {
	r := wire.Request{RequestType: Create, StackID: "s", RequestID: "r", ResourceProperties: json.RawMessage(`{"a":"b c"}`)}
	spaced, other := r, r
	spaced.ResourceProperties, spaced.ResponseURL = json.RawMessage(`{ "a": "b c" }`), "https://elsewhere"
	other.ResourceProperties = json.RawMessage(`{"a":"bc"}`)
	if requestKey(spaced) != requestKey(r) || requestKey(other) == requestKey(r) {
		t.Error("white space counts, or content does not")
	}
}

// A replacement that failed after the handover is undone by an Update, not by another replacement.
func TestWaiterReplacementRolledBack(t *testing.T) {
	s, kept := &lasting{ready: func(r *PollRequest[lastingProperties]) (Progress[lastingAttributes], error) {
		if r.Type == Update {
			return Progress[lastingAttributes]{Done: true}, nil
		}
		if r.Try < 2 {
			return Progress[lastingAttributes]{}, nil
		}
		return Progress[lastingAttributes]{}, errors.New("disk full")
	}}, &shelf{}
	w := newLasting(t, s, kept)
	hand(t, w, w.event(Update, "old", lastingProps, `{"Zone":"b"}`))
	kept.settle(t, w)
	if got := w.ask(t, Update, "old", `{"Zone":"b"}`, lastingProps); got != "SUCCESS old" || s.made != 1 {
		t.Errorf("%s, made %d", got, s.made)
	}
}

// The service sends a Delete during a Create only after the Create has timed out.
func TestWaiterDeleteMeanwhile(t *testing.T) {
	for _, tt := range []struct{ id, want, deleted string }{
		{"slow-1", "[slow-1]", "[slow-1]"},
		{"made-up-by-the-service", "[made-up-by-the-service]", "[made-up-by-the-service slow-1]"}, // no one else knows of slow-1
	} {
		s, kept := &lasting{}, &shelf{}
		w := newLasting(t, s, kept)
		create := w.event(Create, "", lastingProps, "")
		hand(t, w, create)
		if got := w.ask(t, Delete, PhysicalID(tt.id), lastingProps, ""); got != "SUCCESS "+tt.id || fmt.Sprint(s.deleted) != tt.want {
			t.Errorf("%s, deleted %v", got, s.deleted)
		}
		if kept.settle(t, w) || len(s.tries) != 1 {
			t.Errorf("it is still waited for, asked %v", s.tries)
		}
		want := "FAILED slow-1 (abandoned: the service has since sent another request for the resource, the Delete r-2)"
		if got := short(w.answers[1]); got != want || fmt.Sprint(s.deleted) != tt.deleted {
			t.Errorf("%s, deleted %v, want %s, %s", got, s.deleted, want, tt.deleted)
		}
	}
}

// TestResumeWaitsItsTurn checks that a record is left for later while another request of the resource is in progress.
func TestResumeWaitsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, end := make(chan bool), make(chan bool)
		s, kept := &lasting{}, &shelf{}
		w := newLasting(t, s, kept)
		w.clock, w.sender.clock = clock.System{}, clock.System{}
		hand(t, w, w.event(Create, "", lastingProps, ""))
		s.ready = func(*PollRequest[lastingProperties]) (Progress[lastingAttributes], error) {
			began <- true
			<-end
			return Progress[lastingAttributes]{Done: true}, nil
		}
		text, err := w.event(Update, "slow-1", lastingProps, lastingProps).Encode()
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error)
		go func() { served <- w.ServeEvent(t.Context(), text) }()
		<-began
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if next, err := w.Resume(ctx, kept.only(t)); next != nil || err == nil || len(w.answers) != 0 {
			t.Errorf("%v, %v, %v", next, err, w.answers)
		}
		end <- true
		if err := <-served; err != nil {
			t.Error(err)
		}
		if next, err := w.Resume(t.Context(), kept.only(t)); next != nil || err != nil || !strings.Contains(w.answers[1].Reason, "abandoned") {
			t.Errorf("%v, %v, %v", next, err, w.answers)
		}
	})
}

// A wait is limited by its total time and by the time that the service listens, both from the arrival of the request.
func TestWaiterTime(t *testing.T) {
	for _, tt := range []struct {
		properties string
		from, to   time.Duration
	}{
		{lastingProps, 29 * time.Minute, 30 * time.Minute},
		{`{"Zone":"a","ServiceTimeout":"600"}`, 9 * time.Minute, 10 * time.Minute},
	} {
		s, kept := &lasting{}, &shelf{}
		w := newLasting(t, s, kept)
		start := w.clock.Now()
		hand(t, w, w.event(Create, "", tt.properties, ""))
		for kept.settle(t, w) {
		}
		took := w.clock.Now().Sub(start)
		if len(w.answers) != 1 || !strings.HasPrefix(w.answers[0].Reason, "Operation timed out: not ready after ") || took < tt.from || took > tt.to {
			t.Errorf("%v after %v", w.answers, took)
		}
	}
	// A provider that was down too long checks once more and answers with a timeout. Much later it does not answer,
	// because the service no longer listens.
	for _, tt := range []struct {
		late    time.Duration
		answers int
	}{{59 * time.Minute, 1}, {61 * time.Minute, 1}, {3 * time.Hour, 0}} {
		s, kept := &lasting{}, &shelf{}
		w := newLasting(t, s, kept)
		hand(t, w, w.event(Create, "", lastingProps, ""))
		_ = w.clock.Sleep(t.Context(), tt.late)
		if kept.settle(t, w) || len(w.answers) != tt.answers {
			t.Errorf("%v late: %v", tt.late, w.answers)
		}
		if tt.answers == 1 && (!strings.HasPrefix(w.answers[0].Reason, "Operation timed out") || len(s.tries) != 2) {
			t.Errorf("%v late: %v, asked %v", tt.late, w.answers, s.tries)
		}
	}
}

// If the waiter fails, the request still gets its answer.
func TestWaiterFails(t *testing.T) {
	s, kept := &lasting{ready: doneAfter(4)}, &shelf{err: errors.New("database is away")}
	w := newLasting(t, s, kept)
	if got, want := w.ask(t, Create, "", lastingProps, ""), `SUCCESS slow-1 {"Address":"here","Password":"pa55word"} NoEcho (asked 4)`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if s.made != 1 || !strings.Contains(w.log.String(), "database is away") || strings.Contains(w.log.String(), "5ec2e7") {
		t.Errorf("made %d, log\n%s", s.made, &w.log)
	}
}

// If the state is too large to store, the request fails, with the ID of the new resource.
func TestWaiterTooMuch(t *testing.T) {
	s, kept := &lasting{}, &shelf{}
	w := newLasting(t, s, kept)
	r := w.event(Create, "", `{"More":"`+strings.Repeat(`\\`, 100<<10)+`"}`, "")
	if got := short(w.deliver(t, r)); !strings.HasPrefix(got, "FAILED slow-1 (the data kept during the wait have ") {
		t.Error(got)
	}
}

// TestWaiterShortPause checks that a short wait stays in the function.
func TestWaiterShortPause(t *testing.T) {
	s, kept := &lasting{ready: func(r *PollRequest[lastingProperties]) (Progress[lastingAttributes], error) {
		return Progress[lastingAttributes]{Done: r.Try == 5, After: 100 * time.Millisecond}, nil
	}}, &shelf{}
	w := newLasting(t, s, kept)
	if got := w.ask(t, Create, "", lastingProps, ""); !strings.HasPrefix(got, "SUCCESS slow-1") || kept.began != 0 {
		t.Errorf("%s, %d waits", got, kept.began)
	}
	s.ready = func(*PollRequest[lastingProperties]) (Progress[lastingAttributes], error) {
		return Progress[lastingAttributes]{After: 100 * time.Millisecond}, nil
	}
	hand(t, w, w.event(Update, "slow-1", lastingProps, lastingProps))
	if kept.began != 1 {
		t.Error("what is short is waited for for ever")
	}
}

func TestParsePending(t *testing.T) {
	s, kept := &lasting{}, &shelf{}
	w := newLasting(t, s, kept)
	hand(t, w, w.event(Create, "", lastingProps, ""))
	p := kept.only(t)
	text, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{fmt.Sprint(p), fmt.Sprintf("%+v", p), fmt.Sprintf("%#v", &p), p.LogValue().String()} {
		if strings.Contains(shown, "5ec2e7") || strings.Contains(shown, "pa55word") {
			t.Errorf("it shows a secret: %s", shown)
		}
	}
	var back Pending
	if err := json.Unmarshal(text, &back); err != nil || back.Key != p.Key || string(back.State) != string(p.State) || !back.Until.Equal(p.Until) {
		t.Errorf("%#v, %v", back, err)
	}
	if _, err := ParsePending([]byte(strings.Replace(string(text), "{", `{"new":[1],`, 1))); err != nil {
		t.Errorf("an unknown member: %v", err)
	}
	for old, want := range map[string]string{
		strings.Replace(string(text), `"version":1`, `"version":2`, 1): `it has the version "2", and this program reads 1`,
		strings.Replace(string(text), `"version":1`, `"v":1`, 1):       "it has no version",
		strings.Replace(string(text), `"key":"`, `"key":1,"x":"`, 1):   "wrong types",
		`{"version":1}`:           "it has no key",
		`{"version":1,"key":"k"}`: "it has no event",
		`{"version":1,"key":"k","event":{},"state":null}`: "it has no state",
		`{"version":1,"afterMilliseconds":-1}`:            "out of range",
		`[]`:                                              "not a JSON object",
		strings.Repeat(" ", maxPendingText+1):             "bytes long",
	} {
		if _, err := ParsePending([]byte(old)); !errors.Is(err, ErrInvalidPending) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "5ec2e7") {
			t.Errorf("%.50s: %v, want %s", old, err, want)
		}
	}
	// If another version wrote the state, the request is answered, with the ID if it can be read.
	p.State = json.RawMessage(strings.Replace(string(p.State), `"version":1`, `"version":9`, 1))
	next, err := w.Resume(t.Context(), p)
	if next != nil || err != nil || len(w.answers) != 1 || w.answers[0].Status != wire.Failed ||
		w.answers[0].PhysicalResourceID != "slow-1" || !strings.Contains(w.answers[0].Reason, `it has the version "9", and this program reads 1`) {
		t.Errorf("%v, %v, %v", next, err, w.answers)
	}
	p.State = nil
	if _, err := w.Resume(t.Context(), p); !errors.Is(err, ErrInvalidPending) {
		t.Errorf("no state: %v", err)
	}
	p.State, p.Event = json.RawMessage(`{"version":1}`), json.RawMessage(`{"RequestType":"Create"}`)
	if _, err := w.Resume(t.Context(), p); !errors.Is(err, ErrInvalidPending) {
		t.Errorf("no request: %v", err)
	}
}

func FuzzParsePending(f *testing.F) {
	f.Add([]byte(`{"version":1,"key":"k","event":{},"state":{"version":1,"began":"2026-01-02T15:04:05Z","until":"2026-01-02T15:04:05Z","id":"x","attributes":{"a":1}},"until":"2026-01-02T15:04:05Z"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParsePending(text)
		if err != nil {
			if !errors.Is(err, ErrInvalidPending) {
				t.Errorf("error %v", err)
			}
			return
		}
		if w, err := parseWait(p.State); err == nil {
			_ = w.answer(&Request{})
		} else if !errors.Is(err, ErrInvalidPending) {
			t.Errorf("state: %v", err)
		}
		once, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if len(once) > maxPendingText || len(p.State) > wire.MaxPending/4 {
			return
		}
		if _, err := ParsePending(once); err != nil {
			t.Errorf("%v: %s", err, once)
		}
	})
}

// A wait is handed over before the time of the process ends, however short its pauses are.
func TestWaiterShortTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, kept := &lasting{ready: func(r *PollRequest[lastingProperties]) (Progress[lastingAttributes], error) {
			return Progress[lastingAttributes]{Done: r.Try == 100, After: 400 * time.Millisecond}, nil
		}}, &shelf{}
		w := newLasting(t, s, kept)
		w.clock, w.sender.clock = clock.System{}, clock.System{}
		text, err := w.event(Create, "", lastingProps, "").Encode()
		if err != nil {
			t.Fatal(err)
		}
		for n := range 2 {
			ctx, stop := context.WithTimeout(t.Context(), 3*time.Second) // the timeout of a Lambda function
			defer stop()
			if n == 0 {
				err = w.ServeEvent(ctx, text)
			} else {
				var next *Pending
				if next, err = w.Resume(ctx, kept.only(t)); next == nil {
					t.Error("it is not handed over again")
				}
			}
			if err != nil || len(w.answers) != 0 || kept.began != 1 {
				t.Fatalf("time %d: %v, answers %v, %d waits", n, err, w.answers, kept.began)
			}
		}
	})
}

// slowShelf is a shelf whose Waits is slow.
type slowShelf struct {
	*shelf
	asked, say chan bool
}

func (s slowShelf) Waits(ctx context.Context, key string) (bool, error) {
	s.asked <- true
	<-s.say
	return s.shelf.Waits(ctx, key)
}

// A record keeps its state when its request is delivered again while it is resumed.
func TestResumeDuringDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, kept := &lasting{}, &shelf{}
		w := newLasting(t, s, kept)
		w.clock, w.sender.clock = clock.System{}, clock.System{}
		create := w.event(Create, "", lastingProps, "")
		hand(t, w, create)
		slow := slowShelf{kept, make(chan bool), make(chan bool)}
		w.waiter = slow
		text, err := create.Encode()
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error)
		go func() { served <- w.ServeEvent(t.Context(), text) }()
		<-slow.asked
		type result struct {
			next *Pending
			err  error
		}
		resumed := make(chan result)
		p := kept.only(t)
		go func() {
			next, err := w.Resume(t.Context(), p)
			resumed <- result{next, err}
		}()
		synctest.Wait()
		slow.say <- true
		if err := <-served; err != nil {
			t.Error(err)
		}
		got := <-resumed
		if got.err != nil || got.next == nil || got.next.check() != nil || len(s.tries) != 2 || got.next.Until.IsZero() {
			t.Errorf("%v, %v, asked %v", got.next, got.err, s.tries)
		}
	})
}

// A waiter may re-encode the record as encoding/json or a database does: it is still the same request.
func TestWaiterRespelt(t *testing.T) {
	s, kept := &lasting{ready: doneAfter(2)}, &shelf{}
	w := newLasting(t, s, kept)
	create := w.event(Create, "", `{"Zone":"<a>","Key":"5ec2e7-key"}`, "")
	hand(t, w, create)
	p := kept.only(t)
	text, err := json.Marshal(p)
	if err != nil || !strings.Contains(string(text), `\u003ca`) {
		t.Fatal(err, string(text))
	}
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	if next, err := w.Resume(t.Context(), p); next != nil || err != nil {
		t.Fatalf("%v, %v", next, err)
	}
	clear(kept.texts)
	if got := short(w.deliver(t, create)); got != short(w.answers[0]) || s.made != 1 {
		t.Errorf("delivered again: %s, made %d, want %s", got, s.made, short(w.answers[0]))
	}
}

// An unusable record of a replacement does not make the incomplete replacement the resource.
func TestResumeRefusedReplacement(t *testing.T) {
	s, kept := &lasting{}, &shelf{}
	w := newLasting(t, s, kept)
	hand(t, w, w.event(Update, "old", lastingProps, `{"Zone":"b"}`))
	p := kept.only(t)
	p.State = json.RawMessage(strings.Replace(string(p.State), `"version":1`, `"version":2`, 1))
	next, err := w.Resume(t.Context(), p)
	if next != nil || err != nil || len(w.answers) != 1 || !strings.HasPrefix(short(w.answers[0]), "FAILED old (") {
		t.Errorf("%v, %v, answers %v", next, err, w.answers)
	}
}

// moving is a provider whose Update makes a new resource.
type moving struct{ *lasting }

func (moving) Update(context.Context, *UpdateRequest[lastingProperties]) (Response[lastingAttributes], error) {
	return Response[lastingAttributes]{ID: "new", Replaces: true}, nil
}

// An Update that made a new resource answers with its ID, however its wait ends: otherwise no request would have that ID.
func TestWaiterUpdateReplaces(t *testing.T) {
	state := func(old, changed string) func(*testing.T, *Pending) {
		return func(t *testing.T, p *Pending) {
			t.Helper()
			text := strings.Replace(string(p.State), old, changed, 1)
			if text == string(p.State) {
				t.Fatalf("%s is not in %s", old, text)
			}
			p.State = json.RawMessage(text)
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*testing.T, *Pending)
		ready  func(*PollRequest[lastingProperties]) (Progress[lastingAttributes], error)
		want   string
	}{
		{"done", nil, doneAfter(2), "SUCCESS new (asked 2)"},
		{"of an earlier version", state(`,"replacing":true`, ""), doneAfter(2), "SUCCESS new (asked 2)"},
		{"of an earlier version, fails", state(`,"replacing":true`, ""), func(*PollRequest[lastingProperties]) (Progress[lastingAttributes], error) {
			return Progress[lastingAttributes]{}, errors.New("disk full")
		}, "FAILED new (Poll after Update: disk full)"},
		{"of an unknown version", state(`"version":1`, `"version":2`), nil, "FAILED new (the record of the pending request cannot be used: it has the version "},
		{"abandoned", nil, func(*PollRequest[lastingProperties]) (Progress[lastingAttributes], error) {
			time.Sleep(time.Hour)
			return Progress[lastingAttributes]{}, nil
		}, "FAILED new (ran out of time: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, kept := &lasting{}, &shelf{}
				w := newWorld(t, New(moving{s}))
				w.waiter = kept
				w.clock, w.sender.clock = clock.System{}, clock.System{}
				hand(t, w, w.event(Update, "old", lastingProps, lastingProps))
				s.ready = tt.ready
				p := kept.only(t)
				if tt.change != nil {
					tt.change(t, &p)
				}
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				next, err := w.Resume(ctx, p)
				if next != nil || err != nil && tt.name != "abandoned" || len(w.answers) != 1 || !strings.HasPrefix(short(w.answers[0]), tt.want) {
					t.Errorf("%s: %v, %v, answers %v, want %s", tt.name, next, err, w.answers, tt.want)
				}
				time.Sleep(2 * time.Hour) // until the handler has returned
			})
		})
	}
}
