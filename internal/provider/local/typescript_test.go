package local_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// typeScript is a handler with what makes TypeScript more than JavaScript with types, and with imports that only its resolution finds.
var typeScript = map[string]string{
	"tsconfig.json": `{ // the configuration of the project
  "extends": "./tsconfig.base",
  "compilerOptions": {"strict": true,},
}`,
	"tsconfig.base.json": `{"compilerOptions": {"baseUrl": ".", "paths": {"@shared/*": ["shared/*"], "settings": ["./shared/settings.ts"]}}}`,
	"package.json":       `{"type": "module"}`,
	"shared/names.ts":    "export enum Status { Good = 'good' }\nexport default (n: string): string => `name of ${n}`;\n",
	"shared/settings.ts": "export const size: number = 3;\n",
	"src/lib/path.ts":    "import * as path from 'node:path';\nexport const base = (p: string) => path.basename(p);\n",
	"src/handler.ts": `
import { fileURLToPath } from 'node:url';
import type { Nothing } from 'a-package-with-types-only';
import nameOf, { Status } from '@shared/names';
import { size } from 'settings';
import { base } from './lib/path.js';

interface Event { do: string }

class Thing {
  constructor(private readonly event: Event) {}
  get name(): string { return nameOf(this.event.do); }
}

export const handler = async (event: Event, context: Nothing): Promise<object> => {
  if (event.do === 'fail') throw new Error('on purpose');
  const late = await import('@shared/names');
  return { name: new Thing(event).name, size, file: base(fileURLToPath(import.meta.url)), status: late.Status.Good === Status.Good };
};
`,
}

// typeScriptKit returns a runtime for a handler in TypeScript whose project has a compiler; empty means none.
func typeScriptKit(t *testing.T, compiler string, files map[string]string, target string) *kit {
	t.Helper()
	require.Tool(t, "node")
	return newScriptKit(t, files, project.Provider{Target: target}, func(_ *local.Config, p *local.Provider) {
		if compiler == "" {
			return
		}
		root := strings.TrimSuffix(p.Target.Path(), filepath.FromSlash(strings.TrimPrefix(target, ".")))
		modules := filepath.Join(root, "node_modules")
		if err := os.Mkdir(modules, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(require.Handlers(t), "node_modules", compiler), filepath.Join(modules, compiler)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestTypeScript checks that a handler in TypeScript runs with either compiler, and that its errors have the places in the source.
func TestTypeScript(t *testing.T) {
	for _, compiler := range []string{"esbuild", "typescript"} {
		t.Run(compiler, func(t *testing.T) {
			k := typeScriptKit(t, compiler, typeScript, "./src/handler.ts")
			if o := k.send("1", `{"do": "x"}`); string(o.Result) != `{"name":"name of x","size":3,"file":"handler.ts","status":true}` {
				t.Errorf("got %s, %+v", o.Result, o)
			}
			o := k.send("2", `{"do": "fail"}`)
			if o.Kind != local.Errored || !slices.ContainsFunc(k.logged(), func(line string) bool { return strings.Contains(line, "handler.ts:16:") }) {
				t.Errorf("no line of the log has the place: %q, %+v", k.logged(), o)
			}
		})
	}
}

// TestTypeScriptProblems checks the errors of files that are not compiled, or whose imports are missing.
func TestTypeScriptProblems(t *testing.T) {
	for name, test := range map[string]struct {
		compiler string
		files    map[string]string
		want     string
	}{
		"no compiler": {"", map[string]string{"index.ts": "export const handler = (event: object) => {}\n"},
			`index.ts is TypeScript, and neither "esbuild" nor "typescript" is installed: run "npm install --prefix `},
		"declared compiler": {"", map[string]string{"index.ts": "export const handler = (event: object) => {}\n", "package.json": `{"devDependencies": {"typescript": "5"}}`},
			`is installed: run "npm install --prefix `},
		"syntax, esbuild":    {"esbuild", map[string]string{"index.ts": "export const handler =\n  (event: ) => {}\n"}, "index.ts:2:11: "},
		"syntax, typescript": {"typescript", map[string]string{"index.ts": "export const handler =\n  (event: ) => {}\n"}, "index.ts:2:11: "},
		"a package of an imported file": {"esbuild", map[string]string{
			"index.ts": "export { handler } from './lib';\n", "lib.ts": "import gone from 'gone-package';\nexport const handler = () => gone;\n",
		}, `lib.ts needs the Node package "gone-package", which is not installed: run "npm install --prefix `},
	} {
		t.Run(name, func(t *testing.T) {
			if test.compiler == "" && stripsTypes(t) {
				t.Skip("this version of Node runs TypeScript without a compiler")
			}
			k := typeScriptKit(t, test.compiler, test.files, "./index.ts")
			o := k.send("1", `{}`)
			if o.Kind != local.InitFailed || !strings.Contains(o.Message, test.want) {
				t.Errorf("got %+v", o)
			}
			if declared := strings.Contains(o.Message, "--save-dev esbuild"); declared != (name == "no compiler") {
				t.Errorf("the command is not that for the package.json: %s", o.Message)
			}
		})
	}
}

// stripsTypes reports whether Node runs TypeScript.
func stripsTypes(t *testing.T) bool {
	t.Helper()
	out, err := exec.Command(require.Tool(t, "node"), "-p", "Boolean(process.features.typescript)").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out)) == "true"
}

// TestTypeScriptTarget checks which file of a directory is the handler: compiled files take precedence over their sources.
func TestTypeScriptTarget(t *testing.T) {
	require.Tool(t, "node")
	for name, test := range map[string]struct {
		files   []string
		handler string
		want    string
	}{
		"source only":       {[]string{"index.ts"}, "", "index.ts"},
		"module":            {[]string{"index.mts"}, "", "index.mts"},
		"compiled too":      {[]string{"index.ts", "index.js"}, "", "index.js"},
		"named":             {[]string{"app.ts", "index.ts"}, "app.handler", "app.ts"},
		"named, compiled":   {[]string{"app.ts", "app.mjs"}, "app.handler", "app.mjs"},
		"in a subdirectory": {[]string{"src/app.ts"}, "src/app.handler", "src/app.ts"},
	} {
		files := map[string]string{}
		for _, file := range test.files {
			files[file] = ""
		}
		dir := tree(t, files)
		p, err := local.ParseProvider(dir, project.Provider{Name: "P", Target: dir, Handler: test.handler})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got, err := filepath.Rel(dir, p.Target.Source()); err != nil || filepath.ToSlash(got) != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}
