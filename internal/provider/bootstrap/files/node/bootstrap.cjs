'use strict';

// Calls a function in a file for each event that the Lambda Runtime API hands out, or that of Function Compute.
//
//     node bootstrap.cjs FILE NAME...
//
// FILE is the handler's file and each NAME a function that it may be, the first that is there being the one. A file whose
// whole export is a function exports it as default. With --schema before FILE, the program prints the schema of the handler.

const http = require('node:http');
const path = require('node:path');
const fs = require('node:fs');
const nodeModule = require('node:module');
const {pathToFileURL} = require('node:url');
const {format} = require('node:util');
const aws = require('./aws.cjs');
const reroute = require('./reroute.cjs');
const log = require('./log.cjs');
const oss = require('./oss.cjs');
const typescript = require('./typescript.cjs');
const work = require('./work.cjs');

const OLDEST = 18;
const NO_SCHEMA = 3; // the exit status of --schema for a handler without one
const SCHEMA = Symbol.for('@pintle-dev/provider.schema'); // a member of a handler that has one
const describes = process.argv[2] === '--schema';
if (describes) process.argv.splice(2, 1);
const contract = describes || process.env.AWS_LAMBDA_RUNTIME_API ? require('./lambda.cjs') : require('./fc.cjs');
const [file, ...wanted] = process.argv.slice(2);
const [, host, port, root] = /^([^:]*):(\d+)(.*)$/.exec(describes ? ':0' : contract.address);
const api = root + contract.api; // the address has a path where other users of the machine can connect
const agent = new http.Agent({keepAlive: true, maxSockets: 1});
const project = process.env.PINTLE_PROJECT; // where to install what is missing; undefined for a function of a template
delete process.env.PINTLE_PROJECT;
const request = http.request; // whatever the handler's libraries put in its place

// Failure is what is reported as an error of the runtime, under a name of Lambda's.
class Failure extends Error {
  constructor(name, message, cause) {
    super(message);
    this.name = name;
    this.stack = cause && cause.stack ? name + ': ' + cause.stack : name + ': ' + message;
  }
}

// call makes one request to the Runtime API. While it waits for the next event it keeps the process alive; at all other
// times nothing of ours does, so that it can be seen when the handler has nothing left to do.
function call(method, route, body, headers = {}) {
  return new Promise((resolve, reject) => {
    const bytes = body === undefined ? undefined : Buffer.from(body);
    if (bytes) headers = {'Content-Type': 'application/json', 'Content-Length': bytes.length, ...headers};
    const asked = request({host, port, path: api + route, method, headers, agent}, (answer) => {
      const chunks = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => resolve({status: answer.statusCode, headers: answer.headers, bytes: Buffer.concat(chunks)}));
    });
    asked.on('error', reject);
    asked.end(bytes);
  });
}

// report says how an error is reported: as Lambda does, which also prints it. id is that of the event, if there is one.
function report(error, id) {
  let [type, message, trace] = ['Error', 'an error without a text', []];
  try {
    [type, message, trace] = describe(error);
  } catch {
    // Its name or message is not a text, or throws.
  }
  const plain = Boolean(error && error.plain); // it says all in its message
  if (plain) trace = [];
  if (!plain || !project) log.failure(type, message, trace, id);
  return {errorType: type, errorMessage: message, trace};
}

function describe(error) {
  let type, message, trace = [];
  if (error instanceof Error || (error && typeof error === 'object' && 'message' in error && 'name' in error)) {
    [type, message] = [String(error.name), String(error.message)];
    if (notFound(error)) message = missing(importer(error), message) || message; // the handler has loaded it late
    trace = String(error.stack || '').split('\n').filter((line) => !line.includes(__dirname + path.sep) && !/\bnode:internal\//.test(line));
  } else {
    [type, message] = [typeof error, format('%s', error)];
  }
  return [type, message, trace];
}

function postError(route, error, id) {
  const body = report(error, id);
  const type = body.errorType.replace(/[^ -~]/g, '?').slice(0, 256);
  return call('POST', route, JSON.stringify(body), {'Lambda-Runtime-Function-Error-Type': type});
}

let current = null; // the invocation that runs
let telling = Promise.resolve(); // what became of the one before
let asking = false; // for the next event

// Invocation is one event on its way through the handler. The first that settles it counts.
class Invocation {
  constructor(headers) {
    this.id = contract.id(headers);
    this.headers = headers;
    this.asynchronous = false; // the handler returned a promise
    this.later = null; // a result that waits until the handler has nothing left to do
    this.settled = new Promise((resolve) => {
      this.settle = resolve;
    });
  }

  fail(error) {
    this.settle({error: error === undefined || error === null ? 'the handler failed without an error' : error});
  }

  succeed(result) {
    this.settle({result});
  }

  // idle is called when nothing is left that could settle it.
  idle() {
    if (this.later) this.succeed(this.later.result);
    else if (!this.asynchronous) this.succeed(null);
    else this.fail(new Failure('Runtime.NeverSettled', 'the promise of the handler was not settled, and nothing is left that could settle it'));
  }

  context() {
    return contract.context(this.headers, {
      done: (error, result) => (error === undefined || error === null ? this.succeed(result) : this.fail(error)),
      succeed: (result) => this.succeed(result),
      fail: (error) => this.fail(error),
    });
  }

  async run(exported, bytes) {
    contract.begin(this.headers);
    const context = this.context();
    const callback = (error, result) => {
      if (error !== undefined && error !== null) this.fail(error);
      else if (!contract.waits(context)) this.succeed(result);
      else if (!this.later) this.later = {result};
    };
    current = this;
    this.before = work.resources();
    try {
      const first = contract.initializer(this.headers);
      let returned;
      if (first) {
        returned = (await initializer(exported, first))(context, callback);
      } else {
        const event = contract.event(bytes);
        reroute.learn(Buffer.isBuffer(event) ? event.toString() : event);
        returned = exported.handler(event, context, callback);
      }
      if (returned && typeof returned.then === 'function') {
        this.asynchronous = true;
        returned.then((result) => this.succeed(result), (error) => this.fail(error));
      }
    } catch (error) {
      this.fail(error);
    }
    const outcome = await this.settled;
    current = null;
    telling = this.tell(outcome);
    await telling;
  }

  async respond(route, body) {
    const left = work.left(this.before, 0);
    await call('POST', route + '/response', body, left ? {[work.HEADER]: left.replace(/[^ -~]/g, '?')} : {});
    if (left) work.watch(this.before, () => asking, host, port, api + route + '/idle');
  }

  async tell({error, result}) {
    const route = '/invocation/' + this.id;
    let body;
    if (error === undefined) {
      try {
        body = contract.body(result);
        if (body === undefined) throw new TypeError('a ' + typeof result + ' is not JSON');
      } catch (cause) {
        error = new Failure('Runtime.MarshalError', 'Unable to stringify response body: ' + cause.message);
      }
    }
    if (error !== undefined) await postError(route + '/error', error, this.id);
    else await this.respond(route, body);
  }
}

process.on('beforeExit', () => {
  if (current) current.idle();
});

// What nobody caught may have left anything behind, so the process ends with it, as on Lambda.
let dying = false;
function die(error) {
  if (dying) return;
  dying = true;
  const said = current ? postError('/invocation/' + current.id + '/error', error, current.id) : telling.then(() => report(error));
  current = null;
  said.catch(() => {}).then(() => process.exit(1));
}
process.on('uncaughtException', die);
process.on('unhandledRejection', (reason) => {
  const error = new Failure('Runtime.UnhandledPromiseRejection', reason instanceof Error ? String(reason) : format('%s', reason));
  if (reason && reason.stack) error.stack = error.name + ': ' + reason.stack;
  die(error);
});

// isModule reports whether the file is an ECMAScript module: by its name, else by the package.json above it.
function isModule(file) {
  const extension = path.extname(file).toLowerCase();
  if (extension !== '.js' && extension !== '.ts') return extension === '.mjs' || extension === '.mts';
  for (let dir = path.dirname(file); ; dir = path.dirname(dir)) {
    try {
      return JSON.parse(fs.readFileSync(path.join(dir, 'package.json'), 'utf8')).type === 'module';
    } catch (error) {
      if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') return false; // node says what is wrong with it
    }
    if (dir === path.dirname(dir)) return false;
  }
}

// importsLater reports whether the file, which is no ECMAScript module, may import one.
function importsLater(file) {
  try {
    return fs.readFileSync(file, 'utf8').includes('import(');
  } catch {
    return false; // require says what is wrong
  }
}

// A module finds nothing by NODE_PATH, where cfn-response is: a hook lets it.
function findByNodePath() {
  if (typeof nodeModule.register === 'function') {
    nodeModule.register(pathToFileURL(path.join(__dirname, 'resolve.mjs')), {data: {here: __filename}});
  }
}

async function load(file) {
  if (Number(process.versions.node.split('.')[0]) < OLDEST) {
    throw new Failure('Runtime.Unsupported', `node is ${process.versions.node}: ${OLDEST} or later is needed`);
  }
  const name = path.basename(file);
  try {
    if (typescript.is(file)) {
      if (typescript.install(file)) return require(file);
      if (!process.features.typescript) throw Object.assign(new Failure('Runtime.ImportModuleError', uncompiled(file)), {plain: true});
    }
    if (!isModule(file)) {
      if (importsLater(file)) findByNodePath();
      try {
        return require(file);
      } catch (error) {
        if (error.code !== 'ERR_REQUIRE_ESM' && error.code !== 'ERR_REQUIRE_ASYNC_MODULE') throw error;
      }
    }
    findByNodePath();
    return await import(pathToFileURL(file));
  } catch (error) {
    if (error instanceof typescript.NotCompiled) throw new Failure('Runtime.UserCodeSyntaxError', error.message);
    if (error instanceof SyntaxError) {
      const hint = /import statement|'export'/.test(error.message)
        ? ': call the file .mjs, or put "type": "module" into package.json' : '';
      throw new Failure('Runtime.UserCodeSyntaxError', `${name}: ${error}${hint}`, error);
    }
    if (notFound(error)) {
      const sentence = missing(importer(error), String(error.message));
      if (sentence) throw Object.assign(new Failure('Runtime.ImportModuleError', sentence), {plain: true});
      throw new Failure('Runtime.ImportModuleError', `${name}: ${String(error.message).split('\n')[0]}`, error);
    }
    throw error;
  }
}

function notFound(error) {
  return Boolean(error) && (error.code === 'MODULE_NOT_FOUND' || error.code === 'ERR_MODULE_NOT_FOUND');
}

// importer returns the file of the handler that requires the missing module, which may be a file that the handler's own file imports.
function importer(error) {
  return (error.requireStack || []).find((each) => !/[/\\]node_modules[/\\]/.test(each) && each !== __filename) || file;
}

// BROUGHT are packages that runtimes of Function Compute bring. Source: Function Compute, Node.js runtimes, built-in dependencies.
const BROUGHT = new Set(['ali-oss', 'aliyun-sdk', '@alicloud/fc2', '@alicloud/mns', '@alicloud/openapi-client', '@alicloud/pop-core',
  '@alicloud/tea-util', '@alicloud/tablestore', 'tablestore', 'ali-mns', 'co', 'opencv', 'body', 'raw-body', '@alicloud/log', 'mns']);

// missing says what to do about a package that is not there; it is empty if the error is about a file.
function missing(file, message) {
  const found = /^Cannot find (?:module|package) '([^']+)'/.exec(message);
  if (!found || /^([./\\#]|\w:|\w+:)/.test(found[1])) return '';
  const name = found[1].split('/').slice(0, found[1].startsWith('@') ? 2 : 1).join('/');
  const folders = nodeModule.createRequire(file).resolve.paths(name) || [];
  if (folders.some((folder) => fs.existsSync(path.join(folder, name)))) return ''; // a part of it is missing
  let text = `${path.basename(file)} needs the Node package "${name}", which is not installed`;
  if (/^@(aws-sdk|smithy)\//.test(name)) text += " (AWS's runtime brings it)";
  if (name === 'aws-sdk') text += " (AWS's runtime brought it up to Node 16)";
  if (process.env.FC_RUNTIME_API && BROUGHT.has(name)) text += ' (the runtime of Function Compute brings it)';
  if (project) return `${text}: run "${install(packageFolder(path.dirname(file)), name)}"`;
  text += ": add it to the function's code or to a layer, or ";
  const folder = (process.env.NODE_PATH || '').split(path.delimiter).find((each) => /(^|[/\\])node_modules$/.test(each) && !inLayer(each));
  if (folder) return `${text}run "${install(path.dirname(folder), name)}"`;
  return `${text}start Pintle with --node-modules and a folder that has it`;
}

// declared reports whether the package.json of a folder names a compiler for TypeScript that is not installed.
function declared(folder) {
  const installed = (name) => nodeModule.createRequire(file).resolve.paths(name).some((each) => fs.existsSync(path.join(each, name)));
  try {
    const {dependencies, devDependencies} = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
    return ['esbuild', 'typescript'].some((name) => name in {...dependencies, ...devDependencies} && !installed(name));
  } catch {
    return false; // it does not exist, or npm reports what is wrong with it
  }
}

// uncompiled says what to install for a TypeScript file.
function uncompiled(file) {
  const text = `${path.basename(file)} is TypeScript, and neither "esbuild" nor "typescript" 4 to 6 is installed`;
  const folder = project && packageFolder(path.dirname(file));
  if (!folder) return `${text}: compile it`;
  return `${text}: run "${install(folder, declared(folder) ? '' : '--save-dev esbuild')}"`;
}

function install(folder, name) {
  return `npm install --prefix ${/^[\w./@:+-]+$/.test(folder) ? folder : `'${folder}'`}${name && ` ${name}`}`;
}

// inLayer reports whether a folder is one that Lambda's layers have their modules in.
function inLayer(folder) {
  return /[/\\]nodejs[/\\](node\d+[/\\])?node_modules$/.test(folder);
}

// packageFolder returns the nearest folder with a package.json, up to that of the project, which it is if there is none.
function packageFolder(from) {
  for (let dir = from; ; dir = path.dirname(dir)) {
    if (fs.existsSync(path.join(dir, 'package.json'))) return dir;
    if (dir === project || dir === path.dirname(dir)) return project;
  }
}

// member returns what a name such as a.b leads to.
function member(object, name) {
  return name.split('.').reduce((o, part) => (o === undefined || o === null ? undefined : o[part]), object);
}

// initializer returns the function of a name FILE.FUNCTION, or FUNCTION if it is in the handler's file.
async function initializer({module}, name) {
  const dot = name.lastIndexOf('.');
  if (dot < 0) return find(module, [name]);
  const place = path.join(process.env.FC_FUNC_CODE_PATH, name.slice(0, dot));
  const at = ['.js', '.mjs', '.cjs'].map((extension) => place + extension).find((other) => fs.existsSync(other));
  return find(at === file ? module : await load(at || place + '.js'), [name.slice(dot + 1)]);
}

function find(exported, wanted) {
  const stem = path.basename(file, path.extname(file));
  if (typeof exported === 'function') exported = Object.assign(exported, {default: exported});
  for (const name of wanted) {
    const owner = name.includes('.') ? member(exported, name.slice(0, name.lastIndexOf('.'))) : exported;
    const handler = member(exported, name);
    if (typeof handler === 'function') {
      if (wanted.length > 1) process.env[contract.handler] = stem + '.' + name;
      return Object.assign(handler.bind(owner), {[SCHEMA]: handler[SCHEMA]});
    }
  }
  const names = `'${wanted.join("' or '")}'`;
  let hint = '';
  if (wanted.length > 1) {
    hint = ': export one of these, or say which it is with handler: in pintle.yaml';
    const other = ['onEvent', 'on_event'].find((name) => !wanted.includes(name) && exported && typeof exported[name] === 'function');
    if (other && !wanted.includes('isComplete')) {
      hint = `, but ${other}: a function that returns its result is declared as onEvent: in pintle.yaml`;
    }
  }
  throw new Failure('Runtime.HandlerNotFound', `${path.basename(file)} does not export ${names}${hint}`);
}

// showSchema prints the schema of a handler that has one, and ends the process. All else that is printed goes to standard error.
async function showSchema() {
  const print = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  try {
    const schema = find(await load(file), wanted)[SCHEMA];
    if (typeof schema !== 'function') process.exit(NO_SCHEMA);
    print(JSON.stringify(schema()), () => process.exit(0));
  } catch (error) {
    const {errorType, errorMessage} = report(error);
    if (error && error.plain && project) log.failure(errorType, errorMessage, []);
    process.exit(1);
  }
}

async function main() {
  process.argv.splice(1, process.argv.length, file);
  contract.start();
  aws.install();
  oss.install();
  log.install(() => (current ? current.id : undefined));
  if (describes) return showSchema();
  const exported = {};
  try {
    exported.module = await load(file);
    exported.handler = find(exported.module, wanted);
  } catch (error) {
    await postError('/init/error', error);
    process.exit(1);
  }
  for (;;) {
    asking = true;
    const {status, headers, bytes} = await call('GET', '/invocation/next');
    asking = false;
    if (status !== 200) process.exit(1);
    await new Invocation(headers).run(exported, bytes);
    if (dying) return; // and ask for no event that would be lost
  }
}

main().catch(() => process.exit(1)); // whoever served the Runtime API has gone
