// Package awslambda runs providers in Lambda functions that use github.com/aws/aws-lambda-go and its tools: wrapped
// handlers, extensions, tracing. Other programs do not need it; [pintle.Main] has its own loop.
//
//	func main() { awslambda.Start(pintle.New(databases{})) }
//
// If the function has the environment variables of package statemachine, AWS Step Functions keeps the waits of operations
// in progress. Otherwise the function waits, even if Pintle hosts it: the engine keeps waits only for programs that read
// a header of the Runtime API, which aws-lambda-go does not expose.
package awslambda

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/statemachine"
)

// Start serves the handlers and does not return; [StartServer] takes a configuration. It reads the environment, see
// [pintle.RunConfigFromEnvironment] and [statemachine.FromEnvironment]. Outside Lambda, or with a command, it calls
// [statemachine.Main].
func Start(handlers ...pintle.Handler) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") == "" || len(os.Args) > 1 {
		statemachine.Main(handlers...)
		return
	}
	c, err := pintle.RunConfigFromEnvironment(handlers...)
	if err != nil {
		c.Logger.Error("provider stopped", "error", err)
		os.Exit(1)
	}
	c.WebhookSecrets, c.Topics = nil, nil // these are for HTTP, so errors in them do not matter here
	// Without its waiter the provider waits in place, which is better than no answer.
	if waiter, err := statemachine.FromEnvironment(c.Logger); err != nil {
		c.Logger.Error("there is no state machine to wait, so the function waits itself", "error", err)
	} else if waiter != nil {
		c.Waiter = waiter
	}
	StartServer(c.ServerConfig)
}

// StartServer serves a configuration as a Lambda function and does not return. It exits with status 1 if the
// configuration is invalid, or if a handler ignores its deadline and does not stop.
func StartServer(c pintle.ServerConfig, options ...lambda.Option) {
	handler, err := New(c)
	if err != nil {
		slog.Error("provider stopped", "error", err)
		os.Exit(1)
	}
	lambda.StartWithOptions(ending{handler}, options...)
}

// Handler is a lambda.Handler that answers the requests in events. It is safe for concurrent use.
type Handler struct{ server *pintle.Server }

var _ lambda.Handler = (*Handler)(nil)

// New returns a handler that you can wrap before you pass it to lambda.Start. The error describes an invalid
// configuration.
func New(c pintle.ServerConfig) (*Handler, error) {
	server, err := pintle.NewServer(c)
	if err != nil {
		return nil, err
	}
	return &Handler{server}, nil
}

// Invoke implements lambda.Handler: see [pintle.Server.Invoke]. After [pintle.ErrHandlerStuck] the program should exit.
func (h *Handler) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	return h.server.Invoke(ctx, event)
}

// ending exits if a handler does not stop, because the handler must not run at the same time as the Delete of what it
// makes.
type ending struct{ *Handler }

func (e ending) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	result, err := e.Handler.Invoke(ctx, event)
	if errors.Is(err, pintle.ErrHandlerStuck) {
		slog.Error("provider stopped", "error", err)
		os.Exit(1)
	}
	return result, err
}
