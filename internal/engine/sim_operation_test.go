package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// simOperation is a call that a client may make for a stack.
type simOperation struct {
	name string
	// weight is the relative frequency among the operations that a status allows.
	weight int
	// from are the statuses that allow it; in any other it must be rejected.
	from []string
	draw func(*sim) simCall
}

// simCall is one call, which may have to be repeated.
type simCall struct {
	call func(*engine.Engine) error
	// next is the model after the call is accepted.
	next *model
	// how is a coverage label, and note a description for people.
	how, note string
}

// simOperations are the operations after the initial create. One line adds one.
var simOperations = []simOperation{
	{"update", 90, []string{
		"CREATE_COMPLETE", "CREATE_FAILED", "UPDATE_COMPLETE", "UPDATE_FAILED", "UPDATE_ROLLBACK_COMPLETE",
	}, (*sim).update},
	{"update again", 25, []string{
		"CREATE_COMPLETE", "CREATE_FAILED", "UPDATE_COMPLETE", "UPDATE_FAILED", "UPDATE_ROLLBACK_COMPLETE",
	}, (*sim).updateAgain},
	{"change set", 20, []string{
		"CREATE_COMPLETE", "CREATE_FAILED", "UPDATE_COMPLETE", "UPDATE_FAILED", "UPDATE_ROLLBACK_COMPLETE",
	}, (*sim).changeSet},
	{"cancel", 1, []string{"UPDATE_IN_PROGRESS"}, (*sim).cancel},
	{"cancel of any", 1, []string{"CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS"}, (*sim).cancelAny},
	{"rollback", 90, []string{"CREATE_FAILED", "UPDATE_FAILED"}, (*sim).rollback},
	{"continue", 40, []string{"UPDATE_ROLLBACK_FAILED"}, (*sim).continuation},
	{"delete", 10, []string{
		"CREATE_COMPLETE", "CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "UPDATE_COMPLETE", "UPDATE_FAILED",
		"UPDATE_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_FAILED", "DELETE_FAILED", "CREATE_IN_PROGRESS",
	}, (*sim).delete},
}

// choose draws one of the operations that a status allows.
func (s *sim) choose(status string) *simOperation {
	var fit []*simOperation
	sum := 0
	for i := range simOperations {
		if op := &simOperations[i]; slices.Contains(op.from, status) {
			fit = append(fit, op)
			sum += op.weight
		}
	}
	if sum == 0 {
		return nil
	}
	dice := s.rng.IntN(sum)
	for _, op := range fit {
		if dice -= op.weight; dice < 0 {
			return op
		}
	}
	return nil
}

// intervene makes a call while an operation is in progress: one that is allowed, or one that must be rejected.
func (s *sim) intervene() {
	if op := s.choose(s.status()); op != nil && s.chance(70) && !s.row().Phase.Final() {
		s.call(op.draw(s))
		return
	}
	s.interlope()
}

// interlope makes a call that the status does not allow, and checks that it changes nothing.
func (s *sim) interlope() {
	op := &simOperations[s.rng.IntN(len(simOperations))]
	if slices.Contains(op.from, s.status()) {
		return
	}
	before := s.print()
	s.call(op.draw(s))
	s.count("call refused")
	if !reflect.DeepEqual(before, s.print()) {
		s.breaks(nothingNew, "a %s was accepted in %s", op.name, before.status)
	}
}

// token returns a token for a call. Sometimes it is that of the previous operation.
func (s *sim) token(kind string) string {
	if s.watch.op.Token != "" && s.rng.IntN(40) == 0 && kind != string(s.watch.op.Call) {
		s.count("call with a used token")
		return s.watch.op.Token
	}
	return fmt.Sprint(kind, "-", s.ids, "-", s.rng.IntN(1_000_000))
}

// further returns the model of an operation that continues the previous one.
func (s *sim) further() *model {
	return &model{from: s.from, to: s.to, tried: s.tried, sides: s.sides, denied: s.denied}
}

func (s *sim) ref() engine.Ref { return engine.Ref{Account: account, Region: region, Stack: "S"} }

func (s *sim) create() simCall {
	to := s.template(nil)
	in := engine.CreateStack{
		Name: store.StackName{Account: account, Region: region, Name: "S"}, Template: to.text(),
		Options:         engine.Options{Token: "create", Parameters: to.parameters(), Capabilities: expand},
		DeleteOnFailure: s.rng.IntN(8) == 0,
	}
	in.DisableRollback, in.RetainExceptOnCreate = s.rng.IntN(6) == 0, s.chance(10)
	if s.chance(10) {
		in.TimeoutMinutes = 1 + s.rng.IntN(15)
	}
	if s.chance(10) {
		in.NotificationARNs = []string{"arn:aws:sns:us-east-1:123456789012:Told"}
	}
	denied := ""
	if s.chance(10) {
		denied = []string{"Update:Modify", "Update:Replace", "Update:Delete"}[s.rng.IntN(3)]
		in.Policy = `{"Statement": [{"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"},
			{"Effect": "Deny", "Action": "` + denied + `", "Principal": "*", "Resource": "*"}]}`
	}
	return simCall{
		call: func(e *engine.Engine) error {
			if s.row().Key != 0 && !s.row().Live {
				return nil // the first attempt succeeded, and the stack is already deleted
			}
			_, err := e.Create(context.Background(), in)
			return err
		},
		next: &model{to: to, sides: []simTemplate{to}, denied: denied},
		note: fmt.Sprintf("create, disable rollback %v, delete on failure %v, retain except on create %v, %d minutes, denied %q, %v: %s",
			in.DisableRollback, in.DeleteOnFailure, in.RetainExceptOnCreate, in.TimeoutMinutes, denied, in.Parameters, in.Template),
	}
}

// inForce returns the stack's current template.
func (s *sim) inForce() simTemplate {
	if s.status() == "UPDATE_ROLLBACK_COMPLETE" {
		return s.from
	}
	return s.to
}

func (s *sim) update() simCall {
	next, in, how := s.goal()
	in.RetainExceptOnCreate = s.chance(10)
	return simCall{
		call: func(e *engine.Engine) error { _, err := e.Update(context.Background(), in); return err },
		next: &next, how: how,
		note: fmt.Sprintf("update %s, disable rollback %v, retain except on create %v, %v: %s", in.Token,
			in.DisableRollback, in.RetainExceptOnCreate, in.Parameters, in.Template),
	}
}

// updateAgain returns an update that sends Updates even if nothing changed, and mostly changes nothing else.
func (s *sim) updateAgain() simCall {
	next, in, how := s.goal()
	if s.chance(70) {
		next.to = s.to
		if how == "" {
			next.to = s.inForce()
		}
		in.Template, in.Parameters = next.to.text(), next.to.parameters()
	}
	for _, id := range slices.Sorted(maps.Keys(next.to.resources)) {
		if _, active := next.to.resource(id); active && s.chance(50) || s.chance(1) { // a call that names an inactive one is refused
			in.Again = append(in.Again, wire.LogicalID(id))
		}
	}
	if len(in.Again) == 0 || s.chance(20) {
		in.Again = []wire.LogicalID{engine.AllCustom}
	}
	next.again = in.Again
	return simCall{
		call: func(e *engine.Engine) error { _, err := e.Update(context.Background(), in); return err },
		next: &next, how: how,
		note: fmt.Sprintf("update %s, again %q, disable rollback %v, %v: %s", in.Token, in.Again, in.DisableRollback, in.Parameters, in.Template),
	}
}

// changeSet plans an update and executes it.
func (s *sim) changeSet() simCall {
	next, in, how := s.goal()
	set := engine.CreateChangeSet{
		Options: in.Options, Stack: in.Stack, Name: fmt.Sprint("C", s.ids, "-", s.rng.IntN(1_000_000)), Kind: store.KindUpdate,
		Template: in.Template,
	}
	set.Token = ""
	execution := engine.ExecuteChangeSet{ChangeSet: engine.ChangeSetRef{Ref: in.Stack, Name: set.Name}, Token: in.Token}
	return simCall{
		call: func(e *engine.Engine) error {
			var input *engine.Error
			if _, err := e.CreateChangeSet(context.Background(), set); err != nil && !errors.As(err, &input) {
				return err
			}
			_, err := e.ExecuteChangeSet(context.Background(), execution) // rejected if the set or the change is missing
			return err
		},
		next: &next, how: how,
		note: fmt.Sprintf("change set %s, disable rollback %v, %v: %s", set.Name, in.DisableRollback, in.Parameters, in.Template),
	}
}

// goal draws the target of an update. It retries a stack that failed without a rollback.
func (s *sim) goal() (next model, in engine.UpdateStack, how string) {
	disableRollback := s.rng.IntN(6) == 0
	switch s.status() {
	case "CREATE_FAILED", "UPDATE_FAILED":
		next = model{from: s.from, to: s.template(&s.to), tried: slices.Concat([]simTemplate{s.to}, s.tried)}
		disableRollback, how = !s.chance(5), ", retry"
	default:
		from := s.inForce()
		next = model{from: from, to: s.template(&from)}
	}
	next.denied = s.denied
	in = engine.UpdateStack{
		Stack: s.ref(), Template: next.to.text(),
		Options: engine.Options{Token: s.token("update"), Parameters: next.to.parameters(), Capabilities: expand, DisableRollback: disableRollback},
	}
	return next, in, how
}

func (s *sim) cancel() simCall {
	in := engine.CancelUpdate{Stack: s.ref(), Token: s.token("cancel")}
	return simCall{
		call: func(e *engine.Engine) error { return e.CancelUpdate(context.Background(), in) },
		note: "cancel the update, " + in.Token,
	}
}

// cancelAny cancels an operation, including a create.
func (s *sim) cancelAny() simCall {
	in := engine.CancelUpdate{Stack: s.ref(), Token: s.token("cancel"), Create: true}
	return simCall{
		call: func(e *engine.Engine) error { return e.CancelUpdate(context.Background(), in) },
		note: "cancel the operation, " + in.Token,
	}
}

func (s *sim) rollback() simCall {
	in := engine.RollbackStack{Stack: s.ref(), Token: s.token("rollback"), RetainExceptOnCreate: s.chance(30)}
	return simCall{
		call: func(e *engine.Engine) error { _, err := e.Rollback(context.Background(), in); return err },
		next: s.further(),
		note: fmt.Sprintf("roll back %s, retain except on create %v", in.Token, in.RetainExceptOnCreate),
	}
}

// continuation continues a rollback, and may skip some of the failed resources.
func (s *sim) continuation() simCall {
	in := engine.ContinueRollback{Stack: s.ref(), Token: s.token("continue"), Force: s.chance(25)}
	next := s.further()
	next.forced = in.Force
	how := ""
	for _, i := range s.watch.instances {
		if i.Role != store.RoleCurrent || !i.Stuck {
			continue
		}
		switch {
		case in.Force:
			next.spared = append(next.spared, i.Logical)
			how = ", force"
		case s.chance(25):
			in.Skip = append(in.Skip, i.Logical)
			next.spared = in.Skip
			how = ", skip"
		}
	}
	return simCall{
		call: func(e *engine.Engine) error { _, err := e.ContinueRollback(context.Background(), in); return err },
		next: next, how: how,
		note: fmt.Sprintf("continue the rollback %s, skip %q, force %v", in.Token, in.Skip, in.Force),
	}
}

// delete returns a delete. If the last one failed, it may leave resources behind.
func (s *sim) delete() simCall {
	in := engine.DeleteStack{Stack: s.ref(), Token: s.token("delete")}
	if s.status() == "CREATE_IN_PROGRESS" { // the create becomes the delete
		return simCall{
			call: func(e *engine.Engine) error { _, err := e.Delete(context.Background(), in); return err },
			note: "delete during the create, " + in.Token,
		}
	}
	next := s.further()
	next.sides = s.sidesLeft()
	how := ""
	if s.status() == "DELETE_FAILED" {
		next.sides = s.sides
		if in.Force = s.chance(35); in.Force {
			how = ", force"
		}
		for _, i := range s.watch.instances {
			left := i.Role == store.RoleCurrent || i.Role == store.RoleCondemned
			if left && s.chance(15) && !slices.Contains(in.Retain, i.Logical) {
				in.Retain = append(in.Retain, i.Logical)
				how = ", retain"
			}
		}
	}
	next.spared, next.forced = in.Retain, in.Force
	return simCall{
		call: func(e *engine.Engine) error { _, err := e.Delete(context.Background(), in); return err },
		next: next, how: how,
		note: fmt.Sprintf("delete %s, retain %q, force %v", in.Token, in.Retain, in.Force),
	}
}

// sidesLeft returns the templates that may have resources, the current one first.
func (s *sim) sidesLeft() []simTemplate {
	switch s.status() {
	case "UPDATE_ROLLBACK_COMPLETE":
		return []simTemplate{s.from}
	case "UPDATE_ROLLBACK_FAILED":
		return slices.Concat([]simTemplate{s.from, s.to}, s.tried)
	case "CREATE_FAILED", "UPDATE_FAILED", "ROLLBACK_FAILED":
		return slices.Concat([]simTemplate{s.to, s.from}, s.tried)
	}
	return []simTemplate{s.to}
}

// print is the state that a rejected call or a late answer must not change.
type print struct {
	version   int64
	events    store.EventCursor
	status    string
	stack     store.Stack
	instances []store.Instance
	requests  int
}

func (s *sim) print() print {
	s.look()
	return print{s.watch.op.Version, s.watch.place, s.status(), *s.row(), s.watch.instances, len(s.open())}
}

// skipped reports whether the client skips a resource.
func (m *model) skipped(logical wire.LogicalID) bool { return slices.Contains(m.spared, logical) }
