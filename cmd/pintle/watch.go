package main

import (
	"context"
	"errors"
	"time"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
)

// The intervals for polling an engine: short while events arrive, longer while it is idle.
const (
	fastest = 30 * time.Millisecond
	slowest = 500 * time.Millisecond
	redraw  = 200 * time.Millisecond // of a table, whose clocks run
)

// mostLosses is how often in a row an engine may be gone before that is an error.
const mostLosses = 5

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// course is an operation as it was watched to its end.
type course struct {
	stack  stacks.Stack
	events []stacks.Event // from the operation's first to its last
}

// heartbeat is the interval between lines about pending requests.
const heartbeat = 30 * time.Second

// watch shows the newest operation of a stack from its beginning to its end. name is the name of the stack for people. If ctx ends
// before the operation, the error is that of ctx and the course has the events so far.
func (s *session) watch(ctx context.Context, p place, name, stackID string, asJSON bool) (course, error) {
	w := s.watcher(name, asJSON)
	defer w.End()
	s.begun = true
	c := course{}
	seen, wait, lastWait, losses := "", fastest, slowest, 0
	if s.screen != nil {
		lastWait = redraw
	}
	for {
		stack, fresh, waiting, err := s.look(ctx, p, name, stackID, seen)
		switch {
		case ctx.Err() != nil:
			return c, ctx.Err()
		case stacks.Lost(err) && s.client() && losses < mostLosses:
			// The engine belonged to another command, which has finished. The first command to take over continues
			// its work.
			losses++
			if err := s.connect(ctx); err != nil {
				return c, err
			}
			continue
		case err != nil:
			return c, err
		}
		c.stack, losses = stack, 0
		if len(fresh) > 0 {
			c.events = append(c.events, fresh...)
			seen, wait = fresh[len(fresh)-1].ID, fastest
			w.Events(shown(fresh))
		}
		w.Tick(s.now(), waiting)
		if stack.State != stacks.Working {
			return c, nil
		}
		if err := pause(ctx, wait); err != nil {
			return c, err
		}
		wait = min(wait*3/2, lastWait)
	}
}

// look asks once: for the stack first, so that the events of a final status are all there.
func (s *session) look(ctx context.Context, p place, name, stackID, seen string) (
	stack stacks.Stack, fresh []stacks.Event, waiting []display.Waiting, err error,
) {
	if stack, err = s.stacks.Stack(ctx, stackID); err != nil {
		return stack, nil, nil, err
	}
	if fresh, err = s.stacks.Events(ctx, stackID, seen, begins); err != nil {
		return stack, nil, nil, err
	}
	if stack.State == stacks.Working {
		waiting = s.waiting(ctx, p, name, stackID)
	}
	return stack, fresh, waiting, nil
}

// watcher returns the display of an operation: a table on a terminal, lines elsewhere. With JSON on stdout lines go to
// stderr.
func (t *terminal) watcher(stack string, asJSON bool) display.Watcher {
	out := t.stdout
	switch {
	case asJSON:
		out = t.stderr
	case t.screen != nil:
		return display.NewTable(t.stdout, t.screen, stack)
	}
	lines := display.NewLines(out, time.Local)
	lines.Heartbeat = heartbeat
	return lines
}

// interrupted is how a command ends that was asked to stop while it watched.
func (s *session) interrupted(p place, verb, stack string) error {
	if !s.begun {
		return failed(errors.New("stopped before anything started"))
	}
	if s.here == nil {
		return failed(errors.New("detached: the operation continues at "+s.url), "watch it with: "+p.look("events", stack)+" --follow")
	}
	return failed(errors.New("stopped: the operation is saved in "+s.short(s.data)),
		"resume it with: "+p.again(verb))
}
