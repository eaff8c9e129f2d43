//go:build unix

// Peers compares pintle serve with other local emulators of CloudFormation: moto, ministack and LocalStack, as installed
// by tools/peers/install. The same client gives all of them the same templates, whose custom resources have a Python
// function as provider.
//
//	PINTLE_PEERS="$(../tools/peers/install)" go run ./peers -rounds 3
//
// It prints how long each takes to start, what it uses when idle, and the cost of creating, updating and deleting stacks
// of custom resources. It then prints the behaviour of each when a provider fails, replaces a resource, sends too much
// and so on. It writes results/peers.json and results/peers-behaviour.json. With -parts coldstart it prints the cost of
// the first deploy of an app with ten functions. A peer that is not installed or does not start is skipped, with a
// reason.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/bench/result"
)

// Variable is the environment variable that names the directory in which tools/peers/install has put the peers.
const Variable = "PINTLE_PEERS"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// bench configures the measurements of all targets.
type bench struct {
	rounds    int
	resources int           // of a measured stack
	rest      time.Duration // over which idle processor time is measured
	patience  time.Duration // for an operation of a stack to end
	temporary string
	peers     string // the directory of tools/peers/install, or empty
	program   string // path of pintle
}

func run(ctx context.Context, args []string) (err error) {
	set := flag.NewFlagSet("peers", flag.ContinueOnError)
	b := bench{peers: os.Getenv(Variable)}
	set.IntVar(&b.rounds, "rounds", 3, "how often everyone is started and timed, in turns; the median counts")
	set.IntVar(&b.resources, "resources", 10, "custom resources of a stack that is timed")
	set.DurationVar(&b.rest, "rest", 5*time.Second, "how long everyone is left alone to see what it takes at rest")
	set.DurationVar(&b.patience, "patience", 20*time.Second, "how long a stack's end is waited for")
	only := set.String("only", "", "only these `NAMES`, with commas: "+strings.Join(names(), ","))
	parts := set.String("parts", "times,behaviour", "only these `PARTS`")
	folder := set.String("results", result.Folder, "the `FOLDER` that gets the files")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 || b.rounds < 1 || b.resources < 1 || b.rest <= 0 || b.patience <= 0 {
		return errors.New("numbers and durations are more than 0, and there are no arguments; see -help")
	}
	targets, err := choose(*only)
	if err != nil {
		return err
	}
	if b.temporary, err = os.MkdirTemp("", "peers-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.temporary)) }()
	if b.program, err = measure.Build(ctx, b.temporary); err != nil {
		return err
	}
	targets, absent, err := b.able(ctx, targets)
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(*parts, ",") {
		var file result.File
		switch part {
		case "times":
			file, err = b.times(ctx, targets, absent)
		case "behaviour":
			file, err = b.behaviour(ctx, targets)
		case "coldstart":
			if err := b.coldStart(ctx, targets, absent); err != nil {
				return err
			}
			continue
		default:
			return fmt.Errorf("-parts %s: there are times, behaviour and coldstart", part)
		}
		if err != nil {
			return err
		}
		if err := file.Write(*folder); err != nil {
			return err
		}
	}
	return nil
}

// choose returns the targets in a comma-separated list of names, in their own order. An empty list means all.
func choose(only string) ([]target, error) {
	if only == "" {
		return targets(), nil
	}
	wanted := strings.Split(only, ",")
	for _, name := range wanted {
		if !slices.Contains(names(), name) {
			return nil, fmt.Errorf("nobody is named %q; there are %s", name, strings.Join(names(), ", "))
		}
	}
	return slices.DeleteFunc(targets(), func(t target) bool { return !slices.Contains(wanted, t.name) }), nil
}

// absence explains why a target cannot be compared.
type absence struct{ name, reason string }

// able starts every target once, and returns the ones that can be compared and the reasons for the others.
func (b bench) able(ctx context.Context, all []target) (there []target, absent []absence, err error) {
	for _, t := range all {
		running, err := b.start(ctx, t)
		if err != nil {
			if t.own || ctx.Err() != nil {
				return nil, nil, err
			}
			absent = append(absent, absence{t.name, reason(err)})
			continue
		}
		there = append(there, t)
		if err := running.stop(); err != nil {
			return nil, nil, err
		}
	}
	return there, absent, nil
}

// reason returns a short reason from an error: the line that begins with "Reason: ", or else the last one.
func reason(err error) string {
	said := "it does not start"
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		if why, ok := strings.CutPrefix(line, "Reason: "); ok {
			return short(why)
		}
		if line != "" {
			said = line
		}
	}
	return short(said)
}
