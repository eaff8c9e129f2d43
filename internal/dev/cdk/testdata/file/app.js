// Objects of a bucket as resources, and resources that look whether an object says what it should.
//   -c ledger=FILE   where the handlers write what they were asked
//   -c text=TEXT     what the first file says
//   -c key=KEY       where it is
//   -c wanted=TEXT   what it is wanted to say, unless that is what it says
const path = require('node:path');
const { App, CfnOutput, CustomResource, Duration, RemovalPolicy, Stack } = require('aws-cdk-lib');
const { Code, Function, Runtime } = require('aws-cdk-lib/aws-lambda');
const { Bucket } = require('aws-cdk-lib/aws-s3');
const { Provider } = require('aws-cdk-lib/custom-resources');
const flags = require('aws-cdk-lib/recommended-feature-flags.json'); // as cdk init has them

const app = new App({ context: flags });
const told = (key, otherwise) => app.node.tryGetContext(key) ?? otherwise;
const stack = new Stack(app, 'Files');
const bucket = new Bucket(stack, 'Bucket', { removalPolicy: RemovalPolicy.DESTROY });
const environment = { LEDGER: told('ledger') };

const write = new Function(stack, 'Write', {
  runtime: Runtime.NODEJS_22_X,
  code: Code.fromAsset(path.join(__dirname, 'writer')),
  handler: 'writer.handler',
  environment,
});
bucket.grantReadWrite(write);
const writer = new Provider(stack, 'Writer', { onEventHandler: write });

const check = (id, handler) => {
  const fn = new Function(stack, id, {
    runtime: Runtime.PYTHON_3_13,
    code: Code.fromAsset(path.join(__dirname, 'checker')),
    handler: `checker.${handler}`,
    timeout: Duration.seconds(30),
    environment,
  });
  bucket.grantRead(fn);
  return fn;
};
const checker = new Provider(stack, 'Checker', {
  onEventHandler: check('Begin', 'on_event'),
  isCompleteHandler: check('Look', 'is_complete'),
  queryInterval: Duration.seconds(1),
  totalTimeout: Duration.seconds(2),
});

const file = (id, Text, Key) =>
  new CustomResource(stack, id, {
    resourceType: 'Custom::File',
    serviceToken: writer.serviceToken,
    properties: { Bucket: bucket.bucketName, Text, Key },
  });
const assertion = (id, of, Text) =>
  new CustomResource(stack, id, {
    resourceType: 'Custom::FileCheck',
    serviceToken: checker.serviceToken,
    properties: { Bucket: bucket.bucketName, Key: of.getAtt('Key'), Text },
  });
const text = told('text', 'flour, water, salt');
const first = file('First', text, told('key', 'recipes/bread.txt'));
const second = file('Second', 'ĉu vi ŝatas ☕?');
assertion('FirstSays', first, told('wanted', text));
assertion('SecondSays', second, 'ĉu vi ŝatas ☕?');
new CfnOutput(stack, 'BucketName', { value: bucket.bucketName });
new CfnOutput(stack, 'Key', { value: first.ref });
new CfnOutput(stack, 'ETag', { value: first.getAttString('ETag') });
new CfnOutput(stack, 'SecondKey', { value: second.ref });
