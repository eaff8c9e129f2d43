// Package events is the local stand-in for Amazon EventBridge: rules with schedules that fire, on the default event bus.
//
// Rules and targets are in the catalog, so all nodes of a database have them and they survive kill -9. Each node looks for rules
// that are due; the one that moves the rule's next time in the store fires it, so a rule fires at most once for each time of its
// schedule. A node that dies at this moment loses that firing. A rule whose time passed while no node ran fires once, and not once
// for each time that it missed.
//
// Unless [Config.Exact], a rate rule that a function made fires after two seconds, and then at intervals that double up to the one
// of its schedule: such rules poll for the end of something, and a person at a laptop waits. It does not fire while its targets are
// still at work, for as long as the node lives that called them.
//
// Source: EventBridge API Reference, version 2015-10-07; EventBridge User Guide.
package events

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// Bounds. Source: EventBridge quotas, and API Reference, Target.
const (
	// MaxTargets is how many targets a rule may have.
	MaxTargets = 5
	// MaxRules is how many rules an account may have in a region.
	MaxRules = 300
	// MaxInput is how long the input of a target may be, in bytes; MaxExactInput with [Config.Exact].
	MaxInput      = 256 << 10
	MaxExactInput = 8192
)

// Intervals of a rule that polls, and how often a node looks for rules that others have made.
const (
	firstPoll = 2 * time.Second
	lookEvery = 30 * time.Second
	page      = 100
)

// Config is what rules are made of.
type Config struct {
	// Catalog has the rules. Required.
	Catalog *registry.Catalog
	// Send hands a payload to a target in the name of the account of a place, and calls ended, once, when the target is done with it.
	// An error means that it was not taken, and then ended is not called. Required.
	Send func(ctx context.Context, place registry.Scope, target registry.Target, payload []byte, ended func()) error
	// Alone says that no other node has the rules, so that none has to be looked for, and none can be at work at the start.
	Alone bool
	// Exact keeps every rule to its schedule and inputs to EventBridge's length.
	Exact bool
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Log gets what went wrong behind the scenes; nil discards it.
	Log *slog.Logger
}

// Rules are the rules of a catalog. Its methods may be called concurrently.
type Rules struct {
	config Config
	wake   chan struct{} // holds one
	sends  sync.WaitGroup
}

// New returns the rules of a catalog. Nothing fires before [Rules.Run].
func New(config Config) (*Rules, error) {
	if config.Catalog == nil || config.Send == nil {
		return nil, errors.New("rules: the catalog and what sends to targets are required")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Rules{config: config, wake: make(chan struct{}, 1)}, nil
}

// look has Run look at the rules again.
func (r *Rules) look() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run fires rules that are due until ctx ends. No goroutine of it is left when it returns. The error is always nil.
func (r *Rules) Run(ctx context.Context) error {
	defer r.sends.Wait()
	if r.config.Alone {
		r.recover(ctx)
	}
	for {
		next, err := r.fire(ctx)
		if err != nil && ctx.Err() == nil {
			r.config.Log.ErrorContext(ctx, "the rules of EventBridge could not be read", "error", err)
		}
		timer, stop := r.timer(next, err != nil)
		select {
		case <-ctx.Done():
			stop()
			return nil
		case <-r.wake:
		case <-timer:
		}
		stop()
	}
}

// timer returns what fires when the rules are to be looked at, nil for never.
func (r *Rules) timer(next time.Time, failed bool) (<-chan time.Time, func()) {
	wait := lookEvery
	switch {
	case !next.IsZero():
		if until := max(next.Sub(r.config.Now()), 0); r.config.Alone && !failed || until < wait {
			wait = until
		}
	case r.config.Alone && !failed:
		return nil, func() {}
	}
	timer := time.NewTimer(wait)
	return timer.C, func() { timer.Stop() }
}

// each calls do for every rule of all accounts.
func (r *Rules) each(ctx context.Context, do func(item) error) error {
	for after := ""; ; {
		list, err := r.config.Catalog.Rules.List(ctx, registry.Global, after, page)
		if err != nil {
			return err
		}
		for _, i := range list {
			if err := do(i); err != nil {
				return err
			}
			after = i.Name
		}
		if len(list) < page {
			return nil
		}
	}
}

// recover makes rules due whose targets were at work when the only node died.
func (r *Rules) recover(ctx context.Context) {
	err := r.each(ctx, func(i item) error {
		if !i.Of.Running {
			return nil
		}
		_, err := r.config.Catalog.Rules.Change(ctx, i.Scope, i.Name, func(i *item) error {
			i.Of.Running, i.Of.Next = false, r.config.Now()
			return nil
		})
		return err
	})
	if err != nil && ctx.Err() == nil {
		r.config.Log.ErrorContext(ctx, "rules of EventBridge that were interrupted could not be resumed", "error", err)
	}
}

// fire fires the rules that are due, and returns when the next one is; zero for never.
func (r *Rules) fire(ctx context.Context) (next time.Time, err error) {
	err = r.each(ctx, func(i item) error {
		due := i.Of.Next
		if !due.IsZero() && !due.After(r.config.Now()) {
			if due, err = r.claim(ctx, i); err != nil {
				return err
			}
		}
		if !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
		return nil
	})
	return next, err
}

// claim fires a rule that is due, unless another node does, and returns when it is due again.
func (r *Rules) claim(ctx context.Context, i item) (next time.Time, err error) {
	now := r.config.Now()
	schedule, err := ParseSchedule(i.Of.Schedule)
	if err != nil {
		return time.Time{}, nil //nolint:nilerr // it was checked when the rule was made, by a version that knew more
	}
	polls := r.polls(i.Of, schedule)
	i.Of.Next = schedule.Next(i.Of.Start, now)
	if polls {
		i.Of.Running, i.Of.Fired, i.Of.Next = true, i.Of.Fired+1, now.Add(schedule.Period)
	}
	claimed, err := r.config.Catalog.Rules.Put(ctx, i)
	switch {
	case errors.Is(err, registry.ErrChanged), errors.Is(err, registry.ErrNotFound):
		r.look() // it is another one now
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, err
	}
	r.sends.Go(func() { r.send(ctx, claimed, polls) })
	return claimed.Of.Next, nil
}

// polls reports whether a rule fires sooner than its schedule says.
func (r *Rules) polls(of registry.Rule, s Schedule) bool {
	return of.Poll && !r.config.Exact && s.Period > 0 && pollInterval(of.Fired) < s.Period
}

// pollInterval returns the interval after so many firings of a rule that polls.
func pollInterval(fired int) time.Duration { return firstPoll << min(fired, 20) }

// send calls the targets of a rule that has fired, and waits for them if it polls.
func (r *Rules) send(ctx context.Context, rule item, polls bool) {
	place := rule.Of.Place
	targets, err := r.targets(ctx, place, rule.Of.Name)
	if err != nil {
		r.config.Log.ErrorContext(ctx, "a rule of EventBridge could not fire", "rule", rule.Of.Name, "error", err)
	}
	happened := scheduled(rule.Of, r.config.Now())
	ended := make(chan struct{}, len(targets))
	for _, t := range targets {
		r.call(ctx, t, happened, sync.OnceFunc(func() { ended <- struct{}{} }))
	}
	if !polls {
		return
	}
	for range targets {
		select {
		case <-ended:
		case <-ctx.Done():
			return // the next run resumes it
		}
	}
	_, err = r.config.Catalog.Rules.Change(ctx, rule.Scope, rule.Name, func(i *item) error {
		if !i.Of.Running || i.Of.Fired != rule.Of.Fired {
			return errSettled // it was put or fired again
		}
		i.Of.Running = false
		if soon := r.config.Now().Add(pollInterval(i.Of.Fired)); i.Of.Next.After(soon) {
			i.Of.Next = soon
		}
		return nil
	})
	if err == nil {
		r.look()
	} else if !errors.Is(err, errSettled) && !errors.Is(err, registry.ErrNotFound) && ctx.Err() == nil {
		r.config.Log.ErrorContext(ctx, "a rule of EventBridge keeps its schedule only", "rule", rule.Of.Name, "error", err)
	}
}

// errSettled says that a rule was changed meanwhile.
var errSettled = errors.New("the rule was changed")
