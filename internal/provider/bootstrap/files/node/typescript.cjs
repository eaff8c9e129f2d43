'use strict';

// Compiles TypeScript files when they are loaded, with esbuild or typescript from the project of the handler. Each file is compiled by
// itself, as a CommonJS module, and its types are not checked.

const fs = require('node:fs');
const path = require('node:path');
const nodeModule = require('node:module');
const {pathToFileURL} = require('node:url');

const EXTENSIONS = ['.ts', '.mts', '.cts'];
const COMPILERS = {esbuild: withESBuild, typescript: withTypeScript};
const NATIVE = '__pintleImportMetaURL'; // stands for import.meta.url, which CommonJS does not have

const is = (file) => EXTENSIONS.includes(path.extname(file).toLowerCase());

// NotCompiled is the error for a file that has syntax errors.
class NotCompiled extends SyntaxError {}

// install lets require load TypeScript. It returns false if the project of the file has no compiler.
function install(file) {
  const compile = compiler(file);
  if (!compile) return false;
  for (const extension of EXTENSIONS) {
    require.extensions[extension] = (module, name) => {
      const text = compile(fs.readFileSync(name, 'utf8').replace(/^\uFEFF/, ''), name);
      module._compile(`const ${NATIVE} = ${JSON.stringify(pathToFileURL(name).href)};${text}`, name);
    };
  }
  const resolve = nodeModule._resolveFilename;
  nodeModule._resolveFilename = function (request, parent, ...rest) {
    try {
      return resolve.call(this, request, parent, ...rest);
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND' || !parent || !parent.filename) throw error;
      for (const other of alternatives(request, parent.filename)) {
        try {
          return resolve.call(this, other, parent, ...rest);
        } catch {
          // Try the next one. If none is found, the first error applies.
        }
      }
      throw error;
    }
  };
  process.setSourceMapsEnabled(true);
  return true;
}

// compiler returns a function that compiles a text, or undefined if neither compiler is installed.
function compiler(file) {
  const load = nodeModule.createRequire(file);
  for (const [name, start] of Object.entries(COMPILERS)) {
    try {
      load.resolve(name);
    } catch {
      continue; // it is not installed
    }
    return start(load(name));
  }
  return undefined;
}

function withESBuild(esbuild) {
  return (text, file) => {
    const {options} = settings(file);
    const kept = {};
    for (const name of ['experimentalDecorators', 'useDefineForClassFields', 'target', 'verbatimModuleSyntax', 'jsx', 'strict']) {
      if (options[name] !== undefined) kept[name] = options[name];
    }
    try {
      return esbuild.transformSync(text, {
        loader: 'ts', format: 'cjs', platform: 'node', target: `node${process.versions.node}`, sourcefile: file, sourcemap: 'inline',
        logLevel: 'silent', supported: {'dynamic-import': false}, tsconfigRaw: {compilerOptions: kept},
        define: {'import.meta.url': NATIVE, 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename'},
      }).code;
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
    const {outputText, diagnostics} = typescript.transpileModule(text, {
      fileName: file, reportDiagnostics: true,
      compilerOptions: {
        experimentalDecorators: options.experimentalDecorators, emitDecoratorMetadata: options.emitDecoratorMetadata,
        useDefineForClassFields: options.useDefineForClassFields, esModuleInterop: true,
        module: typescript.ModuleKind.CommonJS, target: typescript.ScriptTarget.ES2022, inlineSourceMap: true, inlineSources: true,
      },
    });
    const [first] = (diagnostics || []).filter((each) => each.category === typescript.DiagnosticCategory.Error);
    if (first) {
      const at = first.file && first.file.getLineAndCharacterOfPosition(first.start);
      throw located(file, at && at.line + 1, at && at.character + 1, typescript.flattenDiagnosticMessageText(first.messageText, ' '));
    }
    return outputText.replaceAll('import.meta.url', NATIVE);
  };
}

function located(file, line, column, text) {
  return new NotCompiled(`${path.basename(file)}${line ? `:${line}:${column}` : ''}: ${text}`);
}

// alternatives returns other names of a module that was not found: the source of a compiled file, and the targets of the paths in
// tsconfig.json. Source: TypeScript, Module resolution, "File extension substitution" and "paths".
function* alternatives(request, importer) {
  const source = request.replace(/\.([cm]?)js$/, '.$1ts');
  if (/^\.{0,2}[/\\]/.test(request) || path.isAbsolute(request)) {
    if (source !== request) yield source;
    if (!path.isAbsolute(request)) return;
  }
  const {paths, base} = settings(importer);
  for (const [pattern, targets] of Object.entries(paths)) {
    const [before, after] = pattern.split('*');
    const fits = after === undefined ? request === pattern
      : request.length >= before.length + after.length && request.startsWith(before) && request.endsWith(after);
    if (!fits || !Array.isArray(targets)) continue;
    const part = after === undefined ? '' : request.slice(before.length, request.length - after.length);
    for (const target of targets) {
      const name = path.resolve(base, target.replace('*', () => part));
      yield name;
      yield name.replace(/\.([cm]?)js$/, '.$1ts');
    }
  }
}

const known = new Map(); // settings by directory

// settings returns the options of the nearest tsconfig.json above a file that concern one file, and its paths, which are relative to base.
function settings(file) {
  const dir = path.dirname(file);
  if (!known.has(dir)) {
    const config = path.join(dir, 'tsconfig.json');
    let found;
    if (fs.existsSync(config)) found = read(config, 0);
    else if (dir !== path.dirname(dir)) found = settings(dir);
    known.set(dir, found || {options: {}, paths: {}, base: dir});
  }
  return known.get(dir);
}

// read returns the settings of a file and of those that it extends.
function read(config, depth) {
  const dir = path.dirname(config);
  let found = {options: {}, paths: {}, base: dir};
  let text;
  try {
    text = parse(fs.readFileSync(config, 'utf8'));
  } catch {
    return found; // the compiler of the project reports what is wrong with it
  }
  for (const parent of depth < 10 ? [text.extends || []].flat() : []) {
    try {
      const load = nodeModule.createRequire(config);
      const name = /\.json$/.test(parent) ? parent : `${parent}.json`;
      const {options, paths, base} = read(/^\.{0,2}[/\\]/.test(parent) ? path.resolve(dir, name) : load.resolve(parent), depth + 1);
      found = {options: {...found.options, ...options}, paths, base};
    } catch {
      // A configuration that is not installed changes nothing.
    }
  }
  const options = text.compilerOptions || {};
  found.options = {...found.options, ...options};
  if (options.paths) [found.paths, found.base] = [options.paths, path.resolve(dir, options.baseUrl || '.')];
  return found;
}

// parse reads JSON with comments and trailing commas.
function parse(text) {
  const plain = text.replace(/^\uFEFF/, '').replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[^]*?\*\//g, (part) => (part[0] === '"' ? part : ' '));
  return JSON.parse(plain.replace(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, (part) => (part[0] === '"' ? part : '')));
}

module.exports = {is, install, NotCompiled};
