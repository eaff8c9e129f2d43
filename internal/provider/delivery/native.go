package delivery

import (
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

// sendNative passes the request to a native type. It returns nil if ctx ends first: the request then stays ready in the
// table and is handled again.
func (rt *router) sendNative(ctx context.Context, s *send, hide *redactor) Outcome {
	r := s.request
	bounded, cancel := context.WithTimeout(ctx, native.DefaultTimeout)
	defer cancel()
	result, err := rt.config.Native.Serve(bounded, &r)
	if ctx.Err() != nil {
		return nil
	}
	if broken, ok := errors.AsType[*native.PanicError](err); ok {
		rt.config.Log.Error("a native type panicked", "type", broken.Type, "request", r.ID, "cause", broken.Cause, "stack", broken.Stack)
	}
	switch {
	case errors.Is(err, native.ErrAgain):
		rt.config.Log.Warn("a request of a native type is served again", "type", r.Body.ResourceType, "request", r.ID, "error", hide.text(err.Error()))
		rt.config.Progress(r.ID, hide.text(err.Error()))
		return nil
	case err != nil:
		return Provided{Result: result, Failure: hide.text(err.Error())}
	case r.Body.Await != nil && r.Type != wire.Delete, r.Type == wire.Create && result.Pending:
		return Awaiting{Result: result}
	case result.Pending:
		return Accepted{}
	}
	return Provided{Result: result}
}
