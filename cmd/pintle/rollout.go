package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// rollout brings a stack to the state that a command desires, or previews that.
type rollout struct {
	*session

	want desired
}

// bring updates the stack to the desired state and reports the result. The providers are available.
func (o *rollout) bring(ctx context.Context, p place, r *result, asJSON bool) error {
	if o.functions && o.client() && !o.cloud && !o.developing { // else no one has asked for it
		o.say("--run-functions only affects an engine that this command starts; the engine at %s was started without it", o.url)
	}
	if o.client() && o.fidelity == engine.FidelityAWS {
		o.say("--fidelity only affects an engine that this command starts; the engine at %s has its own setting", o.url)
	}
	if note := o.want.unresolved(); note != "" && o.here != nil && !o.references.secrets {
		o.say("%s", note)
	}
	if err := o.checkForwards(ctx); err != nil {
		return err
	}
	o.warnOfPatterns()
	o.warnOfUnreachable()
	if o.warnOfRecords() && o.client() && o.unknown == engine.UnknownRecorded {
		o.say("--unknown-types only affects an engine that this command starts; the engine at %s has its own setting", o.url)
	}
	o.speak(o.want.language)
	for {
		stack, err := o.stacks.Stack(ctx, o.want.stack)
		if err == nil && stack.State != stacks.Working || errors.Is(err, stacks.ErrNone) {
			there := stack
			if err != nil || stack.State == stacks.InReview || stack.State == stacks.CreateRolledBack {
				there = stacks.Stack{} // it is made again
			}
			if err := o.checkSchemas(ctx, there); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, stacks.ErrNone):
			id, err := o.create(ctx)
			if err != nil {
				return o.refused(ctx, err, true)
			}
			return o.follow(ctx, p, o.want.stack, id, "create", r, asJSON)
		case err != nil:
			return err
		case stack.State == stacks.Working:
			o.say("stack %s already has an operation in progress (%s): watching it first", o.want.stack, stack.Status)
			c, err := o.watch(ctx, p, o.want.stack, stack.ID, asJSON)
			r.Events = append(r.Events, eventDocuments(c.events)...)
			if err != nil {
				return err
			}
			if !c.stack.State.WentWell() {
				r.take(c.stack)
				return o.broken(ctx, p, o.want.stack, c, r)
			}
		case stack.State == stacks.InReview:
			o.say(holdsOnlyChangeSets+": deleting it first", o.want.stack)
			if err := o.remove(ctx, p, o.want.stack, stack.ID, stacks.Sparing{}, r, asJSON); err != nil {
				return err
			}
		case stack.State == stacks.CreateRolledBack:
			o.say("the create of stack %s was rolled back: deleting the stack first", o.want.stack)
			if err := o.remove(ctx, p, o.want.stack, stack.ID, stacks.Sparing{}, r, asJSON); err != nil {
				return err
			}
		case !updatable(o.want.language, stack.State, o.want.disableRollback):
			r.take(stack)
			return notUpdatable(o.want, stack, p)
		default:
			o.noteKept(ctx, stack)
			changed, err := o.update(ctx, stack)
			if err != nil {
				return o.refused(ctx, err, false)
			}
			if changed {
				return o.follow(ctx, p, o.want.stack, stack.ID, "update", r, asJSON)
			}
			r.take(stack)
			if !asJSON {
				fmt.Fprintf(o.stdout, "stack %s: no changes (%s)\n", o.want.stack, stack.Status)
				o.printOutputs(stack)
			}
			return nil
		}
	}
}

// updatable reports whether a stack that is idle can be updated. One that was left as it failed is tried again, if it
// may be left so once more. Source: CloudFormation, stack status codes, stack failure options.
func updatable(l template.Language, state stacks.State, disableRollback bool) bool {
	if l == template.ROS && state == stacks.UpdateRollbackFailed {
		return true // it continues from there
	}
	if state == stacks.CreateFailed || state == stacks.UpdateFailed {
		return disableRollback
	}
	return state == stacks.Created || state == stacks.Updated || state == stacks.UpdateRolledBack
}

func notUpdatable(want desired, stack stacks.Stack, p place) error {
	return failed(fmt.Errorf("stack %s cannot be updated in status %s", want.stack, stack.Status),
		p.remedies(want.language, stack.State, nil))
}

const holdsOnlyChangeSets = "stack %s is empty: it has only change sets that were not executed"

func (o *rollout) create(ctx context.Context) (string, error) {
	o.begun = true
	o.agree()
	if len(o.want.again) > 0 {
		o.say("stack %s is created now: it needs no Update", o.want.stack)
	}
	return o.stacks.Create(ctx, o.want.submitted(nil))
}

// agree prints the capabilities that the command acknowledges for the user.
func (o *rollout) agree() {
	if t, err := o.want.parsed(); err == nil && t.Transforms() != nil {
		o.say("the template has transforms (%s): using CAPABILITY_AUTO_EXPAND and CAPABILITY_NAMED_IAM", strings.Join(t.Transforms(), ", "))
	}
}

// kept returns the parameters that keep their values if they are not given: those that both the stack and the template
// have.
func (o *rollout) kept(ctx context.Context, stack stacks.Stack) ([]string, error) {
	declared, err := o.stacks.Declared(ctx, o.want.template)
	if err != nil {
		return nil, err
	}
	var kept []string
	for _, name := range declared {
		if slices.ContainsFunc(stack.Parameters, func(p project.Pair) bool { return p.Name == name }) {
			kept = append(kept, name)
		}
	}
	return kept, nil
}

// update starts an update; false says that there was nothing to change.
func (o *rollout) update(ctx context.Context, stack stacks.Stack) (bool, error) {
	kept, err := o.kept(ctx, stack)
	if err != nil {
		return false, err
	}
	o.begun = true
	o.agree()
	if len(o.want.again) > 0 {
		if o.want.language != template.ROS || stack.State != stacks.CreateFailed {
			return true, o.updateAgain(ctx, stack.ID, kept)
		}
		o.say("the create of stack %s continues: it needs no Update", o.want.stack)
	}
	return o.stacks.Update(ctx, stack, o.want.submitted(kept))
}

// refused explains an operation that the engine did not take up.
func (o *rollout) refused(ctx context.Context, err error, isNew bool) error {
	message, ok := stacks.Refusal(err)
	if !ok {
		return err
	}
	if o.data == "" { // a local engine's template was checked before
		if err := o.want.check(ctx, o.shell, o.connection.region); err != nil {
			return err
		}
	}
	return o.want.refused(o.shell, message, isNew)
}
