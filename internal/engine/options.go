package engine

import (
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Ref identifies a stack by its name or ID.
type Ref struct {
	Account string
	Region  string
	// Stack is the name or the ARN. With ByID it is the ID of a ROS stack, a UUID.
	Stack string
	ByID  bool
}

// Started identifies an operation that has started.
type Started struct {
	StackID   wire.StackID
	Operation string
}

// Parameter is a parameter that a client passes: a value, or the value of the stack's last operation.
type Parameter struct {
	Key         string
	Value       string
	UsePrevious bool
	// Secret makes the value secret, regardless of the template.
	Secret bool
}

// RollbackConfiguration lists the alarms that would roll an operation back, and for how many minutes they are
// watched, 0 to 180. A nil field keeps the stack's value.
type RollbackConfiguration struct {
	Triggers []store.RollbackTrigger
	Minutes  *int
}

// Options are the options that creates and updates share.
type Options struct {
	// Token is the client's idempotency token, empty for none. A repeated request with the same token has no effect.
	Token        string
	Parameters   []Parameter
	Capabilities []string
	// ResourceTypes are the allowed resource types of the template: names, or prefixes that end in an asterisk. Empty
	// allows all.
	ResourceTypes []string
	// Tags replace those of the stack; nil keeps them.
	Tags []store.Tag
	// NotificationARNs are the SNS topics that receive events from now on, instead of those of the stack; nil keeps
	// the stack's.
	NotificationARNs []string
	// Rollback is the RollbackConfiguration from now on. Pintle stores it and does not apply it, because it has no
	// alarms.
	Rollback RollbackConfiguration
	// RoleARN replaces the stack's role; empty keeps it.
	RoleARN string
	// Caller identifies the client in ROS requests.
	Caller string
	// ResourceGroup is the ID of the resource group of a new stack and its nested stacks; "" for none. Only for ROS.
	ResourceGroup string
	// Parallelism limits the number of resources in progress at a time; 0 means no limit. Only for ROS.
	Parallelism int
	// DisableRollback keeps the state of a stack that failed.
	DisableRollback bool
	// RetainExceptOnCreate makes a rollback delete new resources even if their policy is Retain.
	RetainExceptOnCreate bool
	// Policy is the stack policy after this operation, as JSON; empty keeps the stack's own. An update itself uses
	// the policy that was in force before it.
	Policy string

	// replace and taint are options of an update, see [UpdateStack].
	replace bool
	taint   []wire.LogicalID
	// forced is the Revert of a change set, see [CreateChangeSet].
	forced []wire.LogicalID
	// again is an option of a preview, see [PreviewStack].
	again []wire.LogicalID
	// importing describes the imports of a change set, nil for none.
	importing *importRequest
	// stored contains the values that were read from the parameter store.
	stored map[string]template.Stored
	// nested identifies the parent and the request of a nested stack's operation; nil for any other stack.
	nested *nesting
	// asking asks providers about the plan; nil if none is asked.
	asking *asking
}

// applyOptions stores the options of an operation in the stack.
func (d *decision) applyOptions(in *Options) {
	d.stack.DisableRollback = in.DisableRollback
	if len(in.Capabilities) > 0 { // otherwise the stack keeps its own
		d.stack.Capabilities = in.Capabilities
	}
	if in.RoleARN != "" {
		d.stack.RoleARN = in.RoleARN
	}
	if in.Policy != "" {
		d.stack.Policy = in.Policy
	}
	d.stackChanged = true
}
