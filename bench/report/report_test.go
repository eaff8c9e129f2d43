package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestDocument checks the page against the results in the repository.
func TestDocument(t *testing.T) {
	if err := command([]string{"-results", "../results", "-page", "../../docs/performance.md", "-check"}); err != nil {
		t.Error(err)
	}
}

// TestReport makes a page and its pictures from results with every kind of row.
func TestReport(t *testing.T) {
	folder := t.TempDir()
	page := filepath.Join(folder, "page.md")
	blank, err := os.ReadFile("testdata/blank.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, blank, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-results", "testdata/results", "-page", page}
	if err := command(append(args, "-check")); err == nil {
		t.Error("a blank page is taken for one with figures")
	}
	if err := command(args); err != nil {
		t.Fatal(err)
	}
	if err := command(append(args, "-check")); err != nil {
		t.Error(err)
	}
	made := []string{"page.md"}
	pictures, err := filepath.Glob(filepath.Join(folder, "page", "*.svg"))
	if err != nil || len(pictures) != 4 {
		t.Errorf("pictures %v, error %v", pictures, err)
	}
	for _, path := range pictures {
		made = append(made, "page/"+filepath.Base(path))
	}
	for _, name := range made {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata/golden", filepath.Base(name))
		if *update {
			if err := os.WriteFile(golden, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// An outdated picture is reported.
	if err := os.WriteFile(filepath.Join(folder, "page", "old.svg"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := command(append(args, "-check")); err == nil || !strings.Contains(err.Error(), "old.svg") {
		t.Errorf("error %v", err)
	}
}

func TestInvalidPages(t *testing.T) {
	blocks := []block{{"a", "text of a"}, {"b", "text of b"}}
	const a, b = "<!-- bench:a -->\n<!-- /bench:a -->\n", "<!-- bench:b -->\nold\n<!-- /bench:b -->\n"
	for want, page := range map[string]string{
		"no place for the block b":   a,
		"the block a is there twice": a + a + b,
		"nothing makes the block c":  a + b + "<!-- bench:c -->\n",
		"the block b begins inside":  "<!-- bench:a -->\n" + b,
		"the block b does not end":   a + "<!-- bench:b -->\n",
		"b ends and has not begun":   a + "<!-- /bench:b -->\n",
	} {
		if _, err := fill(page, blocks); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", page, err, want)
		}
	}
	got, err := fill("before\n"+a+"between\n"+b+"after\n", blocks)
	want := "before\n<!-- bench:a -->\n\ntext of a\n\n<!-- /bench:a -->\nbetween\n<!-- bench:b -->\n\ntext of b\n\n<!-- /bench:b -->\nafter\n"
	if err != nil || got != want {
		t.Errorf("error %v, %s", err, cmp.Diff(want, got))
	}
}
