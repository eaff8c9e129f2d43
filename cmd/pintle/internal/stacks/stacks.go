// Package stacks reads and changes an engine's stacks for the command line, in terms that fit both dialects. A
// [Service] speaks the API of one dialect.
package stacks

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/api/rosclient"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// ErrNone is the error for a stack that does not exist.
var ErrNone = errors.New("no such stack")

// Stack is a stack as a service describes it.
type Stack struct {
	Name, ID string
	// Status is the dialect's status, and State its meaning.
	Status              string
	State               State
	Reason, Description string
	Created             time.Time
	// Updated and Deleted are nil if that never happened.
	Updated, Deleted *time.Time
	// Parameters are those of the template, secret ones masked.
	Parameters []project.Pair
	Tags       []project.Pair
	Outputs    []Output
}

// Output is an output of a stack.
type Output struct {
	Name, Text string
	// Export is the name under which other stacks import it, empty for none.
	Export string
}

// Event is an event of a stack.
type Event struct {
	ID       string
	Time     time.Time
	Logical  string
	Physical string
	Type     string
	Status   string
	Reason   string
	// Own says that it is the stack's own, and not one of something within it.
	Own bool
	// Begins says that an operation began with it.
	Begins bool
}

// Resource is a resource of a stack.
type Resource struct {
	Logical, Physical, Type, Status, Reason string
	Changed                                 time.Time
}

// Parameter is a value for a parameter of a template.
type Parameter struct {
	Name, Text string
	// Previous says that the parameter keeps the value that it has in the stack; Text is empty then.
	Previous bool
}

// Desired is the stack that a create or an update requests.
type Desired struct {
	Name, Template string
	Parameters     []Parameter
	// Tags are those of the stack; nil leaves it those that it has.
	Tags []project.Pair
	// KeepFailed leaves a stack that fails as it is.
	KeepFailed bool
	// Agreed are the capabilities that are agreed to. Of CloudFormation.
	Agreed []string
	// Replace lets an update delete and recreate resources that cannot be updated. Only for ROS.
	Replace bool
}

// Sparing selects the resources that a delete leaves behind.
type Sparing struct {
	// Retain are logical ids of resources that are left where they are.
	Retain []string
	// Force leaves resources behind that cannot be deleted.
	Force bool
}

// Skipping selects the resources that a continued rollback skips: those in Skip, or with Force all that fail.
type Skipping struct {
	Skip  []string
	Force bool
}

// Service reads and changes the stacks of one dialect in an engine. A stack is named by its name or its ID. [Refusal]
// recognizes errors that the service returned; any other error means that the call failed. Its methods are
// safe for concurrent use.
type Service interface {
	// Stack describes a stack, or returns [ErrNone]. A deleted one is found by its id alone.
	Stack(ctx context.Context, name string) (Stack, error)
	// List returns all stacks, the newest first, with those that were deleted. They have no parameters, tags and outputs.
	List(ctx context.Context) ([]Stack, error)
	// Events returns the events of a stack, oldest first: those after the event with the id since or, if since is empty, those
	// for which until is not yet true when going back, and the one for which it is.
	Events(ctx context.Context, stack, since string, until func(Event) bool) ([]Event, error)
	Resources(ctx context.Context, stack string) ([]Resource, error)
	// Template returns the template of a stack, as it was passed.
	Template(ctx context.Context, stack string) (string, error)
	// Declared returns the names of the parameters that a template declares.
	Declared(ctx context.Context, template string) ([]string, error)
	// Create begins to create a stack and returns its id.
	Create(ctx context.Context, want Desired) (id string, err error)
	// Update begins an update of a stack as described. It returns false if there are no changes.
	Update(ctx context.Context, stack Stack, want Desired) (changed bool, err error)
	// Delete begins to delete a stack.
	Delete(ctx context.Context, id string, spare Sparing) error
	// Cancel cancels an update that is under way, token being the request's own.
	Cancel(ctx context.Context, id, token string) error
	// Continue continues a rollback that failed.
	Continue(ctx context.Context, id, token string, skip Skipping) error
	// Rollback rolls back a stack that was left as it failed.
	Rollback(ctx context.Context, id, token string) error
	// DetectDrift compares the resources of a stack with what exists, and waits for the result.
	DetectDrift(ctx context.Context, id string) (Drift, error)
}

// Refusal returns the message of an error from a service, or false if the call itself failed.
func Refusal(err error) (string, bool) {
	if apiErr, ok := errors.AsType[*rosclient.Error](err); ok {
		return apiErr.Message, apiErr.Status < http.StatusInternalServerError
	}
	apiErr, ok := errors.AsType[*awscall.Error](err)
	if !ok || apiErr.Status >= http.StatusInternalServerError {
		return "", false
	}
	return apiErr.Message, true
}

// Lost reports whether an error means that the engine has finished, or that another one has come instead, which does
// not know the client's key.
func Lost(err error) bool {
	if apiErr, ok := errors.AsType[*awscall.Error](err); ok {
		return apiErr.Code == "InvalidClientTokenId"
	}
	if apiErr, ok := errors.AsType[*rosclient.Error](err); ok {
		return apiErr.Code == "InvalidAccessKeyId.NotFound"
	}
	_, unsent := errors.AsType[*awscall.SendError](err)
	_, broken := errors.AsType[*net.OpError](err)
	return unsent || broken || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
