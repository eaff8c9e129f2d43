package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/cloud/events"
	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sns"
	"github.com/pintle-dev/pintle/internal/cloud/sqs"
	"github.com/pintle-dev/pintle/internal/engine"
)

// openRules opens the rules of EventBridge. It needs the functions, and the cloud if there is one.
func (b *builder) openRules() (err error) {
	b.rules, err = events.New(events.Config{
		Catalog: registry.New(b.store), Send: b.sendToTarget, Alone: b.config.Database == "", Exact: b.config.Fidelity == engine.FidelityAWS, Log: b.log,
	})
	return err
}

// errNoEmulation is the error of a target that needs the local AWS emulation.
var errNoEmulation = errors.New("this server calls functions and local providers only: start it with --dev or --run-functions")

// sendToTarget hands a payload to the target of a rule, and calls ended when the target is done with it, or has it if that is not
// waited for.
func (n *Node) sendToTarget(ctx context.Context, place registry.Scope, target registry.Target, payload []byte, ended func()) error {
	arn := target.ARN
	parts := strings.SplitN(arn, ":", 7)
	if len(parts) < 6 {
		return fmt.Errorf("%s is not an ARN", arn)
	}
	switch parts[2] {
	case "lambda":
		return n.functions.InvokeEvent(ctx, lambda.Call{Scope: place, Function: arn, Payload: payload, Ended: ended})
	case "sns":
		if n.cloud == nil {
			return errNoEmulation
		}
		if of, _, err := sns.ParseARN(arn); err != nil || of.Account != place.Account {
			return errors.Join(err, fmt.Errorf("%s is not a topic of the rule's account", arn))
		}
		if _, err := n.cloud.topics.Publish(ctx, arn, sns.Message{Message: string(payload)}); err != nil {
			return err
		}
	case "sqs":
		if n.cloud == nil {
			return errNoEmulation
		}
		if err := n.cloud.queues.Send(ctx, place, arn, sqs.Message{Body: string(payload), Group: events.MessageGroup(target)}); err != nil {
			return err
		}
	case "states":
		if n.cloud == nil {
			return errNoEmulation
		}
		if err := n.startMachine(ctx, place, parts, payload); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s is not a target of this server", arn)
	}
	ended()
	return nil
}

// startMachine starts a state machine of a place.
func (n *Node) startMachine(ctx context.Context, place registry.Scope, parts []string, input []byte) error {
	arn := strings.Join(parts, ":")
	if len(parts) != 7 || parts[3] != place.Region || parts[4] != place.Account {
		return fmt.Errorf("%s is not a state machine of the rule's account and region", arn)
	}
	machine, err := n.cloud.catalog.Machines.Get(ctx, place, parts[6])
	if err != nil {
		return fmt.Errorf("%s: %w", arn, err)
	}
	_, err = n.engine.StartExecution(ctx, engine.MachineExecution{
		Machine: arn, Stack: machine.Of.Stack, Definition: machine.Of.Definition, Input: json.RawMessage(input),
	})
	return err
}

// rulesCaller returns the signer of an EventBridge call.
func (n *Node) rulesCaller(ctx context.Context) (api.Caller, bool) {
	id, ok := sigv4.FromContext(ctx)
	_, function := n.processKeys.lookup(id.AccessKeyID)
	return api.Caller{Account: id.Account, Region: id.Region, Function: function || n.processKeys.shared(id.AccessKeyID)}, ok
}
