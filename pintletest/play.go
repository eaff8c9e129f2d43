package pintletest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/wire"
)

// thing is the service's record of the resource.
type thing struct {
	exists     bool
	id         pintle.PhysicalID
	properties Map
}

// Simulate runs the lifecycle and returns the result. Use it outside of tests.
func (l Lifecycle) Simulate(ctx context.Context) Report {
	s, err := newService(l)
	if err != nil {
		return Report{Problems: []string{err.Error()}}
	}
	var now thing
	for n, step := range l.Steps {
		if step.Type == "" {
			step.Type = natural(now, step)
		}
		s.where = fmt.Sprintf("step %d, %s", n+1, step.Type)
		if step.Name != "" {
			s.where += " (" + step.Name + ")"
		}
		s.line("%s", s.where)
		if step.Restart {
			if err := s.restart(); err != nil {
				s.problem("%v", err)
			}
		}
		if step.RecordedProperties != nil {
			now.properties = step.RecordedProperties
		}
		now = s.play(ctx, now, step)
		if step.Check != nil {
			if err := step.Check(); err != nil {
				s.problem("%v", err)
			}
		}
	}
	if now.exists && !l.KeepResource {
		s.where = "the end, Delete"
		s.line("%s", s.where)
		s.remove(ctx, now.id, now.properties, Step{})
	}
	s.where = "in all"
	s.guard("log", s.log.String())
	return Report{Problems: s.problems, Transcript: strings.Join(s.lines, "\n"), Log: s.log.String()}
}

// natural returns the default request of a step.
func natural(now thing, step Step) pintle.RequestType {
	switch {
	case !now.exists:
		return pintle.Create
	case step.Properties == nil:
		return pintle.Delete
	}
	return pintle.Update
}

// play sends the request of a step and the requests that follow from its answer.
func (s *service) play(ctx context.Context, now thing, step Step) thing {
	switch {
	case step.Type == pintle.Create && now.exists:
		s.problem("there is a resource already: delete it first")
		return now
	case (step.Type == pintle.Update || step.Type == pintle.Delete || step.Type == pintle.Read) && !now.exists:
		s.problem("no resource exists")
		return now
	}
	switch step.Type {
	case pintle.Create:
		return s.create(ctx, step)
	case pintle.Update:
		return s.update(ctx, now, step)
	case pintle.Delete:
		if s.remove(ctx, now.id, now.properties, step) {
			return thing{}
		}
		return now
	case pintle.Read:
		s.read(ctx, now, step)
		return now
	case pintle.Plan:
		s.plan(ctx, now, step)
		return now
	}
	s.problem("%q is not a request", step.Type)
	return now
}

func (s *service) create(ctx context.Context, step Step) thing {
	answer := s.ask(ctx, pintle.Create, "", step.Properties, nil, step)
	id := pintle.PhysicalID("test-" + resourceName + "-MADEUP0000000")
	if answer != nil {
		id = answer.PhysicalResourceID
		s.compare(step, *answer, "")
	}
	if answer != nil && answer.Status == wire.Success && !step.RollBack {
		return thing{true, id, step.Properties}
	}
	s.line("   the service takes it back")
	if s.life.Transport != CloudFormation && (answer == nil || answer.Status == wire.Failed) {
		id = "" // ROS uses only the ID of a success
	}
	if !s.remove(ctx, id, step.Properties, Step{WantError: step.WantRollbackError}) {
		return thing{true, id, step.Properties} // the stack is in a failed state; a step can delete it
	}
	return thing{}
}

func (s *service) update(ctx context.Context, now thing, step Step) thing {
	if step.WantReplacement && s.life.Transport != CloudFormation {
		return s.recreate(ctx, now, step)
	}
	answer := s.ask(ctx, pintle.Update, now.id, step.Properties, now.properties, step)
	next := now.id
	if answer != nil {
		next = answer.PhysicalResourceID
		s.compare(step, *answer, now.id)
	}
	if answer != nil && answer.Status == wire.Success && !step.RollBack {
		if next != now.id {
			s.line("   the service cleans up what was replaced")
			s.remove(ctx, now.id, now.properties, Step{})
		}
		return thing{true, next, step.Properties}
	}
	s.line("   the service rolls it back")
	back := s.ask(ctx, pintle.Update, next, now.properties, step.Properties, Step{})
	if back == nil || !s.expect(*back, step.WantRollbackError) {
		return thing{true, next, now.properties}
	}
	if back.Status == wire.Failed {
		return thing{true, back.PhysicalResourceID, now.properties}
	}
	var losers []thing
	if next != now.id {
		losers = append(losers, thing{id: next, properties: step.Properties})
	}
	losers = append(losers, now)
	for _, loser := range losers {
		if loser.id != back.PhysicalResourceID {
			s.line("   the service cleans up what is not the resource any more")
			s.remove(ctx, loser.id, loser.properties, Step{})
		}
	}
	return thing{true, back.PhysicalResourceID, now.properties}
}

// remove sends a Delete and reports whether it succeeded.
func (s *service) remove(ctx context.Context, id pintle.PhysicalID, properties Map, step Step) bool {
	answer := s.ask(ctx, pintle.Delete, id, properties, nil, step)
	if answer == nil {
		return false
	}
	if id != "" && answer.PhysicalResourceID != id {
		s.problem("the Delete of %s was answered with the ID %s", id, answer.PhysicalResourceID)
	}
	return s.expect(*answer, step.WantError) && answer.Status == wire.Success
}

// ask sends a request with the faults of a step, and returns the answer that the service receives.
func (s *service) ask(ctx context.Context, kind pintle.RequestType, id pintle.PhysicalID, properties, old Map, step Step) *wire.Response {
	r, err := s.request(kind, id, properties, old)
	if err != nil {
		s.problem("%v", err)
		return nil
	}
	s.lost, s.expire = step.LostResponses, step.DeadlineExceeded
	answer := s.deliver(ctx, r)
	s.expire = false
	if answer == nil {
		if step.LostResponses == 0 {
			s.problem("the %s was not answered", kind)
		}
		return nil
	}
	for range step.Redeliveries {
		again := s.deliver(ctx, r)
		if again == nil || show(*again) != show(*answer) {
			s.problem("another delivery of the %s was answered differently", kind)
		}
	}
	if step.LateResponse {
		s.line("   too late, the service does not hear it")
		return nil
	}
	return answer
}

// expect checks whether an answer is a success, or a failure with a certain reason.
func (s *service) expect(answer wire.Response, fails string) bool {
	switch {
	case fails == "" && answer.Status == wire.Failed:
		s.problem("answered FAILED: %s", answer.Reason)
	case fails != "" && answer.Status == wire.Success:
		s.problem("answered SUCCESS, want FAILED with %q", fails)
	case fails != "" && !strings.Contains(answer.Reason, fails):
		s.problem("failed with %q, want %q", answer.Reason, fails)
	default:
		return true
	}
	return false
}

// compare checks an answer against the expectations of the step. id is the ID of the resource, empty for a Create.
func (s *service) compare(step Step, answer wire.Response, id pintle.PhysicalID) {
	got := answer.PhysicalResourceID
	if step.WantID != "" && got != step.WantID {
		s.problem("the ID is %s, want %s", got, step.WantID)
	}
	if !s.expect(answer, step.WantError) || answer.Status == wire.Failed {
		if id != "" && got != id && step.WantID == "" && answer.Status == wire.Failed {
			s.problem("the failed Update changed the ID from %s to %s, so the service will delete %s", id, got, id)
		}
		return
	}
	switch {
	case id == "":
	case step.WantReplacement && got == id:
		s.problem("the ID is still %s, want a replacement", got)
	case !step.WantReplacement && got != id:
		s.problem("the ID changed from %s to %s, so the service will delete %s; if that is right, say Replaces", id, got, id)
	}
	if step.WantAttributes == nil {
		return
	}
	if answer.NoEcho != step.WantNoEcho && s.life.Transport == CloudFormation {
		s.problem("NoEcho is %t, want %t", answer.NoEcho, step.WantNoEcho)
	}
	s.compareMaps("attribute", step.WantAttributes, answer.Data)
}

// compareMaps compares attributes or properties; what names them.
func (s *service) compareMaps(what string, want Map, data json.RawMessage) {
	got := Map{}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &got); err != nil {
			s.problem("%s: %v", what, err)
			return
		}
	}
	names := slices.Sorted(maps.Keys(want))
	for name := range got {
		if _, ok := want[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		w, wanted := want[name]
		g, there := got[name]
		switch {
		case !wanted:
			s.problem("the %s %s is %s, want none", what, name, compact(g))
		case !there:
			s.problem("the %s %s is missing, want %s", what, name, compact(w))
		case canonical(w) != compact(g):
			s.problem("the %s %s is %s, want %s", what, name, compact(g), compact(w))
		}
	}
}

// canonical returns a value after a round trip through JSON.
func canonical(v any) string {
	var back any
	if json.Unmarshal([]byte(compact(v)), &back) != nil {
		return compact(v)
	}
	return compact(back)
}
