package store

import (
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// StackKey identifies a stack in a store: a random number from 1 to 1<<63-1, so that neither time nor place leads two
// nodes to one key. 0 is not a stack.
type StackKey int64

// Stack is a stack: what outlives its operations.
type Stack struct {
	Key StackKey `json:"-"`
	// ID is the stack's ARN; always unique.
	ID wire.StackID `json:"-"`
	// Account, Region and Name are unique among live stacks.
	Account string `json:"-"`
	Region  string `json:"-"`
	Name    string `json:"-"`
	// Live is true until the stack is deleted: it holds its name.
	Live bool `json:"-"`
	// Dialect is the template language and protocol the stack speaks, e.g. "cloudformation".
	Dialect string `json:"dialect"`

	// Kind, Phase and Reason are those of the newest operation, as shown to people.
	Kind   Kind   `json:"kind"`
	Phase  Phase  `json:"phase"`
	Reason string `json:"reason,omitempty"`

	Created time.Time `json:"created"`
	// Updated is when the last update began; zero if none did.
	Updated time.Time `json:"updated,omitzero"`
	// Deleted is when the last delete began; zero if none did.
	Deleted time.Time `json:"deleted,omitzero"`

	// Operation is the number of the newest operation; they count from 1.
	Operation int `json:"operation"`
	// Revision is the number of the revision in force: the aim of a running or successful operation, what was rolled
	// back to after a failed one.
	Revision int `json:"revision"`
	// Revisions is the highest number given so far.
	Revisions int `json:"revisions"`

	Description           string   `json:"description,omitempty"`
	Capabilities          []string `json:"capabilities,omitempty"`
	DisableRollback       bool     `json:"disableRollback,omitempty"`
	TerminationProtection bool     `json:"terminationProtection,omitempty"`
	RoleARN               string   `json:"roleARN,omitempty"`
	TimeoutMinutes        int      `json:"timeoutMinutes,omitempty"`
	// Policy is the stack policy by which updates go; empty if there is none.
	Policy string `json:"policy,omitempty"`
	// ResourceGroup is the ID of the resource group that the stack is in, "" for none. Of ROS.
	ResourceGroup string `json:"resourceGroup,omitempty"`
	// Parent is the stack that this one is nested in, and Root the one that all are in which it is nested; "" if it is not.
	Parent wire.StackID `json:"parent,omitempty"`
	Root   wire.StackID `json:"root,omitempty"`
	// Depth is how many stacks it is nested in.
	Depth int `json:"depth,omitempty"`
	// Tagging holds the tags that a call has given the stack outside an update; nil if none has.
	Tagging *Tagging `json:"tagging,omitempty"`
	// Remarked says that an event has said that some resources are only recorded.
	Remarked bool `json:"remarked,omitempty"`
	// ChangeSet is the one that was executed last, "" for none.
	ChangeSet ChangeSetID `json:"changeSet,omitempty"`

	// Tokens are those that clients gave with their last requests, newest first: a request that is sent once more is known
	// by its token, also after the next one.
	Tokens []TokenUse `json:"tokens,omitempty"`

	// Outputs are those of the last operation that succeeded; their values are in OutputValues, an object by key.
	Outputs      []Output    `json:"outputs,omitempty"`
	OutputValues value.Value `json:"-"`
	// Published is the number of the revision that the outputs are of; zero if none were published yet, or by a version that
	// did not keep it.
	Published int `json:"published,omitempty"`
}

// Tagging is a set of tags that replaces those of one revision. It never changes.
type Tagging struct {
	// Revision is the number of the revision that was in force when the stack was tagged.
	Revision int   `json:"revision"`
	Tags     []Tag `json:"tags,omitempty"`
}

// Tagged returns a revision with the tags that the stack has while the revision is in force.
func (s *Stack) Tagged(revision Revision) Revision {
	if s.Tagging != nil && s.Tagging.Revision == revision.Number {
		revision.Tags = s.Tagging.Tags
	}
	return revision
}

// TokenUse is a client's token and what it stands for.
type TokenUse struct {
	Token string `json:"token"`
	Call  Call   `json:"call"`
	// Operation is the id of the operation that the request began.
	Operation string `json:"operation"`
	// ChangeSet is the one that the request executed, "" if it was none.
	ChangeSet ChangeSetID `json:"changeSet,omitempty"`
}

// Output is an output of a stack without its value.
type Output struct {
	Key         string `json:"key"`
	Description string `json:"description,omitempty"`
	ExportName  string `json:"exportName,omitempty"`
}

// Revision is one set of inputs of a stack: what an operation goes to, and an update rolls back to. It never changes.
type Revision struct {
	Stack  StackKey `json:"-"`
	Number int      `json:"-"`
	// Template is the text as it was submitted. Stores keep one copy of equal texts.
	Template string `json:"-"`
	// Processed is what transforms made of it; empty if it has none. It holds no secret.
	Processed string `json:"processed,omitempty"`
	// Unprepared says that macros were still to make a template of it: it has no resources.
	Unprepared bool `json:"unprepared,omitempty"`
	// Inputs are the parameters as the client gave them: defaults are not among them.
	Inputs []string `json:"inputs,omitempty"`
	// Parameters holds the value of every parameter by name; those of NoEcho parameters are secret.
	Parameters value.Value `json:"-"`
	// Outside holds what was there beyond the stack when the revision was made, as package template writes it; null if
	// nothing was asked for. Secrets of others are secret here too.
	Outside value.Value `json:"-"`
	// Conditions holds the outcome of every condition by name.
	Conditions map[string]bool `json:"conditions,omitempty"`
	Tags       []Tag           `json:"tags,omitempty"`
	// NotificationARNs are the SNS topics that are notified of the stack's events.
	NotificationARNs []string `json:"notificationARNs,omitempty"`
	// RollbackTriggers and MonitoringMinutes are the stack's RollbackConfiguration, which is kept and not acted on.
	RollbackTriggers  []RollbackTrigger `json:"rollbackTriggers,omitempty"`
	MonitoringMinutes int               `json:"monitoringMinutes,omitempty"`
	// Policy is the stack policy by which the update to this revision goes; empty if everything is allowed.
	Policy string `json:"policy,omitempty"`
}

// RollbackTrigger is an alarm that would roll an operation of a stack back.
type RollbackTrigger struct {
	ARN  string `json:"arn"`
	Type string `json:"type"` // e.g. AWS::CloudWatch::Alarm
}

// Tag is a tag of a stack.
type Tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}
