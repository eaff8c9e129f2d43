// Package store keeps stacks: the rows, the contract that every database fulfils, and the sealing of secrets.
//
// A store runs decisions but makes none. [Store.Apply] loads the rows that a decision needs, calls a pure function of
// the engine, and writes the result as one transaction under the stack's lock. The engine is thus the only place that
// defines the invariants of a stack, and the store the only place that makes state durable.
//
// The request row is the job, the timer and the outbox at once. A [RequestReady] row is owned by the node that
// committed it, which delivers it from memory. The Due of a [RequestWaiting] row is its deadline. A settled row is in
// no index that a loop reads. There is no separate queue. docs/design/001-durable-core.md explains why.
//
// Package storetest holds the test suite for every implementation.
package store

import (
	"context"
	"errors"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// Errors that callers branch on.
var (
	// ErrNotFound is the error of a query for a missing row.
	ErrNotFound = errors.New("not found")
	// ErrGone is the error of [Store.Beat] and [Store.Reap] once another node declared this incarnation dead and took
	// over its rows. The node must drop its in-memory state and join again.
	ErrGone = errors.New("this node was declared dead and its requests were taken over")
	// ErrTaken is the error of [Store.PutProvider] for a name that belongs to another holder.
	ErrTaken = errors.New("the name is taken")
	// ErrClosed is the error of every call on a closed store.
	ErrClosed = errors.New("store is closed")
)

// Target names the stack of a decision, and how much of it to load. Set exactly one of Request, Stack and Name, or
// Request with Alone, or Stack and Request with Alone.
type Target struct {
	// Request is a request of the stack. If it does not exist, Apply returns ErrNotFound. The view is narrow.
	Request wire.RequestID
	// Alone, with Request, loads the stack, the operation and the request, but no steps and instances. With Stack as
	// well, the request need not exist or belong to that stack: View.Request is then nil, or the request of another
	// stack.
	Alone bool
	// Stack is the stack's key; the view is whole. If the stack does not exist, Apply returns ErrNotFound.
	Stack StackKey
	// Name is the name of a live stack. If there is none, View.Stack.Key is 0 and the decision may create it. The view
	// is whole.
	Name StackName
}

// StackName identifies a live stack to people.
type StackName struct {
	Account string
	Region  string
	Name    string
}

// View is the input of a decision: rows as they are in the transaction that will write the decision. It is the
// decision's own copy, but slices and values in the rows are shared and must not be changed in place.
type View struct {
	// Now is the database's time in UTC, with millisecond precision.
	Now time.Time
	// Stack is zero if the target named no live stack.
	Stack Stack
	// Operation is the stack's newest operation; zero for none.
	Operation Operation
	// Request is the target request; nil if the target named none.
	Request *Request
	// Revisions are the From, To and Tried revisions of the operation and the stack's current one, by number, with
	// templates.
	Revisions map[int]Revision
	// Steps are the steps of the operation with their plans. A narrow view has the request's step and the steps in its
	// Next.
	Steps map[wire.LogicalID]Step
	// Instances are the instances by number, with bodies. A whole view has all of them. A narrow view has those of the
	// loaded steps and of their dependencies that are not gone.
	Instances map[int]Instance
	// Requests are the unsettled requests of the loaded steps, by ID, with bodies. They include the target request if
	// it is unsettled.
	Requests map[wire.RequestID]Request
	// ChangeSets are the change sets of the stack, by ID, without bodies. Only a whole view has them.
	ChangeSets map[ChangeSetID]ChangeSet
	// Exports are the exports in the stack's account and region that the decision requested by [More], by name. A
	// missing export is included, with Stack 0. An export that the decision reads cannot change before the decision is
	// written.
	Exports map[string]Exported
	// Others are the live stacks that the decision requested by [More]; a missing one has Key 0. The name may also be
	// the ID of a stack in the same account and region. Each is the stack's state at some moment of the decision, and
	// may have changed by the time the decision is written.
	Others map[StackName]Stack
	// Whole says that everything of the stack's operation is loaded.
	Whole bool
}

// More is the error of a decision that needs more rows. Apply loads them and calls the decision again, with all earlier
// rows as well. The caller of Apply never sees it.
type More struct {
	// Steps are loaded as the request's step is: with the steps in their Next, and all their instances.
	Steps []wire.LogicalID
	// Whole loads the whole stack.
	Whole bool
	// Exports are names of exports, and Others names of stacks: see [View].
	Exports []string
	Others  []StackName
}

// Error implements error. No caller of Apply sees the text.
func (m *More) Error() string { return "the decision needs more rows" }

// Delta is the result of a decision. Its rows are put: inserted, or replaced by key. The zero Delta writes nothing.
type Delta struct {
	Stack     *Stack
	Operation *Operation
	// Revisions are revisions to add; a revision never changes.
	Revisions []Revision
	// Steps are steps to put; a nil Plan leaves the stored one unchanged.
	Steps []Step
	// DropSteps removes all steps of the stack before Steps are put.
	DropSteps bool
	// Instances are instances to put; a nil Body leaves the stored one unchanged.
	Instances []Instance
	// Requests are requests to put; a nil Body leaves the stored one unchanged.
	Requests []Request
	// DropChangeSets are removed before ChangeSets are put; missing ones are ignored.
	DropChangeSets []ChangeSetID
	// ChangeSets are change sets to put; a nil Body leaves the stored one unchanged.
	ChangeSets []ChangeSet
	// Exports replaces all exports of the stack, and Imports the names of all exports that it imports; nil leaves them.
	// A stack cannot export a name that another stack exports, end an export that is imported, or import a missing
	// export.
	Exports *[]Export
	Imports *[]string
	// Events are the events of this transition, oldest first. They become one row, numbered by Operation.Events, which
	// the decision has incremented.
	Events []Event
	// Audit are audit entries to append.
	Audit []Audit
}

// Decide is a decision: a pure function of the view. One Apply may call it more than once, and it must not retain the
// view. Apply returns an error other than [More] unchanged and writes nothing.
type Decide func(*View) (Delta, error)

// Store keeps stacks durably. All methods are safe for concurrent use. A method that writes returns only after the
// write is durable: it survives kill -9 at any later moment, and power loss if the disk honours flushes. A method that
// returns an error other than the decision's own has normally written nothing. If the connection to the database broke
// during a commit, it may have written everything. Callers must therefore be able to repeat the call.
type Store interface {
	// Apply runs a decision on a stack. Decisions on one stack run one after the other, and each sees the writes of
	// those before it. Decisions on different stacks may share a commit, and never see each other's partial writes. If
	// the target named no live stack and the delta adds one, the name is reserved atomically: two creates of one name
	// run one after the other.
	Apply(ctx context.Context, target Target, decide Decide) error

	// Join registers this process as a node and returns its incarnation, which is never 0 and never reused. name is for
	// people, e.g. host and process ID.
	Join(ctx context.Context, name string) (Incarnation, error)
	// Beat records a heartbeat of the node. It returns ErrGone if the node has been declared dead.
	Beat(ctx context.Context, node Incarnation) error
	// Reap declares dead every node without a heartbeat for longer than silent (0: every other node) and gives its rows
	// to node: ready requests change owner, and waiting requests that one of the dead node's processes executed become
	// ready again. It also takes rows of nodes that left. It returns the number of requests taken over, which Claim
	// then returns. A node that was itself declared dead gets ErrGone and takes nothing.
	Reap(ctx context.Context, node Incarnation, silent time.Duration) (int, error)
	// Leave unregisters the node when it shuts down in order; its rows wait for the next node's Reap.
	Leave(ctx context.Context, node Incarnation) error
	// Nodes returns the registered nodes, in no particular order.
	Nodes(ctx context.Context) ([]Incarnation, error)
	// Claim returns up to limit ready requests that node owns, with bodies, round robin over the stacks, oldest first
	// within one. Requests in skip (nil: none) are left out, but count as a turn of their stack. If more than limit
	// stacks have ready requests, the next call continues with the stacks that had no turn in this one. So no call
	// needs to read all requests; see [Ring]. It changes nothing in the database.
	Claim(ctx context.Context, node Incarnation, limit int, skip func(wire.RequestID) bool) ([]Request, error)
	// Due returns the IDs of up to limit requests whose Due has passed by database time, longest overdue first. next is
	// when the next request after those is due; zero for none.
	Due(ctx context.Context, limit int) (ids []wire.RequestID, next time.Time, err error)

	// Stack returns a stack by its ID, including deleted stacks, or ErrNotFound.
	Stack(ctx context.Context, id wire.StackID) (Stack, error)
	// LiveStack returns the live stack of that name, or ErrNotFound.
	LiveStack(ctx context.Context, name StackName) (Stack, error)
	// Stacks returns up to limit stacks of one account and region, newest first, after the given one (zero: from the
	// start), or ErrNotFound if that stack does not exist. Deleted stacks are included if deleted is true.
	Stacks(ctx context.Context, account, region string, deleted bool, after StackKey, limit int) ([]Stack, error)
	// Operation returns an operation of a stack by number, or ErrNotFound.
	Operation(ctx context.Context, stack StackKey, number int) (Operation, error)
	// FindOperation returns the operation with this operation ID, as its own or as that of its rollback, and its stack,
	// or ErrNotFound. If two operations have the same ID, it returns the first.
	FindOperation(ctx context.Context, id string) (Stack, Operation, error)
	// Revision returns a revision of a stack by number, with its template, or ErrNotFound.
	Revision(ctx context.Context, stack StackKey, number int) (Revision, error)
	// Instances returns all instances of a stack, including gone ones, ordered by number, with bodies.
	Instances(ctx context.Context, stack StackKey) ([]Instance, error)
	// Events returns up to limit event rows of a stack, newest first, before the given place (zero: from the newest).
	Events(ctx context.Context, stack StackKey, before EventCursor, limit int) ([]EventRow, error)
	// Audit returns up to limit audit entries of a stack, newest first.
	Audit(ctx context.Context, stack StackKey, limit int) ([]Audit, error)
	// Request returns a request by ID, in any state, with its body, or ErrNotFound.
	Request(ctx context.Context, id wire.RequestID) (Request, error)
	// Executions returns up to limit requests of [TypeExecution] of a machine, by its ARN, without bodies, newest
	// first, after the given one (empty: from the newest), or ErrNotFound if that request does not exist. If open is
	// true, settled ones are left out.
	Executions(ctx context.Context, machine string, open bool, after wire.RequestID, limit int) ([]Request, error)
	// Requests returns the unsettled requests of a stack, with bodies, oldest first.
	Requests(ctx context.Context, stack StackKey) ([]Request, error)
	// ChangeSet returns a change set by its ID, with its body, or ErrNotFound.
	ChangeSet(ctx context.Context, id ChangeSetID) (ChangeSet, error)
	// ChangeSets returns the change sets of a stack without their bodies, oldest first.
	ChangeSets(ctx context.Context, stack StackKey) ([]ChangeSet, error)
	// Exports returns up to limit exports of an account and region, ordered by name, after the given one (empty: from
	// the first).
	Exports(ctx context.Context, account, region, after string, limit int) ([]Exported, error)
	// Importers returns up to limit names of the stacks that import an export, sorted, after the given one (empty: from
	// the first). It returns none if the export does not exist.
	Importers(ctx context.Context, account, region, export, after string, limit int) ([]string, error)
	// Providers returns the registered providers, ordered by name.
	Providers(ctx context.Context) ([]Provider, error)
	// Provider returns a provider by its name, or ErrNotFound.
	Provider(ctx context.Context, name string) (Provider, error)
	// PutProvider adds or replaces a provider by its name, or returns ErrTaken if the name belongs to another holder.
	PutProvider(ctx context.Context, provider Provider) error
	// DropProvider removes a provider by its name, if it belongs to holder. A missing provider is not an error.
	DropProvider(ctx context.Context, name, holder string) error

	// Parameter returns a version of a parameter of the parameter store, the newest for version 0, or ErrNotFound.
	Parameter(ctx context.Context, key ParameterKey, version int64) (Parameter, error)
	// PutParameter adds a version to a parameter, and returns its number; the first one is 1. If the parameter exists
	// and overwrite is false, it returns ErrExists. It deletes versions older than the last [ParameterVersions]. The
	// caller sets the version's time.
	PutParameter(ctx context.Context, parameter Parameter, overwrite bool) (version int64, err error)
	// DeleteParameter removes all versions of a parameter, or returns ErrNotFound.
	DeleteParameter(ctx context.Context, key ParameterKey) error

	// Entry returns an entry, or ErrNotFound.
	Entry(ctx context.Context, key EntryKey) (Entry, error)
	// Entries returns up to limit entries of after's account, region and kind, ordered by name, after the name in after
	// (empty: from the first).
	Entries(ctx context.Context, after EntryKey, limit int) ([]Entry, error)
	// PutEntry adds an entry whose version is 0, or returns ErrExists if its key exists. An entry with a version
	// replaces that version; if that is no longer current, it returns ErrChanged or ErrNotFound. It returns the new
	// version.
	PutEntry(ctx context.Context, entry Entry) (version int64, err error)
	// DropEntry removes an entry that is at a version (0: any version), or returns ErrChanged or ErrNotFound.
	DropEntry(ctx context.Context, key EntryKey, version int64) error

	// Root returns the secret that the store keeps for as long as it exists. It also works on a closed store.
	Root() Root
	// SealingKeys returns the keys that rows may be sealed with. The key that this process seals with comes last. A
	// store that seals nothing returns none.
	SealingKeys(ctx context.Context) ([]SealingKey, error)
	// Reseal is one step of a pass that reseals, with this process's first key, everything that other keys have sealed.
	// It reads up to limit rows from a place on (empty: from the beginning) and blocks other users only for as long as
	// those few take. A pass can start again at any time. Completed steps are durable.
	Reseal(ctx context.Context, from Cursor, limit int) (Resealed, error)
	// Sweep is one step of a pass that removes rows that keep does not cover, from a place on (empty: from the
	// beginning). It removes up to limit rows and blocks other users only for as long as those few take. A deleted
	// stack disappears from all queries at once, and its rows follow. The pass removes such stacks, settled requests,
	// old events, audit entries, operations, revisions, gone instances and change sets of live stacks. It also removes
	// templates that no revision uses. keep must have no zero fields: see [Keep.WithDefaults]. Several nodes may sweep
	// at once.
	Sweep(ctx context.Context, keep Keep, from Cursor, limit int) (Swept, error)

	// Figures returns numbers about the contents of the store. It reads only unsettled rows and indexes of them, never
	// a table that grows with time. Callers cache the result, because it costs some work.
	Figures(ctx context.Context) (Figures, error)

	// Browser holds the paged lists for people.
	Browser

	// Ping reports whether the store can write, by writing. Readiness checks use it.
	Ping(ctx context.Context) error
	// Close waits for running calls and closes the store. A second Close is a no-op.
	Close() error
}
