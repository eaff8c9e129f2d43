package store

import (
	"errors"
	"fmt"
)

// check returns an error for rows that no decision on the view may write. It is the first guard against an error in the
// engine, and describes it in the engine's terms; the database constraints are the second.
func (d *Delta) check(target Target, view *View) error {
	key := view.Stack.Key
	if err := d.checkStack(target, &view.Stack); err != nil {
		return err
	}
	if key == 0 && d.Stack != nil {
		key = d.Stack.Key
	}
	if err := d.checkOperation(key, &view.Operation); err != nil {
		return err
	}
	if key == 0 && !d.empty() {
		return errors.New("the decision writes rows of a stack that is not there, and does not make it")
	}
	for _, r := range d.Revisions {
		if r.Stack != key || r.Number < 1 {
			return fmt.Errorf("revision %d of stack %d: the decision is about stack %d, and revisions count from 1", r.Number, r.Stack, key)
		}
		if _, ok := view.Revisions[r.Number]; ok {
			return fmt.Errorf("revision %d already exists, and revisions do not change", r.Number)
		}
	}
	for _, s := range d.Steps {
		if s.Stack != key || s.Logical == "" {
			return fmt.Errorf("step %q of stack %d: the decision is about stack %d", s.Logical, s.Stack, key)
		}
	}
	for _, i := range d.Instances {
		if i.Stack != key || i.Number < 1 || i.Logical == "" {
			return fmt.Errorf("instance %d of %q of stack %d: the decision is about stack %d, and instances count from 1", i.Number, i.Logical, i.Stack, key)
		}
		if !i.Role.known() {
			return fmt.Errorf("instance %d: unknown role %q", i.Number, i.Role)
		}
	}
	for i := range d.Requests {
		if err := d.Requests[i].check(key); err != nil {
			return err
		}
	}
	for i := range d.ChangeSets {
		if err := d.ChangeSets[i].check(key); err != nil {
			return err
		}
	}
	return d.checkExports()
}

func (d *Delta) empty() bool {
	return d.Stack == nil && d.Operation == nil && !d.DropSteps && len(d.Revisions) == 0 && len(d.Steps) == 0 &&
		len(d.Instances) == 0 && len(d.Requests) == 0 && len(d.Events) == 0 && len(d.Audit) == 0 &&
		len(d.ChangeSets) == 0 && len(d.DropChangeSets) == 0 && d.Exports == nil && d.Imports == nil
}

func (d *Delta) checkStack(target Target, old *Stack) error {
	s := d.Stack
	switch {
	case s == nil:
		return nil
	case s.Key < 1 || s.ID == "":
		return errors.New("a stack needs a key above 0 and an id")
	case old.Key == 0:
		if name := (StackName{s.Account, s.Region, s.Name}); name != target.Name {
			return fmt.Errorf("a new stack has the name that the decision is about, %q, not %q", target.Name.Name, s.Name)
		}
		return nil
	case s.Key != old.Key || s.ID != old.ID || s.Account != old.Account || s.Region != old.Region || s.Name != old.Name:
		return fmt.Errorf("stack %q: key, id, account, region and name of a stack do not change", old.ID)
	case s.Live && !old.Live:
		return fmt.Errorf("stack %q: a deleted stack stays deleted", old.ID)
	}
	return nil
}

func (d *Delta) checkOperation(key StackKey, old *Operation) error {
	o := d.Operation
	if o == nil {
		if len(d.Events) > 0 {
			return errors.New("events are numbered by their operation, which the decision must write too")
		}
		return nil
	}
	events := old.Events
	switch {
	case o.Stack != key:
		return fmt.Errorf("operation %d of stack %d: the decision is about stack %d", o.Number, o.Stack, key)
	case o.Number == old.Number && o.Number > 0:
		if o.Version != old.Version+1 {
			return fmt.Errorf("operation %d: version %d must be followed by %d, not %d", o.Number, old.Version, old.Version+1, o.Version)
		}
	case o.Number == old.Number+1:
		events = 0
	default:
		return fmt.Errorf("operation %d: the newest one is %d", o.Number, old.Number)
	}
	if len(d.Events) > 0 && o.Events != events+1 {
		return fmt.Errorf("operation %d: its count of event rows goes from %d to %d, not to %d", o.Number, events, events+1, o.Events)
	}
	return nil
}

func (r Role) known() bool {
	switch r {
	case RoleCurrent, RoleCondemned, RoleOrphan, RoleRetained, RoleGone:
		return true
	}
	return false
}

// check returns an error for a request whose state contradicts its owner, executor and due time.
func (r *Request) check(key StackKey) error {
	if r.Stack != key || r.ID == "" {
		return fmt.Errorf("request %q of stack %d: the decision is about stack %d, and a request needs an id", r.ID, r.Stack, key)
	}
	if (r.Type == TypeIsComplete) != (r.Wait != nil) {
		return fmt.Errorf("request %q of type %s: what it waits for is part of %s, and of no other", r.ID, r.Type, TypeIsComplete)
	}
	if (r.Type == TypeExecution) != (r.Execution != nil) {
		return fmt.Errorf("request %q of type %s: how far an execution has come is part of %s, and of no other", r.ID, r.Type, TypeExecution)
	}
	owned, executed, due := r.Owner != 0, r.Executor != 0, !r.Due.IsZero()
	legal := false
	switch r.State {
	case RequestReady:
		legal = owned && !executed && !due
	case RequestWaiting:
		legal = !owned && due
	case RequestDelayed:
		legal = !owned && !executed && due
	case RequestSettled:
		legal = !owned && !executed && !due
	}
	if !legal {
		return fmt.Errorf("request %q: it cannot be %q with owner %d, executor %d and due %v", r.ID, r.State, r.Owner, r.Executor, r.Due)
	}
	return nil
}
