package store

import (
	"context"

	"github.com/pintle-dev/pintle/wire"
)

// Browser is the part of a [Store] that people browse: it returns every list in pages. The cost of a page does not
// depend on the other pages. Nil accounts mean all accounts. A limit that is not positive returns an empty page.
type Browser interface {
	// StackOf returns a stack by its key, including deleted stacks, or ErrNotFound.
	StackOf(ctx context.Context, key StackKey) (Stack, error)
	// Regions returns up to limit of the regions in which accounts have stacks, ordered by account and name. Deleted
	// stacks count.
	Regions(ctx context.Context, accounts []string, limit int) ([]Region, error)
	// InstancesAfter returns up to limit instances of a stack, ordered by number, after the given number (0: from the
	// first). It includes deleted instances and all bodies.
	InstancesAfter(ctx context.Context, stack StackKey, after, limit int) ([]Instance, error)
	// InstancesOf returns the instances of some logical IDs of a stack that are not gone, ordered by number, with
	// bodies.
	InstancesOf(ctx context.Context, stack StackKey, logical []wire.LogicalID) ([]Instance, error)
	// OpenRequests returns up to limit unsettled requests of a stack, ordered by logical ID, without bodies.
	OpenRequests(ctx context.Context, stack StackKey, limit int) ([]Request, error)
	// LeftBehind returns up to limit of the orphaned and retained instances of all stacks of accounts, with bodies.
	// They are ordered by stack and number, after the given place (zero: from the first).
	LeftBehind(ctx context.Context, accounts []string, after InstancePlace, limit int) ([]Instance, error)
	// AuditTrail returns up to limit audit entries of all stacks of accounts, newest first, before the given place
	// (zero: from the newest).
	AuditTrail(ctx context.Context, accounts []string, before AuditPlace, limit int) ([]AuditRow, error)
}

// Region is a region of an account.
type Region struct {
	Account string
	Name    string
}

// InstancePlace is the position of an instance among all instances. Places are compared by Stack, then Number.
type InstancePlace struct {
	Stack  StackKey
	Number int
}

// AuditPlace is the position of an audit entry among all audit entries, in the store's own order.
type AuditPlace struct {
	At     int64
	Stack  StackKey
	Number int64
}

// AuditRow is an audit entry of any stack.
type AuditRow struct {
	Place AuditPlace
	Stack StackKey
	Audit Audit
}
