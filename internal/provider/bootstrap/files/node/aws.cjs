'use strict';

// The built-in AWS SDK replaces the packages @aws-sdk/client-* and @aws-sdk/credential-providers where they are not installed. A client
// sends each command to the Runtime API of this process. Pintle calls the service and returns the response, so all actions of all
// services work. An installed package takes precedence.
//
// Most exports are built from their name alone: clients, aggregated clients, commands, errors and paginators. instanceof compares
// errors by name. WAITERS lists the waiters. Any other export, such as an enumeration, throws an error that names the package to
// install.

const http = require('node:http');
const nodeModule = require('node:module');
const {Readable} = require('node:stream');

const env = process.env;
// The address has a path where other users of the machine can connect.
const [, host, port, root] = /^([^:]*):?(\d*)(.*)$/.exec(env.AWS_LAMBDA_RUNTIME_API || env.FC_RUNTIME_API || '');
const request = http.request; // saved before a library of the handler replaces it
const NAME = /^@aws-sdk\/(client-[a-z0-9-]+|credential-providers)$/;

// TOKENS maps a pagination token of an output to the member of the next input that takes it. An output may have several tokens. The
// next input then needs all of them.
const TOKENS = {
  NextToken: 'NextToken', nextToken: 'nextToken', NextContinuationToken: 'ContinuationToken', NextMarker: 'Marker',
  NextKeyMarker: 'KeyMarker', NextVersionIdMarker: 'VersionIdMarker', NextUploadIdMarker: 'UploadIdMarker',
  LastEvaluatedKey: 'ExclusiveStartKey', LastEvaluatedTableName: 'ExclusiveStartTableName',
  NextRecordName: 'StartRecordName', NextRecordType: 'StartRecordType', NextRecordIdentifier: 'StartRecordIdentifier',
  NextDNSName: 'DNSName', NextHostedZoneId: 'HostedZoneId', position: 'position',
};

// MARKERS are tokens with the same name in input and output. They count only in a truncated output.
const MARKERS = ['Marker', 'marker'];

// WAITERS holds, for each waiter, the action that it polls and a function that judges the output: true for success, an Error for
// failure. A third item is the error that means "not yet".
const WAITERS = {
  FunctionActive: ['GetFunctionConfiguration', (o) => state(o.State)],
  FunctionActiveV2: ['GetFunction', (o) => state(o.Configuration && o.Configuration.State)],
  FunctionUpdated: ['GetFunctionConfiguration', (o) => state(o.LastUpdateStatus, 'Successful')],
  FunctionUpdatedV2: ['GetFunction', (o) => state(o.Configuration && o.Configuration.LastUpdateStatus, 'Successful')],
  ResourceRecordSetsChanged: ['GetChange', (o) => Boolean(o.ChangeInfo) && o.ChangeInfo.Status === 'INSYNC'],
  CertificateValidated: ['DescribeCertificate', ({Certificate: of = {}}) => {
    if (of.Status === 'FAILED') return new Error('the certificate has failed');
    const options = of.DomainValidationOptions || [];
    return options.length > 0 && options.every((option) => option.ValidationStatus === 'SUCCESS');
  }],
  BucketExists: ['HeadBucket', () => true, 'NotFound'],
  ObjectExists: ['HeadObject', () => true, 'NotFound'],
  TableExists: ['DescribeTable', (o) => Boolean(o.Table) && o.Table.TableStatus === 'ACTIVE', 'ResourceNotFoundException'],
  InvalidationCompleted: ['GetInvalidation', (o) => Boolean(o.Invalidation) && o.Invalidation.Status === 'Completed'],
};

function state(is, wanted = 'Active') {
  return is === 'Failed' ? new Error('the function has failed') : is === wanted;
}

// ServiceException is an error response of a service. Its name is the error code.
class ServiceException extends Error {
  constructor({name, message, $fault, $metadata}) {
    super(message);
    this.name = name;
    this.Code = name;
    this.$fault = $fault;
    this.$metadata = $metadata || {};
  }
}

// post sends a call to the Runtime API and returns its response.
function post(body, signal) {
  return new Promise((resolve, reject) => {
    const bytes = Buffer.from(JSON.stringify(body));
    const headers = {'Content-Type': 'application/json', 'Content-Length': bytes.length};
    const options = {host, port, path: root + '/pintle/aws', method: 'POST', headers, agent: false, signal};
    const asked = request(options, (answer) => {
      const chunks = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => {
        try {
          resolve(JSON.parse(Buffer.concat(chunks).toString()));
        } catch (error) {
          reject(error);
        }
      });
    });
    asked.on('error', reject);
    asked.end(bytes);
  });
}

// valueOf returns a setting, which may be a function or a promise.
async function valueOf(setting) {
  return typeof setting === 'function' ? setting() : setting;
}

// encoded returns an input value in a form that JSON can carry. It marks bytes; JSON handles the rest.
function encoded(value) {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof ArrayBuffer) value = new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return {$bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')};
  if (Array.isArray(value)) return value.map(encoded);
  if (value && typeof value === 'object' && !(value instanceof Date)) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, encoded(member)]));
  }
  return value;
}

// collected encodes an input and reads its streams.
async function collected(input) {
  const out = {};
  for (let [name, value] of Object.entries(input)) {
    if (typeof Blob === 'function' && value instanceof Blob) value = value.stream();
    if (value && typeof value === 'object' && typeof value[Symbol.asyncIterator] === 'function') {
      const chunks = [];
      for await (const chunk of value) chunks.push(Buffer.from(chunk));
      value = Buffer.concat(chunks);
    }
    out[name] = encoded(value);
  }
  return out;
}

// decoded returns an output value with bytes, streams and dates restored.
function decoded(value) {
  if (Array.isArray(value)) return value.map(decoded);
  if (!value || typeof value !== 'object') return value;
  if (typeof value.$bytes === 'string') return blob(Buffer.from(value.$bytes, 'base64'));
  if (typeof value.$stream === 'string') return stream(Buffer.from(value.$stream, 'base64'));
  if (typeof value.$time === 'number') return new Date(value.$time);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, decoded(member)]));
}

// blob returns bytes with the SDK's transformToString.
function blob(bytes) {
  const array = new Uint8Array(bytes);
  Object.defineProperty(array, 'transformToString', {value: (encoding = 'utf-8') => Buffer.from(bytes).toString(encoding)});
  return array;
}

// stream returns a readable stream with the SDK's transform methods.
function stream(bytes) {
  return Object.assign(Readable.from([bytes], {objectMode: false}), {
    transformToString: async (encoding = 'utf-8') => bytes.toString(encoding),
    transformToByteArray: async () => new Uint8Array(bytes),
    transformToWebStream: () => Readable.toWeb(Readable.from([bytes], {objectMode: false})),
  });
}

// Client is a client of one service.
class Client {
  constructor(service, config = {}) {
    this.service = service;
    this.given = config;
    this.config = {...config, region: () => this.region()};
  }

  async region() {
    const region = await valueOf(this.given.region) || env.AWS_REGION || env.AWS_DEFAULT_REGION;
    if (!region) throw new Error('Region is missing');
    return region;
  }

  async endpoints() {
    const given = await valueOf(this.given.endpoint);
    if (given) return {AWS_ENDPOINT_URL: typeof given === 'string' ? given : given.href || given.url.href};
    if (env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS === 'true') return {};
    return Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('AWS_ENDPOINT_URL')));
  }

  async credentials() {
    const given = await valueOf(this.given.credentials) || await fromEnv()();
    return {accessKeyId: given.accessKeyId, secretAccessKey: given.secretAccessKey, sessionToken: given.sessionToken};
  }

  // send runs a command. It returns a promise, or calls back if a callback is given.
  send(command, options, callback = options) {
    const sent = this.call(command.constructor.action, command.input, typeof options === 'object' && options ? options : undefined);
    if (typeof callback !== 'function') return sent;
    sent.then((output) => callback(null, output), (error) => callback(error));
  }

  async call(action, input, options = {}) {
    const told = await post({
      service: this.service, action, region: await this.region(), endpoints: await this.endpoints(),
      credentials: await this.credentials(), maxAttempts: Number(await valueOf(this.given.maxAttempts)) || 0, input: await collected(input),
    }, options.abortSignal);
    if (!told.error) return {$metadata: {httpStatusCode: 200, attempts: 1, totalRetryDelay: 0}, ...decoded(told.output)};
    const {code, message, status, requestId} = told.error;
    if (!status) throw Object.assign(new Error(message), code ? {name: code} : {});
    const $metadata = {httpStatusCode: status, requestId, attempts: 1, totalRetryDelay: 0};
    throw new ServiceException({name: code, message, $fault: status >= 500 ? 'server' : 'client', $metadata});
  }

  get middlewareStack() {
    throw unknown(this.service, 'middlewareStack');
  }

  destroy() {}
}

function unknown(service, name) {
  return new Error(`Pintle's built-in ${service} has no ${name}: install the package, e.g. npm install ${service}`);
}

// commandOf returns the command class of an action.
function commandOf(action) {
  return class {
    static action = action;

    constructor(input) {
      this.input = input || {};
    }
  };
}

// aggregate returns a client with a method for each action.
function aggregate(client) {
  return new Proxy(client, {
    get(target, name, receiver) {
      if (name in target || typeof name !== 'string' || name === 'then' || !/^[a-z]/.test(name)) return Reflect.get(target, name, receiver);
      const Command = commandOf(name);
      return (input, options, callback = options) => (
        typeof input === 'function' ? target.send(new Command(), undefined, input) : target.send(new Command(input), options, callback)
      );
    },
  });
}

// paginator returns a function that yields the pages of an action.
function paginator(action) {
  return async function* ({client, startingToken, pageSize, ...rest}, input = {}) {
    void [startingToken, pageSize, rest];
    for (let next = input, last = ''; ;) {
      const output = await client.call(action, next);
      yield output;
      const more = {};
      for (const [from, to] of Object.entries(TOKENS)) if (output[from]) more[to] = output[from];
      for (const marker of MARKERS) if (output.IsTruncated && output[marker] && !more[marker]) more[marker] = output[marker];
      const said = JSON.stringify(more);
      if (said === '{}' || said === last) return;
      next = {...input, ...more};
      last = said;
    }
  };
}

// waiter returns a function that polls an action until the waiter succeeds, fails or times out.
function waiter(service, name) {
  if (!Object.hasOwn(WAITERS, name)) return async () => { throw unknown(service, 'waitUntil' + name); };
  const [action, judge, absent] = WAITERS[name];
  return async ({client, maxWaitTime, minDelay = 2, maxDelay = 120}, input) => {
    const end = Date.now() + maxWaitTime * 1000;
    for (let delay = minDelay; ; delay = Math.min(delay * 2, maxDelay)) {
      let reason;
      let said = false;
      try {
        reason = await client.call(action, input);
        said = judge(reason);
      } catch (error) {
        if (!absent || error.name !== absent) throw error;
        reason = error;
      }
      if (said === true) return {state: 'SUCCESS', reason};
      if (said instanceof Error) throw Object.assign(said, {reason});
      if (Date.now() + delay * 1000 > end) {
        throw Object.assign(new Error(JSON.stringify({state: 'TIMEOUT', reason: 'Waiter has timed out'})), {name: 'TimeoutError'});
      }
      await new Promise((resolve) => setTimeout(resolve, delay * 1000));
    }
  };
}

// other returns the export for a name whose kind the name does not tell: an aggregated client, or an error of the service.
function other(service, name) {
  const Made = class extends ServiceException {
    constructor(config) {
      super({name, message: (config && config.message) || ''});
      if (!config || config.message === undefined) return aggregate(new Client(service, config)); // a message means an error
      Object.assign(this, config, {name});
    }

    static [Symbol.hasInstance](error) {
      return error instanceof ServiceException ? error.name === name : error instanceof Client && error.service === service;
    }
  };
  return new Proxy(Made, {
    get(target, property, receiver) {
      if (typeof property !== 'string' || property in target) return Reflect.get(target, property, receiver);
      throw unknown(service, `${name}.${property}`);
    },
  });
}

// exported returns the export of a client package with the given name.
function exported(service, name) {
  if (/^paginate[A-Z]/.test(name)) return paginator(name.slice('paginate'.length));
  if (/^waitUntil[A-Z]/.test(name)) return waiter(service, name.slice('waitUntil'.length));
  if (!/^[A-Z]/.test(name)) return undefined;
  if (name.endsWith('ServiceException')) return ServiceException;
  if (name.endsWith('Command')) return commandOf(name.slice(0, -'Command'.length));
  if (name.endsWith('Client')) {
    return class extends Client {
      constructor(config) {
        super(service, config);
      }
    };
  }
  return other(service, name);
}

// fromEnv provides the credentials of the environment.
function fromEnv() {
  return async () => {
    if (!env.AWS_ACCESS_KEY_ID || !env.AWS_SECRET_ACCESS_KEY) {
      throw Object.assign(new Error('Could not load credentials from any providers'), {name: 'CredentialsProviderError'});
    }
    return {accessKeyId: env.AWS_ACCESS_KEY_ID, secretAccessKey: env.AWS_SECRET_ACCESS_KEY, sessionToken: env.AWS_SESSION_TOKEN};
  };
}

// fromTemporaryCredentials provides the credentials of an assumed role. It renews them five minutes before they expire.
function fromTemporaryCredentials({params, masterCredentials, clientConfig = {}}) {
  let kept;
  return async () => {
    if (kept && kept.expiration - Date.now() > 5 * 60 * 1000) return kept;
    const client = new Client('@aws-sdk/client-sts', {...clientConfig, credentials: masterCredentials || clientConfig.credentials});
    const {Credentials: got} = await client.call('AssumeRole', {RoleSessionName: 'aws-sdk-js-' + Date.now(), ...params});
    kept = {accessKeyId: got.AccessKeyId, secretAccessKey: got.SecretAccessKey, sessionToken: got.SessionToken, expiration: got.Expiration};
    return kept;
  };
}

const providers = {fromEnv, fromNodeProviderChain: fromEnv, fromTemporaryCredentials};
const packages = new Map();

// packageOf returns the exports of a package. Each export is made on first use. They sit on the prototype, because code from bundlers
// copies own properties but keeps the prototype.
function packageOf(name) {
  if (!packages.has(name)) {
    const made = new Map([['__esModule', true]]);
    const lookUp = (property) => {
      if (typeof property !== 'string' || property in Object.prototype) return undefined;
      if (!made.has(property)) made.set(property, name.endsWith('/credential-providers') ? provider(name, property) : exported(name, property));
      return made.get(property);
    };
    packages.set(name, Object.create(new Proxy(Object.create(null), {get: (_, property) => lookUp(property)})));
  }
  return packages.get(name);
}

function provider(name, property) {
  if (Object.hasOwn(providers, property)) return providers[property];
  if (/^from[A-Z]/.test(property)) return () => { throw unknown(name, property); };
  return undefined;
}

// install makes require return the built-in packages where none are installed.
function install() {
  const load = nodeModule._load;
  nodeModule._load = function (name, parent, isMain) {
    if (NAME.test(name)) {
      try {
        nodeModule._resolveFilename(name, parent, isMain);
      } catch (error) {
        if (error.code !== 'MODULE_NOT_FOUND') throw error;
        return packageOf(name);
      }
    }
    return load.call(this, name, parent, isMain);
  };
}

module.exports = {install, packageOf};
