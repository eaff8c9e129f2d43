'use strict';

// Handlers send their answer with https.request({hostname, path}): scheme and port of the response URL are lost, because
// that of CloudFormation is always https at 443. The response URL of an engine on this machine is neither. So a request
// by https to the host and path of a response URL that an event brought goes where that URL leads. Others are left alone.

const http = require('node:http');
const https = require('node:https');
const {syncBuiltinESMExports} = require('node:module');

const MOST = 1000; // URLs that are remembered; the oldest are forgotten
const DEEP = 20; // levels at which a response URL is looked for

const known = new Map(); // "host path" to the origin's port

// learn notes the response URLs in an event, also in the text of a notification in it.
function learn(event, depth = 0) {
  if (depth > DEEP || event === null) return;
  if (typeof event === 'string') {
    if (!event.includes('ResponseURL')) return;
    let inner;
    try {
      inner = JSON.parse(event);
    } catch {
      return;
    }
    learn(inner, depth + 1);
    return;
  }
  if (typeof event !== 'object') return;
  for (const [name, value] of Object.entries(event)) {
    if (name === 'ResponseURL' && typeof value === 'string') note(value);
    else learn(value, depth + 1);
  }
}

function note(text) {
  let url;
  try {
    url = new URL(text);
  } catch {
    return;
  }
  if (url.protocol !== 'http:') return;
  known.set(key(url.hostname, url.pathname), url.port || 80);
  if (known.size > MOST) known.delete(known.keys().next().value);
}

// key has no brackets around an IPv6 address: some spell it with, some without.
function key(host, path) {
  return host.replace(/^\[|\]$/g, '').toLowerCase() + ' ' + path.split('?', 1)[0];
}

// options returns those of a call of https.request, whose forms are (url[, options]) and (options).
function options(first, second) {
  if (typeof first !== 'string' && !(first instanceof URL)) return {...first};
  const url = new URL(first);
  const given = {hostname: url.hostname, path: url.pathname + url.search, port: url.port || undefined};
  return typeof second === 'object' && second !== null ? {...given, ...second} : given;
}

function reroute(original) {
  return function (...args) {
    let asked;
    try {
      asked = options(args[0], args[1]);
    } catch {
      return original.apply(this, args); // which says what is wrong with it
    }
    const host = String(asked.hostname || asked.host || '');
    const port = known.get(key(host, String(asked.path || '/')));
    if (port === undefined || (asked.port && Number(asked.port) !== 443)) return original.apply(this, args);
    delete asked.agent; // it speaks TLS
    delete asked.host;
    const target = {...asked, protocol: 'http:', hostname: host.replace(/^\[|\]$/g, ''), port, defaultPort: 80};
    const callback = args.slice(1).find((arg) => typeof arg === 'function');
    return callback ? http.request(target, callback) : http.request(target);
  };
}

https.request = reroute(https.request);
https.get = function (...args) {
  const request = https.request(...args);
  request.end();
  return request;
};
syncBuiltinESMExports();

module.exports = {learn};
