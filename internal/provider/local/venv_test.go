package local_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// makeVenv creates a virtual environment without packages.
func makeVenv(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.Command("python3", "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		t.Skipf("python3 -m venv: %v: %s", err, out)
	}
}

// basePython puts a python3 first on PATH that belongs to no virtual environment. The one of the tests may.
func basePython(t *testing.T) {
	t.Helper()
	out, err := exec.Command("python3", "-c", "import sys; print(sys._base_executable if sys.prefix != sys.base_prefix else sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(strings.TrimSpace(string(out)), filepath.Join(dir, "python3")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// TestVirtualEnv checks that a Python handler runs in the nearest virtual environment of its project, else in the
// active one, else with the python3 on PATH.
func TestVirtualEnv(t *testing.T) {
	require.Tool(t, "python3")
	basePython(t)
	const code = `
import os, sys
def handler(event, context):
    return [sys.prefix if sys.prefix != sys.base_prefix else "", os.environ.get("VIRTUAL_ENV", ""), os.environ["PATH"].split(os.pathsep)[0],
            "PINTLE_PROJECT" in os.environ]
`
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	shared := filepath.Join(root, "active")
	makeVenv(t, shared)
	own := filepath.Join(root, "own")
	makeVenv(t, own)
	for name, test := range map[string]struct {
		files  []string // existing files, in addition to the handler in project/src/h.py
		venvs  []string
		active string
		env    string // VIRTUAL_ENV of the provider
		want   string // below the test's directory, or an absolute path
	}{
		"none":                                 {},
		"next to the handler":                  {venvs: []string{"project/src/.venv"}, want: "project/src/.venv"},
		"without a dot":                        {venvs: []string{"project/src/venv"}, want: "project/src/venv"},
		"in the project":                       {files: []string{"project/pintle.yaml"}, venvs: []string{"project/.venv"}, active: shared, want: "project/.venv"},
		"in the repository":                    {files: []string{".git/HEAD"}, venvs: []string{".venv"}, want: ".venv"},
		"nearest":                              {files: []string{"pintle.yaml"}, venvs: []string{".venv", "project/venv"}, want: "project/venv"},
		"above the project":                    {files: []string{"project/pintle.yaml"}, venvs: []string{".venv"}},
		"without a project":                    {venvs: []string{"project/.venv"}},
		"active":                               {active: shared, want: shared},
		"active but deleted":                   {active: filepath.Join(root, "gone")},
		"the provider's":                       {active: shared, env: own, want: own},
		"directory that is not an environment": {files: []string{"project/src/venv/__init__.py"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range append(test.files, "project/src/h.py") {
				file = filepath.Join(dir, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(code), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			for _, venv := range test.venvs {
				makeVenv(t, filepath.Join(dir, venv))
			}
			declared := project.Provider{Target: filepath.Join(dir, "project", "src", "h.py")}
			if test.env != "" {
				declared.Env = map[string]string{"VIRTUAL_ENV": test.env}
			}
			k := newScriptKit(t, nil, declared, func(c *local.Config, _ *local.Provider) {
				c.Environ = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "VIRTUAL_ENV=") })
				if test.active != "" {
					c.Environ = append(c.Environ, "VIRTUAL_ENV="+test.active)
				}
			})
			var got []any
			o := k.send("1", "{}")
			if err := json.Unmarshal(o.Result, &got); err != nil {
				t.Fatalf("%v: %+v", err, o)
			}
			want := test.want
			if want != "" && !filepath.IsAbs(want) {
				want = filepath.Join(dir, want)
			}
			if got[0] != want || want != "" && (got[1] != want || got[2] != filepath.Join(want, "bin")) || got[3] != false {
				t.Errorf("got %v, want %s", got, want)
			}
		})
	}
}

// TestVirtualEnvNotForFunctions checks that code from a template does not run in the user's virtual environment.
func TestVirtualEnvNotForFunctions(t *testing.T) {
	require.Tool(t, "python3")
	basePython(t)
	venv := filepath.Join(t.TempDir(), "venv")
	makeVenv(t, venv)
	k := newScriptKit(t, map[string]string{"h.py": "import sys\ndef handler(event, context):\n    return sys.prefix != sys.base_prefix\n"},
		project.Provider{Target: "h.py"}, func(c *local.Config, p *local.Provider) {
			c.Environ = append(os.Environ(), "VIRTUAL_ENV="+venv)
			p.Function = &local.Function{Name: "f", Runtime: "python3.13"}
		})
	if o := k.send("1", "{}"); string(o.Result) != "false" {
		t.Errorf("got %s, %+v", o.Result, o)
	}
}

func TestBrokenVirtualEnv(t *testing.T) {
	require.Tool(t, "python3")
	dir := t.TempDir()
	venv := filepath.Join(dir, ".venv")
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "h.py"), nil, 0o600), os.MkdirAll(filepath.Join(venv, "bin"), 0o700),
		os.WriteFile(filepath.Join(venv, "pyvenv.cfg"), nil, 0o600), os.Symlink(filepath.Join(dir, "gone"), filepath.Join(venv, "bin", "python")),
	); err != nil {
		t.Fatal(err)
	}
	_, err := local.ParseTarget(dir, "h.py")
	if want := "python3 -m venv --clear " + venv; !errors.Is(err, bootstrap.ErrNoInterpreter) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestMissingModules checks that a module that is missing at load time is reported in one sentence with the command
// that installs it, and not in the log.
func TestMissingModules(t *testing.T) {
	require.Tool(t, "python3")
	basePython(t)
	require.Tool(t, "node")
	// Hide the packages that happen to be installed.
	bare := func(text string) string {
		return "import sys\nsys.path[:] = [p for p in sys.path if 'site-packages' not in p and 'dist-packages' not in p]\n" + text
	}
	for name, test := range map[string]struct {
		file, code string
		files      map[string]string
		function   bool
		modules    string // a directory of the function's modules
		late       bool   // the function imports it when it is called, and its error reports that
		want       string // DIR and PYTHON stand for the handler's directory and its interpreter
	}{
		"boto3": {
			file: "h.py", code: bare("import boto3.dynamodb"),
			want: `h.py needs the Python module "boto3.dynamodb", which PYTHON does not have (AWS's runtime brings it): run ` +
				`"python3 -m venv DIR/.venv && DIR/.venv/bin/python -m pip install boto3"`,
		},
		"another name": {
			file: "h.py", code: bare("import yaml"),
			want: `h.py needs the Python module "yaml", which PYTHON does not have: run ` +
				`"python3 -m venv DIR/.venv && DIR/.venv/bin/python -m pip install PyYAML"`,
		},
		"below another": {
			file: "h.py", code: bare("import botocore.session"),
			want: `h.py needs the Python module "botocore.session", which PYTHON does not have (AWS's runtime brings it): run ` +
				`"python3 -m venv DIR/.venv && DIR/.venv/bin/python -m pip install botocore"`,
		},
		"for one that is imported": {
			file: "h.py", code: "import beside", files: map[string]string{"beside.py": bare("import no_such_module")},
			want: `h.py needs the Python module "no_such_module", which PYTHON does not have: run ` +
				`"python3 -m venv DIR/.venv && DIR/.venv/bin/python -m pip install no_such_module", or put no_such_module.py next to h.py if it is your own`,
		},
		"boto3 of a function": {
			file: "h.py", code: bare("import boto3.dynamodb"), function: true,
			want: `h.py needs the Python module "boto3.dynamodb", which PYTHON does not have (AWS's runtime brings it): run ` +
				`"PYTHON -m pip install boto3", or start Pintle in a virtual environment that has it`,
		},
		"module of a function": {
			file: "h.py", code: bare("import no_such_module"), function: true,
			want: `h.py needs the Python module "no_such_module", which PYTHON does not have: add the package that has it to the function's code, or to a layer`,
		},
		"node": {
			file: "h.js", code: "require('no-such-package/sub')",
			want: `h.js needs the Node package "no-such-package", which is not installed: run "npm install --prefix DIR no-such-package"`,
		},
		"node in the SDK": {
			file: "h.mjs", code: "import '@aws-sdk/no-such-client'",
			want: `h.mjs needs the Node package "@aws-sdk/no-such-client", which is not installed (AWS's runtime brings it): ` +
				`run "npm install --prefix DIR @aws-sdk/no-such-client"`,
		},
		"node of a function": {
			file: "h.js", code: "require('no-such-package')", function: true,
			want: `h.js needs the Node package "no-such-package", which is not installed: add it to the function's code or to a layer, ` +
				`or start Pintle with --node-modules and a folder that has it`,
		},
		"node next to an app": {
			file: "h.js", code: "require('no-such-package')", function: true, modules: "/my app/node_modules",
			want: `h.js needs the Node package "no-such-package", which is not installed: add it to the function's code or to a layer, ` +
				`or run "npm install --prefix '/my app' no-such-package"`,
		},
		"node later": {
			file: "h.js", code: "exports.handler = async () => require('@me/no-such-package/sub')", late: true,
			want: `h.js needs the Node package "@me/no-such-package", which is not installed: run "npm install --prefix DIR @me/no-such-package"`,
		},
		"node imported later": {
			file: "h.js", code: "exports.handler = async () => import('no-such-package')", late: true,
			want: `h.js needs the Node package "no-such-package", which is not installed: run "npm install --prefix DIR no-such-package"`,
		},
		"node imported later by a module": {
			file: "h.mjs", code: "export const handler = () => import('no-such-package/sub')", late: true, function: true,
			want: `h.mjs needs the Node package "no-such-package", which is not installed: add it to the function's code or to a layer, ` +
				`or start Pintle with --node-modules and a folder that has it`,
		},
		"python later": {
			file: "h.py", code: bare("def handler(event, context):\n    import yaml"), late: true,
			want: `h.py needs the Python module "yaml", which PYTHON does not have: run ` +
				`"python3 -m venv DIR/.venv && DIR/.venv/bin/python -m pip install PyYAML"`,
		},
		"for another Python": {
			file: "h.py", code: "import pkg._core", function: true,
			files: map[string]string{"pkg/__init__.py": "", "pkg/_core.cpython-36m-x86_64-linux-gnu.so": ""},
			want: `h.py needs the Python module "pkg._core", which is there for cpython-36m-x86_64-linux-gnu only, and PYTHON is ABI: ` +
				`install its package for that, or start Pintle with the other Python as python3 on PATH`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{test.file: test.code}
			for file, text := range test.files {
				files[file] = text
			}
			dir := ""
			k := newScriptKit(t, files, project.Provider{Target: test.file}, func(c *local.Config, p *local.Provider) {
				c.Environ = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "VIRTUAL_ENV=") })
				dir = filepath.Dir(p.Target.Path())
				if test.function {
					p.Function = &local.Function{Name: "f", Runtime: "python3.13"}
					if test.modules != "" {
						p.Function.Runtime, p.Function.Modules = "nodejs22.x", []string{test.modules}
					}
				}
			})
			o := k.send("1", "{}")
			script := "import importlib.machinery, sys; print(sys.executable, importlib.machinery.EXTENSION_SUFFIXES[0].split('.')[1])"
			out, err := exec.Command("python3", "-c", script).Output()
			if err != nil {
				t.Fatal(err)
			}
			python, abi, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
			want := strings.NewReplacer("DIR", dir, "PYTHON", python, "ABI", abi).Replace(test.want)
			if test.late {
				if o.Kind != local.Errored || o.Message != want {
					t.Errorf("got %+v\nwant %s", o, want)
				}
				return
			}
			if o.Kind != local.InitFailed || o.Type != "Runtime.ImportModuleError" || o.Message != want {
				t.Errorf("got %+v\nwant %s", o, want)
			}
			lines := 0
			if test.function { // it has its own log
				lines = 1
			}
			if len(o.Log) != lines || strings.Contains(string(o.Result), "bootstrap") {
				t.Errorf("the log is %q, the report %s", o.Log, o.Result)
			}
		})
	}
}
