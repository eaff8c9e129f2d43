package store

import (
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// StackKey identifies a stack in a store. It is a random number from 1 to 1<<63-1, so that two nodes do not choose the
// same key. 0 is not a stack.
type StackKey int64

// Stack is the part of a stack that outlives its operations.
type Stack struct {
	Key StackKey `json:"-"`
	// ID is the stack's ARN; always unique.
	ID wire.StackID `json:"-"`
	// Account, Region and Name are unique among live stacks.
	Account string `json:"-"`
	Region  string `json:"-"`
	Name    string `json:"-"`
	// Live is true until the stack is deleted: it reserves the name.
	Live bool `json:"-"`
	// Dialect is the template language and protocol of the stack, e.g. "cloudformation".
	Dialect string `json:"dialect"`

	// Kind, Phase and Reason are those of the newest operation, as shown to people.
	Kind   Kind   `json:"kind"`
	Phase  Phase  `json:"phase"`
	Reason string `json:"reason,omitempty"`

	Created time.Time `json:"created"`
	// Updated is when the last update began; zero for none.
	Updated time.Time `json:"updated,omitzero"`
	// Deleted is when the last delete began; zero for none.
	Deleted time.Time `json:"deleted,omitzero"`

	// Operation is the number of the newest operation, counted from 1.
	Operation int `json:"operation"`
	// Revision is the number of the current revision: the target of a running or successful operation, or the one that
	// a failed operation was rolled back to.
	Revision int `json:"revision"`
	// Revisions is the highest revision number so far.
	Revisions int `json:"revisions"`

	Description           string   `json:"description,omitempty"`
	Capabilities          []string `json:"capabilities,omitempty"`
	DisableRollback       bool     `json:"disableRollback,omitempty"`
	TerminationProtection bool     `json:"terminationProtection,omitempty"`
	RoleARN               string   `json:"roleARN,omitempty"`
	TimeoutMinutes        int      `json:"timeoutMinutes,omitempty"`
	// Policy is the stack policy for updates; empty for none.
	Policy string `json:"policy,omitempty"`
	// ResourceGroup is the ID of the stack's resource group, "" for none. Only ROS sets it.
	ResourceGroup string `json:"resourceGroup,omitempty"`
	// Parent is the stack that this one is nested in, and Root the outermost one; "" if it is not nested.
	Parent wire.StackID `json:"parent,omitempty"`
	Root   wire.StackID `json:"root,omitempty"`
	// Depth is the number of stacks that it is nested in.
	Depth int `json:"depth,omitempty"`
	// Tagging holds the tags that a call has set outside an update; nil for none.
	Tagging *Tagging `json:"tagging,omitempty"`
	// Remarked says that an event has already reported that some resources are only recorded.
	Remarked bool `json:"remarked,omitempty"`
	// ChangeSet is the last executed change set, "" for none.
	ChangeSet ChangeSetID `json:"changeSet,omitempty"`

	// Tokens are the client tokens of the last requests, newest first. They identify a repeated request, even after a
	// newer one.
	Tokens []TokenUse `json:"tokens,omitempty"`

	// Outputs are the outputs of the last successful operation. Their values are in OutputValues, an object by key.
	Outputs      []Output    `json:"outputs,omitempty"`
	OutputValues value.Value `json:"-"`
	// Published is the number of the revision that the outputs belong to; zero if no outputs were published, or if a
	// version that did not record it published them.
	Published int `json:"published,omitempty"`
}

// Tagging is a set of tags that replaces those of one revision. It never changes.
type Tagging struct {
	// Revision is the number of the revision that was in force when the stack was tagged.
	Revision int   `json:"revision"`
	Tags     []Tag `json:"tags,omitempty"`
}

// Tagged returns a revision with the stack's tags while that revision is in force.
func (s *Stack) Tagged(revision Revision) Revision {
	if s.Tagging != nil && s.Tagging.Revision == revision.Number {
		revision.Tags = s.Tagging.Tags
	}
	return revision
}

// TokenUse is a client's token and the request that used it.
type TokenUse struct {
	Token string `json:"token"`
	Call  Call   `json:"call"`
	// Operation is the ID of the operation that the request began.
	Operation string `json:"operation"`
	// ChangeSet is the change set that the request executed, "" for none.
	ChangeSet ChangeSetID `json:"changeSet,omitempty"`
}

// Output is an output of a stack without its value.
type Output struct {
	Key         string `json:"key"`
	Description string `json:"description,omitempty"`
	ExportName  string `json:"exportName,omitempty"`
}

// Revision is one set of inputs of a stack: the target of an operation or of a rollback. It never changes.
type Revision struct {
	Stack  StackKey `json:"-"`
	Number int      `json:"-"`
	// Template is the text as it was submitted. Stores keep one copy of equal texts.
	Template string `json:"-"`
	// Processed is the template after its transforms; empty if it has none. It holds no secret.
	Processed string `json:"processed,omitempty"`
	// Unprepared says that the template's macros had not run yet: it has no resources.
	Unprepared bool `json:"unprepared,omitempty"`
	// Inputs are the names of the parameters that the client set, without those that use their default.
	Inputs []string `json:"inputs,omitempty"`
	// Parameters holds the value of every parameter by name; those of NoEcho parameters are secret.
	Parameters value.Value `json:"-"`
	// Outside holds the values from outside the stack at the time of the revision, as package template writes them;
	// null if none were read. Secrets of other stacks are secret here too.
	Outside value.Value `json:"-"`
	// Conditions holds the value of every condition by name.
	Conditions map[string]bool `json:"conditions,omitempty"`
	Tags       []Tag           `json:"tags,omitempty"`
	// NotificationARNs are the SNS topics that receive the stack's events.
	NotificationARNs []string `json:"notificationARNs,omitempty"`
	// RollbackTriggers and MonitoringMinutes are the stack's RollbackConfiguration, which is stored but has no effect.
	RollbackTriggers  []RollbackTrigger `json:"rollbackTriggers,omitempty"`
	MonitoringMinutes int               `json:"monitoringMinutes,omitempty"`
	// Policy is the stack policy for the update to this revision; empty if everything is allowed.
	Policy string `json:"policy,omitempty"`
}

// RollbackTrigger is an alarm that would roll back an operation of a stack.
type RollbackTrigger struct {
	ARN  string `json:"arn"`
	Type string `json:"type"` // e.g. AWS::CloudWatch::Alarm
}

// Tag is a tag of a stack.
type Tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}
