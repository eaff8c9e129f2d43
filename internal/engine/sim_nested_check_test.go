package engine_test

import (
	"context"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// checkDelete checks a Delete as a provider gets it: the root's complete state must remain until the root has
// succeeded.
func (s *forest) checkDelete(r store.Request) {
	root, status := s.root()
	if !s.standing[r.Body.PhysicalID] || s.tainted || root.Kind == store.KindDelete {
		return
	}
	if root.Phase != store.PhaseCleanup && root.Phase != store.PhaseSucceeded {
		s.breaks(notTooEarly, "%s of %s is deleted while the root is %s", r.Body.PhysicalID, r.Logical, status)
	}
}

// checkRest checks an idle root, and all stacks nested in it.
func (s *forest) checkRest() {
	root, status := s.root()
	for _, stack := range s.all() {
		if stack.Parent == "" {
			continue
		}
		nested := engine.CloudFormation.StackStatus(stack.Kind, stack.Phase)
		what := "nested: "
		if stack.Depth > 1 {
			what = "nested in nested: "
		}
		s.count(what + nested)
		ended := root.Phase == store.PhaseSucceeded || root.Phase == store.PhaseReverted
		// A failed rollback leaves the remaining stacks unchanged for the next attempt.
		if stack.Phase == store.PhaseApply && root.Phase != store.PhaseRevertFailed {
			s.breaks(allEnd, "the root is %s and %s is still %s", status, stack.Name, nested)
		}
		if ended && !stack.Phase.Final() {
			s.breaks(allEnd, "the root is %s and %s is %s", status, stack.Name, nested)
		}
	}
	switch status {
	case "CREATE_COMPLETE", "UPDATE_COMPLETE":
		s.tainted = false
		clear(s.standing)
		s.checkStands(root, s.to, true)
	case "UPDATE_ROLLBACK_COMPLETE":
		s.checkStands(root, s.from, true)
		s.to = s.from
	}
}

// checkStands checks that an idle stack has the expected state, including its providers.
func (s *forest) checkStands(stack store.Stack, want nestShape, agrees bool) {
	revision, err := s.rows.Revision(context.Background(), stack.Key, stack.Revision)
	s.must(err)
	if !strings.Contains(revision.Template, `"Description": "`+want.url+`"`) {
		s.breaks(sameText, "%s has the template %.80s, want %s", stack.Name, revision.Template, want.url)
	}
	instances, err := s.rows.Instances(context.Background(), stack.Key)
	s.must(err)
	current := map[string]store.Instance{}
	for _, i := range instances {
		if i.Role == store.RoleCurrent {
			current[string(i.Logical)] = i
		}
	}
	if len(current) != len(want.leaves)+len(want.nested) {
		s.breaks(sameText, "%s has %d resources, want %d", stack.Name, len(current), len(want.leaves)+len(want.nested))
		return
	}
	for _, leaf := range want.leaves {
		i := current[leaf.id]
		th := s.things[i.PhysicalID]
		switch {
		case th == nil || !th.exists:
			s.breaks(stands, "%s of %s is %s, which is deleted", leaf.id, stack.Name, i.PhysicalID)
		case th.v != leaf.v || th.kind != leaf.kind:
			s.breaks(sameText, "%s of %s is %s of %s, want %s of %s", leaf.id, stack.Name, th.v, th.kind, leaf.v, leaf.kind)
		}
		s.standing[i.PhysicalID] = true
	}
	for _, child := range want.nested {
		i := current[child.id]
		row, err := s.rows.Stack(context.Background(), wire.StackID(i.PhysicalID))
		if err != nil || !row.Live || row.Parent != stack.ID {
			s.breaks(stands, "%s of %s is %s, which does not exist: %v", child.id, stack.Name, i.PhysicalID, err)
			continue
		}
		status := engine.CloudFormation.StackStatus(row.Kind, row.Phase)
		switch status {
		case "CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE":
		default:
			s.breaks(allEnd, "%s is %s while the root stands", row.Name, status)
		}
		first, _ := row.OutputValues.Get("First")
		if seen, _ := i.Body.Data.Get("Outputs.First"); !seen.Equal(first) {
			s.breaks(sameText, "%s has the output %s and its parent sees %s", row.Name, first, seen)
		}
		s.checkStands(row, child, agrees)
	}
}

// checkAfter checks the final state: every nested stack has a parent that knows it, and the engine knows every
// resource of a provider.
func (s *forest) checkAfter() {
	if len(s.broken) > 0 {
		return
	}
	root, status := s.root()
	known, given := map[wire.PhysicalID]bool{}, map[wire.PhysicalID]bool{} // abandoned
	names := map[string]int{}
	rows := s.all()
	for _, stack := range rows {
		instances, err := s.rows.Instances(context.Background(), stack.Key)
		s.must(err)
		for _, i := range instances {
			switch i.Role {
			case store.RoleCurrent, store.RoleCondemned:
				known[i.PhysicalID] = true
			case store.RoleOrphan, store.RoleRetained:
				known[i.PhysicalID], given[i.PhysicalID] = true, true
			case store.RoleGone:
			}
		}
		names[stack.Name]++
		open, err := s.rows.Requests(context.Background(), stack.Key)
		s.must(err)
		left := root.Phase == store.PhaseFailed || root.Phase == store.PhaseRevertFailed
		for _, r := range open {
			if !left {
				s.breaks(allEnd, "the root is %s, and %s of %s of %s is still %s", status, r.Type, r.Logical, stack.Name, r.State)
			}
		}
	}
	for _, stack := range rows {
		switch {
		case stack.Parent != "" && stack.Live && !known[wire.PhysicalID(stack.ID)]:
			s.breaks(noneLeft, "%s is live, and no stack knows it", stack.Name)
		case stack.Parent != "" && stack.Live && !root.Live && !s.givenUp(stack, given):
			s.breaks(noneLeft, "%s is live, and the root is deleted", stack.Name)
		case names[stack.Name] > 1:
			s.breaks(onceEach, "there are %d stacks %s", names[stack.Name], stack.Name)
		}
	}
	for id, th := range s.things {
		if th.exists && !known[id] {
			s.breaks(accounted, "%s of %s exists, and no stack knows it", id, th.logical)
		}
	}
}

// givenUp reports whether the clean-up of a nested stack, or of one that it is nested in, was abandoned and recorded.
func (s *forest) givenUp(stack store.Stack, given map[wire.PhysicalID]bool) bool {
	for stack.Parent != "" {
		if given[wire.PhysicalID(stack.ID)] {
			return true
		}
		var err error
		stack, err = s.rows.Stack(context.Background(), stack.Parent)
		s.must(err)
	}
	return false
}
