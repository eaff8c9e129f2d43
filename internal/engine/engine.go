// Package engine drives stacks: it decides what is asked of whom and what an answer means, and never dials out.
//
// The heart is a pure state machine: a decision takes the rows of a stack and something that happened, and returns rows
// to write and requests to send (machine.go, launch.go, settle.go, phase.go, start.go). [Engine] feeds it: each method
// that changes something is one [store.Store.Apply], and only after its commit are the requests handed to Dispatch, the
// answer acknowledged, the caller told. So an acknowledged answer is never lost and a request is never forgotten: what
// was not handed over when the process died is found in the table.
//
// How services call things is a [Dialect]; docs/states.md is generated from its table.
package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/base/trace"
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
	// Settled is told of each request of a provider that a decision of this node has settled, once that is durable, and whether
	// an answer has settled it that the provider may have sent. It must not block. It may be told again of one that was settled
	// before. Nil is told nothing.
	Settled func(id wire.RequestID, answered bool)
	// Serves reports whether this node has the process of a provider that is to be asked again. Among several nodes one that
	// has not leaves it to the others. Nil means that it has all.
	Serves func(wire.ServiceToken) bool
	// Fidelity is how closely to keep to the real service; zero is FidelityPintle.
	Fidelity Fidelity
	// CleanupPause is the time between two tries of a clean-up Delete; zero is 60 s.
	CleanupPause time.Duration
	// CancelledWait bounds how long a rollback waits for the answer of a request that it cancelled; zero is 5 minutes.
	CancelledWait time.Duration
	// MacroTimeout is how long a macro may take to return; zero is 15 minutes.
	MacroTimeout time.Duration
	// Snippet returns the text behind the location of an AWS::Include. Its error is told to the client. Nil knows none.
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
	// Observer is told of what happens, for those who count it; nil is nobody.
	Observer Observer
}

// Engine runs stacks. All methods are safe for concurrent use.
type Engine struct {
	env            environment
	store          store.Store
	dispatch       func([]store.Request)
	serves         func(wire.ServiceToken) bool
	settled        func(id wire.RequestID, answered bool)
	stored         Stored
	hidden         Hidden
	nestedTemplate NestedTemplate
	snippet        func(context.Context, string) (string, error)
	log            *slog.Logger
	observer       Observer
	node           atomic.Int64
	beat           time.Duration
	// wake tells Run that something may be due earlier than it thought, and looks is the deadline that it waits for, in
	// milliseconds since 1970 by the store's clock: what comes later need not wake it.
	wake  chan struct{}
	looks atomic.Int64
	name  string

	// Only Run's beats use these: when this node beat last, and from when on it may say of others that they are dead.
	lastBeat, judgeFrom time.Time

	// Only Run's timers use it: how many due requests to look at.
	dueLimit int

	turns  turns
	linger linger
}

// Open joins the store as a node and takes over what dead nodes left. The engine then accepts calls; its timers run
// while [Engine.Run] does.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	if cfg.Store == nil {
		return nil, errors.New("engine: no store")
	}
	e := &Engine{
		store:    cfg.Store,
		dispatch: cfg.Dispatch,
		serves:   cfg.Serves,
		settled:  cfg.Settled,
		stored:   cfg.Stored, nestedTemplate: cfg.NestedTemplate,
		hidden:   cfg.Hidden,
		snippet:  cfg.Snippet,
		log:      cfg.Log,
		beat:     cmp.Or(cfg.BeatEvery, 2*time.Second),
		wake:     make(chan struct{}, 1),
		name:     cmp.Or(cfg.Name, "pintle"),
		observer: cfg.Observer,
	}
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
	if err := e.join(ctx); err != nil {
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

// Node returns the incarnation under which this engine owns requests.
func (e *Engine) Node() store.Incarnation { return store.Incarnation(e.node.Load()) }

func (e *Engine) join(ctx context.Context) error {
	node, err := e.store.Join(ctx, e.name)
	if err != nil {
		return fmt.Errorf("join the store: %w", err)
	}
	e.node.Store(int64(node))
	return nil
}

// Create starts the creation of a stack. Errors that the client can fix are of type [Error].
func (e *Engine) Create(ctx context.Context, in CreateStack) (Started, error) {
	dialect := dialectFor(in.Dialect, Ref{})
	s, err := e.submit(ctx, dialect, in.Name.Account, in.Name.Region, in.Template)
	if err == nil {
		err = s.acknowledged(dialect, in.Capabilities)
	}
	if err == nil {
		err = inDialect(dialect, checkPolicies(in.Policy))
	}
	if err != nil {
		return Started{}, err
	}
	key, err := newKey()
	if err != nil {
		return Started{}, err
	}
	id := dialect.stackID(in.Name, e.env.newID())
	var started Started
	err = e.with(ctx, s, func() (err error) {
		started, err = e.start(ctx, store.Target{Name: in.Name}, func(m *machine) error {
			m.become(dialect)
			return m.startCreate(&in, s, key, id)
		})
		return err
	})
	return started, err
}

// Update starts an update. Errors that the client can fix are of type [Error].
func (e *Engine) Update(ctx context.Context, in UpdateStack) (Started, error) {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return Started{}, err
	}
	if err := checkPolicies(in.Policy, in.PolicyDuring); err != nil {
		return Started{}, inDialect(in.Stack.dialect(), err)
	}
	var s *submission // nil: the previous one
	if !in.UsePrevious {
		if s, err = e.submit(ctx, in.Stack.dialect(), in.Stack.Account, in.Stack.Region, in.Template); err != nil {
			return Started{}, err
		}
		if err := s.acknowledged(in.Stack.dialect(), in.Capabilities); err != nil {
			return Started{}, err
		}
	}
	var started Started
	err = e.with(ctx, s, func() (err error) {
		started, err = e.start(ctx, target, func(m *machine) error { return m.startUpdate(&in, s) })
		return err
	})
	return started, err
}

// CancelUpdate cancels an update that is under way, and rolls it back. Errors that the client can fix are of type [Error].
func (e *Engine) CancelUpdate(ctx context.Context, in CancelUpdate) error {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return err
	}
	return e.apply(ctx, target, func(m *machine) error { return m.startCancel(&in) })
}

// ContinueRollback goes on with the rollback of an update that could not be rolled back. Errors that the client can fix
// are of type [Error].
func (e *Engine) ContinueRollback(ctx context.Context, in ContinueRollback) (Started, error) {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return Started{}, err
	}
	return e.start(ctx, target, func(m *machine) error { return m.startContinue(&in) })
}

// Delete starts a delete. A stack that was deleted, or is being deleted already, is no error, and in CloudFormation one that never
// was is none either. Errors that the client
// can fix are of type [Error].
func (e *Engine) Delete(ctx context.Context, in DeleteStack) (Started, error) {
	stack, err := e.Find(ctx, in.Stack)
	if errors.Is(err, store.ErrNotFound) && in.Stack.dialect() == CloudFormation {
		return Started{}, nil
	} else if errors.Is(err, store.ErrNotFound) {
		return Started{}, noStack(in.Stack)
	} else if err != nil {
		return Started{}, err
	}
	if err := e.checkRoot(ctx, &stack); err != nil {
		return Started{}, err
	}
	nested, err := e.nestedOf(ctx, stack.Key, "")
	if err != nil {
		return Started{}, err
	}
	started, err := e.start(ctx, store.Target{Stack: stack.Key}, func(m *machine) error { return m.startDelete(&in) })
	if err == nil {
		e.dropNested(ctx, nested)
	}
	return started, err
}

// Rollback rolls back a stack whose create or update failed and was left as it was. Errors that the client can fix are of
// type [Error].
func (e *Engine) Rollback(ctx context.Context, in RollbackStack) (Started, error) {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return Started{}, err
	}
	return e.start(ctx, target, func(m *machine) error { return m.startRollback(&in) })
}

// target finds the stack that a client wants changed.
func (e *Engine) target(ctx context.Context, ref Ref) (store.Target, error) {
	stack, err := e.Find(ctx, ref)
	if errors.Is(err, store.ErrNotFound) || (err == nil && !stack.Live) {
		return store.Target{}, noStack(ref)
	}
	return store.Target{Stack: stack.Key}, err
}

func (e *Engine) start(ctx context.Context, target store.Target, begin func(*machine) error) (Started, error) {
	var started Started
	err := e.apply(ctx, target, func(m *machine) error {
		if err := begin(m); err != nil {
			return err
		}
		started = Started{StackID: m.stack.ID, Operation: cmp.Or(m.again, m.op.ID)}
		return nil
	})
	return started, err
}

// Answer takes a response document that came by the response URL of a request. When it returns nil the answer is
// durable, whatever it says: an answer that is invalid, late or the second one is recorded, not refused. It returns
// [store.ErrNotFound] for a request that never was.
//
// body may be the beginning of a longer document: size is then its length, 0 if body is all there is.
func (e *Engine) Answer(ctx context.Context, id wire.RequestID, body []byte, size int) error {
	return e.Report(ctx, id, Outcome{Kind: Answered, Body: body, Size: size, Delivered: true})
}

// Report takes what became of a request's delivery. When it returns nil that is durable, or the request is settled and it says
// nothing any more. [Accepted] may take as long as [Config.Linger].
func (e *Engine) Report(ctx context.Context, id wire.RequestID, outcome Outcome) error {
	target := store.Target{Request: id, Alone: outcome.Kind == Accepted || isExecution(id)}
	if !isExecution(id) {
		e.hide(ctx, id, &outcome)
		if e.linger.lingers(&outcome) && e.linger.settled(ctx, id) {
			return nil
		}
	}
	void, settled := false, false
	err := e.apply(ctx, target, func(m *machine) error {
		_, err := m.settle(outcome)
		void = m.void
		r := m.requests[id]
		settled = outcome.Kind == Answered && (r == nil || r.State == store.RequestSettled)
		return err
	})
	if settled && err == nil {
		e.linger.settle(id)
	}
	if void && err == nil {
		e.log.Warn("what became of a sending is void: the request was sent before, or taken over by another node",
			"request", id, "outcome", outcome.Kind)
	}
	return err
}

// apply runs one decision, and hands over the requests it made once they are committed.
func (e *Engine) apply(ctx context.Context, target store.Target, decide func(*machine) error) error {
	var ready []store.Request
	var attend []wire.StackID
	var told []func(Observer)
	var settled []store.Request
	var earliest time.Time // of the deadlines that were set; zero if none was
	err := e.decide(ctx, target, func(view *store.View) (store.Delta, error) {
		ready, settled, earliest = nil, nil, zeroTime
		dialect := CloudFormation
		if view.Stack.Key != 0 {
			var err error
			if dialect, err = DialectOf(view.Stack.Dialect); err != nil {
				return store.Delta{}, err
			}
		}
		m := newMachine(&e.env, dialect, view)
		m.trace = string(trace.FromContext(ctx))
		if err := decide(m); err != nil {
			return store.Delta{}, inDialect(m.dialect, err)
		}
		m.note(ctx)
		delta, requests, err := m.result()
		m.tellOperation(&view.Operation, delta.Operation)
		ready, attend, told = requests, m.attend, m.notes
		for _, r := range delta.Requests {
			if !r.Due.IsZero() && (earliest.IsZero() || r.Due.Before(earliest)) {
				earliest = r.Due
			}
			if r.State == store.RequestSettled && r.Asks() && e.settled != nil {
				settled = append(settled, r)
			}
		}
		return delta, err
	})
	if err != nil {
		return err
	}
	for _, r := range settled { // first, so that what is sent next finds the process free
		e.settled(r.ID, r.Ending == Answered.String())
	}
	if len(ready) > 0 && e.dispatch != nil {
		e.dispatch(ready)
	}
	if !earliest.IsZero() && earliest.UnixMilli() < e.looks.Load() { // as it is after the commit
		e.wakeUp()
	}
	for _, tell := range told {
		tell(e.observer)
	}
	for _, id := range attend {
		e.attendSoon(Noted(ctx, ""), id) // which is about other stacks
	}
	return nil
}

// dialectFor is the dialect of what a client asks for: the one that it names, or that of the stack.
func dialectFor(named Dialect, ref Ref) Dialect {
	if named != nil {
		return named
	}
	return ref.dialect()
}

func (e *Engine) wakeUp() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// newKey returns a random stack key.
func newKey() (store.StackKey, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(1<<63-1))
	if err != nil {
		return 0, fmt.Errorf("draw a stack key: %w", err)
	}
	return store.StackKey(n.Int64() + 1), nil
}

const nameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// randomName returns n random characters of A–Z and 0–9.
func randomName(n int) string { return nameFrom(rand.Text(), n) }

// nameFrom makes a name of n characters from the letters and digits of a longer random text.
func nameFrom(text string, n int) string {
	name := make([]byte, 0, n)
	for i := 0; len(name) < n; i++ {
		c := text[i%len(text)]
		if c == '-' {
			continue
		}
		name = append(name, nameLetters[int(c)%len(nameLetters)])
	}
	return string(name)
}
