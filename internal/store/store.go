// Package store keeps stacks: the rows, the contract that every database fulfils, and the sealing of secrets.
//
// A store runs decisions, it makes none. [Store.Apply] loads what a decision needs, calls a pure function of the
// engine, and writes what the function returned, as one transaction under the stack's lock. All that must be true of a
// stack at one moment is therefore written in one place, the engine, and what is durable is written in one place,
// here.
//
// The request row is the job, the timer and the outbox at once. A [RequestReady] row is owned by the node that
// committed it and is delivered by that node from memory; a [RequestWaiting] row's Due is its deadline; a settled row
// is in no index that a loop reads. There is no queue next to it. docs/design/001-durable-core.md reports why.
//
// Package storetest holds the suite that every implementation passes.
package store

import (
	"context"
	"errors"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// Errors that callers branch on.
var (
	// ErrNotFound is the error of a query for a row that is not there.
	ErrNotFound = errors.New("not found")
	// ErrGone is what [Store.Beat] and [Store.Reap] return once the node's incarnation was declared dead and its rows
	// were taken over. The node must drop what it holds in memory and join again.
	ErrGone = errors.New("this node was declared dead and its requests were taken over")
	// ErrTaken is what [Store.PutProvider] returns for a name that is another holder's.
	ErrTaken = errors.New("the name is taken")
	// ErrClosed is the error of every call on a closed store.
	ErrClosed = errors.New("store is closed")
)

// Target says which stack a decision is about, and how much of it to load. Exactly one of Request, Stack and Name is
// set, or Stack and Request with Alone.
type Target struct {
	// Request is a request of the stack. If there is none with this id, Apply returns ErrNotFound. The view is narrow.
	Request wire.RequestID
	// Alone, with Request, loads the stack, the operation and the request, but no steps and instances. With Stack besides it is
	// about that stack and a request that it may have or not: View.Request is nil if there is none of that id, and another
	// stack's if that has it.
	Alone bool
	// Stack is the stack's key; the view is whole. A key that is not there is ErrNotFound.
	Stack StackKey
	// Name is the live stack of that name, or none (View.Stack.Key is 0): the decision may then create it. The view is
	// whole.
	Name StackName
}

// StackName is what identifies a live stack to people.
type StackName struct {
	Account string
	Region  string
	Name    string
}

// View is what a decision sees: rows as they are in the transaction that will write the decision. It is the decision's
// own copy, but slices and values in the rows are shared and must not be changed in place.
type View struct {
	// Now is the database's time, UTC, to the millisecond.
	Now time.Time
	// Stack is zero if the target named no live stack.
	Stack Stack
	// Operation is the stack's newest one, zero if it has none.
	Operation Operation
	// Request is the target's; nil if the target was not a request.
	Request *Request
	// Revisions are those the operation goes from and to, those tried before it, and the stack's current one, by number,
	// templates included.
	Revisions map[int]Revision
	// Steps of the operation. In a narrow view: the request's step and the steps in its Next. Plans are included.
	Steps map[wire.LogicalID]Step
	// Instances that are not gone, by number, bodies included. In a narrow view: those of the loaded steps and of
	// everything a loaded step needs. In a whole view: also the gone ones.
	Instances map[int]Instance
	// Requests not yet settled, of the loaded steps, by id, bodies included. The target's own is here too if unsettled.
	Requests map[wire.RequestID]Request
	// ChangeSets of the stack, by id, without their bodies. In a whole view only.
	ChangeSets map[ChangeSetID]ChangeSet
	// Exports are those that the decision has asked for by [More], by name: of the account and region it is about.
	// One that no one exports is there too, with Stack 0. An export that the decision reads is unchanged when the
	// decision is written.
	Exports map[string]Exported
	// Others are the live stacks that the decision has asked for by [More]; a missing one has Key 0. The name may
	// also be the ID of a stack in the same account and region. Each is the stack's state at some moment of the
	// decision, and may have changed when the decision is written.
	Others map[StackName]Stack
	// Whole says that nothing of the stack's operation is missing.
	Whole bool
}

// More is returned by a decision that needs more rows than it was given. Apply loads them and calls the decision
// again, with everything it had before; it is not an error to the caller of Apply.
type More struct {
	// Steps to be loaded as the request's step was: with the steps in their Next, and all their instances.
	Steps []wire.LogicalID
	// Whole loads the whole stack.
	Whole bool
	// Exports are names of exports, Others those of stacks: see [View].
	Exports []string
	Others  []StackName
}

// Error makes More an error; no one should see it.
func (m *More) Error() string { return "the decision needs more rows" }

// Delta is what a decision writes. Rows are put: inserted, or replaced by key. The zero Delta writes nothing.
type Delta struct {
	Stack     *Stack
	Operation *Operation
	// Revisions to add; a revision is never changed.
	Revisions []Revision
	// Steps to put; a nil Plan leaves the stored one as it is.
	Steps []Step
	// DropSteps removes all steps of the stack before Steps are put.
	DropSteps bool
	// Instances to put; a nil Body leaves the stored one as it is.
	Instances []Instance
	// Requests to put; a nil Body leaves the stored one as it is.
	Requests []Request
	// DropChangeSets are removed, before ChangeSets are put; one that is not there is no error.
	DropChangeSets []ChangeSetID
	// ChangeSets to put; a nil Body leaves the stored one as it is.
	ChangeSets []ChangeSet
	// Exports replaces all that the stack exports, and Imports the names of all that it imports; nil leaves them. No export
	// may be another stack's, none that is imported may end, and none may be imported that is not there.
	Exports *[]Export
	Imports *[]string
	// Events of this transition, oldest first: one row, numbered by Operation.Events, which the decision has raised.
	Events []Event
	// Audit entries to append.
	Audit []Audit
}

// Decide is a decision: a pure function of the view, that may be called more than once for one Apply and must not keep
// what it was given. An error other than [More] is returned by Apply as it is, and nothing is written.
type Decide func(*View) (Delta, error)

// Store is a durable home for stacks. All methods are safe for concurrent use. Every method that writes returns only
// after what it wrote is durable: it survives kill -9 at any later moment, and power loss as far as the disk keeps its
// word. A method that returns an error other than the decision's own has written nothing, or (when the connection to
// the database broke during a commit) all of it: callers must be able to repeat.
type Store interface {
	// Apply runs a decision on a stack. Decisions on one stack run one after the other and each sees what the ones
	// before it wrote; decisions on different stacks may share one commit and never see half of each other. If the
	// target named no live stack and the delta brings one, the name is taken atomically: two creates of one name run
	// one after the other.
	Apply(ctx context.Context, target Target, decide Decide) error

	// Join makes this process a node and returns its incarnation, which is never 0 and never used again. name is for
	// people, e.g. host and process id.
	Join(ctx context.Context, name string) (Incarnation, error)
	// Beat says that the node lives. It returns ErrGone if the node has been declared dead.
	Beat(ctx context.Context, node Incarnation) error
	// Reap declares every node dead that has not beaten for longer than silent (0: every other node) and gives its rows
	// to node: ready requests change owner, waiting requests that one of its processes was executing become ready
	// again. Rows of nodes that left are taken too. It returns how many requests were taken over; they are found by
	// Claim. A node that has itself been declared dead gets ErrGone and takes nothing.
	Reap(ctx context.Context, node Incarnation, silent time.Duration) (int, error)
	// Leave takes the node off the list when it stops in order; its rows wait for the next node's Reap.
	Leave(ctx context.Context, node Incarnation) error
	// Nodes returns the nodes on the list, in no certain order.
	Nodes(ctx context.Context) ([]Incarnation, error)
	// Claim returns up to limit ready requests that node owns, bodies included, round robin over the stacks, oldest
	// first within one; those in skip (nil: none) are left out, but count as a turn that their stack has had. If more than
	// limit stacks have some, the next call may continue those that had no turn in this one, so that no call needs to read
	// all; see [Ring]. It changes nothing in the database.
	Claim(ctx context.Context, node Incarnation, limit int, skip func(wire.RequestID) bool) ([]Request, error)
	// Due returns the ids of up to limit requests whose Due has passed by database time, longest overdue first, and
	// when the next one after those is due (zero if none waits).
	Due(ctx context.Context, limit int) (ids []wire.RequestID, next time.Time, err error)

	// Stack returns a stack by its id, deleted ones too, or ErrNotFound.
	Stack(ctx context.Context, id wire.StackID) (Stack, error)
	// LiveStack returns the live stack of that name, or ErrNotFound.
	LiveStack(ctx context.Context, name StackName) (Stack, error)
	// Stacks returns up to limit stacks of one account and region, newest first, after the given one (zero: from the
	// start), or ErrNotFound if there is no such stack. Deleted stacks are included if deleted is true.
	Stacks(ctx context.Context, account, region string, deleted bool, after StackKey, limit int) ([]Stack, error)
	// Operation returns an operation of a stack by number, or ErrNotFound.
	Operation(ctx context.Context, stack StackKey, number int) (Operation, error)
	// FindOperation returns the operation that has this operation id, as its own or as that of its rollback, and its stack,
	// or ErrNotFound. Should two have the same, it is the first.
	FindOperation(ctx context.Context, id string) (Stack, Operation, error)
	// Revision returns a revision of a stack by number, template included, or ErrNotFound.
	Revision(ctx context.Context, stack StackKey, number int) (Revision, error)
	// Instances returns all instances of a stack, gone ones too, by number, bodies included.
	Instances(ctx context.Context, stack StackKey) ([]Instance, error)
	// Events returns up to limit event rows of a stack, newest first, before the given place (zero: from the newest).
	Events(ctx context.Context, stack StackKey, before EventCursor, limit int) ([]EventRow, error)
	// Audit returns up to limit audit entries of a stack, newest first.
	Audit(ctx context.Context, stack StackKey, limit int) ([]Audit, error)
	// Request returns a request by id, settled ones too, body included, or ErrNotFound.
	Request(ctx context.Context, id wire.RequestID) (Request, error)
	// Executions returns up to limit requests of [TypeExecution] of a machine, by its ARN, without their bodies, newest first,
	// after the given one (empty: from the newest), or ErrNotFound if there is no such request. If open, those that are
	// settled are left out.
	Executions(ctx context.Context, machine string, open bool, after wire.RequestID, limit int) ([]Request, error)
	// Requests returns the unsettled requests of a stack, bodies included, oldest first.
	Requests(ctx context.Context, stack StackKey) ([]Request, error)
	// ChangeSet returns a change set by its id, body included, or ErrNotFound.
	ChangeSet(ctx context.Context, id ChangeSetID) (ChangeSet, error)
	// ChangeSets returns the change sets of a stack without their bodies, oldest first.
	ChangeSets(ctx context.Context, stack StackKey) ([]ChangeSet, error)
	// Exports returns up to limit of the exports of an account and region, by name, after the given one (empty: from the
	// first).
	Exports(ctx context.Context, account, region, after string, limit int) ([]Exported, error)
	// Importers returns up to limit names of the stacks that import an export, sorted, after the given one (empty: from the
	// first). There are none if there is no such export.
	Importers(ctx context.Context, account, region, export, after string, limit int) ([]string, error)
	// Providers returns the providers named in this store, by name.
	Providers(ctx context.Context) ([]Provider, error)
	// Provider returns a provider by its name, or ErrNotFound.
	Provider(ctx context.Context, name string) (Provider, error)
	// PutProvider adds or replaces a provider by its name, or returns ErrTaken if another holder has it.
	PutProvider(ctx context.Context, provider Provider) error
	// DropProvider removes a provider by its name, if it is that holder's. One that is not there is no error.
	DropProvider(ctx context.Context, name, holder string) error

	// Parameter returns a version of a parameter of the parameter store, the newest one for version 0, or ErrNotFound.
	Parameter(ctx context.Context, key ParameterKey, version int64) (Parameter, error)
	// PutParameter adds a version to a parameter, and returns its number; the first one is 1. If the parameter exists
	// and overwrite is false, it returns ErrExists. It deletes versions older than the last [ParameterVersions]. The
	// caller sets the version's time.
	PutParameter(ctx context.Context, parameter Parameter, overwrite bool) (version int64, err error)
	// DeleteParameter removes a parameter, all versions of it, or returns ErrNotFound.
	DeleteParameter(ctx context.Context, key ParameterKey) error

	// Entry returns an entry, or ErrNotFound.
	Entry(ctx context.Context, key EntryKey) (Entry, error)
	// Entries returns up to limit of the entries of after's account, region and kind, by name, after the one it names (empty: from
	// the first).
	Entries(ctx context.Context, after EntryKey, limit int) ([]Entry, error)
	// PutEntry adds an entry whose version is 0, or returns ErrExists if there is one with its key. One with a version takes the
	// place of that version; if that is no longer there it is ErrChanged or ErrNotFound. It returns the version that there is then.
	PutEntry(ctx context.Context, entry Entry) (version int64, err error)
	// DropEntry removes an entry, if it is at a version (0: whichever it is at), or returns ErrChanged or ErrNotFound.
	DropEntry(ctx context.Context, key EntryKey, version int64) error

	// Root returns the secret that belongs to the store from its first day to its last. It works on a closed store too.
	Root() Root
	// SealingKeys returns the keys that rows may be sealed with, the one that this process seals with last. A store that
	// seals nothing has none.
	SealingKeys(ctx context.Context) ([]SealingKey, error)
	// Reseal is one step of a pass that seals again, with this process's first key, what other keys have sealed: it looks at
	// up to limit rows from a place on (empty: from the beginning) and blocks other users only as long as those few take. A
	// pass can start again at any time. Completed steps are durable.
	Reseal(ctx context.Context, from Cursor, limit int) (Resealed, error)
	// Sweep is one step of a pass that removes what keep does not cover, from a place on (empty: from the beginning). It
	// removes up to limit rows and holds up no one for longer than those few take. A deleted stack that goes is gone at
	// once for every query, and its rows follow. What goes for good are: such stacks, settled requests, old events, audit
	// entries, operations, revisions, gone instances and change sets of live stacks, and templates that nothing needs any
	// more. keep must have no zero fields: see [Keep.WithDefaults]. Several nodes may sweep at once.
	Sweep(ctx context.Context, keep Keep, from Cursor, limit int) (Swept, error)

	// Figures tells in numbers what is there. It reads no more than what is not settled, and indexes of it: never a table
	// that grows with time. Callers keep the outcome for a while, since it is not free.
	Figures(ctx context.Context) (Figures, error)

	// Browser is what it tells people who look around.
	Browser

	// Ping reports whether the store can write, by writing: what readiness means.
	Ping(ctx context.Context) error
	// Close waits for running calls and closes the store. A second Close does nothing.
	Close() error
}
