package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/local"
)

// schemaProgram returns a runtime with a script P that counts its runs in a file and then executes the text. Instead, P may be
// a program that runs the script and is not a script itself.
func schemaProgram(t *testing.T, text, schemas string) (r *local.Runtime, runs func() int) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "p")
	count := filepath.Join(dir, "runs")
	script := "#!/bin/sh\necho x >> " + count + "\n" + text + "\n"
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	target, err := local.ParseTarget("", file)
	if err != nil {
		t.Fatal(err)
	}
	r, err = local.New(local.Config{
		Done: func(string, local.Outcome) {}, SchemaDir: schemas, Environ: []string{"PATH=" + os.Getenv("PATH"), "PINTLE_PROVIDER_LISTEN=x"},
		Providers: []local.Provider{{Name: "P", Target: target, Env: map[string]string{"MODE": "careful"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, func() int {
		text, _ := os.ReadFile(count)
		return strings.Count(string(text), "x")
	}
}

func TestSchema(t *testing.T) {
	for _, test := range []struct{ name, script, want, fails string }{
		{"told", `echo " {\"a\": \"$1 $MODE $AWS_LAMBDA_RUNTIME_API$PINTLE_PROVIDER_LISTEN $(basename "$PWD" | head -c 1)\"}"`, `{"a": "schema careful  0"}`, ""},
		{"fails", "exit 3", "", "exit status 3"},
		{"no JSON", "echo hello", "", "not a JSON object"},
		{"another value", "echo [1]", "", "not a JSON object"},
		{"output too large", "exec cat /dev/zero", "", "more than 1048576 bytes"},
		{"reads", `read line; echo "{\"a\": \"$line\"}"`, `{"a": ""}`, ""},
		{"killed", "kill -9 $$", "", "signal: killed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, runs := schemaProgram(t, test.script, t.TempDir())
			for range 2 {
				got, err := r.Schema(t.Context(), "P")
				if string(got) != test.want {
					t.Errorf("got %s, want %s", got, test.want)
				}
				kind := local.ErrNoSchema
				if test.name == "killed" {
					kind = local.ErrSchemaUnread
				}
				if (err != nil) != (test.fails != "") || err != nil && (!errors.Is(err, kind) || !strings.Contains(err.Error(), test.fails)) {
					t.Errorf("error %v, want %v with %q", err, kind, test.fails)
				}
			}
			if runs() != 2 { // a script may consist of several files
				t.Errorf("ran %d times, want 2", runs())
			}
		})
	}
}

// TestSchemaIsKept checks that schemas are cached by the content and the environment of the program.
func TestSchemaIsKept(t *testing.T) {
	schemas := filepath.Join(t.TempDir(), "new", "schemas")
	target, err := local.ParseTarget("", os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	ask := func(mode string) (string, error) {
		r, err := local.New(local.Config{
			Done: func(string, local.Outcome) {}, SchemaDir: schemas,
			Providers: []local.Provider{{Name: "P", Target: target, Env: map[string]string{schemaVar: mode}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		text, err := r.Schema(t.Context(), "P")
		return string(text), err
	}
	counted := filepath.Join(t.TempDir(), "counted")
	for range 3 {
		if text, err := ask(counted); err != nil || text != `{"mode": 1}` {
			t.Errorf("got %s, %v; want the first answer", text, err)
		}
	}
	for range 2 {
		if _, err := ask("none"); !errors.Is(err, local.ErrNoSchema) {
			t.Errorf("got %v, want ErrNoSchema", err)
		}
	}
	files, err := os.ReadDir(schemas)
	if err != nil || len(files) != 2 {
		t.Errorf("kept %v, %v; want one answer and one that there is none", files, err)
	}
	for _, f := range files { // other files are not cached schemas
		if err := os.WriteFile(filepath.Join(schemas, f.Name()), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := ask(counted); err != nil || text != `{"mode": 2}` {
		t.Errorf("got %s, %v; want a second answer", text, err)
	}

	old := time.Now().Add(-24 * time.Hour)
	for i := range 300 {
		file := filepath.Join(schemas, fmt.Sprintf("%d.json", i))
		if err := errors.Join(os.WriteFile(file, []byte("{}"), 0o600), os.Chtimes(file, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := ask(counted + "2"); err != nil || text != `{"mode": 1}` {
		t.Errorf("got %s, %v", text, err)
	}
	if files, err = os.ReadDir(schemas); err != nil || len(files) != 200 {
		t.Errorf("%d files are kept, %v; want 200", len(files), err)
	}
	if text, err := ask(counted + "2"); err != nil || text != `{"mode": 1}` {
		t.Errorf("got %s, %v; want what was kept last", text, err)
	}
}

// TestMissingSchemaIsCachedBriefly checks that the absence of a schema is cached for a limited time, because it may have a
// temporary cause. A killed program is not cached.
func TestMissingSchemaIsCachedBriefly(t *testing.T) {
	schemas, counted := t.TempDir(), filepath.Join(t.TempDir(), "counted")
	target, err := local.ParseTarget("", os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	r, err := local.New(local.Config{
		Done: func(string, local.Outcome) {}, SchemaDir: schemas,
		Providers: []local.Provider{{Name: "P", Target: target, Env: map[string]string{schemaVar: counted, schemaEndVar: counted + ".end"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ask := func(runs int, want error) {
		t.Helper()
		if _, err := r.Schema(t.Context(), "P"); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		if text, _ := os.ReadFile(counted); len(text) != runs {
			t.Errorf("ran %d times, want %d", len(text), runs)
		}
	}
	end := func(how string) {
		if err := os.WriteFile(counted+".end", []byte(how), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	end("killed")
	ask(1, local.ErrSchemaUnread)
	ask(2, local.ErrSchemaUnread)
	end("exit")
	ask(3, local.ErrNoSchema)
	ask(3, local.ErrNoSchema)
	files, err := os.ReadDir(schemas)
	if err != nil || len(files) != 1 {
		t.Fatalf("kept %v, %v", files, err)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(schemas, files[0].Name()), old, old); err != nil {
		t.Fatal(err)
	}
	ask(4, local.ErrNoSchema)
}

// TestLateSchema checks that a program that timed out is not taken for one without a schema, also while it is not asked again.
func TestLateSchema(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes five seconds")
	}
	t.Parallel()
	r, runs := schemaProgram(t, "exec sleep 60", t.TempDir())
	for range 2 {
		_, err := r.Schema(t.Context(), "P")
		if !errors.Is(err, local.ErrSchemaUnread) || errors.Is(err, local.ErrNoSchema) || !strings.Contains(err.Error(), "within 5s") {
			t.Errorf("got %v, want ErrSchemaUnread", err)
		}
	}
	if runs() != 1 {
		t.Errorf("ran %d times, want 1", runs())
	}
}

func TestSchemaErrors(t *testing.T) {
	r, runs := schemaProgram(t, "echo '{}'", "")
	if _, err := r.Schema(t.Context(), "Q"); !errors.Is(err, local.ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Schema(ctx, "P"); !errors.Is(err, context.Canceled) || errors.Is(err, local.ErrNoSchema) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
	r.Close()
	if _, err := r.Schema(t.Context(), "P"); !errors.Is(err, local.ErrClosed) || runs() > 1 {
		t.Errorf("got %v, want ErrClosed", err)
	}
}
