package local_test

import (
	"cmp"
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
		if err := os.MkdirAll(modules, 0o755); err != nil {
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

// TestTypeScriptCode checks code whose meaning depends on how it is compiled and how its imports are resolved. Each handler returns true.
func TestTypeScriptCode(t *testing.T) {
	for name, test := range map[string]struct {
		handler string // empty means index.ts
		files   map[string]string
	}{
		"first line is #!": {"", map[string]string{
			"index.ts": "import { a } from './a';\nexport const handler = async (e: object) => a;\n",
			"a.ts":     "#!/usr/bin/env node\nexport const a: boolean = true;\n",
		}},
		"strict mode": {"", map[string]string{
			"index.ts": "export const handler = async (e: object) => (function (this: unknown) { return this === undefined; })();\n"}},
		"members of import.meta": {"", map[string]string{"index.ts": `
// import.meta.url
const meta: any = import.meta;
export const handler = async (e: object) => import.meta.url.endsWith('/index.ts') && (import.meta as any).dirname === __dirname &&
  meta.filename === __filename && 'import.meta.url' === ['import', 'meta', 'url'].join('.');
`}},
		"older compiled files": {"", map[string]string{
			"index.ts": "import { a } from './a';\nimport { b } from './b.js';\nimport { c } from './c';\nexport const handler = async (e: object) => a && b && c;\n",
			"a.ts":     "export const a: boolean = true;\n", "a.js": "exports.a = false;\n",
			"b.ts": "export const b: boolean = true;\n", "b.js": "exports.b = false;\n",
			"c/index.ts": "export const c: boolean = true;\n", "c/index.js": "exports.c = false;\n",
		}},
		"baseUrl without paths": {"", map[string]string{
			"index.ts":      "import { a } from 'lib/a';\nimport * as events from 'events';\nexport const handler = async (e: object) => a && 'once' in events;\n",
			"src/lib/a.ts":  "export const a: boolean = true;\n",
			"src/events.ts": "export {};\n", // Node's own modules take precedence
			"tsconfig.json": `{"compilerOptions": {"baseUrl": "./src"}}`,
		}},
		"paths before packages": {"", map[string]string{
			"index.ts": "import { a } from 'a';\nimport { b } from 'b';\nimport { c } from '@app/c';\nexport const handler = async (e: object) => a && b && c;\n",
			"src/a.ts": "export const a: boolean = true;\n", "node_modules/a/index.js": "exports.a = false;\n",
			"src/c.ts": "export const c: boolean = false;\n", "special/c.ts": "export const c: boolean = true;\n",
			"types/b.d.ts": "export const b: boolean;\n", "node_modules/b/index.js": "exports.b = true;\n",
			"tsconfig.json": `{"compilerOptions": {"paths": {"a": ["./none", "./src/a"], "b": ["./types/b.d.ts"], "@app/*": ["./src/*"], "@app/c": ["./special/c"]}}}`,
		}},
		"several extends": {"", map[string]string{
			"index.ts":           "import { a } from '@/a';\nexport const handler = async (e: object) => a;\n",
			"config/src/a.ts":    "export const a: boolean = true;\n",
			"config/base.json":   `{"compilerOptions": {"baseUrl": "src", "paths": {"@/*": ["*"]}}}`,
			"config/strict.json": `{"compilerOptions": {"strict": true}}`,
			"tsconfig.json":      `{"extends": ["./config/base.json", "./config/strict.json"]}`,
		}},
		"paths with the baseUrl of another file": {"", map[string]string{
			"index.ts":         "import { a } from '@/a';\nexport const handler = async (e: object) => a;\n",
			"config/src/a.ts":  "export const a: boolean = true;\n",
			"config/base.json": `{"compilerOptions": {"baseUrl": "src"}}`,
			"tsconfig.json":    `{"extends": "./config/base.json", "compilerOptions": {"paths": {"@/*": ["*"]}}}`,
		}},
		"fields of classes, by the target": {"", map[string]string{
			"index.ts": `
class Base { name: string; constructor() { this.name = 'set'; } }
class Thing extends Base { name!: string; }
export const handler = async (e: object) => new Thing().name === 'set';
`,
			"tsconfig.json": `{"extends": "@example/old"}`,
			"node_modules/@example/old/tsconfig.json": `{"compilerOptions": {"target": "ES2020"}}`,
		}},
		"default import in .mts": {"index.mts", map[string]string{
			"index.mts":                   "import a from 'a';\nimport b from './b.mjs';\nexport const handler = async (e: object) => a && b;\n",
			"b.mts":                       "export default true as boolean;\n",
			"node_modules/a/index.js":     "exports.__esModule = true;\nexports.default = true;\n",
			"node_modules/a/package.json": `{"main": "index.js"}`,
		}},
	} {
		for _, compiler := range []string{"esbuild", "typescript"} {
			t.Run(name+"/"+compiler, func(t *testing.T) {
				k := typeScriptKit(t, compiler, test.files, "./"+cmp.Or(test.handler, "index.ts"))
				if o := k.send("1", `{}`); string(o.Result) != "true" {
					t.Errorf("got %s, %+v", o.Result, o)
				}
			})
		}
	}
}

// TestTypeScriptMetadata checks that typescript compiles a project that needs the metadata of decorators, which esbuild does not have.
func TestTypeScriptMetadata(t *testing.T) {
	k := typeScriptKit(t, "typescript", map[string]string{
		"index.ts": `
let type: unknown;
(Reflect as any).metadata = (key: string, value: unknown) => () => { if (key === 'design:type') type = value; };
class Thing { @((target: object, key: string) => {}) name!: string; }
export const handler = async (e: object) => type === String;
`,
		"tsconfig.json":                 `{"compilerOptions": {"experimentalDecorators": true, "emitDecoratorMetadata": true}}`,
		"node_modules/esbuild/index.js": "exports.transformSync = () => { throw new Error('esbuild is used') };\n",
	}, "./index.ts")
	if o := k.send("1", `{}`); string(o.Result) != "true" {
		t.Errorf("got %s, %+v", o.Result, o)
	}
}

// TestTypeScriptProblems checks the errors of files that are not compiled, or whose imports are missing.
func TestTypeScriptProblems(t *testing.T) {
	const await = "export const x = await 1;\nexport const handler = () => x;\n"
	for name, test := range map[string]struct {
		compiler string
		files    map[string]string
		want     string
	}{
		"no compiler": {"", map[string]string{"index.ts": "export const handler = (event: object) => {}\n"},
			`index.ts is TypeScript, and neither "esbuild" nor "typescript" 4 to 6 is installed: run "npm install --prefix `},
		"declared compiler": {"", map[string]string{"index.ts": "export const handler = (event: object) => {}\n", "package.json": `{"devDependencies": {"typescript": "5"}}`},
			`is installed: run "npm install --prefix `},
		"typescript 7": {"", map[string]string{
			"index.ts": "export const handler = (event: object) => {}\n", "package.json": `{"devDependencies": {"typescript": "7"}}`,
			"node_modules/typescript/index.js": "exports.version = '7.0.2';\n",
		}, `neither "esbuild" nor "typescript" 4 to 6 is installed: run "npm install --prefix `},
		"await outside of functions, esbuild":    {"esbuild", map[string]string{"index.ts": await}, "index.ts:1:18: Top-level await"},
		"await outside of functions, typescript": {"typescript", map[string]string{"index.ts": await}, "index.ts: SyntaxError: await is only valid in async functions"},
		"syntax, esbuild":                        {"esbuild", map[string]string{"index.ts": "export const handler =\n  (event: ) => {}\n"}, "index.ts:2:11: "},
		"syntax, typescript":                     {"typescript", map[string]string{"index.ts": "export const handler =\n  (event: ) => {}\n"}, "index.ts:2:11: "},
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
			if declared := strings.Contains(o.Message, "--save-dev esbuild"); declared != (name == "no compiler" || name == "typescript 7") {
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
