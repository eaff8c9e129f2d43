package store

import (
	"encoding/json"

	"github.com/pintle-dev/pintle/wire"
)

// StepState is how far a step has come in the current phase.
type StepState string

// The states of a step.
const (
	// StepIdle has no part in this phase.
	StepIdle StepState = "idle"
	// StepPending waits for other steps: Waiting says for how many.
	StepPending StepState = "pending"
	// StepHeld is due but waits for a request of an earlier phase that is still with its provider.
	StepHeld StepState = "held"
	// StepAwaited has no part in this phase, but the operation does not end before its cancelled request is settled.
	StepAwaited StepState = "awaited"
	// StepRunning has a request of this phase under way.
	StepRunning StepState = "running"
	// StepDone reached its aim.
	StepDone StepState = "done"
	// StepFailed did not.
	StepFailed StepState = "failed"
	// StepCancelled was running when another one failed; its request may still be with the provider.
	StepCancelled StepState = "cancelled"
)

// Step is one logical resource in the operation under way. The steps are the plan: they are made when the operation
// starts and dropped when it ends.
type Step struct {
	Stack   StackKey       `json:"-"`
	Logical wire.LogicalID `json:"-"`

	State StepState `json:"state"`
	// Waiting is how many steps must be done before this one starts in this phase.
	Waiting int `json:"waiting,omitempty"`
	// Next are the steps that wait for this one in this phase.
	Next []wire.LogicalID `json:"next,omitempty"`
	// Instance is the number of the current instance; 0 if there is none yet.
	Instance int `json:"instance,omitempty"`
	// Request is the one under way, of this phase or a cancelled one of an earlier phase.
	Request wire.RequestID `json:"request,omitempty"`
	// Touched says that the apply phase began to change the resource (an event was written).
	Touched bool `json:"touched,omitempty"`
	// Stirred says that something it depends on was touched, so that its properties must be looked at again.
	Stirred bool `json:"stirred,omitempty"`

	// Held says that the resource is a nested stack which waits at a clean-up to be released.
	Held bool `json:"held,omitempty"`

	// Skip says that the client wants the resource left as it is: no provider is asked.
	Skip bool `json:"skip,omitempty"`
	// Within are resources of the nested stack that the client wants left so.
	Within []string `json:"within,omitempty"`

	// Plan is written once. In a Delta nil leaves it as it is.
	Plan *StepPlan `json:"-"`
}

// StepPlan is the part of a step that does not change during the operation.
type StepPlan struct {
	// Type is the resource's type.
	Type string `json:"type"`
	// Old and New are the resource's declarations before and after the operation, as package template writes them; nil
	// if it is not in that revision.
	Old json.RawMessage `json:"old,omitempty"`
	New json.RawMessage `json:"new,omitempty"`
	// Tried is the declaration in a revision that was tried before the operation, of a resource that is in neither of its
	// own: there may be something to delete.
	Tried json.RawMessage `json:"tried,omitempty"`
	// OldNeeds and NewNeeds are what the resource depends on in either revision.
	OldNeeds []wire.LogicalID `json:"oldNeeds,omitempty"`
	NewNeeds []wire.LogicalID `json:"newNeeds,omitempty"`
	// OldFeeds and NewFeeds are what depends on it.
	OldFeeds []wire.LogicalID `json:"oldFeeds,omitempty"`
	NewFeeds []wire.LogicalID `json:"newFeeds,omitempty"`
}

// Made is the declaration by which an operation, or one that was tried before it, may have created the resource; nil if it
// was there before them.
func (p *StepPlan) Made() json.RawMessage {
	if p.New != nil {
		return p.New
	}
	return p.Tried
}
