'use strict';

// Stands in for the package of this name where nobody has installed it: the calls that the CDK's own functions make.

const {Client, ServiceException, command, methods} = require('../../../aws.cjs');

class SFNClient extends Client {
  constructor(config) {
    super(config, 'states', 'SFN');
  }
}

class SFN extends SFNClient {}

// action returns what makes a call; dates are the names of its output that are times.
function action(name, dates) {
  return async (client, input) => {
    const headers = {'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'AWSStepFunctions.' + name};
    const answer = await client.call('POST', '/', headers, Buffer.from(JSON.stringify(input)));
    const output = JSON.parse(answer.body.toString() || '{}');
    for (const date of dates) {
      if (typeof output[date] === 'number') output[date] = new Date(output[date] * 1000);
    }
    return {$metadata: answer.$metadata, ...output};
  };
}

exports.StartExecutionCommand = command(action('StartExecution', ['startDate']));
exports.DescribeExecutionCommand = command(action('DescribeExecution', ['startDate', 'stopDate']));

methods(SFN, {startExecution: exports.StartExecutionCommand, describeExecution: exports.DescribeExecutionCommand});

exports.SFNClient = SFNClient;
exports.SFN = SFN;
exports.SFNServiceException = ServiceException;
