'use strict';
// A local CloudFormation for tests in Node: it starts `pintle serve --dev` and stops it. See testing.d.ts for the contract.
const { execFile, spawn } = require('node:child_process');
const { closeSync, existsSync, openSync } = require('node:fs');
const { mkdtemp, readFile, rm, writeFile } = require('node:fs/promises');
const { tmpdir } = require('node:os');
const { join, resolve: absolute, sep } = require('node:path');

const START_MS = 60_000;
const STOP_MS = 30_000;

// program returns pintle: the path in the variable PINTLE, else that of the npm package of this platform, else the one on PATH.
function program() {
  if (process.env.PINTLE) {
    const given = process.env.PINTLE;
    return given.includes('/') || given.includes(sep) ? absolute(given) : given; // commands run in other directories
  }
  const file = process.platform === 'win32' ? 'pintle.exe' : 'pintle';
  try {
    return require.resolve(`@pintle-dev/${process.platform}-${process.arch}/bin/${file}`);
  } catch {
    return file;
  }
}

// environment returns the environment of pintle: that of this process, without the variables that set flags.
function environment(more) {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('PINTLE_'));
  return { ...Object.fromEntries(own), ...more };
}

function missing(error) {
  return error.code === 'ENOENT' ? new Error('pintle is neither in the variable PINTLE nor installed by npm nor on PATH: npm install --save-dev pintle') : error;
}

class Server {
  #program = program();
  #directory;
  #regions = {};
  #child;
  #exited;
  #stopping;

  static async start({ options = [], cwd = process.cwd() } = {}) {
    if (!existsSync(cwd)) {
      throw new Error(`the directory ${cwd} does not exist`); // without it, spawn reports that the program does not exist
    }
    const server = new Server();
    server.#directory = await mkdtemp(join(tmpdir(), 'pintle-'));
    try {
      await server.#start(options, cwd);
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  #path(name) {
    return join(this.#directory, name);
  }

  async #start(options, cwd) {
    const output = openSync(this.#path('output'), 'w', 0o600);
    const flags = ['--dev', '--listen', '127.0.0.1:0', '--data', this.#path('data'), '--until-stdin-closes'];
    const child = spawn(this.#program, ['serve', ...flags, ...options], { cwd, env: environment(), stdio: ['pipe', output, output] });
    closeSync(output); // the child has its own descriptor
    child.stdin.on('error', () => {}); // the server has exited; the exit event reports it
    this.#child = child;
    let failed;
    this.#exited = new Promise((resolve) => {
      child.on('exit', (code, signal) => resolve((failed = new Error(`pintle serve exited with ${signal ?? `status ${code}`}`))));
      child.on('error', (error) => resolve((failed = missing(error))));
    });
    // A test that does not stop its server still exits. The server stops then, because its standard input closes.
    child.unref();
    child.stdin.unref();
    for (const end = Date.now() + START_MS; ; ) {
      try {
        const { set, unset } = JSON.parse(await this.#run('env', '--output', 'json'));
        this.env = { ...set, ...Object.fromEntries(unset.map((name) => [name, undefined])) };
        break;
      } catch (error) {
        if (failed) {
          throw new Error(`${failed.message}\n${await this.output()}`);
        }
        if (Date.now() > end) {
          throw new Error(`pintle serve is not ready after ${START_MS / 1000} s: ${error.message}\n${await this.output()}`);
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    this.url = this.env.AWS_ENDPOINT_URL_CLOUDFORMATION;
    this.region = this.env.AWS_REGION;
    this.credentials = { accessKeyId: this.env.AWS_ACCESS_KEY_ID, secretAccessKey: this.env.AWS_SECRET_ACCESS_KEY };
    for (const name of ['AWS_REGION', 'ALIBABA_CLOUD_REGION_ID']) {
      this.#regions[name] = this.env[name]; // those of the server, whatever the test sets later
    }
  }

  // #run runs a command of pintle on the data of the server, and returns its output.
  #run(command, ...args) {
    const options = { cwd: this.#directory, env: environment(this.#regions), maxBuffer: 64 << 20 };
    return new Promise((resolve, reject) => {
      execFile(this.#program, [command, '--data', this.#path('data'), ...args], options, (error, stdout, stderr) => {
        if (!error) {
          resolve(stdout);
          return;
        }
        const at = `\n${stderr}`.indexOf('\nerror: ');
        reject(at < 0 ? missing(error) : new Error(`pintle ${command}: ${stderr.slice(at + 'error: '.length).trim()}`));
      });
    });
  }

  async deploy(stack, template, parameters = {}) {
    const directory = await mkdtemp(this.#path('deploy-'));
    try {
      const files = { template: join(directory, 'template'), parameters: join(directory, 'parameters.json') };
      await writeFile(files.template, typeof template === 'string' ? template : JSON.stringify(template), { mode: 0o600 });
      await writeFile(files.parameters, JSON.stringify(parameters), { mode: 0o600 }); // other users can read command lines
      const flags = ['--stack', stack, '--template', files.template, '--parameter-file', files.parameters, '--output', 'json'];
      return JSON.parse(await this.#run('deploy', ...flags)).outputs ?? {};
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }

  async delete(stack) {
    await this.#run('delete', '--stack', stack, '--output', 'json');
  }

  async output() {
    return readFile(this.#path('output'), 'utf8');
  }

  stop() {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop() {
    try {
      if (this.#child) {
        this.#child.ref();
        this.#child.stdin.destroy();
        let timer;
        const late = new Promise((resolve) => (timer = setTimeout(resolve, STOP_MS, 'late')));
        const first = await Promise.race([this.#exited, late]);
        clearTimeout(timer);
        if (first === 'late') {
          this.#child.kill('SIGKILL');
          await this.#exited;
          throw new Error(`pintle serve did not stop within ${STOP_MS / 1000} s`);
        }
      }
    } finally {
      await rm(this.#directory, { recursive: true, force: true });
    }
  }
}

/** See testing.d.ts. */
exports.startServer = (settings) => Server.start(settings);
