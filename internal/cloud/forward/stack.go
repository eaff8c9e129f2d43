package forward

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/backoff"
)

// inner is an inner stack at an endpoint.
type inner struct {
	id, status, reason string
	tags, outputs      map[string]string
}

// inProgress reports whether an operation of the stack is in progress.
func (s *inner) inProgress() bool { return strings.HasSuffix(s.status, "_IN_PROGRESS") }

// errTaken is the error for the name of an inner stack that Pintle did not create for this resource.
var errTaken = errors.New("its name is that of a stack that does not belong to this resource: the tags " + tagStack + " and " + tagResource + " differ")

// missing reports whether an error says that a stack does not exist.
func missing(err error) bool {
	refused, ok := errors.AsType[*refusedError](err)
	return ok && (strings.Contains(refused.message, "does not exist") || refused.code == "StackNotFoundException")
}

// exists reports whether an error says that a stack exists.
func exists(err error) bool {
	refused, ok := errors.AsType[*refusedError](err)
	return ok && (refused.code == "AlreadyExistsException" || strings.Contains(refused.message, "already exists"))
}

// describe returns an inner stack by its name or ARN, or nil if it does not exist or is deleted. The error wraps
// [errTaken] if it belongs to something else.
func (j *job) describe(ctx context.Context, name string) (*inner, error) {
	out, err := j.e.call(ctx, j.place.Region, cloudFormation, "DescribeStacks", map[string]any{"StackName": name})
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	stacks := objects(out, "Stacks")
	if len(stacks) != 1 {
		return nil, &unsureError{j.e.host, "DescribeStacks", fmt.Errorf("the answer has %d stacks instead of 1", len(stacks))}
	}
	s := &inner{
		id: text(stacks[0], "StackId"), status: text(stacks[0], "StackStatus"), reason: text(stacks[0], "StackStatusReason"),
		tags: map[string]string{}, outputs: map[string]string{},
	}
	for _, tag := range objects(stacks[0], "Tags") {
		s.tags[text(tag, "Key")] = text(tag, "Value")
	}
	for _, output := range objects(stacks[0], "Outputs") {
		s.outputs[text(output, "OutputKey")] = text(output, "OutputValue")
	}
	if s.status == "DELETE_COMPLETE" {
		return nil, nil
	}
	if s.tags[tagStack] != string(j.r.Body.StackID) || s.tags[tagResource] != string(j.r.Logical) {
		return nil, errTaken
	}
	return s, nil
}

// maxPoll bounds the pause between two looks at a stack.
const maxPoll = 5 * time.Second

// settled waits until no operation of an inner stack is in progress, and returns the stack, or nil if it is gone.
func (j *job) settled(ctx context.Context, name string) (*inner, error) {
	for look := 0; ; look++ {
		s, err := j.describe(ctx, name)
		if err != nil || s == nil || !s.inProgress() {
			return s, err
		}
		if j.e.moto.Load() && look > motoLooks {
			return s, j.failure("moto left the stack %s in %s", name, s.status)
		}
		pause := backoff.Bound(j.config.Backoff, maxPoll, look/2)
		if !backoff.Wait(ctx, pause/2+backoff.Random(pause/2, pause/2, 0)) {
			return s, j.failure("the stack %s is still in %s after %s", name, s.status, j.config.Within)
		}
	}
}

// motoLooks is how often a stack of moto is looked at. Moto has no operations in the background: a stack that is in
// progress stays so.
const motoLooks = 3

// why returns the reason for the failure of an inner stack: the text of the event that failed first.
func (j *job) why(ctx context.Context, s *inner) string {
	name := s.id
	out, err := j.e.call(ctx, j.place.Region, cloudFormation, "DescribeStackEvents", map[string]any{"StackName": name})
	reason := s.reason
	if err == nil {
		for _, event := range objects(out, "StackEvents") { // the newest first
			status, said := text(event, "ResourceStatus"), text(event, "ResourceStatusReason")
			if status == "CREATE_IN_PROGRESS" && text(event, "PhysicalResourceId") == name || isStart(event, name) {
				break
			}
			if strings.HasSuffix(status, "_FAILED") && said != "" && !strings.HasPrefix(said, "Resource creation cancelled") {
				reason = said
			}
		}
	}
	if reason == "" {
		reason = "it gave no reason"
	}
	return fmt.Sprintf("%s (stack %s is in %s)", reason, j.nameOf(s), s.status)
}

// isStart reports whether an event begins the last operation of a stack, after which only older operations follow.
func isStart(event map[string]any, id string) bool {
	status := text(event, "ResourceStatus")
	return text(event, "PhysicalResourceId") == id && (status == "UPDATE_IN_PROGRESS" || status == "DELETE_IN_PROGRESS")
}

// nameOf returns the name in the ARN of an inner stack.
func (j *job) nameOf(s *inner) string {
	if parts := strings.Split(s.id, "/"); len(parts) >= 2 {
		return parts[1]
	}
	return s.id
}
