// Command roscorpus runs every ROS template in a directory against a server of this repository, and prints the
// results grouped by reason:
//
//	go build ./cmd/pintle && ./pintle serve --dev --run-functions --unknown-types record --data D --listen 127.0.0.1:4600 &
//	go run ./internal/dev/bench/roscorpus -endpoint http://127.0.0.1:4600 DIR
//
// For each template, the command fills in the parameters, then creates and deletes a stack. Because no instances are
// launched that could signal wait conditions, the command sends the signals. Templates with a Transform are counted
// and skipped.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/api/rosclient"
)

func main() {
	endpoint := flag.String("endpoint", "http://127.0.0.1:4600", "URL of the server")
	jobs := flag.Int("jobs", 32, "how many stacks are made at a time")
	patience := flag.Duration("patience", 30*time.Minute, "how long one stack may take: some sleep for minutes")
	list := flag.Bool("list", false, "print the outcome of every template")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: roscorpus [-endpoint URL] [-jobs N] [-patience TIME] [-list] DIR")
		os.Exit(2)
	}
	if err := run(context.Background(), *endpoint, flag.Arg(0), *jobs, *patience, *list); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// outcome is the result of a template.
type outcome struct {
	path string
	// stage is the last stage: transform, parameters, create, signal, delete or done. reason is the reason without
	// names.
	stage, reason string
}

func run(ctx context.Context, endpoint, dir string, jobs int, patience time.Duration, list bool) error {
	client, err := rosclient.New(rosclient.Config{
		Endpoint: endpoint, Region: "cn-hangzhou",
		Keys: func(context.Context) (rosclient.Keys, error) { return rosclient.Keys{ID: "test", Secret: "test"}, nil },
	})
	if err != nil {
		return err
	}
	files, err := templates(dir)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var all []outcome
	var wait sync.WaitGroup
	turns := make(chan struct{}, jobs)
	begin := time.Now()
	for i, path := range files {
		turns <- struct{}{}
		wait.Go(func() {
			defer func() { <-turns }()
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			one := try(ctx, client, fmt.Sprintf("corpus%s-%d", strconv.FormatInt(begin.Unix(), 36), i), path)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, one)
		})
	}
	wait.Wait()
	alone(ctx, client, all, patience)
	report(all, dir, list)
	return nil
}

// alone runs again, one at a time, the templates that failed because a stack of another template used the same name.
func alone(ctx context.Context, client *rosclient.Client, all []outcome, patience time.Duration) {
	for i, one := range all {
		if !strings.Contains(one.reason, " already exists in stack ") {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		all[i] = try(ctx, client, fmt.Sprintf("alone%s-%d", strconv.FormatInt(time.Now().Unix(), 36), i), one.path)
		cancel()
	}
}

// versioned matches the key that identifies a ROS template.
var versioned = regexp.MustCompile(`(?m)^\s*\{?\s*"?ROSTemplateFormatVersion"?\s*:`)

// templates returns the sorted paths of the ROS templates below a directory.
func templates(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !slices.Contains([]string{".yml", ".yaml", ".json"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && versioned.Match(text) {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// names matches the parts in which reasons of the same kind differ.
var names = regexp.MustCompile(`"[^"]*"|\([^)]*\)|\[[^\]]*\]|resources\.\S+|[A-Za-z0-9]+\.[A-Z][A-Za-z.]*`)

// report prints the number of templates for each result.
func report(all []outcome, dir string, list bool) {
	stages, reasons := map[string]int{}, map[string]int{}
	slices.SortFunc(all, func(a, b outcome) int { return strings.Compare(a.path, b.path) })
	for _, one := range all {
		stages[one.stage]++
		if one.stage != "done" && one.stage != "transform" {
			reasons[one.stage+": "+shortened(names.ReplaceAllString(one.reason, "…"))]++
		}
		if list {
			path, _ := filepath.Rel(dir, one.path)
			fmt.Printf("%s\t%s\t%s\n", path, one.stage, one.reason)
		}
	}
	tried := len(all) - stages["transform"]
	fmt.Printf("%d templates, %d with a Transform\n", len(all), stages["transform"])
	fmt.Printf("%d of %d created and deleted (%.1f %%)\n", stages["done"], tried, 100*float64(stages["done"])/float64(max(tried, 1)))
	for _, reason := range slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
		if reasons[a] != reasons[b] {
			return reasons[b] - reasons[a]
		}
		return strings.Compare(a, b)
	}) {
		fmt.Printf("%4d  %s\n", reasons[reason], reason)
	}
}

// longest is the maximum length of a printed reason.
const longest = 160

func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}
