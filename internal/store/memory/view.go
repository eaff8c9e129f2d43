package memory

import (
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// view loads exactly the rows that a decision on target may see.
func (s *Store) view(target store.Target, scope store.Scope) (*store.View, error) {
	v := &store.View{Now: s.time()}
	st, err := s.find(target)
	if err != nil {
		return nil, err
	}
	v.Whole = scope.Whole
	if st != nil {
		v.Stack = st.row
	}
	s.fillOutside(v, target, scope)
	if st == nil {
		return v, nil
	}
	if n := len(st.operations); n > 0 {
		v.Operation = st.operations[n-1]
	}
	v.Revisions = make(map[int]store.Revision)
	v.Steps = make(map[wire.LogicalID]store.Step)
	v.Instances = make(map[int]store.Instance)
	v.Requests = make(map[wire.RequestID]store.Request)
	if own := s.requests[target.Request]; own != nil {
		own := own.copy()
		v.Request = &own
		if own.State != store.RequestSettled && own.Stack == v.Stack.Key {
			v.Requests[own.ID] = s.requests[own.ID].copy()
		}
	}
	if scope.Bare() {
		return v, nil
	}
	for _, number := range append([]int{v.Operation.From, v.Operation.To, v.Stack.Revision}, v.Operation.Tried...) {
		if r, ok := st.revisions[number]; ok {
			v.Revisions[number] = r
		}
	}
	if scope.Whole {
		st.fill(v, func(wire.LogicalID) bool { return true }, func(store.Instance) bool { return true })
		v.ChangeSets = make(map[store.ChangeSetID]store.ChangeSet)
		for id, set := range st.sets {
			v.ChangeSets[id] = set.narrow()
		}
		return v, nil
	}
	steps := st.around(scope, v.Request)
	near := make(map[wire.LogicalID]bool) // the loaded steps and their dependencies
	for logical := range steps {
		near[logical] = true
		if plan := st.steps[logical].Plan; plan != nil {
			for _, needs := range [][]wire.LogicalID{plan.OldNeeds, plan.NewNeeds} {
				for _, need := range needs {
					near[need] = true
				}
			}
		}
	}
	st.fill(v, func(logical wire.LogicalID) bool { return steps[logical] },
		func(i store.Instance) bool { return near[i.Logical] && i.Role != store.RoleGone })
	return v, nil
}

// find returns the stack of a target; nil if it names a stack that is not live.
func (s *Store) find(target store.Target) (*stack, error) {
	switch {
	case target.Request != "" && target.Stack == 0:
		r := s.requests[target.Request]
		if r == nil {
			return nil, store.ErrNotFound
		}
		return s.stacks[r.row.Stack], nil
	case target.Stack != 0:
		st := s.stacks[target.Stack]
		if st == nil {
			return nil, store.ErrNotFound
		}
		return st, nil
	}
	return s.stacks[s.live[target.Name]], nil
}

// around returns the logical IDs of the steps in scope, and of those in their Next.
func (st *stack) around(scope store.Scope, own *store.Request) map[wire.LogicalID]bool {
	centers := scope.Steps
	if scope.Own {
		centers = append([]wire.LogicalID{own.Logical}, centers...)
	}
	steps := make(map[wire.LogicalID]bool)
	for _, logical := range centers {
		steps[logical] = true
		for _, next := range st.steps[logical].Next {
			steps[next] = true
		}
	}
	return steps
}

// fill adds to a view the steps and unsettled requests that pass step, and the instances that pass instance.
func (st *stack) fill(v *store.View, step func(wire.LogicalID) bool, instance func(store.Instance) bool) {
	for logical, row := range st.steps {
		if step(logical) {
			plan := *row.Plan
			row.Plan = &plan
			v.Steps[logical] = row
		}
	}
	for number, row := range st.instances {
		if instance(row) {
			v.Instances[number] = copyInstance(row)
		}
	}
	for id, r := range st.open {
		if step(r.row.Logical) {
			v.Requests[id] = r.copy()
		}
	}
}

// copy returns the row with its own body, so that a reader that changes a field changes only its copy.
func (r *request) copy() store.Request {
	row := r.row
	body := *row.Body
	row.Body = &body
	return row
}

// narrow returns the row without its body.
func (c *changeSet) narrow() store.ChangeSet {
	row := c.row
	row.Body = nil
	return row
}

func copyInstance(row store.Instance) store.Instance {
	body := *row.Body
	row.Body = &body
	return row
}
