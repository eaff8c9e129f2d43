package engine

import (
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
)

// The policies that keep a resource. Source: CloudFormation, DeletionPolicy.
const (
	policyRetain               = "Retain"
	policyRetainExceptOnCreate = "RetainExceptOnCreate"
)

// deletionPolicy finds the policy that applies when a resource is deleted or replaced.
type deletionPolicy struct{ *decision }

func (d deletionPolicy) of(declared []byte) (string, error) {
	if declared == nil {
		return "", nil
	}
	policy, _, err := template.Policies(declared)
	if policy == policyRetain && d.op.RetainExceptOnCreate {
		return policyRetainExceptOnCreate, nil
	}
	return policy, err
}

// atCleanup returns the policy of an instance that is marked for deletion: UpdateReplacePolicy if it was replaced,
// else its declared DeletionPolicy.
func (d deletionPolicy) atCleanup(s *store.Step, i *store.Instance) (string, error) {
	if !i.Replaced {
		if s.Plan.Old != nil {
			return d.of(s.Plan.Old)
		}
		return d.of(s.Plan.Made())
	}
	if d.op.Phase == store.PhaseRevertCleanup {
		if i.Number > d.op.Stood {
			return "", nil // created by the operation that is rolled back
		}
		return replacePolicy(s.Plan.Old) // the provider did not return to it
	}
	if made := s.Plan.Made(); made != nil {
		return replacePolicy(made)
	}
	return replacePolicy(s.Plan.Old) // replaced in an attempt that failed, and then removed
}

func replacePolicy(declared []byte) (string, error) {
	if declared == nil {
		return "", nil
	}
	_, policy, err := template.Policies(declared)
	return policy, err
}
