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

// The commands in this file get a stack out of a state in which it is stuck: each brings it back to what it was before.

// rescue is one of them.
type rescue struct {
	changeOptions
	verb string
	// meant says which stacks it is for.
	meant string
	// call asks the service for it; token is the request's own.
	call func(ctx context.Context, s *session, id, token string) error
}

func (a *app) rescueCommand(r *rescue, cmd *cobra.Command) *cobra.Command {
	cmd.Use, cmd.Args = r.verb+" [DIR]", cobra.MaximumNArgs(1)
	cmd.RunE = a.command(func(ctx context.Context, args []string) error { return a.rescue(ctx, r, first(args)) })
	r.changeOptions.flags(cmd)
	return cmd
}

func (a *app) cancelCommand() *cobra.Command {
	r := &rescue{verb: "cancel", meant: "there is an update under way to be cancelled only in UPDATE_IN_PROGRESS"}
	r.call = func(ctx context.Context, s *session, id, token string) error {
		return s.stacks.Cancel(ctx, id, token)
	}
	return a.rescueCommand(r, &cobra.Command{
		Short: "Cancel an update that is under way, and watch it rolled back",
		Long: `Cancel the update of the stack that DIR/pintle.yaml describes (DIR: the current
folder), or of the one that --stack names, and watch it rolled back. What
providers are at is waited for, five minutes at most, so that what they made can
be undone; "pintle respond" answers for one that hangs.`,
	})
}

func (a *app) continueCommand() *cobra.Command {
	r := &rescue{verb: "continue", meant: "there is a rollback to be continued only in UPDATE_ROLLBACK_FAILED"}
	var skip stacks.Skipping
	r.call = func(ctx context.Context, s *session, id, token string) error {
		return s.stacks.Continue(ctx, id, token, skip)
	}
	cmd := a.rescueCommand(r, &cobra.Command{
		Short: "Go on with a rollback that failed, and watch it",
		Long: `Go on with the rollback of an update that could not be rolled back: of the stack
that DIR/pintle.yaml describes (DIR: the current folder), or of the one that
--stack names. Fix the provider first; what is not yet as it was is asked of it
again.

--skip takes a resource whose rollback failed as rolled back, without asking its
provider: from then on the stack goes by the old template, whatever the resource
really is. --force does so with all of those, and with whichever fails now.

A stack of ROS goes on with its create (ContinueCreateStack): what failed, and what
depends on that, is created anew; with --force it is dropped.`,
	})
	cmd.Flags().StringSliceVar(&skip.Skip, "skip", nil, "logical `ID` of a resource to be taken as rolled back; may be repeated")
	cmd.Flags().BoolVar(&skip.Force, "force", false, "take everything that cannot be rolled back as rolled back")
	cmd.MarkFlagsMutuallyExclusive("skip", "force")
	return cmd
}

func (a *app) rollbackCommand() *cobra.Command {
	r := &rescue{verb: "rollback", meant: "it is for a stack that was left as it failed, in CREATE_FAILED or UPDATE_FAILED"}
	r.call = func(ctx context.Context, s *session, id, token string) error {
		return s.stacks.Rollback(ctx, id, token)
	}
	return a.rescueCommand(r, &cobra.Command{
		Short: "Roll back a stack that was left as it failed, and watch it",
		Long: `Roll back the stack that DIR/pintle.yaml describes (DIR: the current folder), or
the one that --stack names, after a deploy with --disable-rollback has failed: an
update is undone, and what a create has made is deleted.`,
	})
}

func (a *app) rescue(ctx context.Context, r *rescue, dir string) error {
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
	c.functions = true // those that are there were allowed when they were made
	if r.endpoint == "" && !node.Exists(c.data) {
		return a.conclude(c.result, c.asJSON, nothingThere(name, a.short(c.data)))
	}
	return a.carryOut(ctx, c, func(s *session) error { return s.rescue(ctx, r, c, list) })
}

// rescue asks for what a command is for, unless it is under way already, and watches it.
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
		s.app.say("stack %s is being rolled back already (%s): watching that", name, status)
		return s.follow(ctx, c.place, name, id, r.verb, c.result, c.asJSON)
	}
	s.begun = true
	err = r.call(ctx, s, id, rand.Text())
	if message, ok := stacks.Refusal(err); ok {
		c.result.take(stack)
		return failed(fmt.Errorf("stack %s is in %s: %s", name, status, message), r.meant)
	} else if err != nil {
		return err
	}
	action := r.verb
	if s.language == template.ROS && action == "continue" {
		action = "create" // which is what it is gone on with there
	}
	return s.follow(ctx, c.place, name, id, action, c.result, c.asJSON)
}

// mostSpared is how many resources a hint names; beyond that it is all of them.
const mostSpared = 5

const disableRollbackFlag = " --disable-rollback"

// remedies says what can be done about a stack that is stuck; empty if it is not.
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
			return "fix it, then go on with: " + again + "\nor clear it away with: " + p.again("delete")
		}
		return "fix it, then try again with: " + again + "\nor roll it back with: " + p.again("rollback") +
			"\nor clear it away with: " + p.again("delete")
	case stacks.CreateRollbackFailed:
		return "fix the provider, then clear it away with: " + p.again("delete")
	case stacks.UpdateRollbackFailed:
		if l == template.ROS { // which goes on from there
			return "fix the provider, then: " + p.again("deploy")
		}
		return "fix the provider, then: " + p.again("continue") +
			"\nor take what it cannot bring back for brought back: " + spare("continue", "skip")
	case stacks.DeleteFailed:
		if l == template.ROS && len(stuck(events)) > 0 { // where whatever fails has to be named
			return p.retry("delete") + "\nor leave behind what cannot be deleted: " + p.again("delete") + " --retain " + strings.Join(stuck(events), ",")
		}
		return p.retry("delete") + "\nor leave behind what cannot be deleted: " + spare("delete", "retain")
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
