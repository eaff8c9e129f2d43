package store

import (
	"encoding/json"

	"github.com/pintle-dev/pintle/wire"
)

// StepState is the state of a step in the current phase.
type StepState string

// The states of a step.
const (
	// StepIdle has no part in this phase.
	StepIdle StepState = "idle"
	// StepPending waits for other steps: Waiting is their number.
	StepPending StepState = "pending"
	// StepHeld is due but waits for a request of an earlier phase that is still with its provider.
	StepHeld StepState = "held"
	// StepAwaited has no part in this phase, but the operation does not end before its cancelled request is settled.
	StepAwaited StepState = "awaited"
	// StepRunning has a request of this phase in progress.
	StepRunning StepState = "running"
	// StepDone reached its target.
	StepDone StepState = "done"
	// StepFailed did not reach its target.
	StepFailed StepState = "failed"
	// StepCancelled was running when another step failed; its request may still be with the provider.
	StepCancelled StepState = "cancelled"
)

// Step is one logical resource in the current operation. The steps are the plan: they are created when the operation
// starts and dropped when it ends.
type Step struct {
	Stack   StackKey       `json:"-"`
	Logical wire.LogicalID `json:"-"`

	State StepState `json:"state"`
	// Waiting is the number of steps that must be done before this one starts in this phase.
	Waiting int `json:"waiting,omitempty"`
	// Next are the steps that wait for this one in this phase.
	Next []wire.LogicalID `json:"next,omitempty"`
	// Instance is the number of the current instance; 0 before it exists.
	Instance int `json:"instance,omitempty"`
	// Request is the request in progress, of this phase or a cancelled one of an earlier phase.
	Request wire.RequestID `json:"request,omitempty"`
	// Touched says that the apply phase has begun to change the resource and written an event.
	Touched bool `json:"touched,omitempty"`
	// Stirred says that one of its dependencies was touched, so its properties must be resolved again.
	Stirred bool `json:"stirred,omitempty"`

	// Held says that the resource is a nested stack that waits at a clean-up to be released.
	Held bool `json:"held,omitempty"`

	// Skip says that the client wants the resource left as it is: no request is sent to its provider.
	Skip bool `json:"skip,omitempty"`
	// Within are resources of the nested stack that the client wants left as they are.
	Within []string `json:"within,omitempty"`

	// Plan is written once. A nil Plan in a Delta leaves it unchanged.
	Plan *StepPlan `json:"-"`
}

// StepPlan is the part of a step that does not change during the operation.
type StepPlan struct {
	// Type is the resource's type.
	Type string `json:"type"`
	// Old and New are the resource's declarations before and after the operation, as package template writes them; nil
	// if the resource is not in that revision.
	Old json.RawMessage `json:"old,omitempty"`
	New json.RawMessage `json:"new,omitempty"`
	// Tried is the declaration in an earlier, failed revision of a resource that is in neither revision of the
	// operation. There may be an instance to delete.
	Tried json.RawMessage `json:"tried,omitempty"`
	// OldNeeds and NewNeeds are the dependencies of the resource in either revision.
	OldNeeds []wire.LogicalID `json:"oldNeeds,omitempty"`
	NewNeeds []wire.LogicalID `json:"newNeeds,omitempty"`
	// OldFeeds and NewFeeds are the resources that depend on it.
	OldFeeds []wire.LogicalID `json:"oldFeeds,omitempty"`
	NewFeeds []wire.LogicalID `json:"newFeeds,omitempty"`
}

// Made returns the declaration with which the operation, or a failed one before it, may have created the resource; nil
// if the resource existed before them.
func (p *StepPlan) Made() json.RawMessage {
	if p.New != nil {
		return p.New
	}
	return p.Tried
}
