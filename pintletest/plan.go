package pintletest

import (
	"context"
	"strings"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/wire"
)

// plan sends a Plan and compares its answer. The resource does not change.
func (s *service) plan(ctx context.Context, now thing, step Step) {
	old := now.properties
	if !now.exists {
		old = nil
	}
	r, err := s.request(pintle.Plan, now.id, step.Properties, old)
	if err != nil {
		s.problem("%v", err)
		return
	}
	answer := s.deliverPlan(ctx, r, step)
	for range step.Redeliveries {
		if again := s.deliverPlan(ctx, r, step); answer != nil && again != nil && *again != *answer {
			s.problem("another delivery of the Plan was answered differently")
		}
	}
	if answer != nil {
		s.comparePlan(step, *answer, now)
	}
}

// deliverPlan delivers a Plan once and returns the answer, which is the result of the invocation or the reply.
func (s *service) deliverPlan(ctx context.Context, r wire.Request, step Step) *wire.Planned {
	event, err := r.Encode()
	if err != nil {
		s.problem("%v", err)
		return nil
	}
	s.line("-> %s", describe(r))
	s.expire = step.DeadlineExceeded
	defer func() { s.expire = false }()
	s.put = nil
	var body []byte
	switch s.life.Transport {
	case CloudFormation, ROSFunction:
		body, err = s.server.Invoke(ctx, event)
	case ROSWeb, ROSWebSync:
		body, err = s.post(ctx, event)
	}
	if err != nil {
		s.problem("the Plan was not answered: %v", err)
		return nil
	}
	if s.put != nil {
		s.problem("the answer to the Plan went to a response URL")
	}
	answer, err := wire.ParsePlanned(body)
	if err != nil {
		s.problem("%v", err)
		return nil
	}
	s.line("<- %s", compact(answer))
	s.guard("reason", answer.Reason+answer.Error)
	return &answer
}

// comparePlan checks the answer to a Plan against the expectations of the step.
func (s *service) comparePlan(step Step, answer wire.Planned, now thing) {
	want := step.WantError
	if step.WantReplacement && s.life.Transport != CloudFormation && now.exists && want == "" {
		want = "ROS cannot replace a resource"
	}
	text := answer.Reason + answer.Error
	refused := answer.Change == wire.Refuse || answer.Error != ""
	switch {
	case want != "" && !refused:
		s.problem("the Plan accepts the change, want a refusal with %q", want)
	case want != "" && !strings.Contains(text, want):
		s.problem("the Plan was answered with %q, want %q", text, want)
	case want != "":
	case refused && answer.Error != "":
		s.problem("the provider cannot plan: %s", text)
	case refused:
		s.problem("the Plan refuses the change: %s", text)
	case step.WantReplacement != (answer.Change == wire.Replace):
		s.problem("the Plan announces a replacement: %t, want %t", answer.Change == wire.Replace, step.WantReplacement)
	case !strings.Contains(answer.Reason, step.WantReason):
		s.problem("the reason of the Plan is %q, want %q", answer.Reason, step.WantReason)
	}
}
