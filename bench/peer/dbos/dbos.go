//go:build unix

// Package dbos runs chains on DBOS Transact, workflows whose steps are checkpointed in PostgreSQL or SQLite.
//
// A chain is a workflow. The delivery of a request is a step of the workflow, and the answer is a message that the
// workflow waits for with a deadline. The record of a request consists of the workflow's input and earlier checkpoints.
//
// It is configured as in its documentation, with only a database URL. But SQLite synchronises every commit, like ours;
// its default is NORMAL, which may lose the last commits on a power failure. And SQLite takes the write lock when a
// transaction begins.
package dbos

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // for SQLite's URLs

	"github.com/pintle-dev/pintle/bench/chain"
	"github.com/pintle-dev/pintle/bench/cycle"
)

// deadline is how long an answer may take.
const deadline = time.Hour

// Open starts DBOS on a new database.
func Open(ctx context.Context, c chain.Config) (chain.Peer, error) {
	url := c.Database.DSN
	if url == "" {
		url = "sqlite:file:" + c.Database.Path + "?_pragma=synchronous(FULL)&_txlock=immediate"
	}
	engine, err := dbos.NewContext(ctx, dbos.Config{AppName: "chains", DatabaseURL: url, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	p := &peer{engine: engine, size: c.Size}
	p.workflow = func(ctx dbos.Context, number int) (int, error) {
		for n := range c.Size.Length {
			step := chain.Step{Chain: number, Number: n}
			deliver := func(ctx context.Context) (int, error) { return n, c.Send(ctx, step, step.Document()) }
			if _, err := dbos.RunAsStep(ctx, deliver, dbos.WithStepName("deliver")); err != nil {
				return 0, err
			}
			if _, err := dbos.Recv[string](ctx, strconv.Itoa(n), deadline); err != nil {
				return 0, err
			}
		}
		return c.Size.Length, nil
	}
	dbos.RegisterWorkflow(engine, p.workflow, dbos.WithWorkflowName("chain"))
	return p, dbos.Launch(engine)
}

type peer struct {
	engine   dbos.Context
	workflow dbos.Workflow[int, int]
	size     cycle.Size
}

func id(number int) string { return "chain-" + strconv.Itoa(number) }

// Begin starts a workflow for every chain.
func (p *peer) Begin(context.Context) error {
	for n := range p.size.Chains {
		if _, err := dbos.RunWorkflow(p.engine, p.workflow, n, dbos.WithWorkflowID(id(n))); err != nil {
			return fmt.Errorf("dbos: %w", err)
		}
	}
	return nil
}

// Answer sends the message that a workflow waits for. The message is durable when Answer returns.
func (p *peer) Answer(_ context.Context, step chain.Step, body []byte) error {
	return dbos.Send(p.engine, id(step.Chain), string(body), strconv.Itoa(step.Number))
}

// Close stops DBOS. Its error is ignored, because it only reports workflows that still wait.
func (p *peer) Close() error {
	_ = dbos.Shutdown(p.engine, time.Second)
	return nil
}
