//go:build unix

package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/bench/result"
)

// TestMain makes this binary also the program, which calls itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-one" {
		if err := run(context.Background(), os.Args[1:]); err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestCompareAll(t *testing.T) {
	folder := t.TempDir()
	if err := run(t.Context(), []string{"-rounds", "2", "-stores", "sqlite", "-chains", "1,3", "-length", "3", "-results", folder}); err != nil {
		t.Fatal(err)
	}
	file, err := result.Read(folder, "compare-sqlite")
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"sqlite, 1 chain", "sqlite, 3 chains"} {
		for _, who := range names() {
			for _, unit := range []string{cyclesUnit, processorUnit} {
				if row, ok := file.Row(what, who, unit); !ok || len(row.Runs) != 2 || row.Value <= 0 {
					t.Errorf("%s: %s in %s: %v, %+v", what, who, unit, ok, row)
				}
			}
			if _, ok := file.Ratio(what, cyclesUnit, who, "floor"); !ok {
				t.Errorf("%s: %s has no ratio to the floor", what, who)
			}
		}
	}
}

func TestInvalidArguments(t *testing.T) {
	for args, want := range map[string]string{
		"-only nobody":           "there are pintle, floor",
		"-stores oracle":         "sqlite and postgres",
		"-chains 1,x":            `"x" is no number`,
		"-chains 4,4":            "twice",
		"-rounds 0":              "-rounds is 1 or more",
		"-one river":             "-path or -dsn",
		"-one nobody -path /x/y": "there are pintle, floor",
	} {
		if err := run(t.Context(), strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
