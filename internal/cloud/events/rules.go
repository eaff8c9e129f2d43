// Package events is the local stand-in for Amazon EventBridge: rules with schedules that fire, on the default event
// bus.
//
// Rules and targets are in the catalog, so all nodes of a database share them and they survive kill -9. Each node
// looks for rules that are due. The node that updates the rule's next time in the store fires it, so a rule fires at
// most once for each time of its schedule. A node that dies at this moment loses that firing. If no node ran at the
// due time, the rule fires only once, even if it missed several times.
//
// Unless [Config.Exact], a rate rule created by a function fires after two seconds, and then at intervals that double
// up to the interval of its schedule. Such rules poll for the end of an operation, and the user is waiting. They do
// not fire while their targets are still running, as long as the node that called the targets is alive.
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

// Limits. Source: EventBridge quotas, and API Reference, Target.
const (
	// MaxTargets is the maximum number of targets of a rule.
	MaxTargets = 5
	// MaxRules is the maximum number of rules of an account in a region.
	MaxRules = 300
	// MaxInput is the maximum length of a target's input in bytes. With [Config.Exact] it is MaxExactInput.
	MaxInput      = 256 << 10
	MaxExactInput = 8192
)

// The first interval of a polling rule, and the interval at which a node looks for rules created by other nodes.
const (
	firstPoll = 2 * time.Second
	lookEvery = 30 * time.Second
	page      = 100
)

// Config configures [Rules].
type Config struct {
	// Catalog stores the rules. Required.
	Catalog *registry.Catalog
	// Send sends a payload to a target on behalf of the account of place. It calls ended once, when the target has
	// processed the payload. If Send returns an error, the target did not accept the payload and ended is not called.
	// Required.
	Send func(ctx context.Context, place registry.Scope, target registry.Target, payload []byte, ended func()) error
	// Alone means that this is the only node. It then need not look for rules of other nodes, and no target is
	// running at the start.
	Alone bool
	// Exact disables polling, and limits inputs to EventBridge's length.
	Exact bool
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Log gets background errors. Nil discards them.
	Log *slog.Logger
}

// Rules are the rules of a catalog. Its methods are safe for concurrent use.
type Rules struct {
	config Config
	wake   chan struct{} // holds one
	sends  sync.WaitGroup
}

// New returns the rules of a catalog. No rule fires before [Rules.Run].
func New(config Config) (*Rules, error) {
	if config.Catalog == nil || config.Send == nil {
		return nil, errors.New("rules: the catalog and a sender to targets are required")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Rules{config: config, wake: make(chan struct{}, 1)}, nil
}

// look makes Run check the rules again.
func (r *Rules) look() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run fires rules that are due until ctx ends. No goroutine is left when it returns. The error is always nil.
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

// timer returns a channel that receives when the rules must be checked again, or nil for never.
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

// recover makes rules due whose targets were running when the only node died.
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

// fire fires the rules that are due, and returns the next time one is due, or zero for never.
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

// claim fires a rule that is due, unless another node does, and returns when the rule is due again.
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
		r.look() // the rule has changed
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, err
	}
	r.sends.Go(func() { r.send(ctx, claimed, polls) })
	return claimed.Of.Next, nil
}

// polls reports whether a rule fires sooner than its schedule.
func (r *Rules) polls(of registry.Rule, s Schedule) bool {
	return of.Poll && !r.config.Exact && s.Period > 0 && pollInterval(of.Fired) < s.Period
}

// pollInterval returns the interval of a polling rule after a number of firings.
func pollInterval(fired int) time.Duration { return firstPoll << min(fired, 20) }

// send calls the targets of a rule that fired. If the rule polls, send waits for them.
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
			return errSettled // the rule was updated or fired again
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

// errSettled means that a rule changed meanwhile.
var errSettled = errors.New("the rule was changed")
