//go:build unix

package cycle_test

import (
	"context"
	"errors"
	"testing"

	"github.com/pintle-dev/pintle/bench/cycle"
	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestCycles makes a few cycles with the engine and with the floor on each database.
func TestCycles(t *testing.T) {
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			if name == "postgres" {
				require.Postgres(t)
			}
			stores, err := measure.Stores(t.TempDir(), name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := stores[0].Close(); err != nil {
					t.Error(err)
				}
			})
			for what, run := range map[string]func(context.Context, measure.Database, cycle.Size) (cycle.Rate, error){"engine": cycle.Engine, "floor": cycle.Floor} {
				at, err := stores[0].New()
				if err != nil {
					t.Fatal(err)
				}
				rate, err := run(t.Context(), at, cycle.Size{Chains: 5, Length: 4})
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if rate.PerSecond <= 0 || rate.CPU <= 0 {
					t.Errorf("%s: %+v", what, rate)
				}
			}
		})
	}
}

// TestFailedRunsEnd checks that a failure ends a run that would otherwise hang.
func TestFailedRunsEnd(t *testing.T) {
	p := cycle.NewProvider(t.Context(), cycle.Size{Chains: 1, Length: 2})
	defer p.Close()
	wrong := errors.New("wrong")
	p.Fail(wrong)
	p.Fail(errors.New("a consequence"))
	if _, err := p.Measure(); !errors.Is(err, wrong) {
		t.Errorf("error %v", err)
	}
}
