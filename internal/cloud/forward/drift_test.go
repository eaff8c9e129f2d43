package forward_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/forwardtest"
	"github.com/pintle-dev/pintle/internal/engine/drift"
	"github.com/pintle-dev/pintle/internal/store"
)

// drift detects the drift of a stack. It returns a line for each resource and for each difference, and the problems.
func (w *world) drift(stack string) (lines, problems []string) {
	w.t.Helper()
	s := w.stack(stack)
	instances, err := w.engine.Resources(w.t.Context(), s)
	w.must(err)
	report, err := drift.New(w.types, w.store, nil).Detect(w.t.Context(), s, instances, instances)
	w.must(err)
	for _, r := range report.Resources {
		lines = append(lines, fmt.Sprint(r.Logical, " ", r.Status))
		for _, d := range r.Differences {
			lines = append(lines, fmt.Sprint(d.Kind, " ", d.Path, " ", d.Expected, " ", d.Actual))
		}
		if r.Problem != "" {
			problems = append(problems, fmt.Sprint(r.Logical, ": ", r.Problem))
		}
		for _, text := range []string{r.Expected, r.Actual, r.Problem, fmt.Sprint(r.Differences)} {
			if strings.Contains(text, "hunter") {
				w.t.Errorf("the result has a secret: %s", text)
			}
		}
	}
	return lines, problems
}

func (w *world) wantDrift(stack string, want ...string) (problems []string) {
	w.t.Helper()
	got, problems := w.drift(stack)
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("the drift differs (-want +got), problems %q:\n%s", problems, diff)
	}
	return problems
}

// wantProblem fails the test unless the only problem contains the text.
func (w *world) wantProblem(problems []string, text string) {
	w.t.Helper()
	if len(problems) != 1 || !strings.Contains(problems[0], text) {
		w.t.Errorf("problems %q, want %q", problems, text)
	}
}

func TestDrift(t *testing.T) {
	w := newWorld(t)
	w.wantStatus("s", w.create("s", template(map[string]string{
		"A": thing(`"Name": "a", "Size": 1, "On": true, "Of": {"x/y": {"z": ["1", "2"]}}, "Tags": [{"Key": "k", "Value": "v"}], "Password": {"Ref": "Secret"},
			"Body": "{\"a\": 1}"`),
		"B": thing(`"Name": "b"`),
	}), store.Tag{Key: "team", Value: "t"}), "CREATE_COMPLETE")
	w.wantDrift("s", "A IN_SYNC", "B IN_SYNC")

	w.endpoint.Change("a", "Size", 2)
	w.endpoint.Change("a", "On", false)
	w.endpoint.Change("a", "Password", "hunter3&other")
	w.endpoint.Change("a", "Of", map[string]any{"x/y": map[string]any{"z": []any{"1", "3", "4"}}, "new": "5"})
	w.endpoint.Change("a", "Tags", []any{map[string]any{"Key": "l", "Value": "hunter2&more"}})
	w.endpoint.Change("a", "Body", map[string]any{"a": 2})
	w.endpoint.Change("a", "Undeclared", "is not compared")
	w.endpoint.Destroy("b")
	w.wantDrift("s", "A MODIFIED",
		"NOT_EQUAL /Size 1 2",
		"NOT_EQUAL /On true false",
		"NOT_EQUAL /Of/x~1y/z/1 2 3", "ADD /Of/x~1y/z/2 null 4", "ADD /Of/new null 5",
		`ADD /Tags/1 null {"Key":"l","Value":"*****"}`,
		"NOT_EQUAL /Password **** ****",
		"NOT_EQUAL /Body/a 1 2",
		"B DELETED")

	w.endpoint.Change("a", "Size", nil)
	if lines, _ := w.drift("s"); !strings.Contains(strings.Join(lines, "\n"), "REMOVE /Size 1 null") {
		t.Errorf("drift:\n%s", strings.Join(lines, "\n"))
	}
	w.wantStatus("s", w.delete("s"), "DELETE_COMPLETE")
	w.wantRows(0)
}

// Only the tags of the stack drifted, which is no drift in Pintle.
func TestDriftOfStackTags(t *testing.T) {
	w := newWorld(t)
	w.create("s", template(map[string]string{"A": thing(`"Name": "a"`)}), store.Tag{Key: "team", Value: "t"})
	w.endpoint.Change("a", "Tags", []any{map[string]any{"Key": "l", "Value": "m"}})
	w.wantDrift("s", "A IN_SYNC")
}

// TestDriftProblems lets the endpoint misbehave.
func TestDriftProblems(t *testing.T) {
	w := newWorld(t)
	w.create("s", template(map[string]string{"A": thing(`"Name": "a", "Password": {"Ref": "Secret"}`)}))

	w.endpoint.Change("a", "Password", "hunter3")
	w.endpoint.Configure(func(e *forwardtest.Endpoint) { e.Silent = true })
	w.wantProblem(w.wantDrift("s", "A UNKNOWN"), "the resource is MODIFIED there, but no difference is known")
	w.endpoint.Configure(func(e *forwardtest.Endpoint) { e.Silent = false })

	action := "DetectStackResourceDrift"
	for fault, want := range map[forwardtest.Fault]string{
		forwardtest.Break: "DetectStackResourceDrift failed: HTTP 500", forwardtest.Lose: "DetectStackResourceDrift failed: ",
		forwardtest.Garble: "DetectStackResourceDrift failed: ",
	} {
		w.endpoint.Configure(func(e *forwardtest.Endpoint) {
			e.Fault = func(a string, _ int) forwardtest.Fault {
				if a == action {
					return fault
				}
				return forwardtest.None
			}
		})
		w.wantProblem(w.wantDrift("s", "A UNKNOWN"), want)
	}
	w.endpoint.Configure(func(e *forwardtest.Endpoint) {
		e.Fault = func(a string, n int) forwardtest.Fault {
			if a == action && n%2 == 1 {
				return forwardtest.Throttle
			}
			return forwardtest.None
		}
	})
	w.wantDrift("s", "A MODIFIED", "NOT_EQUAL /Password **** ****")
	w.endpoint.Configure(func(e *forwardtest.Endpoint) { e.Fault = nil })

	w.endpoint.Configure(func(e *forwardtest.Endpoint) { e.NoDrift = true })
	w.wantProblem(w.wantDrift("s", "A NOT_CHECKED"), "the endpoint does not detect drift.")

	w.create("p", template(map[string]string{
		"P": `{"Type": "AWS::Test::Plain"}`, "Q": thing(`"Name": "q", "Opaque": "no access to hunter2&more", "Password": {"Ref": "Secret"}`),
	}))
	w.endpoint.Configure(func(e *forwardtest.Endpoint) { e.NoDrift = false })
	problems := w.wantDrift("p", "P NOT_CHECKED", "Q UNKNOWN")
	if len(problems) != 2 || !strings.Contains(problems[0], "does not support drift detection") || !strings.Contains(problems[1], "no access to *****") {
		t.Errorf("problems %q", problems)
	}

	w.config.Allowed = func(_, call string) error { return fmt.Errorf("%s is not allowed", call) }
	w.open()
	w.wantProblem(w.wantDrift("s", "A UNKNOWN"), "cloudformation:DetectStackResourceDrift is not allowed")
}

// A resource that is only in Pintle, or whose stack at the endpoint is gone, is not reported as in sync.
func TestDriftWithoutStack(t *testing.T) {
	w := newWorld(t)
	w.create("s", template(map[string]string{"A": thing(`"Name": "a"`)}))
	fresh := forwardtest.Start(t)
	rules := w.config.Rules
	w.config.Rules[0].Endpoint = fresh.URL
	w.open()
	w.wantProblem(w.wantDrift("s", "A UNKNOWN"), "A was created at "+w.endpoint.URL+", and --forward names another endpoint now")

	rules[0].Endpoint = w.endpoint.URL
	w.open()
	w.endpoint.Forget()
	w.wantProblem(w.wantDrift("s", "A UNKNOWN"), "it no longer has the stack s-A-")

	w.config.Rules = nil
	w.unknown = "record"
	w.open()
	w.wantProblem(w.wantDrift("s", "A UNKNOWN"), "It was created through --forward, which does not list AWS::Test::Thing now")
}
