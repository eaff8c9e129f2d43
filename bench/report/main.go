// Command report makes the tables and pictures of docs/performance.md from the files in results. It measures nothing.
//
//	go run ./report
//
// The other text of the page is written by hand. Generated text replaces the parts between marks, such as <!-- bench:idle
// --> and <!-- /bench:idle -->. With -check nothing is written, and a file that would change is an error.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/bench/result"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	results := flags.String("results", result.Folder, "the `folder` of the files of figures")
	page := flags.String("page", filepath.Join("..", "docs", "performance.md"),
		"the `file` that has the tables; pictures are in a folder beside it")
	check := flags.Bool("check", false, "write nothing, and fail if something would be written")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	files, err := compose(*results, *page)
	if err != nil {
		return err
	}
	if *check {
		return differs(files)
	}
	return write(files)
}

// file is a generated file.
type file struct{ path, text string }

// compose returns the page, followed by its pictures.
func compose(results, page string) ([]file, error) {
	old, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	r := &report{folder: results, seen: filepath.Base(pictures(page)), pictures: map[string]string{}}
	blocks, err := r.blocks()
	if err != nil {
		return nil, err
	}
	text, err := fill(string(old), blocks)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", page, err)
	}
	files := []file{{page, text}}
	for _, name := range slices.Sorted(maps.Keys(r.pictures)) {
		files = append(files, file{filepath.Join(pictures(page), name), r.pictures[name]})
	}
	return files, nil
}

// pictures returns the directory of a page's pictures: docs/performance for docs/performance.md.
func pictures(page string) string { return strings.TrimSuffix(page, filepath.Ext(page)) }

func write(files []file) error {
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(f.path, []byte(f.text), 0o644); err != nil { //nolint:gosec // pages are readable for everyone
			return err
		}
	}
	return nil
}

// differs returns an error that lists every file that differs from its generated text, and every picture that is no
// longer generated.
func differs(files []file) error {
	var all []error
	known := map[string]bool{}
	for _, f := range files {
		known[f.path] = true
		if text, err := os.ReadFile(f.path); err != nil || string(text) != f.text {
			all = append(all, fmt.Errorf("%s is not what the results make it: run make report", f.path))
		}
	}
	there, err := filepath.Glob(filepath.Join(pictures(files[0].path), "*.svg"))
	if err != nil {
		return err
	}
	for _, path := range there {
		if !known[path] {
			all = append(all, fmt.Errorf("%s is made of no result: remove it", path))
		}
	}
	return errors.Join(all...)
}
