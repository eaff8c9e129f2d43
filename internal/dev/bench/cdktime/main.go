//go:build unix

// Command cdktime prints how long it takes to deploy a small CDK app. It measures the CDK's own command on a stub
// where a stack takes no time or a moment, the same command on this server, and the deployment of the same template
// without that command. PINTLE_CDK_CLI is the directory that tools/cdkapps/install created.
//
//	make cdktime
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cdktime:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	rounds := flag.Int("rounds", 5, "how often each is measured, in turns")
	flag.Parse()
	if *rounds < 1 {
		return errors.New("rounds are at least 1")
	}
	tools := os.Getenv("PINTLE_CDK_CLI")
	if _, err := os.Stat(filepath.Join(tools, "node_modules", ".bin", "cdk")); err != nil {
		return errors.New("PINTLE_CDK_CLI names no folder that tools/cdkapps/install has made; make cdktime sets it")
	}
	dir, err := os.MkdirTemp("", "cdktime")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := newStage(ctx, dir, tools)
	if err != nil {
		return err
	}
	var floors, moments, served, alone []time.Duration
	for round := range *rounds {
		floor, err := s.onStub(ctx, 0)
		if err != nil {
			return fmt.Errorf("on the stub: %w", err)
		}
		short, err := s.onStub(ctx, moment)
		if err != nil {
			return fmt.Errorf("on the stub that takes %v: %w", moment, err)
		}
		ours, err := s.onServer(ctx, round)
		if err != nil {
			return fmt.Errorf("on the server: %w", err)
		}
		direct, err := s.withoutCDK(ctx, round)
		if err != nil {
			return fmt.Errorf("without the CDK: %w", err)
		}
		floors, moments, served, alone = append(floors, floor), append(moments, short), append(served, ours), append(alone, direct)
	}
	fmt.Print("| One resource, with its function | time | ratio |\n|---|---|---|\n")
	for _, row := range []struct {
		name  string
		times []time.Duration
	}{
		{"`cdk deploy` where all is done when it looks first", floors},
		{fmt.Sprintf("`cdk deploy` where that takes %v", moment), moments},
		{"`cdk deploy` on `pintle serve --dev`", served},
		{"`pintle deploy --run-functions` of the same template", alone},
	} {
		fmt.Printf("| %s | %.2f s | %.2f |\n", row.name, median(row.times).Seconds(), ratio(row.times, moments))
	}
	return nil
}

// moment is the duration of a stack that hardly adds to the command's own time: it is shorter than the command's
// polling interval.
const moment = 100 * time.Millisecond

// ratio returns the median of the ratios of the rounds.
func ratio(times, floors []time.Duration) float64 {
	ratios := make([]float64, len(times))
	for i, t := range times {
		ratios[i] = float64(t) / float64(floors[i])
	}
	return median(ratios)
}

func median[T time.Duration | float64](list []T) T {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}
