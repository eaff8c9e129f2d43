package pintletest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/pintletest"
)

// database is a provider that plans.
type database struct {
	seen  []string // requests that Plan received
	calls int      // calls of the other methods
}

type databaseProperties struct {
	Name    string `pintle:"required"`
	Zone    string `pintle:"immutable"`
	Version int    `pintle:"default=1,max=9"`
	Fail    string
	Key     pintle.Secret
}

func (d *database) Create(context.Context, *pintle.CreateRequest[databaseProperties]) (pintle.Response[m], error) {
	d.calls++
	return pintle.Response[m]{ID: "db"}, nil
}

func (d *database) Update(context.Context, *pintle.UpdateRequest[databaseProperties]) (pintle.Response[m], error) {
	d.calls++
	return pintle.Response[m]{}, nil
}

func (d *database) Delete(context.Context, *pintle.DeleteRequest[databaseProperties]) error {
	d.calls++
	return nil
}

func (d *database) Validate(_ context.Context, r *pintle.ValidateRequest[databaseProperties]) error {
	if r.Properties.Name == "admin" {
		return errors.New("the name admin is reserved")
	}
	return nil
}

func (d *database) Plan(_ context.Context, r *pintle.PlanRequest[databaseProperties]) (pintle.PlanResponse, error) {
	seen := fmt.Sprintf("%s %q: %d %q", r.Type, r.ID, r.Properties.Version, r.Immutable)
	if r.Old != nil {
		seen += fmt.Sprintf(" was %d", r.Old.Version)
	}
	d.seen = append(d.seen, seen)
	switch r.Properties.Fail {
	case "refuse":
		return pintle.PlanResponse{}, fmt.Errorf("no quota for %s with %s", r.Properties.Name, r.Properties.Key.Reveal())
	case "panic":
		panic("of the provider with " + r.Properties.Key.Reveal())
	case "gone":
		return pintle.PlanResponse{}, fmt.Errorf("%s: %w", r.ID, pintle.ErrGone)
	case "long":
		return pintle.PlanResponse{Replace: true, Reason: strings.Repeat("ä", 5000)}, nil
	}
	if r.Old != nil && r.Properties.Version < r.Old.Version {
		return pintle.PlanResponse{Replace: true, Reason: fmt.Sprintf("version %d cannot be downgraded", r.Old.Version)}, nil
	}
	return pintle.PlanResponse{}, nil
}

// A Plan is the same on every transport. It never goes to a response URL, calls no other method, and shows no secret.
func TestPlan(t *testing.T) {
	for _, transport := range []pintletest.Transport{
		pintletest.CloudFormation, pintletest.ROSFunction, pintletest.ROSWeb, pintletest.ROSWebSync,
	} {
		t.Run(transport.String(), func(t *testing.T) {
			d := &database{}
			var before int
			calls := func(want int) func() error {
				return func() error {
					if d.calls != want {
						return fmt.Errorf("%d calls of other methods, want %d", d.calls, want)
					}
					return nil
				}
			}
			plan := func(name string, step pintletest.Step, extra m) pintletest.Step {
				step.Type, step.Name = pintle.Plan, name
				if step.Properties = (m{"Name": "a", "Zone": "z", "Version": 5, "Key": "hunter2"}); extra != nil {
					for k, v := range extra {
						step.Properties[k] = v
					}
				}
				step.Check = calls(before)
				return step
			}
			steps := []pintletest.Step{
				plan("create", pintletest.Step{Redeliveries: 1}, nil),
				plan("create refused", pintletest.Step{WantError: "no quota for a with ****"}, m{"Fail": "refuse"}),
				plan("create with a bad property", pintletest.Step{WantError: "want a whole number, 9 or less"}, m{"Version": 10}),
				plan("create refused by Validate", pintletest.Step{WantError: "the name admin is reserved"}, m{"Name": "admin"}),
				{Properties: m{"Name": "a", "Zone": "z", "Version": 5, "Key": "hunter2"}},
			}
			before = 1
			steps = append(steps,
				plan("in place", pintletest.Step{}, m{"Version": 6}),
				plan("replaced by the provider", pintletest.Step{WantReplacement: true, WantReason: "version 5 cannot be downgraded"}, m{"Version": 4}),
				plan("replaced for an immutable property", pintletest.Step{WantReplacement: true, WantReason: "Zone is immutable"}, m{"Zone": "y"}),
				plan("both", pintletest.Step{WantReplacement: true, WantReason: "Zone is immutable; version 5"}, m{"Zone": "y", "Version": 4}),
				plan("gone", pintletest.Step{WantReplacement: true, WantReason: "db: "}, m{"Fail": "gone"}),
				plan("a long reason", pintletest.Step{WantReplacement: true, WantReason: "ä…"}, m{"Fail": "long"}),
				plan("refused", pintletest.Step{WantError: "no quota for a with ****"}, m{"Fail": "refuse"}),
				plan("panics", pintletest.Step{WantError: "panic: of the provider with ****"}, m{"Fail": "panic"}),
				plan("ran out of time", pintletest.Step{DeadlineExceeded: true, WantError: "no quota"}, m{"Fail": "refuse"}),
			)
			report := pintletest.Lifecycle{
				Handler: pintle.For("Custom::Test", pintle.New(d)), Transport: transport, Secrets: []string{"hunter2"}, Steps: steps,
			}.Simulate(t.Context())
			for _, problem := range report.Problems {
				t.Error(problem)
			}
			if !strings.Contains(report.Transcript, `{"error":"no quota`) {
				t.Errorf("a Plan that ran out of time counts as a refusal:\n%s", report.Transcript)
			}
			if len(d.seen) < 4 || d.seen[0] != `Plan "": 5 []` || !strings.HasPrefix(d.seen[3], `Plan "db": 6 [] was 5`) {
				t.Errorf("Plan got %q\n%s", d.seen, report.Transcript)
			}
		})
	}
}

// A handler that does not declare it never gets a Plan.
func TestPlanOfOthers(t *testing.T) {
	asked := false
	function := pintle.HandlerFunc(func(_ context.Context, r *pintle.Request) (pintle.Answer, error) {
		asked = asked || r.Type == pintle.Plan
		return pintle.Answer{ID: "a"}, nil
	})
	for name, handler := range map[string]pintle.Handler{"a function": function, "without Plan": pintle.New(newShelf())} {
		report := pintletest.Lifecycle{Handler: handler, Steps: []pintletest.Step{
			{Type: pintle.Plan, Properties: m{"Name": "a"}, WantError: "this provider has no method Plan"},
		}}.Simulate(t.Context())
		if len(report.Problems) > 0 || asked {
			t.Errorf("%s: asked %t, %q\n%s", name, asked, report.Problems, report.Transcript)
		}
	}
}

// A test detects a Plan that differs from its expectations.
func TestPlanProblems(t *testing.T) {
	create := pintletest.Step{Properties: m{"Name": "a", "Version": 5}}
	for _, test := range []struct {
		step pintletest.Step
		want string
	}{
		{pintletest.Step{Properties: m{"Name": "a", "Version": 5}, WantError: "no"}, `accepts the change, want a refusal with "no"`},
		{pintletest.Step{Properties: m{"Name": "a", "Fail": "refuse"}}, "refuses the change: no quota"},
		{pintletest.Step{Properties: m{"Name": "a", "Fail": "refuse"}, WantError: "no room"}, `want "no room"`},
		{pintletest.Step{Properties: m{"Name": "a", "Fail": "panic"}}, "cannot plan: panic"},
		{pintletest.Step{Properties: m{"Name": "a", "Version": 4}}, "announces a replacement: true, want false"},
		{pintletest.Step{Properties: m{"Name": "a", "Version": 4}, WantReplacement: true, WantReason: "room"}, `want "room"`},
		{pintletest.Step{Properties: m{"Name": "a", "Version": 5}, WantReplacement: true}, "announces a replacement: false, want true"},
	} {
		test.step.Type = pintle.Plan
		report := pintletest.Lifecycle{Handler: pintle.New(&database{}), Steps: []pintletest.Step{create, test.step}}.Simulate(t.Context())
		if len(report.Problems) != 1 || !strings.Contains(report.Problems[0], test.want) {
			t.Errorf("got %q, want %q", report.Problems, test.want)
		}
	}
}
