'use strict';

// Handlers send their answer with https.request({hostname, path}): scheme and port of the response URL are lost, because
// that of CloudFormation is always https at 443. The response URL of an engine on this machine is neither. These requests are
// corrected, and all others are left alone:
//
//   - A request by https to the host and path of a response URL that an event brought goes where that URL leads, without TLS.
//   - A connection to port 443 of a loopback host that such a URL names goes to the URL's port, where TLS is spoken too. This
//     is for clients that do not use the https module, such as fetch.
//   - A signed call of AWS goes to the endpoint that the variables AWS_ENDPOINT_URL set for its service. This is for SDKs that do not
//     read these variables and are part of the handler's own file, so that sdk.cjs cannot configure them.

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

// AWS matches the host of a service, with or without a region. Hosts of resources, such as those of API Gateway, have more parts.
const AWS = /^(?:(?:api|streams)\.)?[a-z0-9-]+(?:\.dualstack)?(?:\.[a-z]{2}(?:-[a-z]+)+-\d+)?\.amazonaws\.com(?:\.cn)?$/;

const SIGNED = /^AWS4-HMAC-SHA256 Credential=[^/]+\/\d+\/[^/]+\/([^/]+)\/aws4_request/;

// variables are the suffixes of the endpoint variables of services whose name in a signature is another one.
const variables = {
  elasticloadbalancing: 'ELASTIC_LOAD_BALANCING_V2', events: 'EVENTBRIDGE', logs: 'CLOUDWATCH_LOGS', monitoring: 'CLOUDWATCH', states: 'SFN',
};

// endpointOf returns the endpoint to which a call of AWS at a host is to go, or null.
function endpointOf(host, headers) {
  const env = process.env;
  if (env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS === 'true' || !AWS.test(bare(host)) || !headers || typeof headers !== 'object') return null;
  const name = Object.keys(headers).find((header) => header.toLowerCase() === 'authorization');
  const signed = name && SIGNED.exec(String(headers[name]));
  if (!signed) return null;
  const service = signed[1].toLowerCase();
  const own = Object.keys(env).find((variable) => variable.startsWith('AWS_ENDPOINT_URL_') && env[variable] &&
    variable.slice('AWS_ENDPOINT_URL_'.length).replaceAll('_', '').toLowerCase() === (variables[service] || service).replaceAll('_', '').toLowerCase());
  const text = own ? env[own] : env.AWS_ENDPOINT_URL;
  if (!text) return null;
  const endpoint = new URL(text);
  return bare(endpoint.hostname) === bare(host) ? null : endpoint;
}

// toEndpoint sends a call of AWS to an endpoint. The header Host stays, because it is signed.
function toEndpoint(original, endpoint, asked, host, callback) {
  delete asked.agent;
  delete asked.host;
  const headers = {...asked.headers};
  if (!Object.keys(headers).some((header) => header.toLowerCase() === 'host')) headers.Host = host;
  const plain = endpoint.protocol === 'http:';
  const target = {
    ...asked, headers, protocol: endpoint.protocol, hostname: bare(endpoint.hostname), port: Number(endpoint.port) || (plain ? 80 : HTTPS),
    path: endpoint.pathname.replace(/\/$/, '') + String(asked.path || '/'), defaultPort: undefined, servername: undefined,
  };
  return plain ? http.request(target, callback) : original.call(https, target, callback);
}

function reroute(original) {
  return function (...args) {
    let asked, to, endpoint;
    try {
      asked = options(args[0], args[1]);
      to = place(asked);
      endpoint = endpointOf(to.host, asked.headers);
    } catch {
      return original.apply(this, args); // which says what is wrong with it
    }
    const callback = args.slice(1).find((arg) => typeof arg === 'function');
    if (endpoint) return toEndpoint(original, endpoint, asked, to.host, callback);
    const port = known.get(key(to.host, String(asked.path || '/')));
    const written = String(asked.hostname || asked.host || '') === to.host; // without a port in it
    if (port === undefined || (to.port !== HTTPS && (written || to.port !== port))) return original.apply(this, args);
    delete asked.agent; // it speaks TLS
    delete asked.host;
    const target = {...asked, protocol: 'http:', hostname: bare(to.host), port, defaultPort: 80};
    return http.request(target, callback);
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

module.exports = {endpointOf, learn, options};
