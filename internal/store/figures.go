package store

import (
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// Figures are the numbers about a database that monitoring reports. They cover the whole database, whichever node reads
// them.
type Figures struct {
	// Nodes is the number of registered nodes.
	Nodes int
	// Stacks is the number of live stacks, and Busy the number of stacks with an unsettled request.
	Stacks, Busy int
	// Orphans is the number of resources that clean-ups abandoned, in all stacks that the store still keeps.
	Orphans int
	// Flights are the unsettled requests by type and state, in no particular order.
	Flights []Flight
	// Bytes is the size of the database; 0 if it is unknown or the store uses no disk.
	Bytes int64
	// Rows is the approximate number of rows in each of [RowTables]. The rows are not counted, because that would read
	// all of them. SQLite knows an upper bound. PostgreSQL uses the planner's estimate, which is 0 for a table that is
	// not analysed yet.
	Rows map[string]int64
}

// Flight counts the unsettled requests of one type and state.
type Flight struct {
	Type  wire.RequestType
	State RequestState
	Count int
	// Oldest is the creation time of the oldest one.
	Oldest time.Time
}

// RowTables returns the names of the tables whose rows [Figures] counts.
func RowTables() []string {
	return []string{"stack", "operation", "instance", "request", "event", "audit"}
}

// Commit describes a transaction that a database's writers have committed.
type Commit struct {
	// Members is the number of writes that shared it, at least 1.
	Members int
	// Took is the time from the begin of the transaction until it was durable, including the decisions in it.
	Took time.Duration
}
