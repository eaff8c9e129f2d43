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

// Errors about executions that callers branch on. An execution that is not there is [store.ErrNotFound].
var (
	// ErrExecutionExists is the error of starting an execution under a name that was used, for another input or an
	// execution that has ended.
	ErrExecutionExists = errors.New("there is an execution of that name")
	// ErrMachineGone is the error of starting an execution of a machine whose stack is deleted.
	ErrMachineGone = errors.New("the stack of the state machine is deleted")
	// ErrExecutionData is the error of starting an execution with an input that is too long, or is not JSON.
	ErrExecutionData = errors.New("the input of an execution is JSON, of at most 262,144 bytes")
)

// MachineExecution is a run of a state machine. Its data belong to the users of the machine, and may be secret.
type MachineExecution struct {
	// ARN is the execution's id. It is made of Machine and Name.
	ARN string
	// Machine is the ARN of its state machine, and Stack the id of the stack that created the machine.
	Machine string
	Stack   wire.StackID
	// Name is the name that the execution was started under. If it is empty in a start, the engine chooses a new one.
	Name string
	// Definition is the machine's definition when the execution started, and Input its input as JSON. In the result
	// of [StateMachines.Executions] both are empty, and so are Output, Error and Cause.
	Definition string
	Input      json.RawMessage

	Status store.ExecutionStatus
	// State is the current state, or the last one.
	State string
	// Output is the result of an execution that succeeded. Error and Cause say why one failed or was stopped.
	Output       json.RawMessage
	Error, Cause string
	Started      time.Time
	// Stopped is zero while the execution runs.
	Stopped time.Time
}

// executionMark is in the ids of executions, and of no other request.
const executionMark = ":execution:"

func isExecution(id wire.RequestID) bool { return strings.Contains(string(id), executionMark) }

// executionARN returns the ARN of an execution of a machine.
func executionARN(machine, name string) wire.RequestID {
	return wire.RequestID(strings.Replace(machine, ":stateMachine:", executionMark, 1) + ":" + name)
}

// StateMachines starts, stops and describes executions of state machines.
type StateMachines struct{ *runner }

// StartExecution starts an execution: Machine, Stack and Definition say of what, Input and Name are the caller's. The name,
// and the ARN of the machine, are taken to be well-formed. When it returns that is durable, and the execution lives on until
// it has ended, is stopped, or its stack is deleted. The same name and input as those of one that runs are that one. Its errors
// are [asl.DefinitionError], [ErrExecutionExists], [ErrMachineGone] and [ErrExecutionData].
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
		return MachineExecution{}, fmt.Errorf("%q is no ARN of a state machine", in.Machine)
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

// Execution returns an execution by its ARN, or [store.ErrNotFound]: one that has ended is kept as long as settled requests
// are.
func (m StateMachines) Execution(ctx context.Context, arn string) (MachineExecution, error) {
	row, err := m.executionRow(ctx, arn)
	if err != nil {
		return MachineExecution{}, err
	}
	return machineExecutionOf(&row)
}

// Executions returns up to limit executions of a machine, newest first, after the one of an ARN (empty: from the newest), without
// their data. status is one that they have, empty for any. It returns [store.ErrNotFound] if the one of the ARN is not there any
// more.
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

// StopExecution aborts an execution that runs, for a reason that is kept with it, and returns it as it is then; one that has
// ended stays as it is. What its task is doing at that moment goes on, and counts for nothing. It returns [store.ErrNotFound] if
// there is none.
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

// AbortExecutions ends all executions of a machine that run, because the machine is deleted.
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

// machineExecutionOf reads a row, with its data if it has its body.
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
