//go:build unix

// Command proof measures the figures that this project promises on this machine, and reports whether each goal is
// reached.
//
//	go run ./proof -only idle,start,waiting,cycles,stacks -rounds 3
//
// It builds pintle and runs it as a process, with providers and its own PostgreSQL server, all on loopback. Each
// measurement prints its table and writes it to results/proof-NAME.json, from which the command report makes pages.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pintle-dev/pintle/bench/cycle"
	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/bench/result"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
}

// scale is the amount that is measured.
type scale struct {
	rounds    int
	rest      time.Duration // for which an idle server is measured
	starts    int           // per round and kind
	full      int           // resources of a full database, in stacks of at most perStack
	waiting   int           // waiting requests
	perStack  int           // resources of a stack, if their number does not matter
	cycles    []cycle.Size
	sizes     []int // of stacks of independent resources, each ten times the previous one, at least two
	chain     int   // resources of a stack in which each depends on the previous one
	stackWait time.Duration
}

// promised is the scale of the goals.
func promised() scale {
	return scale{
		rounds: 3, rest: 20 * time.Second, starts: 5, full: 10_000, waiting: 100_000, perStack: 500,
		cycles: cycle.Sizes(), sizes: []int{100, 1_000, 10_000}, chain: 1_000, stackWait: time.Minute,
	}
}

// proofs are the available measurements.
var proofs = []struct {
	name string
	run  func(*proof, context.Context, *result.File) error
}{
	{"idle", (*proof).idle},
	{"start", (*proof).start},
	{"waiting", (*proof).wait},
	{"cycles", (*proof).cycles},
	{"stacks", (*proof).stacks},
}

func names() []string {
	var list []string
	for _, p := range proofs {
		list = append(list, p.name)
	}
	return list
}

// proof is one run of the command.
type proof struct {
	scale
	folder  string // of all created files; it is removed
	program string // path of pintle
	stores  []*measure.Store
}

func command(ctx context.Context, args []string, out io.Writer) error {
	s := promised()
	flags := flag.NewFlagSet("proof", flag.ContinueOnError)
	only := flags.String("only", strings.Join(names(), ","), "what is measured")
	stores := flags.String("stores", "sqlite,postgres", "on which databases")
	results := flags.String("results", result.Folder, "the `folder` of the files of figures")
	program := flags.String("pintle", "", "the `program` that is measured (default: built from this checkout)")
	flags.IntVar(&s.rounds, "rounds", s.rounds, "how often each is measured, in turns; what takes minutes is measured once")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if s.rounds < 1 {
		return errors.New("-rounds is at least 1")
	}
	chosen := strings.Split(*only, ",")
	for _, name := range chosen {
		if !slices.Contains(names(), name) {
			return fmt.Errorf("-only %s: there are %s", name, strings.Join(names(), ", "))
		}
	}
	return run(ctx, s, chosen, strings.Split(*stores, ","), *results, *program, out)
}

// run runs the chosen measurements in order, and writes each result immediately.
func run(ctx context.Context, s scale, chosen, stores []string, results, program string, out io.Writer) (err error) {
	p := &proof{scale: s, program: program}
	if p.folder, err = os.MkdirTemp("", "proof-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.folder)) }()
	if p.program == "" {
		if p.program, err = measure.Build(ctx, p.folder); err != nil {
			return err
		}
	}
	if p.stores, err = measure.Stores(p.folder, stores...); err != nil {
		return err
	}
	defer func() {
		for _, store := range p.stores {
			err = errors.Join(err, store.Close())
		}
	}()
	for _, proof := range proofs {
		if !slices.Contains(chosen, proof.name) {
			continue
		}
		began := time.Now()
		f := result.New("proof-" + proof.name)
		if err := proof.run(p, ctx, &f); err != nil {
			return fmt.Errorf("%s: %w", proof.name, err)
		}
		f.Made = time.Now().UTC().Truncate(time.Second)
		if err := errors.Join(f.Print(out), f.Write(results)); err != nil {
			return err
		}
		fmt.Fprintf(out, "measured in %.0f s\n\n", time.Since(began).Seconds())
	}
	return nil
}
