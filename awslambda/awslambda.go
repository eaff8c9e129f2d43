// Package awslambda runs providers in functions that are built with github.com/aws/aws-lambda-go, for those who use
// its tools: wrapped handlers, extensions, tracing. Others need it not; [pintle.Main] has a loop of its own.
//
//	func main() { awslambda.Start(pintle.New(databases{})) }
//
// Operations that go on are waited for by AWS Step Functions if the function has the environment variables of package
// statemachine, otherwise in the function. The engine's own way of waiting for functions that it hosts asks for a header
// of the Runtime API, which aws-lambda-go does not show: there, too, the function waits.
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
// [pintle.RunConfigFromEnvironment] and [statemachine.FromEnvironment]. Anywhere but on Lambda, and with a command, it is
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
	c.WebhookSecrets, c.Topics = nil, nil // these are for HTTP; what is wrong with them does not matter here
	// Without its waiter the provider waits in place, which is better than no answer.
	if waiter, err := statemachine.FromEnvironment(c.Logger); err != nil {
		c.Logger.Error("there is no state machine to wait, so the function waits itself", "error", err)
	} else if waiter != nil {
		c.Waiter = waiter
	}
	StartServer(c.ServerConfig)
}

// StartServer serves a configuration as a Lambda function and does not return. It ends the program, with status 1, when the
// configuration is wrong or a handler ignores its deadline and does not stop.
func StartServer(c pintle.ServerConfig, options ...lambda.Option) {
	handler, err := New(c)
	if err != nil {
		slog.Error("provider stopped", "error", err)
		os.Exit(1)
	}
	lambda.StartWithOptions(ending{handler}, options...)
}

// Handler is a lambda.Handler that answers the requests in events. Its methods may be called by many goroutines at once.
type Handler struct{ server *pintle.Server }

var _ lambda.Handler = (*Handler)(nil)

// New returns a handler, for those who wrap it before they give it to lambda.Start. The error says what is wrong with the
// configuration.
func New(c pintle.ServerConfig) (*Handler, error) {
	server, err := pintle.NewServer(c)
	if err != nil {
		return nil, err
	}
	return &Handler{server}, nil
}

// Invoke is that of lambda.Handler: see [pintle.Server.Invoke]. After [pintle.ErrHandlerStuck] the program should end.
func (h *Handler) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	return h.server.Invoke(ctx, event)
}

// ending ends the program when a handler does not stop: it must not be at work beside the Delete of what it makes.
type ending struct{ *Handler }

func (e ending) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	result, err := e.Handler.Invoke(ctx, event)
	if errors.Is(err, pintle.ErrHandlerStuck) {
		slog.Error("provider stopped", "error", err)
		os.Exit(1)
	}
	return result, err
}
