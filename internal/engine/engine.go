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

// Config is what an engine needs. Store is required; zero fields mean what they say.
type Config struct {
	Store store.Store
	// Name is what this node is called among others, for people. Zero is "pintle".
	Name string
	// Alone says that no other process has the store open, so that whatever an earlier one left is free to take over.
	Alone bool
	// Dispatch takes requests that were committed and are ready to be delivered. It must not block; what it does not
	// take is found by [store.Store.Claim]. Nil leaves them all to Claim.
	Dispatch func([]store.Request)
	// Settled is notified of each request of a provider that a decision of this node has settled, once that is durable, and whether
	// an answer has settled it that the provider may have sent. It must not block. It may be notified again of one that was
	// settled before. Nil gets nothing.
	Settled func(id wire.RequestID, answered bool)
	// Serves reports whether this node has the process of a provider that is to be asked again. Among several nodes one that
	// has not leaves it to the others. Nil means that it has all.
	Serves func(wire.ServiceToken) bool
	// Reads reports whether the provider behind a token declares that it answers requests of the type Read for a resource type. It may
	// take seconds. Nil means that none does.
	Reads func(ctx context.Context, token wire.ServiceToken, resourceType string) bool
	// Fidelity is how closely to keep to the real service; zero is FidelityPintle.
	Fidelity Fidelity
	// CleanupPause is the time between two tries of a clean-up Delete; zero is 60 s.
	CleanupPause time.Duration
	// CancelledWait bounds how long a rollback waits for the answer of a request that it cancelled; zero is 5 minutes.
	CancelledWait time.Duration
	// MacroTimeout is how long a macro may take to return; zero is 15 minutes.
	MacroTimeout time.Duration
	// Snippet returns the text behind the location of an AWS::Include. The client gets its error. Nil knows none.
	Snippet func(ctx context.Context, location string) (string, error)
	// BeatEvery is how often the node says that it lives; zero is 2 s. Another node takes over after five missed beats, if it
	// has been there for as long itself.
	BeatEvery time.Duration
	// Linger is how long the mark that a request was delivered may be held back, so that marks share a commit and that of a request
	// answered meanwhile is never made: see [Outcome.AtOnce]. Zero holds back none.
	Linger time.Duration
	// Limits are how large a template may be that is submitted; zero fields are CloudFormation's quotas. Templates of stacks
	// that are there are read whatever their size.
	Limits template.Limits
	// Zones are what Fn::GetAZs returns for regions, by their names; of a region that is not among them there are three, a, b
	// and c. They are read when an operation starts. The map must not be changed afterwards.
	Zones map[string][]string
	// Native are the resource types that need no provider; nil is none.
	Native *native.Registry
	// Stored reads the parameter store for parameters whose type names it; nil has nothing.
	Stored Stored
	// NestedTemplate fetches templates for the change sets of nested stacks; nil makes none.
	NestedTemplate NestedTemplate
	// Hidden tells the secrets that requests were sent with and that are in no row; nil is none.
	Hidden Hidden
	// Upfront refuses an operation at the call if a custom resource has no ServiceToken, or a ServiceTimeout out of range. Otherwise,
	// and with FidelityAWS, such a resource fails when it has its turn.
	Upfront bool
	// UnknownTypes is what becomes of templates with resource types that nobody provides; zero is UnknownRefused.
	UnknownTypes UnknownTypes
	// RosIDChange is what becomes of an answer to an Update, in a stack of ROS, that has another id than the resource; zero is
	// IDChangeRefused.
	RosIDChange IDChange
	// NewID returns a new unique id, as a UUID; nil is random ones.
	NewID func() string
	Log   *slog.Logger
	// Observer is notified of what happens, to count it. Nil drops that.
	Observer Observer
}

// Engine runs stacks. All methods are safe for concurrent use. Its own methods are those that change a stack and those
// that take what providers report. The methods of the other subjects are promoted from their types.
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

// Open joins the store as a node and takes over what dead nodes left. The engine then accepts calls; its timers run
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
		settled:  cfg.Settled,
		stored:   cfg.Stored, nestedTemplate: cfg.NestedTemplate,
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
		e.observer = nobody{}
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	e.env = environment{
		fidelity:      cmp.Or(cfg.Fidelity, FidelityPintle),
		cleanupPause:  cmp.Or(cfg.CleanupPause, defaultCleanupPause),
		cancelledWait: cmp.Or(cfg.CancelledWait, defaultCancelledWait),
		macroTimeout:  cmp.Or(cfg.MacroTimeout, defaultMacroTimeout),
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
