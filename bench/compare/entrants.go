//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/bench/chain"
	"github.com/pintle-dev/pintle/bench/cycle"
	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/bench/peer/dbos"
	"github.com/pintle-dev/pintle/bench/peer/goworkflows"
	"github.com/pintle-dev/pintle/bench/peer/river"
)

// entrant is an engine in the comparison.
type entrant struct {
	name string
	note string // describes its configuration
	run  runner
}

// runner makes cycles on a new database. Only peers use window, the longest time for which their cycles are counted.
type runner func(ctx context.Context, at measure.Database, size cycle.Size, window time.Duration) (cycle.Rate, error)

// entrants returns all entrants, in the order of the tables.
func entrants() []entrant {
	return []entrant{
		{"pintle", "engine, delivery and server as in pintle serve; a chain is a stack", ours(cycle.Engine)},
		{"floor", "the same exchanges, and rows of the same number and size, with nothing else around them", ours(cycle.Floor)},
		{"river", "v0.43.0; FetchCooldown 1 ms; on SQLite one connection, and it looks for jobs every 2 ms", peer(river.Open)},
		{"dbos", "v1.4.0; on SQLite synchronous=FULL, and it looks for messages once a second, which cannot be set", peer(dbos.Open)},
		{"go-workflows", "v1.4.1; its backend for one process, a cache for all chains, no deadline", peer(goworkflows.Open)},
	}
}

func ours(run func(context.Context, measure.Database, cycle.Size) (cycle.Rate, error)) runner {
	return func(ctx context.Context, at measure.Database, size cycle.Size, _ time.Duration) (cycle.Rate, error) {
		return run(ctx, at, size)
	}
}

func peer(open chain.Open) runner {
	return func(ctx context.Context, at measure.Database, size cycle.Size, window time.Duration) (cycle.Rate, error) {
		return chain.Run(ctx, open, at, size, window)
	}
}

func names() []string {
	var list []string
	for _, e := range entrants() {
		list = append(list, e.name)
	}
	return list
}

// choose returns the entrants in a comma-separated list of names, in their own order. An empty list means all.
func choose(only string) ([]entrant, error) {
	if only == "" {
		return entrants(), nil
	}
	wanted := strings.Split(only, ",")
	for _, name := range wanted {
		if !slices.Contains(names(), name) {
			return nil, fmt.Errorf("nobody is named %q; there are %s", name, strings.Join(names(), ", "))
		}
	}
	return slices.DeleteFunc(entrants(), func(e entrant) bool { return !slices.Contains(wanted, e.name) }), nil
}

// runHere runs an entrant in this process and prints its rate as JSON.
func runHere(ctx context.Context, name string, at measure.Database, size cycle.Size, window time.Duration) error {
	list, err := choose(name)
	if err != nil {
		return err
	}
	if (at.Path == "") == (at.DSN == "") {
		return errors.New("-one needs either -path or -dsn")
	}
	made, err := list[0].run(ctx, at, size, window)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(made)
}
