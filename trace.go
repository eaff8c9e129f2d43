package pintle

import (
	"context"

	"github.com/pintle-dev/pintle/internal/base/trace"
)

// Traceparent returns the trace that a request belongs to, in the format of the W3C Trace Context header traceparent:
// 00-TRACE-PARENT-FLAGS, 55 characters. It is the trace of the call that started the stack's operation. ctx is the
// context of a handler. Lambda passes the trace to functions, both on AWS and in Pintle, and Pintle passes it to programs
// behind URLs. The result is empty for requests from topics, queues and Function Compute, and for requests that a state
// machine keeps.
//
// Pass it on to tracing, e.g. as the header of an HTTP request or to a propagator of OpenTelemetry.
func Traceparent(ctx context.Context) string {
	if p := trace.FromContext(ctx); p != "" {
		return string(p)
	}
	// Package github.com/aws/aws-lambda-go stores it here.
	text, _ := ctx.Value("x-amzn-trace-id").(string)
	return string(trace.FromXRay(text))
}
