package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

func TestVersions(t *testing.T) {
	type versions struct{ Python, NPM string }
	for version, want := range map[string]versions{
		"v1.2.0":                  {"1.2.0", "1.2.0"},
		"v1.2.0-3-g0a1b2c3":       {"1.2.0.post3+g0a1b2c3", "1.2.0-3-g0a1b2c3"},
		"v1.2.0-3-g0a1b2c3-dirty": {"1.2.0.post3+g0a1b2c3.dirty", "1.2.0-3-g0a1b2c3-dirty"},
		"v1.2.0-rc.1":             {"1.2.0rc1", "1.2.0-rc.1"},
		"v1.2.0-beta2-1-g0a1b2c3": {"1.2.0b2.post1+g0a1b2c3", "1.2.0-beta2-1-g0a1b2c3"},
		"v1.2.0-dirty":            {"1.2.0+dirty", "1.2.0-dirty"},
		"0a1b2c3":                 {"0.0.0+g0a1b2c3", "0.0.0-g0a1b2c3"},
		"0a1b2c3-dirty":           {"0.0.0+g0a1b2c3.dirty", "0.0.0-g0a1b2c3-dirty"},
	} {
		if diff := cmp.Diff(want, versions{pythonVersion(version), npmVersion(version)}); diff != "" {
			t.Errorf("%s: %s", version, diff)
		}
	}
}

// runIn runs a program in a directory and returns its output.
func runIn(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "npm_config_cache="+filepath.Join(dir, ".npm"), "npm_config_update_notifier=false")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// withWheels installs wheels in a new virtual environment, calls use with its directory of programs, and uninstalls the packages again.
// No file may remain.
func withWheels(t *testing.T, wheels, packages []string, use func(bin string), options ...string) {
	t.Helper()
	dir := t.TempDir()
	runIn(t, dir, require.Tool(t, "python3"), "-m", "venv", "python")
	before := tree(t, dir)
	bin := filepath.Join(dir, "python", "bin")
	pip := filepath.Join(bin, "pip")
	runIn(t, dir, pip, slices.Concat([]string{"install", "--no-index", "--disable-pip-version-check"}, options, wheels)...)
	use(bin)
	runIn(t, dir, pip, append([]string{"uninstall", "--yes", "--disable-pip-version-check"}, packages...)...)
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("pip uninstall leaves files behind (-before +after):\n%s", diff)
	}
}

// withArchives installs archives with npm in a new directory, without a registry, and returns the directory.
func withArchives(t *testing.T, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	runIn(t, dir, require.Tool(t, "npm"), append([]string{"install", "--offline", "--no-audit", "--no-fund"}, args...)...)
	return dir
}

const stamped = "v1.0.0 abc 2026-11-23T01:02:04Z\n"

// TestWheel installs the wheel with pip, without an index, and uninstalls it.
func TestWheel(t *testing.T) {
	require.Tool(t, "python3")
	r, _ := built(t, target{runtime.GOOS, runtime.GOARCH})
	wheels, err := filepath.Glob(filepath.Join(r.out, "tool-1.0.0-py3-none-*.whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatalf("wheels %q, %v", wheels, err)
	}
	withWheels(t, wheels, []string{"tool"}, func(bin string) {
		if got := runIn(t, bin, filepath.Join(bin, "tool"), "version"); got != stamped {
			t.Errorf("the program prints %q", got)
		}
		runIn(t, bin, filepath.Join(bin, "pip"), "check")
	})
}

// TestPlugin installs the wheel of the pytest plugin next to that of the program, which it requires in the same
// version.
func TestPlugin(t *testing.T) {
	require.Tool(t, "python3")
	r := unbuilt(t, target{runtime.GOOS, runtime.GOARCH})
	if err := os.CopyFS(filepath.Join(r.source, "integrations", "pytest"), os.DirFS("../../../integrations/pytest")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	wheels, err := filepath.Glob(filepath.Join(r.out, "*.whl"))
	if err != nil || len(wheels) != 2 {
		t.Fatalf("wheels %q, %v", wheels, err)
	}
	withWheels(t, wheels, []string{"tool", "pytest-pintle"}, func(bin string) {
		got := runIn(t, bin, filepath.Join(bin, "python"), "-c", `from importlib import metadata
d = metadata.distribution("pytest-pintle")
print(d.version, d.requires, [(e.group, e.name, e.value) for e in d.entry_points])`)
		if want := "1.0.0 ['pytest>=7', 'tool==1.0.0'] [('pytest11', 'pintle', 'pytest_pintle')]\n"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}, "--no-deps")
}

// TestPythonLibrary installs the wheel of the library for providers, which is small and requires nothing.
func TestPythonLibrary(t *testing.T) {
	require.Tool(t, "python3")
	r := release{name: "tool", source: filepath.Join("..", "..", ".."), out: t.TempDir(), version: "v1.0.0"}
	name, wheel, ok, err := r.providerLibrary([]entry{{"LICENSE", []byte("license"), false}})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if len(wheel) > 64<<10 {
		t.Errorf("the wheel has %d bytes", len(wheel))
	}
	if _, err := r.write(name, wheel); err != nil {
		t.Fatal(err)
	}
	withWheels(t, []string{filepath.Join(r.out, name)}, []string{"pintle-provider"}, func(bin string) {
		got := runIn(t, bin, filepath.Join(bin, "python"), "-c", `import pathlib
from importlib import metadata
import pintle_provider
d = metadata.distribution("pintle-provider")
print(d.version, d.requires, callable(pintle_provider.handler), (pathlib.Path(pintle_provider.__file__).parent / "py.typed").exists())`)
		if want := "1.0.0 None True True\n"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestNodeLibrary installs the package of the library for providers, which is small and requires nothing.
func TestNodeLibrary(t *testing.T) {
	require.Tool(t, "npm")
	node := require.Tool(t, "node")
	r := release{name: "tool", source: filepath.Join("..", "..", ".."), out: t.TempDir(), version: "v1.0.0"}
	name, archive, ok, err := r.npmProvider([]entry{{"LICENSE", []byte("license"), false}})
	if err != nil || !ok || name != "tool-dev-provider-1.0.0.tgz" {
		t.Fatal(name, ok, err)
	}
	if len(archive) > 64<<10 {
		t.Errorf("the package has %d bytes", len(archive))
	}
	if _, err := r.write(name, archive); err != nil {
		t.Fatal(err)
	}
	dir := withArchives(t, filepath.Join(r.out, name))
	const load = "const a = require('@tool-dev/provider'); import('@tool-dev/provider').then((m) => console.log(m.handler === a.handler, typeof m.text))"
	if got := runIn(t, dir, node, "-e", load); got != "true function\n" {
		t.Errorf("got %s", got)
	}
	want := []string{"LICENSE", "README.md", "index.d.ts", "index.js", "package.json"}
	files, err := os.ReadDir(filepath.Join(dir, "node_modules", "@tool-dev", "provider"))
	var got []string
	for _, file := range files {
		got = append(got, file.Name())
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestNPMTesting installs the package with the module that starts servers for tests, and imports it both ways.
func TestNPMTesting(t *testing.T) {
	require.Tool(t, "npm")
	node := require.Tool(t, "node")
	r := release{name: "tool", source: source(t), out: t.TempDir(), version: "v1.0.0"}
	testing := filepath.Join("integrations", "node", "testing")
	if err := os.CopyFS(filepath.Join(r.source, testing), os.DirFS(filepath.Join("..", "..", "..", testing))); err != nil {
		t.Fatal(err)
	}
	name, archive, err := r.npmMain(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.write(name, archive); err != nil {
		t.Fatal(err)
	}
	dir := withArchives(t, "--omit=optional", filepath.Join(r.out, name))
	const load = "const required = require('tool/testing'); import('tool/testing').then((m) => console.log(typeof m.startServer, m.startServer === required.startServer))"
	if got := runIn(t, dir, node, "-e", load); got != "function true\n" {
		t.Errorf("got %s", got)
	}
	code, err := os.ReadFile(filepath.Join(dir, "node_modules", "tool", "testing.js"))
	if err != nil || !strings.Contains(string(code), "`@tool-dev/${process.platform}-${process.arch}/bin/") {
		t.Errorf("the module looks for the program elsewhere: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "tool", "testing.d.ts")); err != nil {
		t.Error(err)
	}
}

// TestNPM installs the two packages with npm, without a registry, runs the program through npx, and uninstalls them.
func TestNPM(t *testing.T) {
	require.Tool(t, "npm")
	npx := require.Tool(t, "npx")
	r, _ := built(t, target{runtime.GOOS, runtime.GOARCH})
	names := npmNames[target{runtime.GOOS, runtime.GOARCH}]
	dir := withArchives(t, "--save=false",
		filepath.Join(r.out, "tool-dev-"+names[0]+"-"+names[1]+"-1.0.0.tgz"), filepath.Join(r.out, "tool-1.0.0.tgz"))
	if got := runIn(t, dir, npx, "--no", "tool", "version"); got != stamped {
		t.Errorf("the program prints %q", got)
	}
	if err := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", ".bin", "tool"), "exit").Run(); err == nil || err.Error() != "exit status 3" {
		t.Errorf("the program ends with 3, and the launcher with %v", err)
	}
	// Without the platform's package, the error has the reason and a remedy.
	if err := os.RemoveAll(filepath.Join(dir, "node_modules", "@tool-dev")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), npx, "--no", "tool", "version")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "@tool-dev/"+names[0]+"-"+names[1]+" is not installed") {
		t.Errorf("without the program: %v\n%s", err, out)
	}
}

// tree lists the files below a directory, without compiled Python files and pip's own cache.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.Contains(path, "__pycache__") {
			files = append(files, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
