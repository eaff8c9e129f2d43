'use strict';

// How Lambda calls a handler. fc.cjs has the same for Function Compute.

const sdk = require('./sdk.cjs');

const env = process.env;

module.exports = {
  address: env.AWS_LAMBDA_RUNTIME_API,
  api: '/2018-06-01/runtime',
  handler: '_HANDLER',

  start() {
    sdk.start();
    if (!/nodejs/.test(env.AWS_EXECUTION_ENV)) {
      env.AWS_EXECUTION_ENV = 'AWS_Lambda_nodejs' + process.versions.node.split('.')[0] + '.x';
    }
  },

  begin(headers) {
    env._X_AMZN_TRACE_ID = headers['lambda-runtime-trace-id'] || '';
  },

  id: (headers) => headers['lambda-runtime-aws-request-id'],

  event: (bytes) => JSON.parse(bytes.toString()),

  body: (result) => JSON.stringify(result === undefined ? null : result),

  initializer: () => '',

  // context is what a handler gets beside the event. done, succeed and fail settle it.
  context(headers, {done, succeed, fail}) {
    const deadline = Number(headers['lambda-runtime-deadline-ms']);
    return {
      callbackWaitsForEmptyEventLoop: true,
      awsRequestId: headers['lambda-runtime-aws-request-id'],
      invokedFunctionArn: headers['lambda-runtime-invoked-function-arn'],
      functionName: env.AWS_LAMBDA_FUNCTION_NAME,
      functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION,
      memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
      logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
      logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
      clientContext: undefined,
      identity: undefined,
      getRemainingTimeInMillis: () => Math.max(deadline - Date.now(), 0),
      done,
      succeed,
      fail,
    };
  },

  waits: (context) => context.callbackWaitsForEmptyEventLoop,
};
