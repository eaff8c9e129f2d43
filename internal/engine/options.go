package engine

import (
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Ref names a stack as a client does: by its name, or by its id.
type Ref struct {
	Account string
	Region  string
	// Stack is the name or the ARN as it was given; with ByID it is the id of a stack of ROS, a UUID.
	Stack string
	ByID  bool
}

// Started is what a client learns of an operation that has begun.
type Started struct {
	StackID   wire.StackID
	Operation string
}

// Parameter is a parameter as a client passes it: a value, or the one of the stack's last operation.
type Parameter struct {
	Key         string
	Value       string
	UsePrevious bool
	// Secret makes the value secret, whatever the template says.
	Secret bool
}

// RollbackConfiguration lists the alarms that would roll an operation back, and for how many minutes they are
// watched, 0 to 180. A nil field keeps the stack's value.
type RollbackConfiguration struct {
	Triggers []store.RollbackTrigger
	Minutes  *int
}

// Options are what a create and an update have in common.
type Options struct {
	// Token is the client's own name for the request, empty for none: the same request with the same token is one.
	Token        string
	Parameters   []Parameter
	Capabilities []string
	// ResourceTypes are the types that the template may have resources of: names, or beginnings that end in an asterisk.
	// None allows all.
	ResourceTypes []string
	// Tags replace those of the stack; nil leaves them.
	Tags []store.Tag
	// NotificationARNs are the SNS topics that receive events from now on, instead of those of the stack; nil leaves
	// them.
	NotificationARNs []string
	// Rollback is the RollbackConfiguration from now on. It is kept and not acted on: there are no alarms.
	Rollback RollbackConfiguration
	// RoleARN is kept with the stack; empty leaves the one it has.
	RoleARN string
	// Caller is who asks, as requests of ROS tell it.
	Caller string
	// ResourceGroup is the ID of the resource group that a new stack is put in, and its nested stacks; "" for none. Of ROS.
	ResourceGroup string
	// Parallelism bounds how many resources are at work at once; 0 does not. Of ROS.
	Parallelism int
	// DisableRollback leaves a stack that failed as it is.
	DisableRollback bool
	// RetainExceptOnCreate makes a rollback delete what the operation created, though its policy is Retain.
	RetainExceptOnCreate bool
	// Policy is the stack policy from this operation on, JSON; empty leaves the stack's own. An update itself goes by the
	// one that was in force before it.
	Policy string

	// replace and taint are those of an update, see [UpdateStack].
	replace bool
	taint   []wire.LogicalID
	// revert are those of a change set, see [CreateChangeSet].
	revert []wire.LogicalID
	// importing is what a change set imports, nil for nothing.
	importing *importRequest
	// stored is what was read of the parameter store.
	stored map[string]template.Stored
	// nested says for which request of which parent a nested stack is to be created or updated; nil if it is none.
	nested *nesting
}

// applyOptions puts on the stack what an operation says of it.
func (d *decision) applyOptions(in *Options) {
	d.stack.DisableRollback = in.DisableRollback
	if len(in.Capabilities) > 0 { // otherwise those of the stack stay
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
