package buildinputs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/base/filewatch"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/buildinputs"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

// write writes files below a directory, by their names.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFiles changes each file in turn. Only changes of build inputs are reported.
func TestFiles(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "")
	for name, test := range map[string]struct {
		target string
		files  map[string]string
		run    []string // executable files
		count  []string
		others []string
	}{
		"a Go package": {
			target: "app/provider",
			files: map[string]string{
				"app/go.mod":                   "module example.com/app\n\ngo 1.24\n\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ../lib\n",
				"app/provider/main.go":         "package main\n\nimport (\n\t_ \"embed\"\n\t\"example.com/app/inner\"\n\t_ \"example.com/app/missing\"\n\t\"example.com/lib\"\n)\n\n//go:embed words/*.txt notes.md all:web\nvar _ string\n\nfunc main() { inner.Do(); lib.Do() }\n",
				"app/provider/main_test.go":    "package main\n",
				"app/provider/notes.md":        "x",
				"app/provider/words/a.txt":     "x",
				"app/provider/web/.hidden/x":   "x",
				"app/provider/web/index.html":  "x",
				"app/provider/template.json":   "{}",
				"app/provider/words/other.doc": "x",
				"app/inner/inner.go":           "package inner\n\nfunc Do() {}\n",
				"app/outside/outside.go":       "package outside\n",
				"lib/go.mod":                   "module example.com/lib\n\ngo 1.24\n",
				"lib/lib.go":                   "package lib\n\nfunc Do() {}\n",
			},
			count: []string{"app/go.mod", "app/go.sum", "app/provider/main.go", "app/provider/other.go", "app/provider/notes.md", "app/provider/words/a.txt",
				"app/provider/words/b.txt", "app/provider/web/index.html", "app/inner/inner.go", "app/missing/missing.go", "lib/lib.go", "lib/go.mod"},
			others: []string{"app/provider/main_test.go", "app/provider/template.json", "app/provider/words/other.doc", "app/outside/outside.go"},
		},
		"a Python file": {
			target: "on_event.py",
			files:  map[string]string{"on_event.py": "def handler(e, c): pass", "pintle.yaml": "", "lib/more.py": "", "state.json": ""},
			count:  []string{"on_event.py", "lib/more.py", "new.py"},
			others: []string{"pintle.yaml", "state.json", "venv/x.py", ".pintle/x.py", "index.js"},
		},
		"a folder of Node": {
			target: "handler",
			files:  map[string]string{"handler/index.mjs": "export const handler = () => 1", "handler/package.json": "{}"},
			count:  []string{"handler/index.mjs", "handler/lib/x.js", "handler/package.json"},
			others: []string{"template.json", "handler/node_modules/x/index.js", "handler/cache.json"},
		},
		"a folder with bootstrap": {
			target: "function",
			files:  map[string]string{"function/bootstrap": "#!/bin/sh\n", "function/lib/tool": "x", "function/state": "x"},
			run:    []string{"function/bootstrap", "function/lib/tool"},
			count:  []string{"function/bootstrap", "function/lib/tool", "function/more.sh"},
			others: []string{"function/state"},
		},
		"an executable": {
			target: "bin/provider",
			files:  map[string]string{"bin/provider": "#!/bin/sh\n", "bin/other": ""},
			run:    []string{"bin/provider"},
			count:  []string{"bin/provider"},
			others: []string{"bin/other"},
		},
		"a URL": {target: "http://127.0.0.1:1/"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "a Python file" || name == "a folder of Node" {
				require.Tool(t, "python3")
				require.Tool(t, "node")
			}
			dir := t.TempDir()
			write(t, dir, test.files)
			for _, file := range test.run {
				if err := os.Chmod(filepath.Join(dir, file), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			target, err := local.ParseTarget(dir, test.target)
			if err != nil {
				t.Fatal(err)
			}
			group, err := buildinputs.Files(t.Context(), "it", target)
			if err != nil {
				t.Fatal(err)
			}
			var looker filewatch.Looker
			before, _ := looker.Look([]filewatch.Group{group})
			saved := func(file string) bool {
				write(t, dir, map[string]string{file: "saved " + file})
				now, _ := looker.Look([]filewatch.Group{group})
				changed := now.Changed(before)
				before = now
				return changed != nil
			}
			for _, file := range test.count {
				if !saved(file) {
					t.Errorf("%s does not count", file)
				}
			}
			for _, file := range test.others {
				if saved(file) {
					t.Errorf("%s counts", file)
				}
			}
		})
	}
}

// TestFilesOutsideModule checks that a package in a directory outside a module is watched alone.
func TestFilesOutsideModule(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", "")
	write(t, dir, map[string]string{"main.go": "package main\n"})
	target, err := local.ParseTarget(dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	group, err := buildinputs.Files(t.Context(), "it", target)
	if err == nil {
		t.Error("no error without go")
	}
	if len(group.Trees) != 1 || group.Trees[0].Root != dir {
		t.Errorf("got %s", cmp.Diff(filewatch.Group{}, group))
	}
}
