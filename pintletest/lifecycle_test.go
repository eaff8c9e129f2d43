package pintletest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/pintletest"
)

type properties struct {
	Name string `pintle:"required,immutable"`
	Size int    `pintle:"min=1,max=100,default=10"`
	Key  pintle.Secret
	Fail string
}

type attributes struct {
	URL  string
	Size int
	Key  *pintle.Secret `json:",omitempty"`
}

// shelf is a provider of named things in memory.
type shelf struct {
	things  map[pintle.PhysicalID]int
	leaks   bool // does not delete
	replies bool // reveals its secrets
}

func newShelf() *shelf { return &shelf{things: map[pintle.PhysicalID]int{}} }

func (s *shelf) put(id pintle.PhysicalID, r pintle.Request, p properties) (pintle.Response[attributes], error) {
	if s.replies {
		fmt.Println(r.Type) // does not go to the log
		r.Log().Info("made", "with", reverse(p.Key.Reveal()))
	}
	if p.Fail == string(r.Type) {
		return pintle.Response[attributes]{}, errors.New("no room")
	}
	s.things[id] = p.Size
	a := attributes{URL: "https://" + string(id), Size: p.Size}
	if !p.Key.IsZero() {
		a.Key = &p.Key
	}
	return pintle.Response[attributes]{ID: id, Attributes: a}, nil
}

func reverse(text string) string {
	letters := []rune(text)
	slices.Reverse(letters)
	return string(letters)
}

func (s *shelf) Create(_ context.Context, r *pintle.CreateRequest[properties]) (pintle.Response[attributes], error) {
	return s.put(pintle.PhysicalID(r.Properties.Name), r.Request, r.Properties)
}

func (s *shelf) Update(ctx context.Context, r *pintle.UpdateRequest[properties]) (pintle.Response[attributes], error) {
	if ctx.Err() != nil {
		return pintle.Response[attributes]{}, ctx.Err()
	}
	return s.put(r.ID, r.Request, r.Properties)
}

func (s *shelf) Delete(_ context.Context, r *pintle.DeleteRequest[properties]) error {
	if r.Properties.Fail == "Delete" {
		return errors.New("in use")
	}
	if s.leaks {
		return nil
	}
	delete(s.things, r.ID)
	return nil
}

// has checks the contents of the shelf.
func (s *shelf) has(names ...string) func() error {
	return func() error {
		var there []string
		for _, id := range slices.Sorted(maps.Keys(s.things)) {
			there = append(there, string(id))
		}
		if !slices.Equal(there, names) {
			return fmt.Errorf("the shelf has %q, want %q", there, names)
		}
		return nil
	}
}

type m = pintletest.Map

func TestWholeLife(t *testing.T) {
	s := newShelf()
	pintletest.Lifecycle{
		Handler: pintle.New(s),
		Secrets: []string{"hunter2"},
		Steps: []pintletest.Step{
			{Properties: m{"Size": 5}, WantError: "Name: is missing", Check: s.has()},
			{Properties: m{"Name": "a", "Fail": "Create"}, WantError: "no room", Check: s.has()},
			{Name: "taken back", Properties: m{"Name": "a"}, RollBack: true, Check: s.has()},
			{Name: "the answer is lost twice", Properties: m{"Name": "a", "Size": 5}, LostResponses: 2, WantID: "a",
				WantAttributes: m{"URL": "https://a", "Size": 5}, Check: s.has("a")},
			{Properties: m{"Name": "a"}, WantAttributes: m{"URL": "https://a", "Size": 10}, Redeliveries: 2},
			{Name: "secret", Properties: m{"Name": "a", "Key": "hunter2"}, WantNoEcho: true, WantAttributes: m{"URL": "https://a", "Size": 10, "Key": "hunter2"}},
			{Name: "too large", Properties: m{"Name": "a", "Size": 101}, WantError: "want a whole number from 1 to 100"},
			{Properties: m{"Name": "a", "Fail": "Update"}, WantError: "no room"},
			{Properties: m{"Name": "b"}, WantID: "b", WantReplacement: true, Check: s.has("b")},
			{Name: "replaced, and back", Properties: m{"Name": "c"}, WantReplacement: true, RollBack: true, Check: s.has("b")},
			{Name: "replacement fails", Properties: m{"Name": "c", "Fail": "Create"}, WantError: "no room", Check: s.has("b")},
			{Name: "heard by nobody", Properties: m{"Name": "b", "Size": 7}, LateResponse: true},
			{Name: "answers never arrive", Properties: m{"Name": "b", "Size": 7}, LostResponses: 1000},
			{Name: "in time out of time", Properties: m{"Name": "b", "Size": 7}, DeadlineExceeded: true, WantError: "deadline exceeded"},
			{Name: "old properties", RecordedProperties: m{"Name": "b", "Colour": "red"}, Properties: m{"Name": "b"}},
			{Name: "in use", RecordedProperties: m{"Name": "b", "Fail": "Delete"}, Type: pintle.Delete, WantError: "in use"},
			{Name: "the provider was restarted", RecordedProperties: m{"Name": "b"}, Restart: true, Properties: nil, Check: s.has()},
			{Name: "another life", Properties: m{"Name": "d"}, Restart: true},
		},
	}.Run(t)
	if err := s.has()(); err != nil {
		t.Error(err)
	}
}

// Each kind of mistake is found and described.
func TestProblems(t *testing.T) {
	fixed := func(a pintle.Answer, err error) pintle.Handler {
		return pintle.HandlerFunc(func(context.Context, *pintle.Request) (pintle.Answer, error) { return a, err })
	}
	count := 0
	counting := pintle.HandlerFunc(func(context.Context, *pintle.Request) (pintle.Answer, error) {
		count++
		return pintle.Answer{ID: pintle.PhysicalID(fmt.Sprint("id-", count)), Replaces: true}, nil
	})
	changesOnFailure := pintle.HandlerFunc(func(_ context.Context, r *pintle.Request) (pintle.Answer, error) {
		if strings.Contains(string(r.RawProperties), "bad") {
			return pintle.Answer{ID: "other", Replaces: true}, errors.New("bad")
		}
		return pintle.Answer{}, nil
	})
	leaky := newShelf()
	leaky.leaks = true
	revealing := newShelf()
	revealing.replies = true
	create := pintletest.Step{Properties: m{"Name": "a"}}
	for _, tt := range []struct {
		name string
		life pintletest.Lifecycle
		want []string
	}{
		{"wrong ID", pintletest.Lifecycle{Handler: fixed(pintle.Answer{ID: "x"}, nil), Steps: []pintletest.Step{{WantID: "y"}}},
			[]string{"step 1, Create: the ID is x, want y"}},
		{"failure", pintletest.Lifecycle{Handler: fixed(pintle.Answer{ID: "x"}, errors.New("no")), Steps: []pintletest.Step{{}}, KeepResource: true},
			[]string{"step 1, Create: answered FAILED: no", "step 1, Create: answered FAILED: no"}},
		{"no failure", pintletest.Lifecycle{Handler: pintle.New(newShelf()), Steps: []pintletest.Step{{Name: "n", Properties: m{"Name": "a"}, WantError: "no"}}},
			[]string{`step 1, Create (n): answered SUCCESS, want FAILED with "no"`}},
		{"another failure", pintletest.Lifecycle{Handler: pintle.New(newShelf()), Steps: []pintletest.Step{{Properties: m{}, WantError: "no room"}}},
			[]string{`step 1, Create: failed with "properties: Name: is missing", want "no room"`}},
		{"surprising replacement", pintletest.Lifecycle{Handler: counting, KeepResource: true, Steps: []pintletest.Step{{}, {Properties: m{"a": 1}}}},
			[]string{"step 2, Update: the ID changed from id-1 to id-2, so the service will delete id-1; if that is right, say Replaces",
				`step 2, Update: answered FAILED: a Delete cannot change the physical ID, the handler answered "id-3" to the Delete of "id-1"`}},
		{"no replacement", pintletest.Lifecycle{Handler: pintle.New(newShelf()), Steps: []pintletest.Step{create, {Properties: m{"Name": "a", "Size": 3}, WantReplacement: true}}},
			[]string{"step 2, Update: the ID is still a, want a replacement"}},
		{"a failed Update with another ID", pintletest.Lifecycle{Handler: changesOnFailure, Steps: []pintletest.Step{{}, {Properties: m{"x": "bad"}, WantError: "bad"}}},
			[]string{"step 2, Update: the failed Update changed the ID from request-1 to other, so the service will delete request-1"}},
		{"attributes", pintletest.Lifecycle{Handler: fixed(pintle.Answer{Attributes: m{"A": 1, "B": "x"}}, nil), Steps: []pintletest.Step{
			{WantAttributes: m{"A": 2, "C": []int{1}}, WantNoEcho: true}}},
			[]string{"step 1, Create: NoEcho is false, want true", "step 1, Create: the attribute A is 1, want 2",
				`step 1, Create: the attribute B is "x", want none`, "step 1, Create: the attribute C is missing, want [1]"}},
		{"check", pintletest.Lifecycle{Handler: pintle.New(leaky), Steps: []pintletest.Step{create, {Type: pintle.Delete, Check: leaky.has()}}},
			[]string{`step 2, Delete: the shelf has ["a"], want []`}},
		{"secret", pintletest.Lifecycle{Handler: pintle.New(revealing), Secrets: []string{"2retnuh"}, Steps: []pintletest.Step{{Properties: m{"Name": "a", "Key": "hunter2"}}}},
			[]string{`in all: the log shows the secret "2retnuh"`}},
		{"secret reason", pintletest.Lifecycle{Handler: fixed(pintle.Answer{ID: "x", Reason: "key hunter2"}, nil), Secrets: []string{"hunter2"}, Steps: []pintletest.Step{{}}, KeepResource: true},
			[]string{`step 1, Create: the reason shows the secret "hunter2"`, `in all: the log shows the secret "hunter2"`}},
		{"the last Delete", pintletest.Lifecycle{Handler: pintle.New(newShelf()), Steps: []pintletest.Step{{Properties: m{"Name": "a", "Fail": "Delete"}}}},
			[]string{"the end, Delete: answered FAILED: in use"}},
		{"no resource exists", pintletest.Lifecycle{Handler: fixed(pintle.Answer{}, nil), Steps: []pintletest.Step{{Type: pintle.Update}, {Type: pintle.Delete}}},
			[]string{"step 1, Update: no resource exists", "step 2, Delete: no resource exists"}},
		{"resource exists", pintletest.Lifecycle{Handler: fixed(pintle.Answer{}, nil), Steps: []pintletest.Step{{}, {Type: pintle.Create}}},
			[]string{"step 2, Create: there is a resource already: delete it first"}},
		{"another request", pintletest.Lifecycle{Handler: fixed(pintle.Answer{}, nil), Steps: []pintletest.Step{{Type: "Move"}}},
			[]string{`step 1, Move: "Move" is not a request`}},
		{"rollback fails", pintletest.Lifecycle{Handler: pintle.New(newShelf()), Steps: []pintletest.Step{create,
			{RecordedProperties: m{"Name": "a", "Fail": "Update"}, Properties: m{"Name": "a", "Fail": "Update"}, WantError: "no room"}, {RecordedProperties: m{"Name": "a"}}}},
			[]string{"step 2, Update: answered FAILED: no room"}},
	} {
		report := tt.life.Simulate(t.Context())
		if !slices.Equal(report.Problems, tt.want) {
			t.Errorf("%s: problems\n%s\nwant\n%s\n\n%s", tt.name, strings.Join(report.Problems, "\n"), strings.Join(tt.want, "\n"), report.Transcript)
		}
	}
}

func TestTranscript(t *testing.T) {
	report := pintletest.Lifecycle{
		Handler: pintle.New(newShelf()),
		Steps: []pintletest.Step{
			{Properties: m{"Name": "a", "Size": 5}},
			{Name: "moved", Properties: m{"Name": "b"}, WantReplacement: true},
		},
	}.Simulate(t.Context())
	const want = `step 1, Create
-> Create {"Name":"a","Size":"5"}
<- SUCCESS a {"Size":5,"URL":"https://a"}
step 2, Update (moved)
-> Update a {"Name":"b"} was {"Name":"a","Size":"5"}
<- SUCCESS b {"Size":10,"URL":"https://b"}
   the service cleans up what was replaced
-> Delete a {"Name":"a","Size":"5"}
<- SUCCESS a
the end, Delete
-> Delete b {"Name":"b"}
<- SUCCESS b`
	if report.Transcript != want || report.Problems != nil {
		t.Errorf("%v\n%s\nwant\n%s", report.Problems, report.Transcript, want)
	}
}

// recorder is a testing.TB that only records errors and logs.
type recorder struct {
	testing.TB
	errors, logs []string
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return context.Background() }
func (r *recorder) Error(args ...any)        { r.errors = append(r.errors, fmt.Sprint(args...)) }
func (r *recorder) Fatal(args ...any)        { r.errors = append(r.errors, fmt.Sprint(args...)) }
func (r *recorder) Logf(text string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(text, args...))
}

func TestRunReports(t *testing.T) {
	r := &recorder{}
	pintletest.Lifecycle{Handler: pintle.New(newShelf()), Steps: []pintletest.Step{{}}}.Run(r)
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "Name: is missing") || len(r.logs) != 1 ||
		!strings.Contains(r.logs[0], "-> Create {}") || !strings.Contains(r.logs[0], "handler failed") {
		t.Errorf("%q\n%q", r.errors, r.logs)
	}
	r = &recorder{}
	pintletest.Lifecycle{}.Run(r)
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "no Handler") {
		t.Errorf("%q", r.errors)
	}
}

// slow is done after a certain time, such as an hour.
type slow struct {
	*shelf
	takes time.Duration
}

func (s slow) Poll(_ context.Context, r *pintle.PollRequest[properties]) (pintle.Progress[attributes], error) {
	return pintle.Progress[attributes]{Done: time.Duration(r.Try)*10*time.Second > s.takes, After: 10 * time.Second}, nil
}

func TestTimeIsSimulated(t *testing.T) {
	s := newShelf()
	pintletest.Lifecycle{
		Handler: pintle.New(slow{s, 10 * time.Minute}),
		Steps:   []pintletest.Step{{Properties: m{"Name": "a"}, WantID: "a"}},
	}.Run(t)
	pintletest.Lifecycle{
		Handler:      pintle.New(slow{s, time.Hour}),
		Steps:        []pintletest.Step{{Properties: m{"Name": "a"}, WantID: "a", WantError: "Operation timed out: not ready after 14m50s", WantRollbackError: "timed out"}},
		KeepResource: true,
	}.Run(t)
	pintletest.Lifecycle{
		Handler:      pintle.New(slow{s, time.Hour}),
		Steps:        []pintletest.Step{{Properties: m{"Name": "a", "ServiceTimeout": 60}, WantID: "a", WantError: "not ready after 50s", WantRollbackError: "timed out"}},
		KeepResource: true,
	}.Run(t)
}

// A Lifecycle on ROS finds provider behaviour that ROS would reject, and secrets that are shown.
func TestROSProblems(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler pintle.HandlerFunc
		steps   []pintletest.Step
		want    string // part of a problem; "": none
	}{
		{"a good one", func(_ context.Context, r *pintle.Request) (pintle.Answer, error) {
			var p struct{ N int }
			return pintle.Answer{ID: "a", Attributes: pintletest.Map{"N": 7}}, r.Decode(&p)
		}, []pintletest.Step{
			{Properties: pintletest.Map{"N": 7}, WantID: "a", WantAttributes: pintletest.Map{"N": 7}, Redeliveries: 1, LostResponses: 1},
			{Properties: pintletest.Map{"N": 8}},
			{Properties: pintletest.Map{"N": 9}, RollBack: true},
		}, ""},
		{"another ID", func(_ context.Context, r *pintle.Request) (pintle.Answer, error) {
			return pintle.Answer{ID: pintle.PhysicalID(r.RequestID)}, nil
		}, []pintletest.Step{{Properties: pintletest.Map{}}, {Properties: pintletest.Map{"A": 1}}}, "ROS cannot replace a resource in an Update"},
		{"replacement with the same ID", func(context.Context, *pintle.Request) (pintle.Answer, error) {
			return pintle.Answer{ID: "a"}, nil
		}, []pintletest.Step{{Properties: pintletest.Map{}}, {Properties: pintletest.Map{"A": 1}, WantReplacement: true}}, `answered SUCCESS, want FAILED with "ROS cannot replace`},
		{"a secret", func(context.Context, *pintle.Request) (pintle.Answer, error) {
			return pintle.Answer{ID: "a", Attributes: pintletest.Map{"Key": pintle.NewSecret("x")}}, nil
		}, []pintletest.Step{{Properties: pintletest.Map{}}}, "ROS has no NoEcho"},
	} {
		for _, form := range []pintletest.Transport{pintletest.ROSFunction, pintletest.ROSWeb, pintletest.ROSWebSync} {
			report := pintletest.Lifecycle{Handler: tt.handler, Transport: form, Steps: tt.steps}.Simulate(t.Context())
			if got := strings.Join(report.Problems, "\n"); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("%s, %s: %s\nwant %q\n%s", tt.name, form, got, tt.want, report.Transcript)
			}
		}
	}
}
