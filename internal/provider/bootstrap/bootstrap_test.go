package bootstrap_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
)

// tree returns the contents of the files below dir, by path.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	contents := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		contents[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return contents
}

func TestOf(t *testing.T) {
	for file, want := range map[string]bootstrap.Language{
		"a.py": bootstrap.Python, "a/b.PY": bootstrap.Python, "a.js": bootstrap.Node, "a.cjs": bootstrap.Node,
		"a.mjs": bootstrap.Node, "a.ts": bootstrap.Node, "a.mts": bootstrap.Node, "a.tsx": 0, "py": 0, "": 0,
	} {
		if got, ok := bootstrap.Of(file); got != want || ok != (want != 0) {
			t.Errorf("%s: got %s %v, want %s", file, got, ok, want)
		}
	}
}

func TestNames(t *testing.T) {
	for role, want := range map[bootstrap.Role][2][]string{
		bootstrap.Handler:    {{"handler", "lambda_handler"}, {"handler", "default"}},
		bootstrap.OnEvent:    {{"on_event", "onEvent", "handler", "lambda_handler"}, {"on_event", "onEvent", "handler", "default"}},
		bootstrap.IsComplete: {{"is_complete", "isComplete", "handler", "lambda_handler"}, {"is_complete", "isComplete", "handler", "default"}},
	} {
		got := [2][]string{bootstrap.Python.Names(role), bootstrap.Node.Names(role)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("role %d: %s", role, diff)
		}
	}
}

// TestInstall installs the files concurrently and repairs damaged ones.
func TestInstall(t *testing.T) {
	for tool, language := range map[string]bootstrap.Language{"python3": bootstrap.Python, "node": bootstrap.Node} {
		t.Run(tool, func(t *testing.T) {
			require.Tool(t, tool)
			dir := filepath.Join(t.TempDir(), "new")
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					if _, err := language.Install(dir, tool); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			program, err := language.Install(dir, tool)
			if err != nil {
				t.Fatal(err)
			}
			want := tree(t, dir)
			if want[program.Script] == "" || len(want) < 2 {
				t.Fatalf("no %s among %d files", program.Script, len(want))
			}
			if err := os.WriteFile(program.Script, []byte("damaged"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := language.Install(dir, tool); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
				t.Error(diff)
			}
			// Without a Runtime API, the program exits.
			cmd := exec.Command(program.Interpreter, program.Args("f", []string{"handler"})[1:]...)
			cmd.Env = append(os.Environ(), "AWS_LAMBDA_RUNTIME_API=127.0.0.1:1", "LAMBDA_TASK_ROOT="+dir)
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("it ended well: %s", out)
			}
		})
	}
}
