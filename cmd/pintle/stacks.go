package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
)

// errNoStack says that there is no stack of that name.
var errNoStack = errors.New("there is no such stack")

// stackType is the resource type of a stack's own events.
const stackType = "AWS::CloudFormation::Stack"

// userInitiated is the reason of the event that begins an operation.
const userInitiated = "User Initiated"

// describe returns a stack by its name or id, or errNoStack.
func (s *session) describe(ctx context.Context, stack string) (types.Stack, error) {
	out, err := s.stacks.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
	if message, ok := refusal(err); ok && strings.Contains(message, "does not exist") {
		return types.Stack{}, errNoStack
	}
	if err != nil {
		return types.Stack{}, err
	}
	if len(out.Stacks) != 1 {
		return types.Stack{}, fmt.Errorf("the server described %d stacks instead of one", len(out.Stacks))
	}
	return out.Stacks[0], nil
}

// history returns the events of a stack, oldest first: those after the event with the id since or, if since is empty,
// those for which until is not yet true when going back, and the one for which it is.
func (s *session) history(ctx context.Context, stack, since string, until func(types.StackEvent) bool) ([]types.StackEvent, error) {
	var events []types.StackEvent
	pages := cloudformation.NewDescribeStackEventsPaginator(s.stacks, &cloudformation.DescribeStackEventsInput{StackName: &stack})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range page.StackEvents {
			if since != "" && aws.ToString(e.EventId) == since {
				slices.Reverse(events)
				return events, nil
			}
			events = append(events, e)
			if since == "" && until(e) {
				slices.Reverse(events)
				return events, nil
			}
		}
	}
	slices.Reverse(events)
	return events, nil
}

// begins reports whether an event is the first of an operation.
func begins(e types.StackEvent) bool {
	return own(e) && aws.ToString(e.ResourceStatusReason) == userInitiated
}

// own reports whether an event is the stack's own, and not one of a stack within it.
func own(e types.StackEvent) bool {
	return aws.ToString(e.ResourceType) == stackType && aws.ToString(e.PhysicalResourceId) == aws.ToString(e.StackId)
}

// shown returns events as they are displayed.
func shown(events []types.StackEvent) []display.Event {
	list := make([]display.Event, len(events))
	for i, e := range events {
		list[i] = display.Event{
			Time: aws.ToTime(e.Timestamp), Logical: aws.ToString(e.LogicalResourceId),
			Physical: aws.ToString(e.PhysicalResourceId), Type: aws.ToString(e.ResourceType),
			Status: string(e.ResourceStatus), Reason: aws.ToString(e.ResourceStatusReason), Own: own(e),
		}
	}
	return list
}

// underWay reports whether an operation of the stack has not ended.
func underWay(status types.StackStatus) bool {
	return strings.HasSuffix(string(status), "_IN_PROGRESS") && !inReview(status) // that one rests
}

// wentWell reports whether the operation that ended with a status reached its aim.
func wentWell(status types.StackStatus) bool {
	return status == types.StackStatusCreateComplete || status == types.StackStatusUpdateComplete ||
		status == types.StackStatusDeleteComplete
}

// refusal returns the message of an error that the service told; false if the call did not get that far.
func refusal(err error) (string, bool) {
	told, ok := errors.AsType[smithy.APIError](err)
	if !ok || told.ErrorFault() == smithy.FaultServer {
		return "", false
	}
	return told.ErrorMessage(), true
}

// lost reports whether an error means that the engine has ended, or that another one has come in its place, which does
// not know this command's key.
func lost(err error) bool {
	if told, ok := errors.AsType[smithy.APIError](err); ok {
		return told.ErrorCode() == "InvalidClientTokenId"
	}
	_, unsent := errors.AsType[*smithyhttp.RequestSendError](err)
	_, broken := errors.AsType[*net.OpError](err)
	return unsent || broken || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// waiting returns the unsettled requests of a stack as they are displayed. They are an adornment: without them the
// watching goes on.
func (s *session) waiting(ctx context.Context, stack string) []display.Waiting {
	requests, err := s.operator.requests(ctx, stack)
	if err != nil {
		return nil
	}
	list := make([]display.Waiting, len(requests))
	for i, r := range requests {
		list[i] = display.Waiting{Logical: string(r.Logical), Left: -1, Progress: r.Progress}
		if r.RemainingSeconds != nil && r.State == "waiting" {
			list[i].Left = seconds(*r.RemainingSeconds)
		}
	}
	return list
}
