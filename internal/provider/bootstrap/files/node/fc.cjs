'use strict';

// What Function Compute hands to a handler in Node: the event as it came, in a Buffer, and a context of its own. Beside the
// fields of the newest runtime it has those that only older ones had.

const {format} = require('node:util');

const env = process.env;

// logger writes lines as the platform's does, without the time, which whoever reads the log has.
function logger(id) {
  const at = (level) => (...args) => process.stdout.write(`${id} [${level}] ${format(...args)}\n`);
  return {
    trace: at('trace'), verbose: at('verbose'), silly: at('silly'), debug: at('debug'), info: at('info'), log: at('info'),
    warn: at('warn'), error: at('error'),
  };
}

function baggages(text) {
  try {
    return text ? JSON.parse(Buffer.from(text, 'base64').toString()) : {};
  } catch {
    return {};
  }
}

module.exports = {
  address: env.FC_RUNTIME_API,
  api: '/2020-11-11/runtime',
  handler: 'FC_FUNCTION_HANDLER',

  start() {},

  begin() {},

  id: (headers) => headers['x-fc-request-id'],

  event: (bytes) => bytes,

  // body is what is sent of what a handler returned: bytes and texts are sent as they are.
  body(result) {
    if (typeof result === 'string' || Buffer.isBuffer(result)) return result;
    return JSON.stringify(result === undefined ? null : result);
  },

  // initializer is the name of the function to call instead of the handler, if the event is there for that.
  initializer: (headers) => (headers['x-fc-function-type'] === '1' ? env.FC_INITIALIZER_HANDLER || '' : ''),

  context(headers) {
    const text = (name) => headers['x-fc-' + name] || '';
    const number = (name) => Number(text(name)) || 0;
    const id = text('request-id');
    const service = {
      name: text('service-name'), logProject: text('service-logproject'), logStore: text('service-logstore'),
      qualifier: text('qualifier'), versionId: text('version-id'),
    };
    return {
      requestId: id,
      credentials: {
        accessKeyId: text('access-key-id'), accessKeySecret: text('access-key-secret'), securityToken: text('security-token'),
      },
      function: {
        name: text('function-name'), handler: text('function-handler'), memory: number('function-memory'),
        timeout: number('function-timeout'), initializer: text('function-initializer'),
        initializationTimeout: number('initialization-timeout'), versionId: service.versionId, qualifier: service.qualifier,
      },
      service,
      region: text('region'),
      accountId: text('account-id'),
      retryCount: number('retry-count'),
      tracing: {
        openTracingSpanContext: text('tracing-opentracing-span-context'),
        openTracingSpanBaggages: baggages(text('tracing-opentracing-span-baggages')),
        jaegerEndpoint: text('tracing-jaeger-endpoint'),
      },
      logger: logger(id),
    };
  },

  // Over there nobody waits for what a handler leaves behind when it has called back.
  waits: () => false,
};
