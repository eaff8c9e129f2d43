//go:build unix

package local

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestTemplateIdles checks that a template exits when no process has needed it for the idle time.
func TestTemplateIdles(t *testing.T) {
	require.Tool(t, "python3")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.py"), []byte("def handler(event, context): pass\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	target, err := FunctionTarget(dir, "python3.13", "index.handler")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan Outcome, 1)
	r, err := New(Config{
		Done: func(_ string, o Outcome) { done <- o }, CacheDir: t.TempDir(), Idle: time.Millisecond,
		Providers: []Provider{{Name: "f", Target: target, Function: &Function{Name: "f", Runtime: "python3.13"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Invoke("f", Event{ID: "1", Payload: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if o := <-done; o.Kind != Returned {
		t.Fatalf("%+v", o)
	}
	r.mu.Lock()
	var all []*template
	for _, made := range r.templates {
		all = append(all, made)
	}
	r.mu.Unlock()
	if len(all) != 1 {
		t.Fatalf("there are %d templates", len(all))
	}
	select {
	case <-all[0].dead:
	case <-time.After(time.Minute):
		t.Fatal("the template lives on")
	}
}
