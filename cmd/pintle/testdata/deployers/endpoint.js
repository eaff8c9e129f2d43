// Plugin for the Serverless Framework 3, whose AWS SDK (version 2) ignores AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_<SERVICE>.
const services = ['cloudformation', 'cloudwatchlogs', 'ecr', 'iam', 'lambda', 's3', 'ssm', 'sts'];

module.exports = class {
  constructor(serverless) {
    const { config } = serverless.getProvider('aws').sdk;
    for (const service of services) {
      const endpoint = process.env[`AWS_ENDPOINT_URL_${service.toUpperCase()}`] || process.env.AWS_ENDPOINT_URL;
      config[service] = { endpoint, s3ForcePathStyle: true };
    }
  }
};
