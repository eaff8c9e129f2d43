'use strict';

// Stands in for the package of this name where nobody has installed it: the calls that the CDK's own functions make.

const {Client, ServiceException, command, methods} = require('../../../aws.cjs');

class CloudWatchLogsClient extends Client {
  constructor(config) {
    super(config, 'logs', 'CLOUDWATCH_LOGS');
  }
}

class CloudWatchLogs extends CloudWatchLogsClient {}

const actions = ['CreateLogGroup', 'DeleteLogGroup', 'DescribeLogGroups', 'PutRetentionPolicy', 'DeleteRetentionPolicy'];
const calls = {};
for (const name of actions) {
  const Command = command(async (client, input) => {
    const headers = {'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'Logs_20140328.' + name};
    const answer = await client.call('POST', '/', headers, Buffer.from(JSON.stringify(input)));
    return {$metadata: answer.$metadata, ...JSON.parse(answer.body.toString() || '{}')};
  });
  exports[name + 'Command'] = Command;
  calls[name[0].toLowerCase() + name.slice(1)] = Command;
}
methods(CloudWatchLogs, calls);

exports.CloudWatchLogsClient = CloudWatchLogsClient;
exports.CloudWatchLogs = CloudWatchLogs;
exports.CloudWatchLogsServiceException = ServiceException;
