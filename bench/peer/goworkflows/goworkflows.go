//go:build unix

// Package goworkflows runs chains on go-workflows, workflows that are replayed from a history in SQLite or PostgreSQL.
//
// A chain is a workflow. The delivery of a request is an activity with the request's document as input, and the answer is
// a signal. Answers have no deadline: that would need a timer for each step and make it slower.
//
// It is tuned like its own benchmark: with the backend that wakes the workers of its process instead of letting them
// poll, 100 connections to PostgreSQL, and a cache for the workflows of all chains.
package goworkflows

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/monoprocess"
	"github.com/cschleiden/go-workflows/backend/postgres"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/registry"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"
	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/bench/chain"
	"github.com/pintle-dev/pintle/bench/cycle"
	"github.com/pintle-dev/pintle/bench/measure"
)

// answered is the name of the signal for an answer.
const answered = "answered"

// Open starts a worker and a client on a new database.
func Open(ctx context.Context, c chain.Config) (chain.Peer, error) {
	store, err := open(c.Database)
	if err != nil {
		return nil, fmt.Errorf("go-workflows: %w", err)
	}
	options := worker.DefaultOptions
	options.WorkflowExecutorCacheSize = max(128, 2*c.Size.Chains)
	w := worker.New(store, &options)
	deliver := func(ctx context.Context, step chain.Step, document string) error {
		return c.Send(ctx, step, []byte(document))
	}
	run := func(ctx workflow.Context, number int) error {
		for n := range c.Size.Length {
			step := chain.Step{Chain: number, Number: n}
			sent := workflow.ExecuteActivity[any](ctx, workflow.DefaultActivityOptions, "deliver", step, string(step.Document()))
			if _, err := sent.Get(ctx); err != nil {
				return err
			}
			if _, ok := workflow.NewSignalChannel[string](ctx, answered).Receive(ctx); !ok {
				return errors.New("its signals have ended")
			}
		}
		return nil
	}
	err = errors.Join(w.RegisterWorkflow(run, registry.WithName("chain")),
		w.RegisterActivity(deliver, registry.WithName("deliver")), w.Start(ctx))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("go-workflows: %w", err), store.Close())
	}
	return &peer{store: store, worker: w, client: client.New(store), size: c.Size}, nil
}

func open(d measure.Database) (store backend.Backend, err error) {
	defer func() { // it panics if a database cannot be opened
		if problem := recover(); problem != nil {
			err = fmt.Errorf("open its store: %v", problem)
		}
	}()
	quiet := backend.WithLogger(slog.New(slog.DiscardHandler))
	if d.DSN == "" {
		return monoprocess.NewMonoprocessBackend(sqlite.NewSqliteBackend(d.Path, sqlite.WithBackendOptions(quiet))), nil
	}
	at, err := pgx.ParseConfig(d.DSN)
	if err != nil {
		return nil, err
	}
	return monoprocess.NewMonoprocessBackend(postgres.NewPostgresBackend(at.Host, int(at.Port), at.User, "none", at.Database,
		postgres.WithBackendOptions(quiet), postgres.WithPostgresOptions(func(db *sql.DB) { db.SetMaxOpenConns(100) }))), nil
}

type peer struct {
	store  backend.Backend
	worker *worker.Worker
	client *client.Client
	size   cycle.Size
}

func id(number int) string { return "chain-" + strconv.Itoa(number) }

// Begin starts a workflow for every chain.
func (p *peer) Begin(ctx context.Context) error {
	for n := range p.size.Chains {
		if _, err := p.client.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: id(n)}, "chain", n); err != nil {
			return fmt.Errorf("go-workflows: %w", err)
		}
	}
	return nil
}

// Answer signals a workflow. The signal is durable when Answer returns.
func (p *peer) Answer(ctx context.Context, step chain.Step, body []byte) error {
	return p.client.SignalWorkflow(ctx, id(step.Chain), answered, string(body))
}

// Close stops the worker, whose context was cancelled, and the store. Tasks in progress are abandoned.
func (p *peer) Close() error {
	var ended sync.WaitGroup
	done := make(chan struct{})
	ended.Go(func() { _ = p.worker.WaitForCompletion(); close(done) })
	select {
	case <-done:
	case <-time.After(5 * time.Second):
	}
	err := p.store.Close()
	ended.Wait()
	return err
}
