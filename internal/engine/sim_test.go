package engine_test

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	simSeeds  = flag.Int("sim.seeds", 300, "how many seeds TestSimulation runs")
	simFirst  = flag.Uint64("sim.first", 1, "the first seed of TestSimulation")
	simSeed   = flag.Uint64("sim.seed", 0, "run this seed alone and print its history")
	simShards = flag.Int("sim.shards", 0, "how many lives run at once; 0 is one for each processor")
)

// TestSimulation simulates the whole history of stacks, each from a seed, on simulated time and the memory store.
//
//	stacks       1–7 resources with Ref, Fn::GetAtt of open and secret attributes, DependsOn, conditions that toggle,
//	             DeletionPolicy, UpdateReplacePolicy, a NoEcho parameter, outputs, a stack policy and notification topics;
//	             some outputs and properties fail
//	neighbours   in half of the runs, two more stacks: one exports what the stack imports, one imports what it exports
//	operations   1–6 from the table simOperations, with their options, then deletes until the stack is deleted; also
//	             operations in statuses that reject them, and with used tokens
//	providers    succeed, fail before or after the work, hang, die, send answers that are invalid, too long, repeated or
//	             late, without an ID or with another one; they are remote, or processes of the node that die with it and
//	             may have to be polled; people answer for them
//	nodes        one that is killed and restarted, or two, one of which is killed or pauses, is taken over and resumes;
//	             killed before or after a commit, or between taking over and sending
//	database     rejects a commit, replays a batch, or reports a failure that did not happen; its clock is set back and
//	             forward
//	machines     in some runs, executions of state machines with retriers and catchers, whose tasks fail, hang, return late
//	             or twice, and which are started twice, stopped and aborted
//	drift        in some runs, detections, whose Reads fail, hang, are answered twice or late, or overlap an update
//	fidelity     both
//
// The invariants must hold in every run. A run depends only on its seed.
func TestSimulation(t *testing.T) {
	if *simSeed != 0 {
		s := simulate(*simSeed, true)
		t.Logf("seed %d:\n%s", *simSeed, strings.Join(s.log, "\n"))
		s.printFailure(t)
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // runs are short and leave little garbage
	began := time.Now()
	covered, failed := simulateAll(*simFirst, *simSeeds)
	if failed != nil {
		failed.printFailure(t)
		again := simulate(failed.seed, true)
		t.Fatalf("the end of its history:\n%s", strings.Join(again.log[max(0, len(again.log)-60):], "\n"))
	}
	rate := float64(*simSeeds) / time.Since(began).Seconds()
	t.Logf("%d histories, %.0f a second\n%s", *simSeeds, rate, covered)
	if *simSeeds < 2000 {
		return
	}
	for _, what := range mustCover {
		if covered[what] == 0 {
			t.Errorf("%q never occurred, but the simulation is for that", what)
		}
	}
}

// replayEvery is the interval of seeds that are simulated twice.
const replayEvery = 50

// simulateAll simulates n seeds concurrently until a run violates an invariant. Of such runs it returns the one with
// the lowest seed. Seeds are started in order, so no lower seed fails.
func simulateAll(first uint64, n int) (coverage, *sim) {
	var (
		group  sync.WaitGroup
		given  atomic.Uint64
		mu     sync.Mutex
		failed *sim
		all    = coverage{}
		stop   atomic.Bool
	)
	shards := *simShards
	if shards <= 0 {
		shards = runtime.GOMAXPROCS(0)
	}
	for range shards {
		group.Go(func() {
			covered := coverage{}
			for !stop.Load() {
				i := given.Add(1) - 1
				if i >= uint64(n) {
					break
				}
				s := live(first + i)
				covered.add(s.covered)
				if len(s.broken) > 0 {
					stop.Store(true)
					mu.Lock()
					if failed == nil || s.seed < failed.seed {
						failed = s
					}
					mu.Unlock()
				}
			}
			mu.Lock()
			all.add(covered)
			mu.Unlock()
		})
	}
	group.Wait()
	return all, failed
}

// live simulates a seed, and some seeds twice.
func live(seed uint64) *sim {
	if seed%replayEvery != 0 {
		return simulate(seed, false)
	}
	s := simulate(seed, true)
	if diff := cmp.Diff(s.log, simulate(seed, true).log); diff != "" {
		s.breaks(sameAgain, "two runs have different histories (-first +second):\n%s", diff)
	}
	return s
}

// printFailure reports the violations of a run and how to reproduce them.
func (s *sim) printFailure(t *testing.T) {
	t.Helper()
	for _, b := range s.broken {
		t.Errorf("seed %d breaks the invariant %q: %s", s.seed, b.invariant, b.text)
	}
	if len(s.broken) > 0 {
		t.Logf("replay it: go test ./internal/engine -run TestSimulation -sim.seed=%d -v", s.seed)
	}
}

// coverage counts the situations that occurred.
type coverage map[string]int

func (c coverage) add(other coverage) {
	for what, n := range other {
		c[what] += n
	}
}

// String returns a table in three columns.
func (c coverage) String() string {
	const columns = 3
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	cells := make([]string, 0, len(c))
	for _, what := range slices.Sorted(maps.Keys(c)) {
		cells = append(cells, fmt.Sprintf("%s\t%d", what, c[what]))
	}
	for row := range slices.Chunk(cells, columns) {
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t")) // to memory
	}
	_ = table.Flush()
	return b.String()
}

// mustCover are the situations that must occur in thousands of runs.
var mustCover = []string{
	"create: CREATE_COMPLETE", "create: CREATE_FAILED", "create: ROLLBACK_COMPLETE", "create: ROLLBACK_FAILED",
	"create: DELETE_COMPLETE", "create: DELETE_FAILED",
	"update: UPDATE_COMPLETE", "update: UPDATE_FAILED", "update: UPDATE_ROLLBACK_COMPLETE",
	"update: UPDATE_ROLLBACK_FAILED", "update: no change",
	"delete: DELETE_COMPLETE", "delete: DELETE_FAILED", "delete, retain: DELETE_COMPLETE", "delete, force: DELETE_COMPLETE",
	"rollback: ROLLBACK_COMPLETE", "rollback: ROLLBACK_FAILED",
	"rollback: UPDATE_ROLLBACK_COMPLETE", "rollback: UPDATE_ROLLBACK_FAILED",
	"continue: UPDATE_ROLLBACK_COMPLETE", "continue: UPDATE_ROLLBACK_FAILED",
	"continue, skip: UPDATE_ROLLBACK_COMPLETE", "continue, force: UPDATE_ROLLBACK_COMPLETE",
	"change set: UPDATE_COMPLETE", "change set, retry: UPDATE_COMPLETE", "update, retry: UPDATE_COMPLETE", "update, retry: UPDATE_FAILED",
	"update again: UPDATE_COMPLETE", "update again: UPDATE_ROLLBACK_COMPLETE", "updated again", "update with equal properties", "attributes restored",
	"create, expired: ROLLBACK_COMPLETE", "denied by the stack policy",
	"notification accepted", "notification refused", "cancel: UPDATE_ROLLBACK_COMPLETE", "call refused", "call with a used token",
	"fidelity aws", "fidelity pintle",
	"answer: twice", "answer: late", "answer: FAILED", "answer: other id", "answer: invalid", "answer: none", "answer: by hand", "answer: by hand, forced",
	"provider died", "provider refused", "provider not done", "provider not done when polled", "polled",
	"polled by another node", "polled after a cancel", "provider died when polled",
	"timed out while pending",
	"returned silently", "returned silently when polled", "returned silently, with work left", "request returned without an answer",
	"request cancelled: create", "request cancelled: update", "request delivered again", "request timed out",
	"resource replaced", "resource orphaned", "resource retained", "resource retained on request", "resource abandoned by force",
	"resource skipped", "resource: attribute read", "resource: property failed", "output failed",
	"node killed", "node killed while taking over", "killed before a commit in CREATE_IN_PROGRESS",
	"killed after a commit in CREATE_IN_PROGRESS", "killed after a commit in ROLLBACK_IN_PROGRESS",
	"killed after a commit in UPDATE_IN_PROGRESS", "killed after a commit in UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
	"killed after a commit in UPDATE_ROLLBACK_IN_PROGRESS", "killed after a commit in UPDATE_ROLLBACK_COMPLETE",
	"killed after a commit in UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "killed after a commit in DELETE_IN_PROGRESS",
	"killed after a commit in DELETE_COMPLETE",
	"node paused", "node taken over", "node resumed after it was removed", "node swept", "process died with its node",
	"commit refused", "batch replayed", "clock set back", "clock set forward",
	"execution: SUCCEEDED", "execution: FAILED", "execution: TIMED_OUT", "execution: ABORTED", "execution: tried again", "execution: caught", "execution: waited",
	"execution: task timed out", "execution: task hangs", "execution: report of another try", "execution: started twice", "execution: name used",
	"read", "read: no answer", "drift detected", "detection overtaken", "drift: IN_SYNC", "drift: MODIFIED", "drift: DELETED", "drift: UNKNOWN",
	"import of a missing export", "export in use changed", "export in use removed", "export taken", "delete of exports in use",
	"neighbour: CREATE_COMPLETE", "neighbour: ROLLBACK_COMPLETE", "neighbour: UPDATE_COMPLETE", "neighbour: UPDATE_ROLLBACK_COMPLETE",
}
