package local_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// tree writes files into a new directory. Files that begin with #! are executable.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		mode := fs.FileMode(0o600)
		if strings.HasPrefix(text, "#!") {
			mode = 0o700
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const script = "#!/bin/sh\n"

func TestParseTarget(t *testing.T) {
	dir := tree(t, map[string]string{
		"run":            script,
		"handler.py":     "#!/usr/bin/env python3\n",
		"zip/bootstrap":  script,
		"pkg/main.go":    "package main\n\nfunc main() {}\n",
		"both/main.go":   "package main\n\nfunc main() {}\n",
		"both/bootstrap": script,
		"lib/lib.go":     "package lib\n",
		"lib/bootstrap":  script,
	})
	for text, want := range map[string]struct {
		kind local.TargetKind
		path string
	}{
		"./run":                          {local.Executable, filepath.Join(dir, "run")},
		" run ":                          {local.Executable, filepath.Join(dir, "run")},
		filepath.Join(dir, "run"):        {local.Executable, filepath.Join(dir, "run")},
		"handler.py":                     {local.Executable, filepath.Join(dir, "handler.py")},
		"zip":                            {local.Folder, filepath.Join(dir, "zip")},
		"zip/bootstrap":                  {local.Executable, filepath.Join(dir, "zip", "bootstrap")},
		"./pkg/":                         {local.GoPackage, filepath.Join(dir, "pkg")},
		"both":                           {local.GoPackage, filepath.Join(dir, "both")},
		"lib":                            {local.Folder, filepath.Join(dir, "lib")},
		"http://127.0.0.1:8080/hook":     {local.URL, "http://127.0.0.1:8080/hook"},
		"HTTPS://example.com/a?b=c#frag": {local.URL, "HTTPS://example.com/a?b=c#frag"},
	} {
		got, err := local.ParseTarget(dir, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got.Kind() != want.kind || got.Path() != want.path || got.String() != strings.TrimSpace(text) {
			t.Errorf("%s: got %s %s %q, want %s %s", text, got.Kind(), got.Path(), got, want.kind, want.path)
		}
	}
}

func TestParseTargetRefuses(t *testing.T) {
	dir := tree(t, map[string]string{
		"plain":           "data",
		"template.yaml":   "Resources: {}\n",
		"many/index.js":   "",
		"many/index.py":   "",
		"main.go":         "package main\n",
		"empty/readme":    "",
		"lib/lib.go":      "package lib\n",
		"dead/bootstrap":  "not executable",
		"two/a.go":        "package a\n",
		"two/b.go":        "package b\n",
		"tests/a_test.go": "package main\n",
	})
	for text, want := range map[string]string{
		"":                              "the target is empty",
		"./missing":                     "does not exist: want a Go package's folder",
		"plain":                         "is not executable: run chmod +x",
		"template.yaml":                 "template.yaml is not a program: use the file with the handler's code.",
		"many":                          "the directory has index.js and index.py, and each may be the handler's",
		"main.go":                       "main.go is Go source: use the directory of its package",
		"empty":                         "has no Go package, no file named bootstrap",
		"lib":                           "the Go package there is lib, and only package main can be run",
		"dead":                          "bootstrap is not executable: run chmod +x",
		"two":                           "found packages a",
		"tests":                         "has no Go package",
		"ftp://example.com/":            `scheme "ftp"`,
		"http://":                       "has no host",
		"https://user:pass\x7f@host/":   "not a valid URL",
		"http://:80/?X-Amz-Signature=x": "has no host",
	} {
		_, err := local.ParseTarget(dir, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "pass\x7f") {
			t.Errorf("%q: the error repeats the password", text)
		}
	}
	if _, err := local.ParseTarget(dir, "missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}

func TestParseProvider(t *testing.T) {
	dir := tree(t, map[string]string{"run": script})
	declared := project.Provider{
		Name: "A", Target: "./run", Env: map[string]string{"B": "c"}, Timeout: time.Minute, Concurrency: 3,
		Handler: "d", Place: "pintle.yaml:3:5",
	}
	target, err := local.ParseTarget(dir, "./run")
	if err != nil {
		t.Fatal(err)
	}
	got, err := local.ParseProvider(dir, declared)
	if err != nil {
		t.Fatal(err)
	}
	want := local.Provider{
		Name: "A", Target: target, Env: map[string]string{"B": "c"}, Timeout: time.Minute, Concurrency: 3, Handler: "d",
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(local.Target{})); diff != "" {
		t.Error(diff)
	}
	for want, change := range map[string]func(*project.Provider){
		"pintle.yaml:3:5: provider A: target ./walk: ": func(p *project.Provider) { p.Target = "./walk" },
		"pintle.yaml:3:5: provider A: env: _HANDLER is": func(p *project.Provider) {
			p.Env = map[string]string{"_HANDLER": "x"}
		},
	} {
		changed := declared
		change(&changed)
		if _, err := local.ParseProvider(dir, changed); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s…", err, want)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	f.Add("./run")
	f.Add("https://user@host:1/%zz")
	f.Add("a://b")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		target, err := local.ParseTarget(dir, text)
		if (err == nil) != (target.Kind() != 0) {
			t.Errorf("%q: kind %v with error %v", text, target.Kind(), err)
		}
	})
}
