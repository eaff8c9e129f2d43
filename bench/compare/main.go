//go:build unix

// Compare compares the cycle of a request with its floor and with the same cycle on other durable engines. The load
// consists of chains of steps. Each step is recorded, delivered and answered over HTTP, and acknowledged when the answer
// and the next step are durable. Package cycle describes the load, and the packages below peer the use of each engine.
//
//	go run ./compare -rounds 3
//
// In each round every entrant runs every case, in turns, each time in a new process and on a new database. Compare prints
// a table for each kind of database and writes results/compare-sqlite.json and results/compare-postgres.json. Slow peers
// are measured for -window.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/bench/cycle"
	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/bench/result"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("compare", flag.ContinueOnError)
	rounds := set.Int("rounds", 3, "how often everyone runs every case, in turns; the median counts")
	window := set.Duration("window", 4*time.Second, "the longest that a peer's cycles are counted for in one run")
	only := set.String("only", "", "only these `NAMES`, with commas: "+strings.Join(names(), ","))
	kinds := set.String("stores", "sqlite,postgres", "only these `STORES`")
	chains := set.String("chains", "1,16,256", "how many chains run at a time, for each case a `NUMBER`")
	length := set.Int("length", 0, "steps of each chain; 0 takes 400 for one chain, 100 for up to 64, and 30 for more")
	folder := set.String("results", result.Folder, "the `FOLDER` that gets the files")
	one := set.String("one", "", "run only this `NAME`, here, and print its rate; as this program calls itself")
	path := set.String("path", "", "the new SQLite `FILE` for -one")
	dsn := set.String("dsn", "", "the new PostgreSQL database's `URL` for -one")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 || *rounds < 1 || *window <= 0 || *length < 0 || *length == 1 {
		return errors.New("-rounds is 1 or more, -window more than 0, -length 2 or more, and there are no arguments; see -help")
	}
	sizes, err := sizes(*chains, *length)
	if err != nil {
		return err
	}
	if *one != "" {
		return runHere(ctx, *one, measure.Database{Path: *path, DSN: *dsn}, sizes[0], *window)
	}
	entrants, err := choose(*only)
	if err != nil {
		return err
	}
	c := comparison{entrants: entrants, sizes: sizes, rounds: *rounds, window: *window}
	return compare(ctx, c, strings.Split(*kinds, ","), *folder)
}

// compare compares on each kind of store, prints the tables and writes the files.
func compare(ctx context.Context, c comparison, kinds []string, folder string) (err error) {
	temporary, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	stores, err := measure.Stores(temporary, kinds...)
	if err != nil {
		return err
	}
	defer func() {
		for _, store := range stores {
			err = errors.Join(err, store.Close())
		}
	}()
	for _, store := range stores {
		file, err := c.on(ctx, store)
		if err != nil {
			return err
		}
		c.print(file)
		if err := file.Write(folder); err != nil {
			return err
		}
	}
	return nil
}

// sizes parses a list of numbers of concurrent chains.
func sizes(chains string, length int) ([]cycle.Size, error) {
	var list []cycle.Size
	for text := range strings.SplitSeq(chains, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-chains %s: %q is no number of chains", chains, text)
		}
		size := cycle.Size{Chains: n, Length: length}
		switch {
		case length > 0:
		case n == 1:
			size.Length = 400
		case n <= 64:
			size.Length = 100
		default:
			size.Length = 30
		}
		if slices.ContainsFunc(list, func(s cycle.Size) bool { return s.Chains == n }) {
			return nil, fmt.Errorf("-chains %s: %d is there twice", chains, n)
		}
		list = append(list, size)
	}
	return list, nil
}
