'use strict';

// Version 2 of AWS's SDK, which helper libraries bring along, knows no AWS_ENDPOINT_URL. Those variables say where services are when
// a handler's calls of AWS are to stay on this machine, so they are given to the SDK as the endpoints of its configuration. What
// the handler configures itself comes later and counts.

const nodeModule = require('node:module');

const env = process.env;
const PREFIX = 'AWS_ENDPOINT_URL_';

// identifiers are the SDK's names of services that do not follow from those of the variables.
const identifiers = {SFN: 'stepfunctions', ELASTIC_LOAD_BALANCING: 'elb', ELASTIC_LOAD_BALANCING_V2: 'elbv2'};

// configure gives the endpoints to the SDK.
function configure(sdk) {
  const config = sdk && sdk.config;
  if (!config || typeof config.update !== 'function') return;
  if (env.AWS_ENDPOINT_URL && !config.endpoint) config.update({endpoint: env.AWS_ENDPOINT_URL}, true);
  const services = {s3: {s3ForcePathStyle: true}};
  for (const [name, endpoint] of Object.entries(env)) {
    if (!name.startsWith(PREFIX) || !endpoint) continue;
    const id = name.slice(PREFIX.length);
    const service = identifiers[id] || id.replaceAll('_', '').toLowerCase();
    services[service] = {...services[service], endpoint};
  }
  for (const [service, settings] of Object.entries(services)) {
    config[service] = {...settings, ...config[service]};
  }
}

// start has every copy of the SDK configured when it is first loaded.
function start() {
  if (env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS === 'true') return;
  if (!Object.keys(env).some((name) => name.startsWith('AWS_ENDPOINT_URL') && env[name])) return;
  const configured = new WeakSet();
  const load = nodeModule._load;
  nodeModule._load = function (request, ...rest) {
    const loaded = load.call(this, request, ...rest);
    if (/(^|\/)aws-sdk(\/|$)/.test(request) && loaded && typeof loaded === 'object') {
      const sdk = loaded.config ? loaded : null;
      if (sdk && !configured.has(sdk)) {
        configured.add(sdk);
        configure(sdk);
      }
    }
    return loaded;
  };
}

module.exports = {start};
