package store

import (
	"cmp"
	"fmt"
	"time"
)

// The defaults of [Keep].
const (
	DefaultKeepDeleted  = 90 * 24 * time.Hour
	DefaultKeepRequests = 7 * 24 * time.Hour
	DefaultKeepEvents   = 10_000
	DefaultKeepAudit    = 1_000
)

// Forever is a duration of [Keep] that keeps what it is about for good.
const Forever = time.Duration(1<<63 - 1)

// Keep says how much of what is over a store keeps. Zero fields mean the defaults.
type Keep struct {
	// Deleted is how long a deleted stack can be described by its id, with its events, from the end of its deletion; and how
	// long a change set is kept that can no longer be executed. Zero is 90 days, as on the real service.
	Deleted time.Duration
	// Requests is how long a settled request is kept, so that a late answer to it, or a signal to the handle that it made, is
	// known for what it is; and how long a resource that is gone is kept of a stack that lives on. Zero is 7 days.
	Requests time.Duration
	// Events is how many rows of events a live stack keeps, newest first; one row holds the one to three events of a
	// transition. Those of its newest operation are kept however many they are. Operations go with the last of their
	// events. Zero is 10,000.
	Events int
	// Audit is how many audit entries a stack keeps, newest first. Zero is 1,000.
	Audit int
}

// WithDefaults returns keep with its zero fields set, or an error if one is negative.
func (k Keep) WithDefaults() (Keep, error) {
	k.Deleted, k.Requests = cmp.Or(k.Deleted, DefaultKeepDeleted), cmp.Or(k.Requests, DefaultKeepRequests)
	k.Events, k.Audit = cmp.Or(k.Events, DefaultKeepEvents), cmp.Or(k.Audit, DefaultKeepAudit)
	if k.Deleted < 0 || k.Requests < 0 || k.Events < 0 || k.Audit < 0 {
		return k, fmt.Errorf("what is kept cannot be less than nothing: %+v", k)
	}
	return k, nil
}

// StackOver reports whether a stack, with its newest operation, was deleted so long ago that it may go.
func (k Keep) StackOver(s *Stack, newest *Operation, now time.Time) bool {
	return !s.Live && newest.Phase.Final() && over(newest.Ended, now, k.Deleted)
}

// RequestOver reports whether a request was settled so long ago that it may go.
func (k Keep) RequestOver(r *Request, now time.Time) bool {
	return r.State == RequestSettled && over(r.Settled, now, k.Requests)
}

// InstanceOver reports whether an instance has been gone so long, and stands for nothing, that it may go.
func (k Keep) InstanceOver(i *Instance, now time.Time) bool {
	return i.Role == RoleGone && !i.Shown && over(i.Changed, now, k.Requests)
}

// ChangeSetOver reports whether a change set may go: one that can no longer be executed and is old enough, or whose
// operation goes, being older than oldest, the first of which there are events.
func (k Keep) ChangeSetOver(c *ChangeSet, newest *Operation, oldest int, now time.Time) bool {
	if c.State == ChangeSetExecuted && c.Operation < min(oldest, newest.Number) {
		return true
	}
	return (c.State != ChangeSetAvailable || c.Base != newest.Number) && over(c.Created, now, k.Deleted)
}

func over(end, now time.Time, kept time.Duration) bool {
	return kept != Forever && now.Sub(end) > kept
}

// Needs returns the numbers of the revisions that a stack needs: the one in force, and those that its newest operation
// goes between or was tried with.
func (s *Stack) Needs(newest *Operation) []int {
	needs := []int{newest.From, newest.To, s.Revision}
	return append(needs, newest.Tried...)
}

// Cursor is the position at which a pass over a store continues; only the store that returned it can read it. Empty is the beginning,
// and the end.
type Cursor string

// Swept is what a step of [Store.Sweep] came to.
type Swept struct {
	// Rows that were removed.
	Rows int
	// Next is where the pass continues; empty if it is over.
	Next Cursor
}

// Resealed is what a step of [Store.Reseal] came to.
type Resealed struct {
	// Rows that were sealed again.
	Rows int
	// Next is where the pass continues; empty if it is over.
	Next Cursor
	// Done says that the pass is over and nothing is left that another key than the first has sealed: the store has
	// forgotten those. A pass that is over and not Done must be repeated later: another node still seals with an older
	// key, or something changed meanwhile.
	Done bool
}

// SealingKey is a key that rows of a store may be sealed with.
type SealingKey struct {
	ID string
	// Since is when the store was first opened with it as the one that seals.
	Since time.Time
}
