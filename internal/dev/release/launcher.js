#!/usr/bin/env node
// Starts the program of this platform, which npm has installed as an optional dependency.
'use strict';
const { spawn } = require('node:child_process');

const name = `SCOPE/${process.platform}-${process.arch}`;
const file = process.platform === 'win32' ? 'PROGRAM.exe' : 'PROGRAM';
let program;
try {
  program = require.resolve(`${name}/bin/${file}`);
} catch {
  console.error(`PROGRAM: the package ${name} is not installed. Install again without --omit=optional,`);
  console.error(`or use another way of installing if there is no such package: https://github.com/pintle-dev/pintle`);
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
process.on('SIGINT', () => {}); // a terminal sends it to the program too; a second one would cut its orderly stop short
for (const signal of ['SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (error) => {
  console.error(`PROGRAM: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  process.removeAllListeners(signal); // end as the program did
  process.kill(process.pid, signal);
});
