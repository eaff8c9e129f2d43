package pintle

import (
	"context"

	"github.com/pintle-dev/pintle/internal/base/trace"
)

// Traceparent returns the trace that a request belongs to, as the header traceparent of W3C Trace Context has it:
// 00-TRACE-PARENT-FLAGS, 55 characters. It is that of the call which began the stack's operation. ctx is the one that a handler
// was given. It is empty where none has come: Lambda tells it to functions, of AWS and of Pintle, and Pintle to programs behind
// URLs; topics and queues, Function Compute, and requests that a state machine waits for do not carry it.
//
// Give it to what takes part in traces, e.g. as the header of an HTTP request, or to a propagator of OpenTelemetry.
func Traceparent(ctx context.Context) string {
	if p := trace.FromContext(ctx); p != "" {
		return string(p)
	}
	// Where package github.com/aws/aws-lambda-go keeps it.
	text, _ := ctx.Value("x-amzn-trace-id").(string)
	return string(trace.FromXRay(text))
}
