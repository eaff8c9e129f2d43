package store

import (
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// TypeExecution is the type of a request that is an execution of a state machine: its row is the execution, from its start to
// its end, and what is ready of it is the task of the state that it is in. Its id is the execution's ARN, its logical ID the
// machine's, which is not a logical ID of a template; it has no instance. It belongs to the stack that has made the machine,
// ends with that at the latest, and is nothing to the stack's operations.
const TypeExecution wire.RequestType = "Execution"

// ExecutionStatus is what has become of an execution, as Step Functions spells it.
type ExecutionStatus string

// The statuses of an execution.
const (
	ExecutionRunning   ExecutionStatus = "RUNNING"
	ExecutionSucceeded ExecutionStatus = "SUCCEEDED"
	ExecutionFailed    ExecutionStatus = "FAILED"
	ExecutionTimedOut  ExecutionStatus = "TIMED_OUT"
	ExecutionAborted   ExecutionStatus = "ABORTED"
)

// Execution is how far an execution has come. What it works on is data, which are secret, in the row's body.
type Execution struct {
	Name   string          `json:"name"`
	Status ExecutionStatus `json:"status"`
	// State is the state that it is in, or was in last.
	State string `json:"state"`
	// Try counts the tries of all tasks and the waits of Wait states, from 1; a delivery that is repeated counts once. It is also
	// what reports what is reported of one try from what is reported of another.
	Try int `json:"try"`
	// Tries counts how often each of the state's retriers was used, since the execution came to it.
	Tries []int `json:"tries,omitempty"`
	// Waits says that it is in a Wait state, until the row is due.
	Waits bool `json:"waits,omitempty"`
	// Deadline is when the execution is out of time; zero for never.
	Deadline time.Time `json:"deadline,omitzero"`
}
