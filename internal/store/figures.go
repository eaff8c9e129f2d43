package store

import (
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// Figures are what a database holds, in numbers: what monitoring asks for. They are those of the whole database, whichever
// node reads them.
type Figures struct {
	// Nodes is how many nodes are on the list.
	Nodes int
	// Stacks is how many live stacks there are, and Busy how many stacks have a request that is not settled.
	Stacks, Busy int
	// Orphans is how many resources clean-ups have given up on, of all stacks that are still kept.
	Orphans int
	// Flights are the requests that are not settled, by type and state, in no certain order.
	Flights []Flight
	// Bytes is how much room the database takes, as far as that is known; 0 if it takes none.
	Bytes int64
	// Rows is about how many rows the tables have that grow, by [RowTables]. They are not counted, which would read all of
	// them: SQLite knows an upper bound, PostgreSQL's planner keeps an estimate, and has none (0) of a table that it has not
	// analysed yet.
	Rows map[string]int64
}

// Flight is a kind of requests that are not settled.
type Flight struct {
	Type  wire.RequestType
	State RequestState
	Count int
	// Oldest is when the oldest one was made.
	Oldest time.Time
}

// RowTables are the tables that [Figures] tells the rows of.
func RowTables() []string {
	return []string{"stack", "operation", "instance", "request", "event", "audit"}
}

// Commit is what a database tells of each transaction that its writers have committed.
type Commit struct {
	// Members is how many writes shared it, 1 at least.
	Members int
	// Took is the time from its begin until it was durable, the decisions in it included.
	Took time.Duration
}
