'use strict';

// Handlers send their answer with https.request({hostname, path}): scheme and port of the response URL are lost, because
// that of CloudFormation is always https at 443. The response URL of an engine on this machine is neither. Two things are
// corrected, and all other requests are left alone:
//
//   - A request by https to the host and path of a response URL that an event brought goes where that URL leads, without TLS.
//   - A connection to port 443 of a loopback host that such a URL names goes to the URL's port, where TLS is spoken too. This
//     is for clients that do not use the https module, such as fetch.

const http = require('node:http');
const https = require('node:https');
const net = require('node:net');
const {syncBuiltinESMExports} = require('node:module');

const MOST = 1000; // URLs that are remembered; the oldest are forgotten
const DEEP = 20; // levels at which a response URL is looked for
const HTTPS = 443;
const PROPERTIES = new Set(['ResourceProperties', 'OldResourceProperties']); // the author of a template writes these

const known = new Map(); // "host path" to the origin's port
const ports = new Map(); // a loopback host to the port of its newest response URL

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
    else if (!PROPERTIES.has(name)) learn(value, depth + 1);
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
  const port = Number(url.port || 80);
  known.set(key(url.hostname, url.pathname), port);
  if (known.size > MOST) known.delete(known.keys().next().value);
  const host = bare(url.hostname);
  if (host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host)) ports.set(host, port);
}

// bare returns a host without the brackets around an IPv6 address: some spell it with, some without.
function bare(host) {
  return host.replace(/^\[|\]$/g, '').toLowerCase();
}

function key(host, path) {
  return bare(host) + ' ' + path.split('?', 1)[0];
}

// options returns those of a call of https.request, whose forms are (url[, options]) and (options).
function options(first, second) {
  if (typeof first !== 'string' && !(first instanceof URL)) return {...first};
  const url = new URL(first);
  const given = {hostname: url.hostname, path: url.pathname + url.search, port: url.port || undefined};
  return typeof second === 'object' && second !== null ? {...given, ...second} : given;
}

// place returns host and port of a request. A host may have a port in it, as URL.host has: at port 443 there is none, so the
// mistake is only seen here.
function place(asked) {
  const host = String(asked.hostname || asked.host || '');
  const parts = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(host);
  if (!parts) return {host, port: Number(asked.port || HTTPS)};
  return {host: parts[1], port: Number(asked.port || parts[2])};
}

function reroute(original) {
  return function (...args) {
    let asked, to;
    try {
      asked = options(args[0], args[1]);
      to = place(asked);
    } catch {
      return original.apply(this, args); // which says what is wrong with it
    }
    const port = known.get(key(to.host, String(asked.path || '/')));
    const written = String(asked.hostname || asked.host || '') === to.host; // without a port in it
    if (port === undefined || (to.port !== HTTPS && (written || to.port !== port))) return original.apply(this, args);
    delete asked.agent; // it speaks TLS
    delete asked.host;
    const target = {...asked, protocol: 'http:', hostname: bare(to.host), port, defaultPort: 80};
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

// redirected returns the options of a connection with the port that it is to have.
function redirected(given) {
  if (!given || typeof given !== 'object' || given.path || Number(given.port) !== HTTPS) return given;
  const port = ports.get(bare(String(given.host || 'localhost')));
  return port === undefined ? given : {...given, port};
}

// The forms are (options[, listener]), (port[, host][, listener]), (path[, listener]), and inside Node an array of the first.
const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function (...args) {
  if (ports.size > 0) {
    if (Array.isArray(args[0])) args[0][0] = redirected(args[0][0]);
    else if (typeof args[0] === 'object') args[0] = redirected(args[0]);
    else if (Number(args[0]) === HTTPS) args[0] = redirected({port: HTTPS, host: typeof args[1] === 'string' ? args[1] : ''}).port;
  }
  return connect.apply(this, args);
};
syncBuiltinESMExports();

module.exports = {learn, options};
