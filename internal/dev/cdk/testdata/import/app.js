// A stack that grows by resources that exist already: with the context import by what cdk import is told of, with existing by what has
// a name and is found.
const { App, RemovalPolicy, Stack } = require('aws-cdk-lib');
const { LogGroup } = require('aws-cdk-lib/aws-logs');
const { Bucket } = require('aws-cdk-lib/aws-s3');
const { StringParameter } = require('aws-cdk-lib/aws-ssm');

const app = new App();
const stack = new Stack(app, 'Import');
new StringParameter(stack, 'Own', { parameterName: '/import/own', stringValue: 'own' });
if (app.node.tryGetContext('import')) {
  new Bucket(stack, 'Photos', { bucketName: 'import-photos' }).node.defaultChild.overrideLogicalId('Photos');
}
if (app.node.tryGetContext('existing')) {
  const removalPolicy = app.node.tryGetContext('existing') === 'retain' ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
  new LogGroup(stack, 'Log', { logGroupName: 'import-log', removalPolicy });
  new StringParameter(stack, 'Fresh', { parameterName: '/import/fresh', stringValue: 'fresh' });
}
