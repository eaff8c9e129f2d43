package events

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

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

var home = registry.Scope{Account: "000000000000", Region: "us-east-1"}

const function = "arn:aws:lambda:us-east-1:000000000000:function:User"

// world is the rules of nodes that share a catalog, on a simulated clock, and the sent events.
type world struct {
	t       *testing.T
	catalog *registry.Catalog
	start   time.Time

	mu   sync.Mutex
	sent []string
	// took is the duration of a target, and refuse its error.
	took   time.Duration
	refuse error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, catalog: registry.New(rows), start: time.Now()}
}

// node returns the rules of a node that runs until the returned func is called.
func (w *world) node(change func(*Config)) (*Rules, func()) {
	w.t.Helper()
	config := Config{Catalog: w.catalog, Alone: true, Send: w.send}
	if change != nil {
		change(&config)
	}
	r, err := New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.Run(ctx); err != nil {
			w.t.Error(err)
		}
	}()
	return r, func() {
		cancel()
		<-done
	}
}

func (w *world) send(_ context.Context, place registry.Scope, target registry.Target, payload []byte, ended func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if place != home {
		w.t.Errorf("sent in the name of %v", place)
	}
	arn := target.ARN
	w.sent = append(w.sent, fmt.Sprintf("%s %s %s", time.Since(w.start), arn[strings.LastIndexByte(arn, ':')+1:], payload))
	if w.refuse != nil {
		return w.refuse
	}
	time.AfterFunc(w.took, ended)
	return nil
}

// takes returns the events sent since the last call.
func (w *world) takes() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := w.sent
	w.sent = nil
	return sent
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) put(r *Rules, of registry.Rule, input string) {
	w.t.Helper()
	of.Place = home
	_, err := r.Put(w.t.Context(), "", of)
	w.must(err)
	w.must(r.PutTargets(w.t.Context(), home, of.Name, map[string]registry.Target{"1": {ARN: function, Input: &input}}))
}

func (w *world) sees(want ...string) {
	w.t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, w.takes()); diff != "" {
		w.t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// TestRun checks that a rule fires on its schedule until it is disabled or deleted.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r, stop := w.node(nil)
		defer stop()
		w.put(r, registry.Rule{Name: "every", Schedule: "rate(2 minutes)"}, `{"n":1}`)
		w.put(r, registry.Rule{Name: "hourly", Schedule: "cron(0 * * * ? *)"}, `2`)
		time.Sleep(5 * time.Minute)
		w.sees(`2m0s User {"n":1}`, `4m0s User {"n":1}`)
		w.must(r.Enable(t.Context(), home, "every", false))
		time.Sleep(time.Hour - 5*time.Minute)
		w.sees(`1h0m0s User 2`)
		w.must(r.Enable(t.Context(), home, "every", true))
		time.Sleep(3 * time.Minute)
		w.sees(`1h2m0s User {"n":1}`)
		w.must(r.RemoveTargets(t.Context(), home, "every", []string{"1", "none", "no id"}))
		w.must(r.Delete(t.Context(), home, "every"))
		time.Sleep(30 * time.Minute)
		w.sees()
	})
}

// TestPoll checks that a polling rule of a function fires soon, then at growing intervals up to its schedule, and not
// before its targets are done.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.took = 3 * time.Second
		r, stop := w.node(nil)
		defer stop()
		time.Sleep(time.Second)
		_, err := r.Put(t.Context(), "", registry.Rule{Place: home, Name: "poll", Schedule: "rate(1 minute)", Poll: true})
		w.must(err)
		time.Sleep(time.Minute) // it has no target yet
		w.put(r, registry.Rule{Name: "poll", Schedule: "rate(1 minute)", Poll: true}, "1")
		time.Sleep(6 * time.Minute)
		w.sees("1m3s User 1", "1m10s User 1", "1m21s User 1", "1m40s User 1", "2m15s User 1", "3m15s User 1",
			"4m1s User 1", "5m1s User 1", "6m1s User 1", "7m1s User 1") // on its schedule, which starts at the last change
	})
}

// TestExact checks that such a rule follows its schedule with the fidelity of AWS.
func TestExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r, stop := w.node(func(c *Config) { c.Exact = true })
		defer stop()
		w.put(r, registry.Rule{Name: "poll", Schedule: "rate(2 minutes)", Poll: true}, "1")
		time.Sleep(5 * time.Minute)
		w.sees("2m0s User 1", "4m0s User 1")
		long := `"` + strings.Repeat("x", MaxExactInput) + `"`
		err := r.PutTargets(t.Context(), home, "poll", map[string]registry.Target{"1": {ARN: function, Input: &long}})
		if err == nil {
			t.Error("a longer input than EventBridge's is taken")
		}
	})
}

// TestRestart checks that a rule that was due while no node ran fires once, and continues its schedule.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r, stop := w.node(nil)
		w.put(r, registry.Rule{Name: "every", Schedule: "rate(1 minute)"}, "1")
		time.Sleep(90 * time.Second)
		w.sees("1m0s User 1")
		stop()
		time.Sleep(10 * time.Minute)
		_, stop = w.node(nil)
		defer stop()
		w.sees("11m30s User 1")
		time.Sleep(time.Minute)
		w.sees("12m0s User 1")
	})
}

// TestRestartWhilePolling checks that a rule whose target was running when the only node died fires at once.
func TestRestartWhilePolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.took = time.Hour
		r, stop := w.node(nil)
		w.put(r, registry.Rule{Name: "poll", Schedule: "rate(30 minutes)", Poll: true}, "1")
		time.Sleep(10 * time.Second)
		w.sees("2s User 1")
		stop()
		w.took = 0
		_, stop = w.node(nil)
		defer stop()
		w.sees("10s User 1")
	})
}

// TestNodes checks that only one of several nodes fires a rule, even after the node that created the rule died.
func TestNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		several := func(c *Config) { c.Alone = false }
		first, stopFirst := w.node(several)
		for range 3 {
			_, stop := w.node(several)
			defer stop()
		}
		w.put(first, registry.Rule{Name: "every", Schedule: "rate(1 minute)"}, "1")
		time.Sleep(3*time.Minute + time.Second)
		w.sees("1m0s User 1", "2m0s User 1", "3m0s User 1")
		stopFirst()
		time.Sleep(2 * time.Minute)
		w.sees("4m0s User 1", "5m0s User 1")
	})
}

// TestRefusedTarget checks that a target that does not accept an event does not stop its rule.
func TestRefusedTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.refuse = errors.New("there is no such function")
		r, stop := w.node(nil)
		defer stop()
		w.put(r, registry.Rule{Name: "poll", Schedule: "rate(2 minutes)", Poll: true}, "1")
		time.Sleep(7 * time.Second)
		w.sees("2s User 1", "6s User 1")
	})
}

func TestPutRefuses(t *testing.T) {
	w := newWorld(t)
	r, err := New(Config{Catalog: w.catalog, Send: w.send})
	w.must(err)
	for _, test := range []struct {
		of   registry.Rule
		want string
	}{
		{registry.Rule{Name: "a b", Schedule: "rate(1 day)"}, "ValidationException: 1 validation error detected: Value 'a b' at 'name' failed"},
		{registry.Rule{Name: strings.Repeat("a", 65), Schedule: "rate(1 day)"}, "ValidationException: 1 validation error detected"},
		{registry.Rule{Name: "a"}, "ValidationException: Parameter(s) EventPattern or ScheduleExpression must be specified."},
		{registry.Rule{Name: "a", Schedule: "rate(1 days)"}, "ValidationException: Parameter ScheduleExpression is not valid."},
		{registry.Rule{Name: "a", Pattern: "{"}, "InvalidEventPatternException: Event pattern is not valid. Reason: it is not valid JSON"},
		{registry.Rule{Name: "a", Schedule: "rate(1 day)", Description: strings.Repeat("a", 513)}, "ValidationException: 1 validation error"},
	} {
		test.of.Place = home
		_, err := r.Put(t.Context(), "", test.of)
		e, ok := errors.AsType[*Error](err)
		if !ok || !strings.HasPrefix(e.Code+": "+e.Message, test.want) {
			t.Errorf("%+v: got %v, want %s", test.of, err, test.want)
		}
	}
	if err := r.Enable(t.Context(), home, "none", true); !errors.Is(err, registry.ErrNotFound) || err.Error() != "Rule none does not exist on EventBus default." {
		t.Errorf("a rule that does not exist is enabled: %v", err)
	}
	if err := r.Delete(t.Context(), home, "none"); err != nil {
		t.Errorf("a rule that does not exist is deleted: %v", err)
	}
}

func TestPutTargetsRefuses(t *testing.T) {
	w := newWorld(t)
	r, err := New(Config{Catalog: w.catalog, Send: w.send})
	w.must(err)
	_, err = r.Put(t.Context(), "", registry.Rule{Place: home, Name: "a", Schedule: "rate(1 day)"})
	w.must(err)
	text, bad, long := `{}`, `{`, `"`+strings.Repeat("x", MaxInput)+`"`
	many := map[string]registry.Target{}
	for i := range MaxTargets + 1 {
		many[fmt.Sprint(i)] = registry.Target{ARN: function}
	}
	for want, targets := range map[string]map[string]registry.Target{
		"The requested resource exceeds the maximum number allowed.":                       many,
		"Parameter queue is not valid. Reason: Provided Arn is not in correct format.":     {"1": {ARN: "queue"}},
		"Only one of Input, InputPath, or InputTransformer must be provided for target 1.": {"1": {ARN: function, Input: &text, InputPath: "$.detail"}},
		"JSON text for target 1 is not valid.":                                             {"1": {ARN: function, Input: &bad}},
		"The input of target 1 has more than 262144 bytes.":                                {"1": {ARN: function, Input: &long}},
		"Parameter InputPath is not valid for target 1. Reason: \"..\" is not a step":      {"1": {ARN: function, InputPath: "$.."}},
		"1 validation error detected: Value 'a b' at 'targets.1.member.id'":                {"a b": {ARN: function}},
		"Parameter(s) SqsParameters must be specified for target: 1.":                      {"1": {ARN: "arn:aws:sqs:eu-west-1:1:q.fifo"}},
		"Invalid InputTemplate for target 1 : Placeholder [x] is not in InputPathsMap.":    {"1": {ARN: function, Transformer: &registry.Transformer{Template: `"<x>"`}}},
	} {
		if err := r.PutTargets(t.Context(), home, "a", targets); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if there, err := r.Targets(t.Context(), home, "a"); err != nil || len(there) > 0 {
		t.Errorf("targets that were refused are there: %v, %v", there, err)
	}
	if err := r.PutTargets(t.Context(), home, "none", nil); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("targets of no rule: %v", err)
	}
	// A target that cannot be called here is stored, because a template may declare it.
	w.must(r.PutTargets(t.Context(), home, "a", map[string]registry.Target{"1": {ARN: function}, "2": {ARN: "arn:aws:sqs:us-east-1:000000000000:q"}}))
	if err := r.Delete(t.Context(), home, "a"); err == nil || err.Error() != "Rule can't be deleted since it has targets." {
		t.Errorf("a rule with targets is deleted: %v", err)
	}
	names, err := r.RulesOf(t.Context(), home, function)
	if diff := cmp.Diff([]string{"a"}, names); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestInput compares the inputs of targets with the examples of the EventBridge User Guide.
func TestInput(t *testing.T) {
	body, err := decode([]byte(`{"version":"0","id":"7bf7","detail-type":"EC2 Instance State-change Notification","source":"aws.ec2","account":"111122223333",
		"time":"2015-11-11T21:29:54Z","region":"us-east-1","resources":["arn:aws:ec2:us-east-1:111122223333:instance/i-abcd1111"],
		"detail":{"instance-id":"i-0123456789","state":"RUNNING <\"now\">","n":[1,{"a b":true}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	e := event{registry.Rule{Place: home, Name: "r"}, time.Date(2026, 1, 2, 3, 4, 5, 6000000, time.UTC), body.(map[string]any)}
	paths := map[string]string{"instance": "$.detail.instance-id", "state": "$.detail.state", "resource": "$.resources[0]", "n": "$.detail.n", "none": "$.detail.x"}
	text := `{"as": "it is"}`
	for name, test := range map[string]struct {
		target registry.Target
		want   string
	}{
		"input":        {registry.Target{Input: &text}, text},
		"path":         {registry.Target{InputPath: "$.detail.n[1]['a b']"}, `true`},
		"text":         {registry.Target{InputPath: "$.source"}, `"aws.ec2"`},
		"nowhere":      {registry.Target{InputPath: "$.detail.nothing"}, `{}`},
		"string":       {registry.Target{Transformer: &registry.Transformer{Paths: paths, Template: `"instance <instance> is in <state>"`}}, `"instance i-0123456789 is in RUNNING <\"now\">"`},
		"object":       {registry.Target{Transformer: &registry.Transformer{Paths: paths, Template: `{"instance": <instance>, "n": <n>, "none": <none>, "of": "<n>"}`}}, `{"instance": "i-0123456789", "n": [1,{"a b":true}], "none": null, "of": "[1,{\"a b\":true}]"}`},
		"bare text":    {registry.Target{Transformer: &registry.Transformer{Paths: paths, Template: `it is <resource>`}}, `"it is \"arn:aws:ec2:us-east-1:111122223333:instance/i-abcd1111\""`},
		"reserved":     {registry.Target{Transformer: &registry.Transformer{Template: `["<aws.events.rule-name>", <aws.events.rule-arn>, <aws.events.event.ingestion-time>]`}}, `["r", "arn:aws:events:us-east-1:000000000000:rule/r", "2026-01-02T03:04:05.006Z"]`},
		"not variable": {registry.Target{Transformer: &registry.Transformer{Template: `{"a": "x < y > \"z\""}`}}, `{"a": "x < y > \"z\""}`},
	} {
		got, err := input(test.target, e)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	whole, err := input(registry.Target{}, scheduled(registry.Rule{Place: home, Name: "r"}, e.time))
	var got map[string]any
	if err != nil || json.Unmarshal(whole, &got) != nil {
		t.Fatal(err)
	}
	delete(got, "id")
	if diff := cmp.Diff(map[string]any{
		"version": "0", "detail-type": "Scheduled Event", "source": "aws.events", "account": home.Account, "time": "2026-01-02T03:04:05Z",
		"region": home.Region, "resources": []any{"arn:aws:events:us-east-1:000000000000:rule/r"}, "detail": map[string]any{},
	}, got); diff != "" {
		t.Error(diff)
	}
}
