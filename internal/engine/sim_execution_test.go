package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// simState is a state of a simulated machine: a task with one retrier for flaky errors and one for all others.
type simState struct {
	name, next, catch string
	attempts          [2]int
	timeout           time.Duration
	// wait makes it a Wait state, which uses only name and next.
	wait time.Duration
}

// simMachine is a state machine, and simMachines are the ones in use.
type simMachine struct {
	states  []simState
	timeout time.Duration
}

var simMachines = []simMachine{
	{states: []simState{{name: "A", attempts: [2]int{0, 2}, catch: "B"}, {name: "B"}}}, // CDK's waiter
	{states: []simState{{name: "A", attempts: [2]int{2, 0}, next: "B", catch: "C", timeout: 20 * time.Second}, {name: "B", attempts: [2]int{1, 1}}, {name: "C"}}},
	{states: []simState{{name: "A", attempts: [2]int{1, 3}}}, timeout: time.Minute},
	{states: []simState{{name: "A", next: "B"}, {name: "B", next: "C", timeout: time.Minute}, {name: "C", attempts: [2]int{0, 1}, catch: "B2"}, {name: "B2"}}},
	{states: []simState{{name: "W", wait: 10 * time.Second, next: "A"}, {name: "A", attempts: [2]int{1, 1}, next: "V", catch: "V"}, {name: "V", wait: 40 * time.Second}}},
	{states: []simState{{name: "A", attempts: [2]int{2, 2}, next: "W"}, {name: "W", wait: 30 * time.Second, next: "B"}, {name: "B"}}, timeout: time.Minute},
}

// simInterval is the pause before a retry, after a flaky error and after any other.
var simInterval = [2]time.Duration{time.Second, 5 * time.Second}

// definition returns the machine's definition.
func (m simMachine) definition() string {
	states := map[string]any{}
	for _, s := range m.states {
		task := map[string]any{"Type": "Task", "Resource": functionOf(s.name), "Retry": []any{
			map[string]any{"ErrorEquals": []string{"Flaky"}, "IntervalSeconds": simInterval[0] / time.Second, "MaxAttempts": s.attempts[0], "BackoffRate": 1},
			map[string]any{"ErrorEquals": []string{"States.ALL"}, "IntervalSeconds": simInterval[1] / time.Second, "MaxAttempts": s.attempts[1], "BackoffRate": 1},
		}}
		if s.wait > 0 {
			task = map[string]any{"Type": "Wait", "Seconds": s.wait / time.Second}
		}
		if s.next == "" {
			task["End"] = true
		} else {
			task["Next"] = s.next
		}
		if s.catch != "" {
			task["Catch"] = []any{map[string]any{"ErrorEquals": []string{"States.ALL"}, "Next": s.catch}}
		}
		if s.timeout > 0 {
			task["TimeoutSeconds"] = s.timeout / time.Second
		}
		states[s.name] = task
	}
	whole := map[string]any{"StartAt": m.states[0].name, "States": states}
	if m.timeout > 0 {
		whole["TimeoutSeconds"] = m.timeout / time.Second
	}
	text, err := json.Marshal(whole)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func functionOf(state string) string {
	return "arn:aws:lambda:us-east-1:123456789012:function:" + state
}

func (m simMachine) state(name string) simState {
	return m.states[slices.IndexFunc(m.states, func(s simState) bool { return s.name == name })]
}

// simRun is an execution, and the state that follows from the reports so far.
type simRun struct {
	machine simMachine
	name    string
	id      wire.RequestID
	input   string
	// last is the last known row; its ID is empty before the first one.
	last store.Request
	// payload is the expected input of the task, by try.
	payload []string
	// visits counts the failed tries of the state since the execution entered it.
	visits int
}

// simTask is the report on a try in progress, or a stop of an execution.
type simTask struct {
	run     *simRun
	try     int
	outcome engine.Outcome
	stop    bool
}

// startRun starts an execution, or repeats the start of an earlier one, like a client that retries until it gets an
// answer.
func (s *sim) startRun() {
	of := simMachines[s.rng.IntN(len(simMachines))]
	run := &simRun{machine: of, name: fmt.Sprintf("run-%d", len(s.runs)), input: fmt.Sprintf(`{"n": %d.0}`, len(s.runs))}
	run.id = wire.RequestID(strings.Replace(waiterMachine, "stateMachine", "execution", 1) + ":" + run.name)
	again, wrong := len(s.runs) > 0 && s.chance(15), false
	if again {
		known := *s.runs[s.rng.IntN(len(s.runs))]
		run = &known
		if wrong = s.chance(30); wrong {
			run.input = `"another"`
		}
		wrong = wrong || run.last.State == store.RequestSettled
	} else {
		s.runs = append(s.runs, run)
	}
	for try := 0; ; try++ {
		got, err := s.anyNode().engine.StartExecution(context.Background(), engine.MachineExecution{
			Machine: waiterMachine, Stack: s.row().ID, Definition: run.machine.definition(), Name: run.name, Input: json.RawMessage(run.input),
		})
		s.note("start %s: %v", run.name, err)
		switch {
		case wrong && errors.Is(err, engine.ErrExecutionExists):
			s.count("execution: name used")
			return
		case wrong && err == nil:
			s.breaks(byDefinition, "%s was started again", run.name)
			return
		case err == nil:
			if got.ARN != string(run.id) || string(got.Input) != run.input {
				s.breaks(byDefinition, "%s is %s with %s", run.name, got.ARN, got.Input)
			}
			if again {
				s.count("execution: started twice")
			}
			return
		case errors.Is(err, engine.ErrExecutionExists) && try > 0 && run.last.State == store.RequestSettled:
			return // it was started, and has finished, before the client got an answer
		case try == 50 || !errors.Is(err, errFault):
			s.breaks(runsEnd, "%s cannot be started: %v", run.name, err)
			return
		}
		s.perhapsKill()
	}
}

// stopRun stops an execution, or all of them as when their machine is deleted.
func (s *sim) stopRun() {
	if len(s.runs) == 0 {
		return
	}
	e := s.anyNode().engine
	s.tasking = &simTask{stop: true}
	var err error
	if s.chance(50) {
		_, err = e.StopExecution(context.Background(), string(s.runs[s.rng.IntN(len(s.runs))].id), "Stopped", "")
	} else {
		err = e.AbortExecutions(context.Background(), waiterMachine)
	}
	s.tasking = nil
	s.note("stop executions: %v", err)
	if err != nil && !errors.Is(err, errFault) && !errors.Is(err, store.ErrNotFound) {
		s.breaks(runsEnd, "executions cannot be stopped: %v", err)
	}
}

func (s *sim) runOf(id wire.RequestID) *simRun {
	return s.runs[slices.IndexFunc(s.runs, func(r *simRun) bool { return r.id == id })]
}

// perform plays the function that a task calls.
func (s *sim) perform(r store.Request, n *simNode) {
	run, try := s.runOf(r.ID), r.Execution.Try
	if want := run.payload[try-1]; payload(r) != want || r.Body.Token.Text() != functionOf(r.Execution.State) {
		s.breaks(byDefinition, "%s calls %s with %s in try %d, want %s", run.name, r.Body.Token.Text(), payload(r), try, want)
	}
	s.note("node %d calls %s for %s, try %d", n.number, r.Execution.State, run.name, try)
	remote := s.chance(40)
	if !remote {
		s.reportTask(r, n, engine.Outcome{Kind: engine.Accepted, Local: true})
	}
	outcome := engine.Outcome{Kind: engine.Returned, Body: fmt.Appendf(nil, `{"by": %q, "try": %d.0}`, r.Execution.State, try)}
	switch dice := s.rng.IntN(100); {
	case dice < 5 && !remote:
		s.count("execution: task hangs")
		return
	case dice < 35:
		outcome = engine.Outcome{Kind: engine.Died, Error: "Flaky", Cause: fmt.Sprintf(`{"errorMessage":"hush %d"}`, try)}
	case dice < 60:
		outcome = engine.Outcome{Kind: engine.Died, Error: "Boom", Cause: "hush"}
	case dice < 63:
		outcome = engine.Outcome{Kind: engine.Refused, Text: "connection refused"}
	}
	s.later(30*time.Second, n, func() {
		s.reportTask(r, n, outcome)
		if s.chance(10) {
			s.reportTask(r, n, outcome)
		}
	})
}

// reportTask reports a try to the engine until it is accepted.
func (s *sim) reportTask(r store.Request, n *simNode, outcome engine.Outcome) {
	run := s.runOf(r.ID)
	outcome.Try = r.Execution.Try
	before := s.request(r.ID)
	if outcome.Kind != engine.Accepted {
		delete(n.held, r.ID)
	}
	s.tasking = &simTask{run: run, try: outcome.Try, outcome: outcome}
	err := n.engine.Report(context.Background(), r.ID, outcome)
	s.tasking = nil
	s.note("%s of %s, try %d: %v", outcome.Kind, run.name, outcome.Try, err)
	if err != nil {
		s.later(time.Second, n, func() { s.reportTask(r, n, outcome) })
		return
	}
	delete(n.held, r.ID) // its delivery is finished, although the task may hang
	if outcome.Kind == engine.Returned && before.State != store.RequestSettled && before.Execution.Try == outcome.Try && run.last.Execution.Try == outcome.Try &&
		run.last.State != store.RequestSettled {
		s.breaks(byDefinition, "the result of try %d of %s was not used", outcome.Try, run.name)
	}
	if before.Execution.Try != outcome.Try || before.State == store.RequestSettled {
		s.count("execution: report of another try")
	}
}

// checkRuns checks the executions after a commit.
func (s *sim) checkRuns() {
	for _, run := range s.runs {
		if run.last.State == store.RequestSettled {
			continue
		}
		row, err := s.rows.Request(context.Background(), run.id)
		if errors.Is(err, store.ErrNotFound) {
			continue // it does not exist yet
		}
		s.must(err)
		if !s.row().Live && row.State != store.RequestSettled {
			s.breaks(runsEnd, "the stack is deleted and %s is still %s", run.name, row.State)
		}
		if run.last.ID == "" {
			run.payload = []string{run.input}
			if x := row.Execution; x.Try != 1 || x.State != run.machine.states[0].name || x.Status != store.ExecutionRunning || x.Waits != (run.machine.states[0].wait > 0) {
				s.breaks(byDefinition, "%s begins as %+v", run.name, x)
			}
			s.checkWait(run, row)
		} else if !reflect.DeepEqual(row.Execution, run.last.Execution) {
			s.checkMove(run, row)
		}
		if row.State == store.RequestSettled {
			s.count("execution: " + string(row.Execution.Status))
		}
		run.last = row
	}
}

// checkMove checks the cause and the target of an execution's move.
func (s *sim) checkMove(run *simRun, row store.Request) {
	was, is := run.last.Execution, row.Execution
	t := s.tasking
	var outcome engine.Outcome
	switch {
	case is.Status == store.ExecutionAborted:
		if s.row().Live && (t == nil || !t.stop) {
			s.breaks(byDefinition, "%s was stopped without a call", run.name)
		}
		return
	case is.Status == store.ExecutionTimedOut:
		if run.machine.timeout == 0 || s.now.Before(was.Deadline) {
			s.breaks(byDefinition, "%s timed out at %s, want %s", run.name, s.now, was.Deadline)
		}
		return
	case t != nil && t.run == run && t.try == was.Try:
		outcome = t.outcome
	case t == nil && was.Waits && !s.now.Before(run.last.Due):
		s.count("execution: waited")
		outcome = engine.Outcome{Kind: engine.Returned, Body: []byte(run.payload[was.Try-1])}
	case t == nil && run.last.State == store.RequestWaiting && !s.now.Before(run.last.Due):
		s.count("execution: task timed out")
		outcome = engine.Outcome{Kind: engine.Died, Error: "States.Timeout"}
	default:
		s.breaks(byDefinition, "%s has moved from %+v to %+v without an event", run.name, was, is)
		return
	}
	run.visits++
	state := run.machine.state(was.State)
	if most := 1 + state.attempts[0] + state.attempts[1]; run.visits > most {
		s.breaks(byDefinition, "%s has ended in %s for the %d. time, want at most %d", run.name, was.State, run.visits, most)
	}
	want := *was
	want.Tries, want.Waits = nil, false
	data, of := string(outcome.Body), 0
	if outcome.Kind != engine.Returned {
		if outcome.Error == "" {
			outcome.Error, outcome.Cause = "Lambda.Unknown", outcome.Text
		}
		if outcome.Error != "Flaky" {
			of = 1
		}
		text, err := json.Marshal(struct{ Error, Cause string }{outcome.Error, outcome.Cause})
		s.must(err)
		data = string(text)
	}
	tries := make([]int, 2)
	copy(tries, was.Tries)
	switch {
	case outcome.Kind == engine.Returned && state.next == "":
		want.Status = store.ExecutionSucceeded
	case outcome.Kind == engine.Returned:
		want.State, run.visits = state.next, 0
	case tries[of] < state.attempts[of]:
		tries[of]++
		want.Tries, data = tries, run.payload[was.Try-1]
		if due := s.now.Truncate(time.Millisecond).Add(simInterval[of]); row.State != store.RequestDelayed || row.Due.After(due) || row.Due.Before(due) && !row.Due.Equal(was.Deadline) {
			s.breaks(byDefinition, "%s is %s and tried again at %s, want %s", run.name, row.State, row.Due, due)
		}
		s.count("execution: tried again")
	case state.catch != "":
		want.State, run.visits = state.catch, 0
		s.count("execution: caught")
	default:
		want.Status = store.ExecutionFailed
	}
	if want.Status == store.ExecutionRunning {
		want.Try++
		want.Waits = run.machine.state(want.State).wait > 0
		run.payload = append(run.payload, data)
		s.checkWait(run, row)
	}
	if !reflect.DeepEqual(*is, want) {
		s.breaks(byDefinition, "%s is %+v after %s %s of %+v, want %+v", run.name, *is, outcome.Kind, outcome.Error, *was, want)
	}
}

// checkWait checks the end of a new wait.
func (s *sim) checkWait(run *simRun, row store.Request) {
	if !row.Execution.Waits || row.State == store.RequestSettled {
		return
	}
	due := s.now.Truncate(time.Millisecond).Add(run.machine.state(row.Execution.State).wait)
	if deadline := row.Execution.Deadline; !deadline.IsZero() && deadline.Before(due) {
		due = deadline
	}
	if row.State != store.RequestDelayed || !row.Due.Equal(due) {
		s.breaks(byDefinition, "%s is %s and waits until %s, want %s", run.name, row.State, row.Due, due)
	}
}

// endRuns lets the executions finish, which needs no operation of their stack.
func (s *sim) endRuns() {
	running := func(r *simRun) bool { return r.last.ID != "" && r.last.State != store.RequestSettled }
	starts := s.machines
	s.machines = false // otherwise more may start than finish
	defer func() { s.machines = starts }()
	for steps := 0; slices.ContainsFunc(s.runs, running) && s.row().Live && !s.failed(); steps++ {
		if steps > mostSteps {
			run := s.runs[slices.IndexFunc(s.runs, running)]
			s.breaks(runsEnd, "%s is still %s, at %+v", run.name, run.last.State, run.last.Execution)
			return
		}
		s.step()
	}
}

// checkEnded checks finished executions again.
func (s *sim) checkEnded() {
	for _, run := range s.runs {
		if run.last.State != store.RequestSettled {
			continue
		}
		if now := s.request(run.id); !reflect.DeepEqual(now, run.last) {
			s.breaks(byDefinition, "%s has ended as %+v and is %+v now", run.name, run.last, now)
		}
	}
}
