package node

import (
	"context"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/events"
	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/sns"
	"github.com/pintle-dev/pintle/internal/cloud/sqs"
)

// deliverResult is [lambda.Config].Deliver. The events for a bus are those that Lambda documents.
func (n *Node) deliverResult(ctx context.Context, r lambda.Result) error {
	parts := strings.SplitN(r.Destination, ":", 6)
	switch c := n.cloud; parts[2] { // the form is checked where the destination is set
	case "lambda":
		return c.functions.InvokeEvent(ctx, lambda.Call{Scope: r.Scope, Function: r.Destination, Payload: r.Record})
	case "sns":
		_, err := c.topics.Publish(ctx, r.Destination, sns.Message{Message: string(r.Record)})
		return err
	case "sqs":
		return c.queues.Send(ctx, r.Scope, r.Destination, sqs.Message{Body: string(r.Record)})
	}
	if err := events.CheckBus(r.Scope, r.Destination); err != nil {
		return err
	}
	kind := "Lambda Function Invocation Result - Failure"
	if r.Success {
		kind = "Lambda Function Invocation Result - Success"
	}
	return n.rules.Emit(ctx, r.Scope, events.Entry{
		Source: "lambda", DetailType: kind, Detail: string(r.Record),
		Resources: []string{r.Destination, r.Function},
	})
}
