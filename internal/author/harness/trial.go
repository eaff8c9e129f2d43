// Package harness sends requests to one provider and waits for the answers, without an engine, stacks or a store. It
// is for people who write a provider and want to see what it does. [Run] sends one request; a [Session] sends many,
// one after the other or at once, and keeps a record of all that came.
//
// The provider gets the request on its usual way: as an event of the Lambda Runtime API, of SNS if so wanted, or as a
// signed POST; a request of ROS as an event of Function Compute, or as a POST. The response URL is on loopback unless
// it is told otherwise, for one request, and is as strict as an engine's.
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

// Config says what is tried.
type Config struct {
	// Provider is what gets the request. Its target may be a URL. Required.
	Provider local.Provider
	// Functions are what Provider calls, if it is made of functions: more processes, whose calls go by Calls.
	Functions []local.Provider
	// Calls are those calls; nil if Provider is not made of functions.
	Calls *cdkframework.Calls
	// Runtime configures the processes; Done, Providers and Log are set by [Run].
	Runtime local.Config
	// Request is what it gets; its response URLs are set by [Run]. In the dialect of ROS its ServiceToken is not sent, but
	// says how the provider is called, as an engine has it from the template. Required.
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
	// Learn is called before the request is sent, with what the provider's program prints for the command schema; nil if
	// that is nothing, or no one was asked. It may change the type of the request, and returns texts in it that no log may
	// show. Nil learns nothing.
	Learn func(schema []byte, request *wire.Request) (secrets []string)
	// Log gets each redacted line of the process, one after the other. Nil drops them.
	Log func(line string)
	// Waiting is called when the provider is done with the request and has not answered. Nil means that it is not called.
	Waiting func()
}

// Result is the result of a run.
type Result struct {
	// Response is the provider's; what could be read of one that is not valid. Zero without an answer.
	Response wire.Response
	// Answered says that there is one, valid or not, and Size is its bytes, more than [wire.MaxResponse] if it is too
	// long.
	Answered bool
	Size     int
	// Took is the time from the delivery of the request to its answer, or to the end.
	Took time.Duration
	// Problem says why there is no answer, or why the service would not take it; nil if it would. Its text is redacted.
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
	var broken *local.BuildError
	// A provider need not have a schema.
	if ctx.Err() != nil || errors.As(err, &broken) {
		return Result{}, err
	}
	order := Order{Request: c.Request, SNS: c.SNS, Timeout: c.Timeout, Settle: c.Settle, WhileWorking: true, Waiting: c.Waiting}
	if c.Learn != nil {
		order.Secrets = c.Learn(schema, &order.Request)
	}
	exchange, err := s.Send(ctx, order)
	return exchange.Result, err
}
