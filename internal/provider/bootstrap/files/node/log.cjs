'use strict';

// The log of a function whose format is JSON: each call of console is one line of it, unless its level is too low. In any
// other format console is left alone.

const {format} = require('node:util');

const LEVELS = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'];
const METHODS = {trace: 'TRACE', debug: 'DEBUG', log: 'INFO', info: 'INFO', warn: 'WARN', error: 'ERROR', fatal: 'FATAL'};

const json = process.env.AWS_LAMBDA_LOG_FORMAT === 'JSON';
const least = Math.max(LEVELS.indexOf(String(process.env.AWS_LAMBDA_LOG_LEVEL || 'INFO').toUpperCase()), 0);

let currentId = () => undefined;

// write prints a line. A message that is not JSON is one as a text.
function write(level, message, more) {
  if (LEVELS.indexOf(level) < least) return;
  const line = {timestamp: new Date().toISOString(), level, requestId: currentId(), message, ...more};
  let text;
  try {
    text = JSON.stringify(line, (key, value) => (value instanceof Error ? told(value) : value));
  } catch {
    text = JSON.stringify({...line, message: format(message)});
  }
  process.stdout.write(text + '\n');
}

function told(error) {
  return {errorType: error.name, errorMessage: error.message, stackTrace: String(error.stack || '').split('\n')};
}

function say(level, args) {
  if (args.length === 1 && typeof args[0] === 'object' && args[0] !== null) {
    write(level, args[0]);
    return;
  }
  const error = args.find((arg) => arg instanceof Error);
  write(level, format(...args), error ? told(error) : undefined);
}

// install makes console write lines of JSON, if the function is to have them. id returns that of the current event.
function install(id) {
  currentId = id;
  if (!json) return;
  for (const [method, level] of Object.entries(METHODS)) {
    console[method] = (...args) => say(level, args);
  }
}

// failure says that the function failed, in an event that is over by then.
function failure(errorType, errorMessage, trace, requestId) {
  if (json) write('ERROR', {errorType, errorMessage, stackTrace: trace}, {requestId});
  else console.error('Invoke Error\t' + (trace.length ? trace.join('\n') : errorType + ': ' + errorMessage));
}

module.exports = {install, failure};
