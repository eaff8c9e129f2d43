package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/language/template"
)

// The commands in this file recover a stuck stack: each returns it to its previous state.

// rescue is one of them.
type rescue struct {
	changeOptions
	verb string
	// meant says which stacks it is for.
	meant string
	// call asks the service for it; token is the request's own.
	call func(ctx context.Context, s *session, id, token string) error
}

func (a *changeCommands) rescueCommand(r *rescue, cmd *cobra.Command) *cobra.Command {
	cmd.Use, cmd.Args = r.verb+" [DIR | STACK]", cobra.MaximumNArgs(1)
	cmd.RunE = runE(func(ctx context.Context, args []string) error { return a.rescue(ctx, r, first(args)) })
	r.changeOptions.flags(cmd)
	r.engineFlags(cmd)
	cmd.ValidArgsFunction = a.complete.stack
	return cmd
}

func (a *changeCommands) cancelCommand() *cobra.Command {
	r := &rescue{verb: "cancel", meant: "only an update in UPDATE_IN_PROGRESS can be cancelled"}
	r.call = func(ctx context.Context, s *session, id, token string) error {
		return s.stacks.Cancel(ctx, id, token)
	}
	return a.rescueCommand(r, &cobra.Command{
		Short: "Cancel an update in progress and watch its rollback",
		Long: `Cancel the update of the stack described in DIR/pintle.yaml (default: the current
directory), or of the one named with --stack, and watch its rollback. Pintle waits up
to five minutes for requests in progress, so that it can undo their changes. To answer
for a provider that hangs, run "pintle respond".`,
	})
}

func (a *changeCommands) continueCommand() *cobra.Command {
	r := &rescue{verb: "continue", meant: "only a rollback in UPDATE_ROLLBACK_FAILED can be continued"}
	var skip stacks.Skipping
	r.call = func(ctx context.Context, s *session, id, token string) error {
		return s.stacks.Continue(ctx, id, token, skip)
	}
	cmd := a.rescueCommand(r, &cobra.Command{
		Short: "Continue a failed rollback and watch its progress",
		Long: `Continue the failed rollback of an update: of the stack described in DIR/pintle.yaml
(default: the current directory), or of the one named with --stack. Fix the provider
first. Pintle then repeats the requests that have not succeeded.

--skip treats a resource whose rollback failed as rolled back, without calling its
provider. From then on the stack assumes the old template, whatever the real state of
the resource. --force skips all such resources, and every one that fails from now on.

A ROS stack continues its create (ContinueCreateStack): failed resources, and those
that depend on them, are created again. With --force they are dropped.`,
	})
	cmd.Flags().StringSliceVar(&skip.Skip, "skip", nil, "logical `ID` of a resource to treat as rolled back; may be repeated")
	cmd.Flags().BoolVar(&skip.Force, "force", false, "treat every resource that cannot be rolled back as rolled back")
	cmd.MarkFlagsMutuallyExclusive("skip", "force")
	a.complete.ids(cmd, "skip")
	return cmd
}

func (a *changeCommands) rollbackCommand() *cobra.Command {
	r := &rescue{verb: "rollback", meant: "only a failed stack in CREATE_FAILED or UPDATE_FAILED can be rolled back"}
	r.call = func(ctx context.Context, s *session, id, token string) error {
		return s.stacks.Rollback(ctx, id, token)
	}
	return a.rescueCommand(r, &cobra.Command{
		Short: "Roll back a failed stack and watch its progress",
		Long: `Roll back the stack described in DIR/pintle.yaml (default: the current directory), or
the one named with --stack, after a failed deploy with --disable-rollback. An update is
undone, and the resources of a create are deleted.`,
	})
}

func (a *changeCommands) rescue(ctx context.Context, r *rescue, dir string) error {
	c, err := a.change(r.verb, &r.changeOptions, dir)
	if err != nil {
		return err
	}
	name, err := c.stack(r.stack)
	if err != nil {
		return err
	}
	list, err := a.remaining(c.place, r.changeOptions)
	if err != nil {
		return err
	}
	c.result = &result{Stack: name, Action: "none"}
	if err := a.engine(&c, &r.changeOptions); err != nil {
		return err
	}
	if r.endpoint == "" && !node.Exists(c.data) {
		return a.conclude(c.result, c.asJSON, nothingThere(name, a.short(c.data)))
	}
	return a.carryOut(ctx, c, func(s *session) error { return s.rescue(ctx, r, c, list) })
}

// rescue starts the operation of a command, unless it is in progress already, and watches it.
func (s *session) rescue(ctx context.Context, r *rescue, c change, list []provided) error {
	name := c.result.Stack
	if err := s.find(ctx, c.place, name); err != nil {
		return err
	}
	stack, err := s.stacks.Stack(ctx, name)
	if errors.Is(err, stacks.ErrNone) {
		return noStack(name)
	} else if err != nil {
		return err
	}
	if err := s.provide(ctx, list); err != nil {
		return err
	}
	id, status := stack.ID, stack.Status
	if stack.State == stacks.Working && strings.Contains(status, "ROLLBACK") {
		s.say("stack %s is already being rolled back (%s): watching its progress", name, status)
		return s.follow(ctx, c.place, name, id, r.verb, c.result, c.asJSON)
	}
	s.begun = true
	err = r.call(ctx, s, id, rand.Text())
	if message, ok := stacks.Refusal(err); ok {
		c.result.take(stack)
		meant := r.meant
		if s.language == template.ROS && r.verb == "continue" {
			meant = "only a create in CREATE_FAILED can be continued"
		}
		return failed(fmt.Errorf("stack %s is in %s: %s", name, status, message), meant)
	} else if err != nil {
		return err
	}
	action := r.verb
	if s.language == template.ROS && action == "continue" {
		action = "create" // ROS continues the create
	}
	return s.follow(ctx, c.place, name, id, action, c.result, c.asJSON)
}

// mostSpared is how many resources a hint names; beyond that it is all of them.
const mostSpared = 5

const disableRollbackFlag = " --disable-rollback"

// remedies returns the commands that recover a stuck stack, or "" for other stacks.
func (p place) remedies(l template.Language, state stacks.State, events []stacks.Event) string {
	spare := func(verb, flag string) string {
		ids := stuck(events)
		if len(ids) == 0 || len(ids) > mostSpared {
			return p.again(verb) + " --force"
		}
		return p.again(verb) + " --" + flag + " " + strings.Join(ids, ",")
	}
	switch state {
	case stacks.CreateFailed, stacks.UpdateFailed:
		again := p.again("deploy")
		if !strings.Contains(again, disableRollbackFlag) {
			again += disableRollbackFlag
		}
		if l == template.ROS { // which rolls nothing back later
			return "fix it, then continue with: " + again + "\nor delete the stack: " + p.again("delete")
		}
		return "fix it, then retry: " + again + "\nor roll it back: " + p.again("rollback") +
			"\nor delete the stack: " + p.again("delete")
	case stacks.CreateRollbackFailed:
		return "fix the provider, then delete the stack: " + p.again("delete")
	case stacks.UpdateRollbackFailed:
		if l == template.ROS { // which continues from there
			return "fix the provider, then run: " + p.again("deploy")
		}
		return "fix the provider, then run: " + p.again("continue") +
			"\nor skip the resources that cannot be rolled back: " + spare("continue", "skip")
	case stacks.DeleteFailed:
		if l == template.ROS && len(stuck(events)) > 0 { // where whatever fails has to be named
			return p.retry("delete") + "\nor leave behind resources that cannot be deleted: " + p.again("delete") + " --retain " + strings.Join(stuck(events), ",")
		}
		return p.retry("delete") + "\nor leave behind resources that cannot be deleted: " + spare("delete", "retain")
	case stacks.Other, stacks.Working, stacks.InReview, stacks.Created, stacks.CreateRolledBack, stacks.Updated, stacks.UpdateRolledBack, stacks.Deleted:
	}
	return ""
}

// stuck returns the resources at which the newest rollback or delete has failed.
func stuck(events []stacks.Event) (ids []string) {
	last := map[string]stacks.Event{}
	for _, e := range events {
		if e.Own {
			if strings.HasSuffix(e.Status, "ROLLBACK_IN_PROGRESS") {
				clear(last)
			}
			continue
		}
		last[e.Logical] = e
	}
	for _, id := range sortedKeys(last) {
		if strings.HasSuffix(last[id].Status, "_FAILED") {
			ids = append(ids, id)
		}
	}
	return ids
}
