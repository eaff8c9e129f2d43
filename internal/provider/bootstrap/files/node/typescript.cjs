'use strict';

// Compiles TypeScript files when they are loaded, with esbuild or typescript from the project of the handler. Each file is compiled by
// itself, as a CommonJS module, and its types are not checked.

const fs = require('node:fs');
const path = require('node:path');
const nodeModule = require('node:module');
const {pathToFileURL} = require('node:url');

const EXTENSIONS = ['.ts', '.mts', '.cts'];
const COMPILERS = {esbuild: withESBuild, typescript: withTypeScript};
const NEUTRAL = 'source.ts'; // the name of each file for the compilers, which treat imports of .mts as those of ECMAScript modules

const is = (file) => EXTENSIONS.includes(path.extname(file).toLowerCase());

// NotCompiled is the error for a file that has syntax errors.
class NotCompiled extends SyntaxError {}

// install lets require load TypeScript. It returns false if the project of the file has no compiler.
function install(file) {
  const compile = compiler(file);
  if (!compile) return false;
  for (const extension of EXTENSIONS) {
    require.extensions[extension] = (module, name) => {
      module._compile(compile(fs.readFileSync(name, 'utf8').replace(/^\uFEFF/, ''), name), name, 'commonjs');
    };
  }
  const resolve = nodeModule._resolveFilename;
  nodeModule._resolveFilename = function (request, parent, ...rest) {
    const importer = parent && parent.filename;
    if (!importer || /[/\\]node_modules[/\\]/.test(importer)) return resolve.call(this, request, parent, ...rest);
    for (const other of alternatives(request, importer)) {
      try {
        return resolve.call(this, other, parent, ...rest);
      } catch {
        // Try the next one.
      }
    }
    return resolve.call(this, request, parent, ...rest);
  };
  process.setSourceMapsEnabled(true);
  return true;
}

// compiler returns a function that compiles a text, or undefined if neither compiler is installed.
function compiler(file) {
  const load = nodeModule.createRequire(file);
  const compilers = Object.entries(COMPILERS);
  if (settings(file).options.emitDecoratorMetadata) compilers.reverse(); // esbuild does not have it
  for (const [name, start] of compilers) {
    try {
      load.resolve(name);
    } catch {
      continue; // it is not installed
    }
    const loaded = load(name);
    if (loaded.transformSync || loaded.transpileModule) return start(loaded); // TypeScript 7 has no API for this
  }
  return undefined;
}

function withESBuild(esbuild) {
  return (text, file) => {
    const {options} = settings(file);
    const kept = {alwaysStrict: true}; // as in modules
    for (const name of ['experimentalDecorators', 'useDefineForClassFields', 'target', 'verbatimModuleSyntax', 'jsx', 'strict']) {
      if (options[name] !== undefined) kept[name] = options[name];
    }
    try {
      const {code, map} = esbuild.transformSync(text, {
        loader: 'ts', format: 'cjs', platform: 'node', target: `node${process.versions.node}`, sourcefile: NEUTRAL, sourcemap: 'external',
        logLevel: 'silent', supported: {'dynamic-import': false}, tsconfigRaw: {compilerOptions: kept},
        define: {'import.meta': JSON.stringify(meta(file))},
      });
      return mapped(code, map, file);
    } catch (error) {
      const [first] = error.errors || [];
      if (!first) throw error;
      throw located(file, first.location && first.location.line, first.location && first.location.column + 1, first.text);
    }
  };
}

function withTypeScript(typescript) {
  return (text, file) => {
    const {options} = settings(file);
    const {outputText, sourceMapText, diagnostics} = typescript.transpileModule(text, {
      fileName: NEUTRAL, reportDiagnostics: true,
      compilerOptions: {
        experimentalDecorators: options.experimentalDecorators, emitDecoratorMetadata: options.emitDecoratorMetadata,
        useDefineForClassFields: definesFields(options), esModuleInterop: true,
        module: typescript.ModuleKind.CommonJS, target: typescript.ScriptTarget.ES2022 || typescript.ScriptTarget.ES2020,
        sourceMap: true, inlineSources: true,
      },
      transformers: {before: [metaTransformer(typescript, meta(file))]},
    });
    const [first] = (diagnostics || []).filter((each) => each.category === typescript.DiagnosticCategory.Error);
    if (first) {
      const at = first.file && first.file.getLineAndCharacterOfPosition(first.start);
      throw located(file, at && at.line + 1, at && at.character + 1, typescript.flattenDiagnosticMessageText(first.messageText, ' '));
    }
    return mapped(outputText, sourceMapText, file);
  };
}

// mapped returns a compiled text with its source map.
function mapped(code, map, file) {
  const text = JSON.stringify({...JSON.parse(map), sources: [pathToFileURL(file).href]});
  return `${code}\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(text).toString('base64')}\n`;
}

// meta returns the value of import.meta, which CommonJS does not have.
function meta(file) {
  return {url: pathToFileURL(file).href, dirname: path.dirname(file), filename: file};
}

// metaTransformer returns a transformer of typescript that replaces import.meta.
function metaTransformer(typescript, value) {
  return (context) => (source) => {
    const members = () => Object.entries(value).map(([name, text]) => (
      context.factory.createPropertyAssignment(name, context.factory.createStringLiteral(text))));
    const visit = (node) => (typescript.isMetaProperty(node) && node.keywordToken === typescript.SyntaxKind.ImportKeyword
      ? context.factory.createParenthesizedExpression(context.factory.createObjectLiteralExpression(members()))
      : typescript.visitEachChild(node, visit, context));
    return typescript.visitNode(source, visit);
  };
}

// definesFields returns the option useDefineForClassFields, whose default depends on the target of the project. That is not the target
// that files are compiled for.
function definesFields({useDefineForClassFields: option, target}) {
  return option === undefined && target !== undefined ? /^es(next|20(2[2-9]|[3-9]))/i.test(target) : option;
}

function located(file, line, column, text) {
  return new NotCompiled(`${path.basename(file)}${line ? `:${line}:${column}` : ''}: ${text}`);
}

// alternatives returns other names of a module, to be tried first: the source of a compiled file, which may be older, and the targets of
// paths and baseUrl in tsconfig.json. Source: TypeScript, Module resolution, "File extension substitution", "paths" and "baseUrl".
function* alternatives(request, importer) {
  const relative = /^\.{0,2}([/\\]|$)/.test(request) || path.isAbsolute(request);
  if (relative && is(importer)) yield* sources(request);
  if (relative || request.startsWith('node:') || nodeModule.builtinModules.includes(request)) return;
  const {paths, base, baseUrl} = settings(importer);
  const prefix = (pattern) => (pattern.includes('*') ? pattern.indexOf('*') : Number.MAX_SAFE_INTEGER); // an exact name comes first
  for (const [pattern, targets] of Object.entries(paths).sort(([a], [b]) => prefix(b) - prefix(a))) {
    const [before, after] = pattern.split('*');
    const fits = after === undefined ? request === pattern
      : request.length >= before.length + after.length && request.startsWith(before) && request.endsWith(after);
    if (!fits || !Array.isArray(targets)) continue;
    const part = after === undefined ? '' : request.slice(before.length, request.length - after.length);
    for (const target of targets) {
      const name = path.resolve(baseUrl || base, target.replace('*', () => part));
      if (!name.endsWith('.d.ts')) yield* [...sources(name), name];
    }
  }
  if (baseUrl) yield* [...sources(path.resolve(baseUrl, request)), path.resolve(baseUrl, request)];
}

// sources returns the names of the TypeScript files that a module may be compiled from.
function sources(name) {
  const source = name.replace(/\.([cm]?)js$/, '.$1ts');
  return source === name ? [`${name}.ts`, `${name}/index.ts`] : [source];
}

const known = new Map(); // settings by directory

// settings returns the options of the nearest tsconfig.json above a file that concern one file, its baseUrl, and its paths, which are
// relative to the baseUrl, or else to base.
function settings(file) {
  const dir = path.dirname(file);
  if (!known.has(dir)) {
    const config = path.join(dir, 'tsconfig.json');
    let found = {options: {}, paths: {}};
    if (fs.existsSync(config)) read(config, found, 0);
    else if (dir !== path.dirname(dir)) found = settings(dir);
    known.set(dir, found);
  }
  return known.get(dir);
}

// read adds the settings of a file, and before them those of the files that it extends.
function read(config, found, depth) {
  let text;
  try {
    text = parse(fs.readFileSync(config, 'utf8'));
  } catch {
    return; // with syntax errors, it has no effect
  }
  const dir = path.dirname(config);
  for (const parent of depth < 10 ? [text.extends || []].flat() : []) {
    const at = extended(parent, config);
    if (at) read(at, found, depth + 1); // a configuration that is not installed changes nothing
  }
  const options = text.compilerOptions || {};
  Object.assign(found.options, options);
  if (options.baseUrl) found.baseUrl = path.resolve(dir, options.baseUrl);
  if (options.paths) Object.assign(found, {paths: options.paths, base: dir});
}

// extended returns the file that a tsconfig.json extends: a path, or a file of a package.
function extended(name, config) {
  if (/^\.{0,2}[/\\]/.test(name)) return path.resolve(path.dirname(config), name.endsWith('.json') ? name : `${name}.json`);
  const load = nodeModule.createRequire(config);
  for (const each of [name, `${name}/tsconfig.json`]) {
    try {
      const at = load.resolve(each);
      if (at.endsWith('.json')) return at;
    } catch {
      // Try the next one.
    }
  }
  return undefined;
}

// parse reads JSON with comments and trailing commas.
function parse(text) {
  const plain = text.replace(/^\uFEFF/, '').replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[^]*?\*\//g, (part) => (part[0] === '"' ? part : ' '));
  return JSON.parse(plain.replace(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, (part) => (part[0] === '"' ? part : '')));
}

module.exports = {is, install, NotCompiled};
