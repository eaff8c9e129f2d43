package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/internal/store/postgres"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
	"github.com/pintle-dev/pintle/wire"
)

// fault is the failure of one write to the store.
type fault int

const (
	// noFault is the run for comparison.
	noFault fault = iota
	// isRefused writes nothing, and returns an error.
	isRefused
	// isUnsure writes and returns an error, like a connection that breaks during a commit.
	isUnsure
	// isDeadBefore ends the process before the write.
	isDeadBefore
	// isDeadAfter ends the process after the write, before it returns.
	isDeadAfter
)

var faults = map[fault]string{
	isRefused: "refused", isUnsure: "done but reported failed", isDeadBefore: "crash before", isDeadAfter: "crash after",
}

// faultDatabase stores the rows. They survive the process that uses them.
type faultDatabase interface {
	// open opens the store as a process does.
	open(now func() time.Time) (store.Store, error)
	// died is notified that the process that had the store open ended without any further action.
	died() error
	// close closes the open stores.
	close() error
}

// inMemory is a database whose rows stay in memory.
type inMemory struct{ rows *memory.Store }

func (m *inMemory) open(now func() time.Time) (s store.Store, err error) {
	if m.rows == nil {
		m.rows, err = memory.New(memory.Config{Now: now})
	}
	return m.rows, err
}

func (*inMemory) died() error  { return nil }
func (*inMemory) close() error { return nil }

// inSQLite is a database file. A process that dies leaves a copy of the files in their current state.
type inSQLite struct {
	t     *testing.T
	path  string
	lives int
	now   *sqlite.Store
}

func (f *inSQLite) open(now func() time.Time) (store.Store, error) {
	keys, err := store.NewKeys(store.Key{ID: "a", Secret: bytes.Repeat([]byte("a"), store.KeySize)})
	if err != nil {
		return nil, err
	}
	if f.path == "" {
		f.path = filepath.Join(quickDir(f.t), "0.db")
	}
	s, err := sqlite.Open(context.Background(), sqlite.Config{Path: f.path, Codec: store.NewCodec(keys), Now: now})
	if err != nil {
		return nil, err
	}
	f.now = s
	return s, nil
}

// quickDir returns a directory in memory if possible, because processes die here, not machines.
func quickDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "pintle-faults-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (f *inSQLite) died() error {
	f.lives++
	next := filepath.Join(filepath.Dir(f.path), fmt.Sprint(f.lives, ".db"))
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(f.path + suffix)
		if err == nil {
			err = os.WriteFile(next+suffix, text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	f.path = next
	return f.now.Close()
}

func (f *inSQLite) close() error { return f.now.Close() }

// inPostgres is a database of a server. A process that dies leaves only committed data.
type inPostgres struct {
	dsn string
	now *postgres.Store
}

func (p *inPostgres) open(now func() time.Time) (s store.Store, err error) {
	keys, err := store.NewKeys(store.Key{ID: "a", Secret: bytes.Repeat([]byte("a"), store.KeySize)})
	if err != nil {
		return nil, err
	}
	p.now, err = postgres.Open(context.Background(), postgres.Config{DSN: p.dsn, Codec: store.NewCodec(keys), Now: now, Writers: 1, Readers: 1})
	return p.now, err
}

func (p *inPostgres) died() error  { return p.now.Close() }
func (p *inPostgres) close() error { return p.now.Close() }

var errWrite = errors.New("the disk is full")

// faultyWrites is the store of one process. It counts the writes and fails one of them.
type faultyWrites struct {
	store.Store
	w    *faultWorld
	dead bool
}

func (s *faultyWrites) write(what string, do func() error) error {
	if s.dead {
		return errors.New("the process is dead")
	}
	s.w.writes++
	if s.w.writes != s.w.at {
		return do()
	}
	s.w.hit = what
	switch s.w.fault {
	case noFault:
		return do()
	case isRefused:
		return errWrite
	case isUnsure:
		return errors.Join(do(), errWrite)
	case isDeadBefore:
		s.dead = true
		return errWrite
	case isDeadAfter:
		err := do()
		s.dead = true
		return errors.Join(err, errWrite)
	}
	panic("unknown fault")
}

func (s *faultyWrites) Apply(ctx context.Context, target store.Target, decide store.Decide) error {
	return s.write("apply", func() error { return s.Store.Apply(ctx, target, decide) })
}

func (s *faultyWrites) Join(ctx context.Context, name string) (node store.Incarnation, err error) {
	err = s.write("join", func() error { node, err = s.Store.Join(ctx, name); return err })
	return node, err
}

func (s *faultyWrites) Reap(ctx context.Context, node store.Incarnation, silent time.Duration) (taken int, err error) {
	err = s.write("reap", func() error { taken, err = s.Store.Reap(ctx, node, silent); return err })
	return taken, err
}

// faultWorld is an engine, its client, its providers and a clock. All of them continue after a failure: the client
// repeats a call, delivery a report, and a provider its PUT, until they are accepted.
type faultWorld struct {
	t        *testing.T
	scenario faultScenario
	fault    fault
	at       int // the write that fails
	writes   int
	hit      string // a description of that write

	now        time.Time
	database   faultDatabase
	rows       *faultyWrites
	engine     *engine.Engine
	ids        int
	inbox      []store.Request // in memory of the process
	unreported []outcomeReport // also in memory: outcomes of requests that the table does not have
	calls      int             // accepted calls
	begun      bool            // the next call was made and is being repeated
	provider   faultProvider
}

// outcomeReport is an outcome to report.
type outcomeReport struct {
	request store.Request
	outcome engine.Outcome
}

// faultProvider is all providers. They are not part of the process, and recognize a repeated request.
type faultProvider struct {
	times   map[string]int // requests by "Create A"
	answers map[wire.RequestID]string
	// owed are unacknowledged answers, in order; taken are acknowledged ones.
	owed  []wire.RequestID
	taken map[wire.RequestID]bool
	// sent counts the deliveries of each request.
	sent map[wire.RequestID]int
	// things are the existing resources by physical ID.
	things map[wire.PhysicalID]wire.LogicalID
}

// ends runs the scenario and returns the result.
func (w *faultWorld) ends() []string {
	w.t.Helper()
	w.provider = faultProvider{
		times: map[string]int{}, answers: map[wire.RequestID]string{}, taken: map[wire.RequestID]bool{},
		sent: map[wire.RequestID]int{}, things: map[wire.PhysicalID]wire.LogicalID{},
	}
	w.now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	defer func() {
		if err := w.database.close(); err != nil {
			w.t.Error(err)
		}
	}()
	for range 2000 {
		if w.t.Failed() {
			return nil
		}
		if !w.step() {
			return w.outcome()
		}
	}
	w.t.Errorf("it does not end; %d requests are in hand", len(w.inbox)+len(w.unreported))
	return nil
}

// step runs the next event, or returns false.
func (w *faultWorld) step() bool {
	switch {
	case w.engine == nil || w.rows.dead:
		w.start()
	case len(w.provider.owed) > 0:
		w.put(w.provider.owed[0])
	case len(w.unreported) > 0:
		t := w.unreported[0]
		w.unreported = w.unreported[1:]
		w.notify(t.request, t.outcome)
	case len(w.inbox) > 0:
		r := w.inbox[0]
		w.inbox = w.inbox[1:]
		w.deliver(r)
	case w.claim():
	case w.calls < len(w.scenario.calls) && w.call():
	default:
		return w.pass()
	}
	return true
}

// start starts a new process on the state that the last one left.
func (w *faultWorld) start() {
	w.inbox, w.unreported = nil, nil
	if w.rows != nil && w.rows.dead {
		if err := w.database.died(); err != nil {
			w.t.Fatal(err)
		}
	}
	rows, err := w.database.open(func() time.Time { return w.now })
	if err != nil {
		w.t.Fatal(err)
	}
	w.rows = &faultyWrites{Store: rows, w: w}
	w.engine, err = engine.Open(w.t.Context(), engine.Config{
		Store: w.rows, Alone: true,
		Dispatch: func(ready []store.Request) { w.inbox = append(w.inbox, ready...) },
		NewID: func() string {
			w.ids++
			return fmt.Sprintf("%08d-0000-4000-8000-000000000000", w.ids)
		},
	})
	if err != nil { // the supervisor restarts the node
		if !errors.Is(err, errWrite) {
			w.t.Fatal(err)
		}
		w.rows.dead = true
	}
}

// deliver delivers a request to its provider and reports that.
func (w *faultWorld) deliver(row store.Request) {
	p, r := &w.provider, row.Subject()
	p.sent[r.ID]++
	if p.taken[r.ID] {
		w.t.Errorf("%s of %s was sent after its answer was acknowledged", r.Type, r.Logical)
	}
	key := fmt.Sprint(r.Type, " ", r.Logical)
	accepted := engine.Outcome{Kind: engine.Accepted, Local: w.scenario.does[key] == "wait"}
	if accepted.Local && (row.Wait == nil || row.Wait.Try < 3) {
		w.notify(row, accepted)
		return
	}
	if _, known := p.answers[r.ID]; !known {
		p.times[key]++
		p.answers[r.ID] = w.perform(r, w.scenario.does[fmt.Sprint(key, " ", p.times[key])]+w.scenario.does[key])
	}
	if p.answers[r.ID] != "" && !slices.Contains(p.owed, r.ID) {
		p.owed = append(p.owed, r.ID)
	}
	w.notify(row, accepted)
}

// notify reports an outcome. A process that waits reports it after it is known to have the request.
func (w *faultWorld) notify(r store.Request, outcome engine.Outcome) {
	try := 0
	if r.Wait != nil {
		try = r.Wait.Try
	}
	outcome.Try = try
	err := w.engine.Report(w.t.Context(), r.ID, outcome)
	switch {
	case err != nil:
		w.unreported = append(w.unreported, outcomeReport{r, outcome})
	case outcome.Kind == engine.Accepted && outcome.Local && try < 3:
		w.notify(r, engine.Outcome{Kind: engine.Waiting, After: time.Minute, Pending: fmt.Append(nil, try)})
	}
}

// perform carries out a request and returns the answer, or nothing if the provider hangs.
func (w *faultWorld) perform(r store.Request, does string) string {
	things := w.provider.things
	id := r.Body.PhysicalID
	switch {
	case does == "hang":
		return ""
	case does == "fail":
		if id == "" {
			id = wire.PhysicalID(fmt.Sprint("no-", r.Logical))
		}
		return document(r, fmt.Sprintf(`"Status": "FAILED", "PhysicalResourceId": %q, "Reason": "it was told to"`, id))
	case r.Type == wire.Delete:
		delete(things, id)
	case r.Type == wire.Create || does == "replace":
		id = wire.PhysicalID(fmt.Sprintf("%s-%d", r.Logical, len(things)+w.provider.times[fmt.Sprint("Create ", r.Logical)]))
		for things[id] != "" {
			id += "x"
		}
		things[id] = r.Logical
	}
	return document(r, success(string(id))+`, "Data": {"Secret": "s3cret"}, "NoEcho": true`)
}

// put sends an owed answer.
func (w *faultWorld) put(id wire.RequestID) {
	if err := w.engine.Answer(w.t.Context(), id, []byte(w.provider.answers[id]), 0); err == nil {
		w.provider.owed = slices.DeleteFunc(w.provider.owed, func(r wire.RequestID) bool { return r == id })
		w.provider.taken[id] = true
	}
}

// claim reads the table as delivery does periodically, because a commit that was reported as failed dispatched
// nothing.
func (w *faultWorld) claim() bool {
	left, err := w.rows.Claim(w.t.Context(), w.engine.Node(), 100, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.inbox = append(w.inbox, left...)
	return len(left) > 0
}

// call makes the client's next call when it is due. An error which shows that the call was accepted before counts as
// accepted.
func (w *faultWorld) call() bool {
	c := w.scenario.calls[w.calls]
	stacks, err := w.rows.Stacks(w.t.Context(), account, region, true, 0, 10)
	if err != nil {
		w.t.Fatal(err)
	}
	rest := !slices.ContainsFunc(stacks, func(s store.Stack) bool { return !s.Phase.Final() })
	if rest == c.meanwhile && !w.begun {
		return false
	}
	w.begun = true
	err = c.do(w.t.Context(), w.engine)
	if err == nil {
		w.calls++
		w.begun = false
		return true
	}
	var input *engine.Error
	if errors.As(err, &input) {
		w.t.Errorf("call %d: %v", w.calls, err)
	}
	return true
}

// pass moves the clock to the next due time, or returns false.
func (w *faultWorld) pass() bool {
	_, next, err := w.rows.Due(w.t.Context(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	if next.IsZero() {
		if w.calls < len(w.scenario.calls) {
			w.t.Errorf("call %d never had its time", w.calls)
		}
		return false
	}
	if next.After(w.now) {
		w.now = next
	}
	_ = w.engine.Fire(w.t.Context()) // it remains due if it is not fired
	return true
}

// outcome returns everything that is visible afterwards, except IDs and times.
func (w *faultWorld) outcome() (lines []string) {
	ctx := w.t.Context()
	check := func(err error) {
		if err != nil {
			w.t.Fatal(err)
		}
	}
	stacks, err := w.rows.Stacks(ctx, account, region, true, 0, 10)
	check(err)
	slices.SortFunc(stacks, func(a, b store.Stack) int { return strings.Compare(a.Name, b.Name) })
	exports, err := w.rows.Exports(ctx, account, region, "", 100)
	check(err)
	for _, e := range exports {
		importers, err := w.rows.Importers(ctx, account, region, e.Name, "", 100)
		check(err)
		lines = append(lines, fmt.Sprintf("export %s of %s = %s %v", e.Name, e.StackName, e.Value.JSON(), importers))
	}
	for _, s := range stacks {
		lines = append(lines, "stack "+engine.CloudFormation.StackStatus(s.Kind, s.Phase)+" "+string(s.OutputValues.JSON()))
		open, err := w.rows.Requests(ctx, s.Key)
		check(err)
		for _, r := range open {
			lines = append(lines, fmt.Sprintf("open %s %s", r.Type, r.Logical))
		}
		instances, err := w.rows.Instances(ctx, s.Key)
		check(err)
		for _, i := range instances {
			lines = append(lines, fmt.Sprintf("instance %s %s %s %s", i.Logical, i.Role, i.PhysicalID, short(i.Body.Properties.JSON())))
		}
		lines = append(lines, w.history(s.Key)...)
	}
	for _, id := range slices.Sorted(maps.Keys(w.provider.things)) {
		lines = append(lines, fmt.Sprintf("there is %s of %s", id, w.provider.things[id]))
	}
	for id := range w.provider.taken { // no acknowledged answer is lost
		r, err := w.rows.Request(ctx, id)
		if err != nil || r.State != store.RequestSettled {
			w.t.Errorf("the answer of %s %s was acknowledged, and the request is %s, error %v", r.Type, r.Logical, r.State, err)
		}
	}
	for id, answer := range w.provider.answers { // no answer is forgotten
		r, err := w.rows.Request(ctx, id)
		if err != nil || answer != "" && !w.provider.taken[id] {
			w.t.Errorf("%s of %s was answered, and that was never taken; error %v", r.Type, r.Logical, err)
		}
	}
	for i, line := range lines {
		lines[i] = anyID.ReplaceAllString(line, "ID")
	}
	return lines
}

// anyID matches IDs that the engine generated, or names that contain one. They also count discarded ones.
var anyID = regexp.MustCompile(`[0-9]{8}-0000-4000-8000-0{12}|S-[A-Z]-[A-Z0-9]{12}`)

// history returns the events of the stack, and those of each resource in order, because concurrent resources may come
// in any order. The event that a creation was initiated is optional: it depends on whether the delivery was reported
// before the answer.
func (w *faultWorld) history(key store.StackKey) []string {
	rows, err := w.rows.Events(w.t.Context(), key, store.EventCursor{}, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	var list []string
	for _, row := range slices.Backward(rows) {
		for _, e := range row.Events {
			if line := eventLine(e); !strings.Contains(line, "Initiated") {
				list = append(list, "event "+line)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return strings.Compare(strings.Fields(a)[1], strings.Fields(b)[1]) })
	return list
}
