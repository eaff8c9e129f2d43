// A page in a bucket. A page is no resource that AWS knows: a provider makes it, of two functions that are in page/.
const path = require('node:path');
const { App, CfnOutput, CustomResource, Duration, RemovalPolicy, Stack } = require('aws-cdk-lib');
const { Code, Function, Runtime } = require('aws-cdk-lib/aws-lambda');
const { Bucket } = require('aws-cdk-lib/aws-s3');
const { AwsCustomResource, AwsCustomResourcePolicy, PhysicalResourceId, Provider } = require('aws-cdk-lib/custom-resources');

const app = new App();
const stack = new Stack(app, 'Site');
const bucket = new Bucket(stack, 'Bucket', { removalPolicy: RemovalPolicy.DESTROY });

const page = (id, handler) => {
  const fn = new Function(stack, id, {
    runtime: Runtime.NODEJS_22_X,
    code: Code.fromAsset(path.join(__dirname, 'page')),
    handler: `page.${handler}`,
    timeout: Duration.seconds(30),
  });
  bucket.grantReadWrite(fn);
  return fn;
};
const provider = new Provider(stack, 'Provider', {
  onEventHandler: page('OnEvent', 'onEvent'),
  isCompleteHandler: page('IsComplete', 'isComplete'),
  queryInterval: Duration.seconds(1),
  totalTimeout: Duration.minutes(2),
});

const welcome = new CustomResource(stack, 'Welcome', {
  resourceType: 'Custom::Page',
  serviceToken: provider.serviceToken,
  properties: {
    Bucket: bucket.bucketName,
    Name: app.node.tryGetContext('name') ?? 'welcome',
    Title: app.node.tryGetContext('title') ?? 'Welcome',
    Paragraphs: ['This page was made by a custom resource.', 'Nothing of it has left this machine.'],
  },
});

// A call of AWS as a resource: where the page is, for others to read.
const put = {
  service: 'SSM',
  action: 'putParameter',
  parameters: { Name: '/site/welcome', Type: 'String', Overwrite: true, Value: welcome.getAttString('URL') },
  physicalResourceId: PhysicalResourceId.of('/site/welcome'),
};
new AwsCustomResource(stack, 'Address', {
  onCreate: put,
  onUpdate: put,
  onDelete: { service: 'SSM', action: 'deleteParameter', parameters: { Name: '/site/welcome' } },
  policy: AwsCustomResourcePolicy.fromSdkCalls({ resources: AwsCustomResourcePolicy.ANY_RESOURCE }),
});

new CfnOutput(stack, 'Page', { value: welcome.getAttString('URL') });
new CfnOutput(stack, 'Words', { value: welcome.getAttString('Words') });
