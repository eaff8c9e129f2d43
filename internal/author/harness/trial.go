// Package harness sends requests to one provider and waits for the answers, without an engine, stacks or a store. It
// is for authors who want to see how their provider behaves. [Run] sends one request. A [Session] sends many,
// in sequence or concurrently, and records every answer.
//
// The provider gets the request in the usual way: as an event of the Lambda Runtime API, of SNS on request, or as a
// signed POST. A request of ROS is an event of Function Compute or a POST. The response URL is on loopback unless
// configured otherwise, serves one request, and is as strict as that of an engine.
package harness

import (
	"context"
	"errors"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/cdkframework"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// Defaults of [Config].
const (
	DefaultTimeout = 5 * time.Minute

	// lastWords is how long a process may continue after its answer, so that its log is whole.
	lastWords = 2 * time.Second
)

// Config describes one request and the provider that gets it.
type Config struct {
	// Provider gets the request. Its target may be a URL. Required.
	Provider local.Provider
	// Functions are the functions of a Provider made of functions. They run in processes of their own, and Calls routes their calls.
	Functions []local.Provider
	// Calls are those calls; nil if Provider is not made of functions.
	Calls *cdkframework.Calls
	// Runtime configures the processes; Done, Providers and Log are set by [Run].
	Runtime local.Config
	// Request is the request for the provider. [Run] sets its response URLs. In the dialect of ROS its ServiceToken is not sent, but
	// selects how the provider is called, as in a template. Required.
	Request wire.Request
	// SNS wraps the request in a notification from the topic that is its ServiceToken.
	SNS bool
	// Timeout is how long the answer may take. Zero means [DefaultTimeout].
	Timeout time.Duration
	// Settle is how long an answer may take after the provider's handler has returned without one and its process no longer works.
	// Zero means as long as Timeout.
	Settle time.Duration
	// WebhookSecret signs the request to a URL, as it is in PINTLE_WEBHOOK_SECRET. Empty means that it is not signed.
	WebhookSecret string
	// Learn is called before the request is sent, with the output of the provider's program for the command schema; nil if
	// it has none or was not asked. Learn may change the type of the request, and returns the secrets in it that no log may
	// show. Nil means no such call.
	Learn func(schema []byte, request *wire.Request) (secrets []string)
	// Log gets each redacted line of the process, one after the other. Nil drops them.
	Log func(line string)
	// Waiting is called when the provider is done with the request and has not answered. Nil means that it is not called.
	Waiting func()
}

// Result is the result of a run.
type Result struct {
	// Response is the provider's answer. An invalid one is parsed as far as possible. Zero without an answer.
	Response wire.Response
	// Answered reports whether an answer came, valid or not. Size is its length in bytes, more than [wire.MaxResponse] if it is too
	// long.
	Answered bool
	Size     int
	// Took is the time from the delivery of the request to its answer, or to the end.
	Took time.Duration
	// Problem says why no answer came, or why the service would reject it. It is nil for a valid answer. Its text is redacted.
	Problem error
	// Mismatches are fields that should be copies of the request's and are not.
	Mismatches []string
	// Again is how many further answers came. The service ignores them.
	Again int
}

// Run hands the request over and waits. The result holds the provider's mistakes. Run returns an error only if the
// test could not run, or if ctx ended.
func Run(ctx context.Context, c Config) (Result, error) {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Log == nil {
		c.Log = func(string) {}
	}
	if c.Waiting == nil {
		c.Waiting = func() {}
	}
	s, err := Open(ctx, SessionConfig{
		Provider: c.Provider, Functions: c.Functions, Calls: c.Calls, Runtime: c.Runtime, WebhookSecret: c.WebhookSecret,
		Log: func(_ wire.RequestID, line string) { c.Log(line) },
	})
	if err != nil {
		return Result{}, err
	}
	result, err := s.try(ctx, c)
	err = errors.Join(err, s.Close())
	result.Again = max(s.answers(c.Request.RequestID)-1, 0)
	return result, err
}

// try asks the provider for its schema and sends the one request.
func (s *Session) try(ctx context.Context, c Config) (Result, error) {
	schema, err := s.Schema(ctx)
	// A provider need not have a schema.
	if ctx.Err() != nil || local.CannotRun(err) {
		return Result{}, err
	}
	order := Order{Request: c.Request, SNS: c.SNS, Timeout: c.Timeout, Settle: c.Settle, WhileWorking: true, Waiting: c.Waiting}
	if c.Learn != nil {
		order.Secrets = c.Learn(schema, &order.Request)
	}
	exchange, err := s.Send(ctx, order)
	return exchange.Result, err
}
