//go:build unix

// Command callcost prints a table with the cost of an AWS call as a custom resource. It compares the provider of
// package awscall/customresource with the CDK's handler under Node, and a call of package awscall with the AWS CLI
// and boto3. All of them call the same AWS stand-in on loopback, in turns. PINTLE_CDK is the directory that
// tools/cdk/install prints.
//
//	make callcost
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "callcost:", err)
		os.Exit(1)
	}
}

// config sets how much is measured.
type config struct {
	rounds int // of starts and of runs; each includes all candidates in turns
	events int // per run
	warm   int // calls before the measurement
	builds int // with an empty cache; each takes half a minute
}

func run(ctx context.Context) error {
	if os.Getenv(callsVariable) != "" {
		return makeCalls(ctx)
	}
	var c config
	flag.IntVar(&c.rounds, "rounds", 7, "how often each is measured, in turns")
	flag.IntVar(&c.events, "events", 500, "events or calls of a warm process")
	flag.IntVar(&c.warm, "warm", 200, "events or calls before those")
	flag.IntVar(&c.builds, "builds", 1, "builds with an empty cache")
	flag.Parse()
	if c.rounds < 1 || c.events < 1 || c.warm < 0 || c.builds < 0 {
		return errors.New("rounds and events are at least 1, the others 0")
	}
	cdk := os.Getenv("PINTLE_CDK")
	if _, err := os.Stat(filepath.Join(cdk, "cdk.json")); err != nil {
		return errors.New("PINTLE_CDK names no folder that tools/cdk/install has made; make callcost sets it")
	}
	root, err := output(ctx, "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "callcost")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)

	b, err := build(ctx, root, tmp, c.builds)
	if err != nil {
		return err
	}
	s, err := listen()
	if err != nil {
		return err
	}
	defer s.close()
	candidates, err := find(ctx, root, tmp, cdk, b.function, s)
	if err != nil {
		return err
	}
	starts, runs, err := measure(ctx, c, s, candidates)
	if err != nil {
		return err
	}
	printTimes("One call from the start of a process", "ms", candidates, starts, 1)
	printTimes(fmt.Sprintf("One more in a process that has made %d", c.warm), "µs", candidates, runs, 1000)
	return printSizes(ctx, b, cdk)
}
