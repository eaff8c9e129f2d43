package lambda_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

// lateRows are rows that can delay a read.
type lateRows struct {
	registry.Rows
	mu   sync.Mutex
	hold chan chan struct{} // gets a channel that releases the next read after it has read; nil delays none
}

func (r *lateRows) Entry(ctx context.Context, key store.EntryKey) (store.Entry, error) {
	e, err := r.Rows.Entry(ctx, key)
	r.mu.Lock()
	hold := r.hold
	r.hold = nil
	r.mu.Unlock()
	if hold != nil {
		goOn := make(chan struct{})
		hold <- goOn
		<-goOn
	}
	return e, err
}

// lastSet is a runtime that keeps only the last provider.
type lastSet struct {
	mu      sync.Mutex
	timeout time.Duration
}

func (l *lastSet) Set(p local.Provider) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timeout = p.Timeout
	return nil
}

func (*lastSet) Drop(string)                      {}
func (*lastSet) Invoke(string, local.Event) error { return local.ErrClosed }

func TestUpdateIsNotUndoneByLateReader(t *testing.T) {
	inner, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rows, runtime, dir := &lateRows{Rows: inner}, &lastSet{}, t.TempDir()
	f, err := lambda.New(lambda.Config{
		Catalog: registry.New(rows), Runtime: runtime, CodeDir: filepath.Join(dir, "code"), CacheDir: filepath.Join(dir, "cache"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	i, err := f.Create(t.Context(), registry.Item[registry.Function]{Scope: home, Name: "f", Of: node("index.handler")}, inline("exports.handler = 1"))
	if err != nil {
		t.Fatal(err)
	}
	match := func() {
		if _, ok, err := f.Match(t.Context(), wire.ServiceToken("arn:aws:lambda:us-east-1:000000000000:function:f")); !ok || err != nil {
			t.Error("the function is not found")
		}
	}
	held := make(chan chan struct{})
	rows.mu.Lock()
	rows.hold = held
	rows.mu.Unlock()
	var late sync.WaitGroup
	late.Go(match)
	goOn := <-held // it has read the old function
	i.Of.Timeout = 77
	if _, err := f.Update(t.Context(), i, nil); err != nil {
		t.Fatal(err)
	}
	match()
	close(goOn)
	late.Wait()
	if runtime.timeout != 77*time.Second {
		t.Errorf("the runtime runs the function as it was before its update, with a timeout of %v", runtime.timeout)
	}
}

// TestUpdatesAtOnce checks that concurrent updates of the definition and the code do not undo each other.
func TestUpdatesAtOnce(t *testing.T) {
	inner, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rows, dir := &lateRows{Rows: inner}, t.TempDir()
	f, err := lambda.New(lambda.Config{
		Catalog: registry.New(rows), Runtime: &lastSet{}, CodeDir: filepath.Join(dir, "code"), CacheDir: filepath.Join(dir, "cache"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	made, err := f.Create(t.Context(), registry.Item[registry.Function]{Scope: home, Name: "f", Of: node("index.handler")}, inline("exports.handler = 1"))
	if err != nil {
		t.Fatal(err)
	}
	held := make(chan chan struct{})
	rows.mu.Lock()
	rows.hold = held
	rows.mu.Unlock()
	var late sync.WaitGroup
	late.Go(func() {
		i := made
		i.Of.Revision, i.Of.Timeout = "", 77
		if _, err := f.Update(t.Context(), i, nil); err != nil {
			t.Error(err)
		}
	})
	goOn := <-held // it has read the old function
	code := inline("exports.handler = 2")
	changed, err := f.Update(t.Context(), made, &code)
	if err != nil {
		t.Fatal(err)
	}
	close(goOn)
	late.Wait()
	is, err := f.Get(t.Context(), home, "f")
	if err != nil || is.Of.Code != changed.Of.Code || is.Of.Timeout != 77 {
		t.Errorf("the code is %s, want %s; the timeout is %d, want 77; %v", is.Of.Code, changed.Of.Code, is.Of.Timeout, err)
	}
	code = inline("exports.handler = 3")
	if _, err := f.Update(t.Context(), changed, &code); err == nil { // read before the other update
		t.Error("the code was changed with the definition of before")
	}
}
