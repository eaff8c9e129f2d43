'use strict';

// What the stand-ins for packages of the AWS SDK share: a client that signs its requests, and its errors. They do what the
// provider framework of the CDK asks for and no more; whoever installs the packages themselves gets those.

const crypto = require('node:crypto');
const http = require('node:http');
const https = require('node:https');

const TRIES = 3; // of a request that the service could not answer, as the SDK has it
const AGAIN = new Set([429, 500, 502, 503, 504]);
const BROKEN = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT']);

// ServiceException is an error that a service answers with. Its name is the code.
class ServiceException extends Error {
  constructor(name, message, $metadata) {
    super(message);
    this.name = name;
    this.$fault = $metadata.httpStatusCode >= 500 ? 'server' : 'client';
    this.$metadata = $metadata;
  }
}

// Client is a client of one service.
class Client {
  constructor(config, service, id) {
    this.config = {...config};
    this.service = service;
    this.id = id; // in AWS_ENDPOINT_URL_<id>
  }

  // send does what a command asks for.
  async send(command) {
    return command.run(this);
  }

  destroy() {}

  async region() {
    const region = await valueOf(this.config.region) || process.env.AWS_REGION || process.env.AWS_DEFAULT_REGION;
    if (!region) throw new Error('Region is missing');
    return region;
  }

  async endpoint(region) {
    const env = process.env;
    const given = await valueOf(this.config.endpoint);
    if (given) return new URL(given.url || given);
    if (env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS !== 'true') {
      const configured = env['AWS_ENDPOINT_URL_' + this.id] || env.AWS_ENDPOINT_URL;
      if (configured) return new URL(configured);
    }
    return new URL(`https://${this.service}.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`);
  }

  async credentials() {
    const env = process.env;
    const given = await valueOf(this.config.credentials);
    if (given) return given;
    if (!env.AWS_ACCESS_KEY_ID || !env.AWS_SECRET_ACCESS_KEY) {
      const error = new Error('Could not load credentials from any providers');
      error.name = 'CredentialsProviderError';
      throw error;
    }
    return {
      accessKeyId: env.AWS_ACCESS_KEY_ID, secretAccessKey: env.AWS_SECRET_ACCESS_KEY, sessionToken: env.AWS_SESSION_TOKEN,
    };
  }

  // call makes a request, again if it may help, and returns the answer of a success.
  async call(method, path, headers, body) {
    for (let tried = 1; ; tried++) {
      let answer;
      try {
        answer = await this.once(method, path, headers, body);
      } catch (error) {
        if (tried === TRIES || !BROKEN.has(error.code)) throw error;
      }
      if (answer && (answer.status < 300 || tried === TRIES || !AGAIN.has(answer.status))) return checked(answer);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 100 * 2 ** tried));
    }
  }

  async once(method, path, headers, body) {
    const region = await this.region();
    const url = await this.endpoint(region);
    const route = url.pathname.replace(/\/$/, '') + path;
    const signed = sign({
      method, path: route, body, region, service: this.service, credentials: await this.credentials(),
      headers: {...headers, host: url.host, 'content-length': String(body.length)},
    });
    return new Promise((resolve, reject) => {
      const options = {method, host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port, path: route, headers: signed};
      const request = (url.protocol === 'http:' ? http : https).request(options, (answer) => {
        const chunks = [];
        answer.on('data', (chunk) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => resolve({status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks)}));
      });
      request.on('error', reject);
      request.end(body);
    });
  }
}

// valueOf returns a setting, which may be a function or a promise.
async function valueOf(setting) {
  return typeof setting === 'function' ? setting() : setting;
}

// checked returns the answer of a success, and throws what any other says.
function checked(answer) {
  answer.$metadata = {httpStatusCode: answer.status, requestId: answer.headers['x-amzn-requestid'], attempts: 1, totalRetryDelay: 0};
  if (answer.status < 300) return answer;
  let told = {};
  try {
    told = JSON.parse(answer.body.toString()) || {};
  } catch {
    // It is from something else than the service.
  }
  const name = String(answer.headers['x-amzn-errortype'] || told.__type || 'UnknownError').split(':')[0].split('#').pop();
  throw new ServiceException(name, told.message || told.Message || 'HTTP status ' + answer.status, answer.$metadata);
}

// sign returns the headers with a signature of version 4.
function sign({method, path, body, region, service, credentials, headers}) {
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const day = stamp.slice(0, 8);
  headers = {...headers, 'x-amz-date': stamp};
  if (credentials.sessionToken) headers['x-amz-security-token'] = credentials.sessionToken;
  const names = Object.keys(headers).sort();
  const [route, query = ''] = path.split('?');
  const canonical = [
    method,
    route.split('/').map(encode).join('/'),
    query.split('&').filter(Boolean).sort().join('&'),
    ...names.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}`),
    '',
    names.join(';'),
    sha256(body),
  ].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const key = [day, region, service, 'aws4_request'].reduce((k, part) => hmac(k, part), 'AWS4' + credentials.secretAccessKey);
  const signature = hmac(key, ['AWS4-HMAC-SHA256', stamp, scope, sha256(canonical)].join('\n')).toString('hex');
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, ` +
    `SignedHeaders=${names.join(';')}, Signature=${signature}`;
  return headers;
}

const sha256 = (data) => crypto.createHash('sha256').update(data).digest('hex');
const hmac = (key, data) => crypto.createHmac('sha256', key).update(data).digest();

// encode encodes all but what is never encoded.
function encode(text) {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase());
}

// command returns the class of commands that are run by a function of the client and the input.
function command(run) {
  return class {
    constructor(input) {
      this.input = input || {};
    }

    run(client) {
      return run(client, this.input);
    }
  };
}

// methods gives a client's class a method for each command, which returns a promise, or calls back.
function methods(owner, commands) {
  for (const [name, Command] of Object.entries(commands)) {
    owner.prototype[name] = function (input, options, callback = options) {
      const sent = this.send(new Command(input));
      if (typeof callback !== 'function') return sent;
      sent.then((output) => callback(null, output), (error) => callback(error));
    };
  }
}

module.exports = {Client, ServiceException, command, encode, methods};
