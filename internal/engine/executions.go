package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/asl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Errors about executions that callers branch on. The error for a missing execution is [store.ErrNotFound].
var (
	// ErrExecutionExists is the error for a start under a used name with another input, or with the name of a
	// finished execution.
	ErrExecutionExists = errors.New("there is an execution of that name")
	// ErrMachineGone is the error for a start on a machine whose stack is deleted.
	ErrMachineGone = errors.New("the stack of the state machine is deleted")
	// ErrExecutionData is the error for a start with an input that is too long or not JSON.
	ErrExecutionData = errors.New("the input of an execution is JSON, of at most 262,144 bytes")
)

// MachineExecution is an execution of a state machine. Its data belong to the users of the machine, and may be
// secret.
type MachineExecution struct {
	// ARN is the execution's ID. It consists of Machine and Name.
	ARN string
	// Machine is the ARN of the state machine, and Stack the ID of the stack that created it.
	Machine string
	Stack   wire.StackID
	// Name is the name of the execution. If it is empty at the start, the engine generates one.
	Name string
	// Definition is the machine's definition when the execution started, and Input its input as JSON. In the result
	// of [StateMachines.Executions] both are empty, and so are Output, Error and Cause.
	Definition string
	Input      json.RawMessage

	Status store.ExecutionStatus
	// State is the current state, or the last one.
	State string
	// Output is the result of a successful execution. Error and Cause explain why an execution failed or was stopped.
	Output       json.RawMessage
	Error, Cause string
	Started      time.Time
	// Stopped is zero while the execution runs.
	Stopped time.Time
}

// executionMark occurs in the IDs of executions, and in no other request ID.
const executionMark = ":execution:"

func isExecution(id wire.RequestID) bool { return strings.Contains(string(id), executionMark) }

// executionARN returns the ARN of an execution of a machine.
func executionARN(machine, name string) wire.RequestID {
	return wire.RequestID(strings.Replace(machine, ":stateMachine:", executionMark, 1) + ":" + name)
}

// StateMachines starts, stops and describes executions of state machines.
type StateMachines struct{ *runner }

// StartExecution starts an execution of Machine, Stack and Definition, with the caller's Input and Name. It assumes
// that the name and the machine's ARN are well-formed. When it returns, the execution is durable. It runs until it
// finishes, is stopped, or its stack is deleted. A start with the name and input of a running execution returns that
// execution. The errors are [asl.DefinitionError], [ErrExecutionExists], [ErrMachineGone] and [ErrExecutionData].
func (m StateMachines) StartExecution(ctx context.Context, in MachineExecution) (MachineExecution, error) {
	states, err := asl.Parse(in.Definition)
	if err != nil {
		return MachineExecution{}, err
	}
	if len(in.Input) > asl.MaxData || !json.Valid(in.Input) {
		return MachineExecution{}, ErrExecutionData
	}
	if in.Name == "" {
		in.Name = m.env.newID()
	}
	if !strings.Contains(in.Machine, ":stateMachine:") {
		return MachineExecution{}, fmt.Errorf("%q is not the ARN of a state machine", in.Machine)
	}
	stack, err := m.store.Stack(ctx, in.Stack)
	if errors.Is(err, store.ErrNotFound) {
		return MachineExecution{}, ErrMachineGone
	} else if err != nil {
		return MachineExecution{}, err
	}
	var row store.Request
	target := store.Target{Stack: stack.Key, Request: executionARN(in.Machine, in.Name), Alone: true}
	err = m.apply(ctx, target, func(d *decision) (err error) {
		row, err = executions{d}.start(target.Request, &in, states)
		return err
	})
	if err != nil {
		return MachineExecution{}, err
	}
	return machineExecutionOf(&row)
}

// Execution returns an execution by its ARN, or [store.ErrNotFound]. The store keeps finished executions as long as
// settled requests.
func (m StateMachines) Execution(ctx context.Context, arn string) (MachineExecution, error) {
	row, err := m.executionRow(ctx, arn)
	if err != nil {
		return MachineExecution{}, err
	}
	return machineExecutionOf(&row)
}

// Executions returns up to limit executions of a machine without their data, newest first. after is the ARN of the
// last execution of the previous page, empty for the first page. status filters by status, empty for any. Executions
// returns [store.ErrNotFound] if the execution of after no longer exists.
func (m StateMachines) Executions(ctx context.Context, machine string, status store.ExecutionStatus, after string, limit int) ([]MachineExecution, error) {
	const page = 200
	list := make([]MachineExecution, 0, min(limit, page))
	for from := wire.RequestID(after); len(list) < limit; {
		rows, err := m.store.Executions(ctx, machine, status == store.ExecutionRunning, from, page)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			from = rows[i].ID
			if len(list) < limit && (status == "" || status == rows[i].Execution.Status) {
				x, err := machineExecutionOf(&rows[i])
				if err != nil {
					return nil, err
				}
				list = append(list, x)
			}
		}
		if len(rows) < page {
			break
		}
	}
	return list, nil
}

// StopExecution aborts a running execution, stores the reason and returns the execution. A finished one stays
// unchanged. The task in progress continues, but its result is ignored. StopExecution returns [store.ErrNotFound] if
// the execution does not exist.
func (m StateMachines) StopExecution(ctx context.Context, arn, reason, cause string) (MachineExecution, error) {
	if !isExecution(wire.RequestID(arn)) {
		return MachineExecution{}, store.ErrNotFound
	}
	var row store.Request
	err := m.apply(ctx, store.Target{Request: wire.RequestID(arn), Alone: true}, func(d *decision) error {
		row = *d.view.Request
		if r := d.requests[row.ID]; r != nil {
			executions{d}.end(r, store.ExecutionAborted, executionData{Error: reason, Cause: cause})
			row = *r
		}
		return nil
	})
	if err != nil {
		return MachineExecution{}, err
	}
	return machineExecutionOf(&row)
}

// AbortExecutions aborts all running executions of a machine, because the machine is deleted.
func (m StateMachines) AbortExecutions(ctx context.Context, machine string) error {
	for {
		const page = 100
		rows, err := m.store.Executions(ctx, machine, true, "", page)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if _, err := m.StopExecution(ctx, string(row.ID), "", ""); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		if len(rows) < page {
			return nil
		}
	}
}

// machineExecutionOf converts a row. The data are included if the row has its body.
func machineExecutionOf(row *store.Request) (MachineExecution, error) {
	x := MachineExecution{
		ARN: string(row.ID), Machine: string(row.Logical), Name: row.Execution.Name, Status: row.Execution.Status,
		State: row.Execution.State, Started: row.Created, Stopped: row.Settled,
	}
	if row.Body == nil {
		return x, nil
	}
	frozen := frozenOf(row.Body)
	x.Stack, x.Definition, x.Input = row.Body.StackID, frozen.definition, json.RawMessage(frozen.input)
	if row.State == store.RequestSettled {
		data, err := dataOf(row.Body)
		if err != nil {
			return x, err
		}
		x.Error, x.Cause = data.Error, data.Cause
		if data.Output != "" {
			x.Output = json.RawMessage(data.Output)
		}
	}
	return x, nil
}
