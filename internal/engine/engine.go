package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Config is the configuration of an engine. Store is required. Each field documents its zero value.
type Config struct {
	Store store.Store
	// Name is this node's display name. The default is "pintle".
	Name string
	// Alone means that no other process has the store open, so the engine can take over everything that an earlier
	// process left.
	Alone bool
	// Dispatch accepts committed requests that are ready for delivery. It must not block. [store.Store.Claim] finds
	// those that it does not accept. Nil leaves all of them to Claim.
	Dispatch func([]store.Request)
	// Settled is called for each provider request that a decision of this node settled, after the commit. answered
	// reports whether an answer settled it, which the provider may have sent. Settled must not block, and may be
	// called again for an earlier request. Nil is not called.
	Settled func(id wire.RequestID, answered bool)
	// Serves reports whether this node runs the process of a provider to poll. Among several nodes, a node without
	// the process leaves the polling to the others. Nil means that this node runs all of them.
	Serves func(wire.ServiceToken) bool
	// Reads returns the resource types for which the provider behind a token declares that it answers Read requests.
	// It may take seconds, and is called from many goroutines. An error means that the provider could not be asked. Its
	// text is shown to users. Nil means that no provider does.
	Reads func(ctx context.Context, token wire.ServiceToken) (DeclaredTypes, error)
	// Plans asks providers what they would do, for change sets and previews; nil asks none. PlanWithin bounds the time for all
	// providers of one plan; zero is 20 s.
	Plans      ProviderPlans
	PlanWithin time.Duration
	// Fidelity is the fidelity to the real service; the default is FidelityPintle.
	Fidelity Fidelity
	// CleanupPause is the time between two attempts of a clean-up Delete; the default is 60 s.
	CleanupPause time.Duration
	// CancelledWait bounds how long a rollback waits for the answer to a request that it cancelled; the default is 5
	// minutes.
	CancelledWait time.Duration
	// MacroTimeout is the time limit of a macro; the default is 15 minutes.
	MacroTimeout time.Duration
	// Serverless is set if the receiver of requests expands [template.Serverless], as the macro [store.ServedMacro] of
	// this name. Otherwise templates that use it are rejected.
	Serverless bool
	// Snippet returns the text at the location of an AWS::Include. The client gets its error. Nil finds none.
	Snippet func(ctx context.Context, location string) (string, error)
	// BeatEvery is the interval of the node's heartbeats; the default is 2 s. Another node takes over after five
	// missed heartbeats, if it has itself been running for that long.
	BeatEvery time.Duration
	// Linger is the maximum delay of the mark that a request was delivered. Delayed marks share a commit, and a
	// request that is answered in the meantime needs no mark: see [Outcome.AtOnce]. Zero disables the delay.
	Linger time.Duration
	// Limits are the size limits for submitted templates; zero fields mean CloudFormation's quotas. They do not apply
	// to the templates of existing stacks.
	Limits template.Limits
	// Zones are the results of Fn::GetAZs by region. A region that is not listed has three zones, a, b and c. The
	// engine reads them when an operation starts. The map must not be changed afterwards.
	Zones map[string][]string
	// Native are the resource types that need no provider; nil means none.
	Native *native.Registry
	// Stored reads the parameter store for parameters whose type refers to it. With nil the store is empty.
	Stored Stored
	// NestedTemplate fetches templates for the change sets of nested stacks; nil plans none.
	NestedTemplate NestedTemplate
	// Hidden returns the secrets that requests were sent with and that no row contains; nil means none.
	Hidden Hidden
	// Upfront rejects an operation at the call if a custom resource has no ServiceToken, or a ServiceTimeout out of
	// range. Without it, or with FidelityAWS, such a resource fails when the operation reaches it.
	Upfront bool
	// UnknownTypes is the handling of resource types without a provider; the default is UnknownRefused.
	UnknownTypes UnknownTypes
	// RosIDChange is the handling, in ROS stacks, of an answer to an Update with an ID other than the resource's; the
	// default is IDChangeRefused.
	RosIDChange IDChange
	// NewID returns a new unique ID, as a UUID; nil generates random ones.
	NewID func() string
	Log   *slog.Logger
	// Observer is notified of events for metrics. Nil is not notified.
	Observer Observer
}

// Engine runs stacks. All methods are safe for concurrent use. Its own methods change stacks and accept the reports
// of providers. The methods of the other subjects are promoted from their types.
type Engine struct {
	*runner
	Queries
	Checker
	Planner
	StateMachines
	Reading
	owners

	hidden Hidden
	linger linger

	members   membership
	deadlines deadlines
}

// Open joins the store as a node and takes over the work of dead nodes. The engine then accepts calls. Its timers run
// while [Engine.Run] does.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	if cfg.Store == nil {
		return nil, errors.New("engine: no store")
	}
	run := &runner{
		store:    cfg.Store,
		dispatch: cfg.Dispatch,
		serves:   cfg.Serves,
		reads:    cfg.Reads,
		plans:    cfg.Plans, planWithin: cmp.Or(cfg.PlanWithin, defaultPlanWithin),
		settled: cfg.Settled,
		stored:  cfg.Stored, nestedTemplate: cfg.NestedTemplate,
		snippet:  cfg.Snippet,
		log:      cfg.Log,
		beat:     cmp.Or(cfg.BeatEvery, 2*time.Second),
		wake:     make(chan struct{}, 1),
		observer: cfg.Observer,
	}
	e := &Engine{
		runner: run, Queries: Queries{run}, Checker: Checker{run}, Planner: Planner{run}, StateMachines: StateMachines{run},
		Reading: Reading{run},
		owners:  owners{run},
		hidden:  cfg.Hidden,
		members: membership{runner: run, name: cmp.Or(cfg.Name, "pintle")},
	}
	e.deadlines = deadlines{runner: run, nested: nestedStacks{e}}
	run.attendSoon = nestedStacks{e}.attendSoon
	if e.observer == nil {
		e.observer = noObserver{}
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	e.env = environment{
		fidelity:      cmp.Or(cfg.Fidelity, FidelityPintle),
		cleanupPause:  cmp.Or(cfg.CleanupPause, defaultCleanupPause),
		cancelledWait: cmp.Or(cfg.CancelledWait, defaultCancelledWait),
		macroTimeout:  cmp.Or(cfg.MacroTimeout, defaultMacroTimeout),
		serverless:    cfg.Serverless,
		native:        cfg.Native,
		upfront:       cfg.Upfront,
		serves:        cfg.Serves,
		zones:         cfg.Zones,
		readers:       cfg.Reads != nil,
		unknownTypes:  cfg.UnknownTypes,
		rosIDChange:   cmp.Or(cfg.RosIDChange, IDChangeRefused),
		node:          e.Node,
		newID:         cfg.NewID,
	}
	e.env.parsed.limits = cfg.Limits
	e.linger.atMost = cfg.Linger
	if e.env.newID == nil {
		e.env.newID = uuid.NewString
		e.env.random = randomName
	} else {
		e.env.random = func(n int) string { return nameFrom(cfg.NewID(), n) }
	}
	if err := e.members.join(ctx); err != nil {
		return nil, err
	}
	silent := never // see silence
	if cfg.Alone {
		silent = 0
	}
	taken, err := e.store.Reap(ctx, e.Node(), silent)
	if err != nil {
		return nil, fmt.Errorf("take over what earlier nodes left: %w", err)
	}
	if taken > 0 {
		e.observer.TookOver(taken)
	}
	return e, nil
}
