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

// Forever is a duration for [Keep] that keeps rows without a time limit.
const Forever = time.Duration(1<<63 - 1)

// Keep says how long a store keeps rows that have served their purpose. Zero fields mean the defaults.
type Keep struct {
	// Deleted is how long a deleted stack can be described by its ID, with its events, from the end of its deletion. It
	// is also how long a change set is kept that can no longer be executed. Zero is 90 days, as in the real service.
	Deleted time.Duration
	// Requests is how long a settled request is kept, so that a late answer to it, or a signal to its wait handle, can
	// be recognized. It is also how long a gone resource of a live stack is kept. Zero is 7 days.
	Requests time.Duration
	// Events is the number of event rows that a live stack keeps, newest first; one row holds the one to three events
	// of a transition. All events of its newest operation are kept. An operation is removed with the last of its
	// events. Zero is 10,000.
	Events int
	// Audit is the number of audit entries that a stack keeps, newest first. Zero is 1,000.
	Audit int
}

// WithDefaults returns keep with its zero fields set, or an error if a field is negative.
func (k Keep) WithDefaults() (Keep, error) {
	k.Deleted, k.Requests = cmp.Or(k.Deleted, DefaultKeepDeleted), cmp.Or(k.Requests, DefaultKeepRequests)
	k.Events, k.Audit = cmp.Or(k.Events, DefaultKeepEvents), cmp.Or(k.Audit, DefaultKeepAudit)
	if k.Deleted < 0 || k.Requests < 0 || k.Events < 0 || k.Audit < 0 {
		return k, fmt.Errorf("limits for kept data cannot be negative: %+v", k)
	}
	return k, nil
}

// StackOver reports whether a stack, with its newest operation, was deleted so long ago that it can be removed.
func (k Keep) StackOver(s *Stack, newest *Operation, now time.Time) bool {
	return !s.Live && newest.Phase.Final() && over(newest.Ended, now, k.Deleted)
}

// RequestOver reports whether a request was settled so long ago that it can be removed.
func (k Keep) RequestOver(r *Request, now time.Time) bool {
	return r.State == RequestSettled && over(r.Settled, now, k.Requests)
}

// InstanceOver reports whether an instance that is not shown has been gone so long that it can be removed.
func (k Keep) InstanceOver(i *Instance, now time.Time) bool {
	return i.Role == RoleGone && !i.Shown && over(i.Changed, now, k.Requests)
}

// ChangeSetOver reports whether a change set can be removed. That is so if it is old enough and cannot be executed any
// more. It is also so if its operation is removed, because that is older than oldest, the first operation with events.
func (k Keep) ChangeSetOver(c *ChangeSet, newest *Operation, oldest int, now time.Time) bool {
	if c.State == ChangeSetExecuted && c.Operation < min(oldest, newest.Number) {
		return true
	}
	return (c.State != ChangeSetAvailable || c.Base != newest.Number) && over(c.Created, now, k.Deleted)
}

func over(end, now time.Time, kept time.Duration) bool {
	return kept != Forever && now.Sub(end) > kept
}

// Needs returns the numbers of the revisions that a stack needs: the current one, and the From, To and Tried revisions
// of its newest operation.
func (s *Stack) Needs(newest *Operation) []int {
	needs := []int{newest.From, newest.To, s.Revision}
	return append(needs, newest.Tried...)
}

// Cursor is the position at which a pass over a store continues. Only the store that returned it can read it. The empty
// Cursor is both the beginning and the end.
type Cursor string

// Swept is the result of a step of [Store.Sweep].
type Swept struct {
	// Rows is the number of removed rows.
	Rows int
	// Next is where the pass continues; empty if it is complete.
	Next Cursor
}

// Resealed is the result of a step of [Store.Reseal].
type Resealed struct {
	// Rows is the number of rows that were sealed again.
	Rows int
	// Next is where the pass continues; empty if it is complete.
	Next Cursor
	// Done says that the pass is complete and that only the first key still seals anything: the store has dropped the
	// other keys from its list. A complete pass that is not Done must be repeated later: another node still seals with
	// an older key, or something changed meanwhile.
	Done bool
}

// SealingKey is a key that rows of a store may be sealed with.
type SealingKey struct {
	ID string
	// Since is when the store was first opened with this as the sealing key.
	Since time.Time
}
