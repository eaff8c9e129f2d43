// Calls of an AWS service as resources: a parameter that is put, and one that is read.
//   -c value=TEXT   what is put
//   -c read=NAME    what is read, unless it is the one that is put
const { App, CfnOutput, Stack } = require('aws-cdk-lib');
const { AwsCustomResource, AwsCustomResourcePolicy, PhysicalResourceId } = require('aws-cdk-lib/custom-resources');

const app = new App();
const stack = new Stack(app, 'Parameters');
const name = '/kitchen/oven';
const policy = AwsCustomResourcePolicy.fromSdkCalls({ resources: AwsCustomResourcePolicy.ANY_RESOURCE });

const value = app.node.tryGetContext('value') ?? '180';
const put = {
  service: 'SSM',
  action: 'putParameter',
  parameters: { Name: name, Value: value, Type: 'String', Overwrite: true },
  physicalResourceId: PhysicalResourceId.of(name),
};
const written = new AwsCustomResource(stack, 'Put', {
  onCreate: put,
  onUpdate: put,
  onDelete: { service: 'SSM', action: 'deleteParameter', parameters: { Name: name } },
  policy,
  installLatestAwsSdk: false,
});
const read = new AwsCustomResource(stack, 'Get', {
  onUpdate: {
    service: 'SSM',
    action: 'getParameter',
    parameters: { Name: app.node.tryGetContext('read') ?? name },
    physicalResourceId: PhysicalResourceId.of(`value-${value}`),
  },
  policy,
  installLatestAwsSdk: false,
});
read.node.addDependency(written);
const quiet = new AwsCustomResource(stack, 'Quiet', {
  onUpdate: {
    service: 'SSM',
    action: 'getParameter',
    parameters: { Name: '/kitchen/cellar' },
    physicalResourceId: PhysicalResourceId.of('cellar'),
    ignoreErrorCodesMatching: 'ParameterNotFound',
  },
  policy,
  installLatestAwsSdk: false,
});

new CfnOutput(stack, 'Value', { value: read.getResponseField('Parameter.Value') });
new CfnOutput(stack, 'Version', { value: read.getResponseField('Parameter.Version') });
new CfnOutput(stack, 'Quietly', { value: quiet.node.defaultChild.ref });
