package store

import (
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// TypeExecution is the type of a request that is an execution of a state machine. Its row exists from the start of the
// execution to its end. Its work is the task of the execution's current state. Its ID is the ARN of the execution. Its
// logical ID is the ARN of the machine, which is not a logical ID of a template, and it has no instance. It belongs to
// the stack that created the machine and ends with that stack at the latest. The stack's operations ignore it.
const TypeExecution wire.RequestType = "Execution"

// ExecutionStatus is the status of an execution, as Step Functions spells it.
type ExecutionStatus string

// The statuses of an execution.
const (
	ExecutionRunning   ExecutionStatus = "RUNNING"
	ExecutionSucceeded ExecutionStatus = "SUCCEEDED"
	ExecutionFailed    ExecutionStatus = "FAILED"
	ExecutionTimedOut  ExecutionStatus = "TIMED_OUT"
	ExecutionAborted   ExecutionStatus = "ABORTED"
)

// Execution is the progress of an execution. Its data is secret and is in the row's body.
type Execution struct {
	Name   string          `json:"name"`
	Status ExecutionStatus `json:"status"`
	// State is the current state, or the last one.
	State string `json:"state"`
	// Try counts the tries of all tasks and the waits of Wait states, from 1. A repeated delivery counts once. It also
	// distinguishes the reports of one try from those of another.
	Try int `json:"try"`
	// Tries counts the uses of each of the state's retriers since the execution entered the state.
	Tries []int `json:"tries,omitempty"`
	// Waits says that the execution is in a Wait state until the row is due.
	Waits bool `json:"waits,omitempty"`
	// Deadline is when the execution times out; zero for never.
	Deadline time.Time `json:"deadline,omitzero"`
}
