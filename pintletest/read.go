package pintletest

import (
	"context"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/wire"
)

// read sends a Read and compares the state that it returns.
func (s *service) read(ctx context.Context, now thing, step Step) {
	answer := s.ask(ctx, pintle.Read, now.id, now.properties, nil, step)
	if answer == nil {
		return
	}
	if answer.PhysicalResourceID != now.id {
		s.problem("the Read of %s was answered with the ID %s", now.id, answer.PhysicalResourceID)
	}
	if !s.expect(*answer, step.WantError) || answer.Status == wire.Failed {
		return
	}
	state := answer.State
	switch {
	case state == nil:
		s.problem("the answer to the Read has no state")
		return
	case state.Gone != step.WantGone:
		s.problem("the resource is gone: %t, want %t", state.Gone, step.WantGone)
	case step.WantProperties != nil:
		s.compareMaps("property", step.WantProperties, state.Properties)
	}
	if step.WantAttributes != nil {
		s.compareMaps("attribute", step.WantAttributes, answer.Data)
	}
}
