'use strict';

// Stands in for the package of this name where nobody has installed it: the calls that the CDK's own functions make.

const {Client, ServiceException, command, encode, methods} = require('../../../aws.cjs');

class LambdaClient extends Client {
  constructor(config) {
    super(config, 'lambda', 'LAMBDA');
  }
}

class Lambda extends LambdaClient {}

// route returns the path of a function.
function route(input, rest = '') {
  if (!input.FunctionName) throw new Error('No value provided for input HTTP label: FunctionName.');
  const query = input.Qualifier ? '?Qualifier=' + encode(input.Qualifier) : '';
  return '/2015-03-31/functions/' + encode(input.FunctionName) + rest + query;
}

// blob returns bytes with the methods that the SDK gives them.
function blob(bytes) {
  const array = new Uint8Array(bytes);
  array.transformToString = (encoding = 'utf-8') => Buffer.from(bytes).toString(encoding);
  return array;
}

async function invoke(client, input) {
  const headers = {'content-type': 'application/octet-stream'};
  if (input.InvocationType) headers['x-amz-invocation-type'] = input.InvocationType;
  if (input.LogType) headers['x-amz-log-type'] = input.LogType;
  if (input.ClientContext) headers['x-amz-client-context'] = input.ClientContext;
  const payload = input.Payload === undefined || input.Payload === null ? Buffer.alloc(0) : Buffer.from(input.Payload);
  const answer = await client.call('POST', route(input, '/invocations'), headers, payload);
  return {
    $metadata: answer.$metadata,
    StatusCode: answer.status,
    FunctionError: answer.headers['x-amz-function-error'],
    LogResult: answer.headers['x-amz-log-result'],
    ExecutedVersion: answer.headers['x-amz-executed-version'],
    Payload: blob(answer.body),
  };
}

function get(rest) {
  return async (client, input) => {
    const answer = await client.call('GET', route(input, rest), {}, Buffer.alloc(0));
    return {$metadata: answer.$metadata, ...JSON.parse(answer.body.toString())};
  };
}

exports.InvokeCommand = command(invoke);
exports.GetFunctionCommand = command(get(''));
exports.GetFunctionConfigurationCommand = command(get('/configuration'));

methods(Lambda, {
  invoke: exports.InvokeCommand,
  getFunction: exports.GetFunctionCommand,
  getFunctionConfiguration: exports.GetFunctionConfigurationCommand,
});

// waiter waits until a state of the function is the one that is meant; state reads it from an answer.
function waiter(Command, state) {
  return async ({client, maxWaitTime, minDelay = 1}, input) => {
    const end = Date.now() + maxWaitTime * 1000;
    for (;;) {
      const reason = await client.send(new Command(input));
      switch (state(reason)) {
        case 'Active':
          return {state: 'SUCCESS', reason};
        case 'Failed':
          throw Object.assign(new Error('the function failed to become active'), {name: 'Error', reason});
        default:
      }
      if (Date.now() + minDelay * 1000 > end) throw Object.assign(new Error('the function is not active yet'), {name: 'TimeoutError'});
      await new Promise((resolve) => setTimeout(resolve, minDelay * 1000));
    }
  };
}

exports.waitUntilFunctionActiveV2 = waiter(exports.GetFunctionCommand, (answer) => answer.Configuration.State);
exports.waitUntilFunctionActive = waiter(exports.GetFunctionConfigurationCommand, (answer) => answer.State);
exports.LambdaClient = LambdaClient;
exports.Lambda = Lambda;
exports.LambdaServiceException = ServiceException;
exports.InvocationType = {DryRun: 'DryRun', Event: 'Event', RequestResponse: 'RequestResponse'};
exports.LogType = {None: 'None', Tail: 'Tail'};
