package maintenance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/maintenance"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

func newMemory(t *testing.T) *memory.Store {
	t.Helper()
	s, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs an upkeep until the returned function is called, which waits for its end.
func run(t *testing.T, config maintenance.Config) (u *maintenance.Upkeep, stop func()) {
	t.Helper()
	u, err := maintenance.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- u.Run(ctx) }()
	return u, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// deleted creates a stack in the state just after its deletion.
func deleted(t *testing.T, s store.Store, key store.StackKey) {
	t.Helper()
	name := store.StackName{Account: "1", Region: "r", Name: fmt.Sprint("s", key)}
	err := s.Apply(t.Context(), store.Target{Name: name}, func(v *store.View) (store.Delta, error) {
		return store.Delta{
			Stack:     &store.Stack{Key: key, ID: wire.StackID(fmt.Sprint("arn:", key)), Account: "1", Region: "r", Name: name.Name},
			Operation: &store.Operation{Stack: key, Number: 1, Version: 1, Phase: store.PhaseSucceeded, Ended: v.Now},
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func there(t *testing.T, s store.Store) (keys []int) {
	t.Helper()
	page, err := s.Stacks(t.Context(), "1", "r", true, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, stack := range page {
		keys = append([]int{int(stack.Key)}, keys...)
	}
	return keys
}

func TestSweepsFromTimeToTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory(t)
		deleted(t, s, 1)
		u, stop := run(t, maintenance.Config{Store: s, Every: time.Hour, Batch: 1})
		for day := range 92 {
			time.Sleep(24 * time.Hour)
			if day == 0 {
				deleted(t, s, 2)
			}
			var want []int
			if day < 90 {
				want = append(want, 1)
			}
			if day < 91 {
				want = append(want, 2)
			}
			synctest.Wait()
			if got := there(t, s); !cmp.Equal(got, want) {
				t.Errorf("after %d days there are the stacks %v, want %v", day+1, got, want)
			}
		}
		status := u.Status()
		if status.Swept != 2 || time.Since(status.LastSweep) > time.Hour || !status.Sealed {
			t.Errorf("status %+v", status)
		}
		stop()
	})
}

// scripted is a store whose Reseal and Sweep return the results that the test sets.
type scripted struct {
	*memory.Store
	keys   []store.SealingKey
	reseal func(store.Cursor) (store.Resealed, error)
	sweeps atomic.Int64
	broken atomic.Bool
}

func (s *scripted) SealingKeys(context.Context) ([]store.SealingKey, error) { return s.keys, nil }

func (s *scripted) Reseal(_ context.Context, from store.Cursor, _ int) (store.Resealed, error) {
	return s.reseal(from)
}

func (s *scripted) Sweep(ctx context.Context, keep store.Keep, from store.Cursor, limit int) (store.Swept, error) {
	s.sweeps.Add(1)
	if s.broken.Load() {
		return store.Swept{}, errors.New("the disk is full")
	}
	return s.Store.Sweep(ctx, keep, from, limit)
}

func TestResealsUntilItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		passes := 0
		s := &scripted{Store: newMemory(t), keys: []store.SealingKey{{ID: "old"}, {ID: "new"}}}
		s.reseal = func(from store.Cursor) (store.Resealed, error) {
			switch from {
			case "":
				passes++
				if passes == 1 {
					return store.Resealed{}, errors.New("the disk is full")
				}
				return store.Resealed{Rows: 3, Next: "1"}, nil
			case "1":
				return store.Resealed{Rows: 4, Next: "2"}, nil
			}
			return store.Resealed{Done: passes == 3}, nil
		}
		u, stop := run(t, maintenance.Config{Store: s, Log: slog.New(slog.NewTextHandler(&log, nil))})
		for minute, want := range []maintenance.Status{
			{}, {Resealed: 7}, {Resealed: 14, Sealed: true}, {Resealed: 14, Sealed: true}, {Resealed: 14, Sealed: true},
		} {
			time.Sleep(time.Second)
			synctest.Wait()
			got := u.Status()
			got.LastSweep = time.Time{}
			if got != want {
				t.Errorf("in minute %d: %+v, want %+v", minute, got, want)
			}
			time.Sleep(time.Minute)
		}
		stop()
		if passes != 3 || s.sweeps.Load() != 1 {
			t.Errorf("%d passes, and %d sweeps", passes, s.sweeps.Load())
		}
		for _, want := range []string{"the disk is full", "another node still seals", "may be dropped"} {
			if strings.Count(log.String(), want) != 1 {
				t.Errorf("the log does not say once that %q:\n%s", want, &log)
			}
		}
	})
}

func TestFailedSweepIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{Store: newMemory(t)}
		s.broken.Store(true)
		u, stop := run(t, maintenance.Config{Store: s, Every: time.Hour})
		time.Sleep(150 * time.Minute)
		synctest.Wait()
		if s.sweeps.Load() != 3 {
			t.Errorf("%d sweeps", s.sweeps.Load())
		}
		deleted(t, s, 1)
		s.broken.Store(false)
		time.Sleep(91 * 24 * time.Hour)
		synctest.Wait()
		if got := there(t, s); len(got) != 0 || u.Status().Swept != 1 {
			t.Errorf("there are the stacks %v, status %+v", got, u.Status())
		}
		stop()
	})
}

func TestNewErrors(t *testing.T) {
	s := newMemory(t)
	for name, config := range map[string]maintenance.Config{
		"no store":       {},
		"negative":       {Store: s, Keep: store.Keep{Deleted: -1}},
		"negative count": {Store: s, Keep: store.Keep{Events: -1}},
	} {
		if _, err := maintenance.New(config); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
