//go:build linux

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/bench/cycle"
	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/bench/result"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// little is the smallest scale that covers every path.
var little = scale{
	rounds: 1, rest: 50 * time.Millisecond, starts: 1, full: 7, waiting: 12, perStack: 5,
	cycles: []cycle.Size{{Chains: 3, Length: 3}}, sizes: []int{2, 20}, chain: 5,
}

// TestMeasurements makes every measurement, and checks its results.
func TestMeasurements(t *testing.T) {
	folder := t.TempDir()
	program, err := measure.Build(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			if store == "postgres" {
				require.Postgres(t)
			}
			results := t.TempDir()
			var out bytes.Buffer
			if err := run(t.Context(), little, names(), []string{store}, results, program, &out); err != nil {
				t.Fatal(err)
			}
			for _, want := range []struct {
				name, what, who, unit string
				goals                 int
			}{
				{"idle", store, who, "MB", 2},
				{"start", store + ", full", who, "ms", 0},
				{"waiting", "12 requests, " + store, who, "MB", 2},
				{"waiting", "12 requests, " + store + ", started again", who, "ms", 2},
				{"cycles", store + ", 3 chains", who, "cycles/s", 1},
				{"cycles", store + ", 3 chains", "floor", "cycles/s", 1},
				{"stacks", store + ", 20 resources, create", who, "s", 4},
				{"stacks", store + ", 5 in a chain, delete", who, "MB at the peak", 4},
			} {
				f, err := result.Read(results, "proof-"+want.name)
				if err != nil {
					t.Fatal(err)
				}
				if row, ok := f.Row(want.what, want.who, want.unit); !ok || row.Value <= 0 {
					t.Errorf("%s: %s, %s, %s: %v %+v", want.name, want.what, want.who, want.unit, ok, row)
				}
				if len(f.Goals) != want.goals {
					t.Errorf("%s: goals %+v", want.name, f.Goals)
				}
			}
			if said := out.String(); !strings.Contains(said, "at most 200 MB") || !strings.Contains(said, "proof-stacks") {
				t.Errorf("it says:\n%s", said)
			}
		})
	}
}

// TestWrongArguments checks common mistakes.
func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{{"-only", "idle,speed"}, {"-rounds", "0"}, {"-stores", "mysql", "-pintle", "unused"}} {
		var out bytes.Buffer
		if err := command(t.Context(), args, &out); err == nil || !strings.Contains(err.Error(), args[0]) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestTemplatesFit checks the size of the largest template.
func TestTemplatesFit(t *testing.T) {
	s := promised()
	if text := template("http://127.0.0.1:65535", s.sizes[len(s.sizes)-1], false, "version 5"); len(text) > 1_000_000 {
		t.Errorf("a template of %d bytes", len(text))
	}
}
