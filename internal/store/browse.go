package store

import (
	"context"

	"github.com/pintle-dev/pintle/wire"
)

// Browser is what a [Store] tells people who look around: every list comes in pages whose cost does not grow with what is on
// the other pages. Accounts that are nil mean all of them; a limit that is not positive means nothing.
type Browser interface {
	// StackOf returns a stack by its key, deleted ones too, or ErrNotFound.
	StackOf(ctx context.Context, key StackKey) (Stack, error)
	// Regions returns up to limit of the regions in which accounts have stacks, deleted ones too, by account and name.
	Regions(ctx context.Context, accounts []string, limit int) ([]Region, error)
	// InstancesAfter returns up to limit instances of a stack, gone ones too, by number, after the given one (0: from the
	// first), bodies included.
	InstancesAfter(ctx context.Context, stack StackKey, after, limit int) ([]Instance, error)
	// InstancesOf returns the instances of some logical ids of a stack that are not gone, by number, bodies included.
	InstancesOf(ctx context.Context, stack StackKey, logical []wire.LogicalID) ([]Instance, error)
	// OpenRequests returns up to limit of the unsettled requests of a stack, without their bodies, by logical id.
	OpenRequests(ctx context.Context, stack StackKey, limit int) ([]Request, error)
	// LeftBehind returns up to limit of the orphans and the retained instances of all stacks of accounts, bodies included, by
	// stack and number, after the given one (zero: from the first).
	LeftBehind(ctx context.Context, accounts []string, after InstancePlace, limit int) ([]Instance, error)
	// AuditTrail returns up to limit of the audit entries of all stacks of accounts, newest first, before the given one
	// (zero: from the newest).
	AuditTrail(ctx context.Context, accounts []string, before AuditPlace, limit int) ([]AuditRow, error)
}

// Region is a region of an account.
type Region struct {
	Account string
	Name    string
}

// InstancePlace is where an instance stands among all of them. Places are compared by Stack, then Number.
type InstancePlace struct {
	Stack  StackKey
	Number int
}

// AuditPlace is where an audit entry stands among all of them, as its store counts.
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
