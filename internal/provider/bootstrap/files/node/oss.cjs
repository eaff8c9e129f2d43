'use strict';

// Sends requests for hosts of OSS in Alibaba Cloud to the local OSS.
//
// Handlers name a region or an endpoint such as oss-cn-hangzhou-internal.aliyuncs.com. If the environment names the local OSS,
// requests of the modules http and https go there, without TLS and with their Host header; fetch has the bucket in the path.

const http = require('node:http');
const https = require('node:https');
const {syncBuiltinESMExports} = require('node:module');
const {options} = require('./reroute.cjs');

const HOSTS = /^(?:([a-z0-9][a-z0-9-]{1,61}[a-z0-9])\.)?(?:oss(?:-[a-z0-9-]+)?|[a-z0-9-]+\.oss)\.aliyuncs\.com$/;

// hostOf returns the host of a request without a port, in lower case.
function hostOf(asked) {
  return String(asked.hostname || asked.host || '').replace(/:\d+$/, '').toLowerCase();
}

function requested(original, plain, here) {
  return function (...args) {
    let asked, host;
    try {
      asked = options(args[0], args[1]);
      host = hostOf(asked);
    } catch {
      return original.apply(this, args); // which says what is wrong with it
    }
    if (!HOSTS.test(host)) return original.apply(this, args);
    for (const name of ['agent', 'host', 'port', 'servername', 'defaultPort']) delete asked[name];
    const headers = {...asked.headers};
    if (!Object.keys(headers).some((name) => name.toLowerCase() === 'host')) headers.Host = host;
    const target = {...asked, headers, protocol: 'http:', hostname: here.hostname, port: here.port || 80};
    const callback = args.slice(1).find((arg) => typeof arg === 'function');
    return callback ? plain(target, callback) : plain(target);
  };
}

function fetched(original, here) {
  return function (input, init) {
    let url;
    try {
      url = new URL(input instanceof Request ? input.url : input);
    } catch {
      return original.call(this, input, init); // which says what is wrong with it
    }
    const match = HOSTS.exec(url.hostname);
    if (!match) return original.call(this, input, init);
    const target = new URL((match[1] ? '/' + match[1] : '') + url.pathname + url.search, here);
    return original.call(this, input instanceof Request ? new Request(target, input) : target, init);
  };
}

function install() {
  const text = process.env.PINTLE_OSS;
  delete process.env.PINTLE_OSS;
  if (!text) return;
  const here = new URL(text);
  const plain = http.request;
  for (const module of [http, https]) {
    const request = requested(module.request, plain, here);
    module.request = request;
    module.get = function (...args) {
      const asked = request(...args);
      asked.end();
      return asked;
    };
  }
  if (globalThis.fetch) globalThis.fetch = fetched(globalThis.fetch, here);
  syncBuiltinESMExports();
}

module.exports = {install};
