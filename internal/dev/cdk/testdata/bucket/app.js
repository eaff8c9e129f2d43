// A bucket that is emptied before it is deleted, and that tells a function what happens in it. Both are done by the CDK's own handlers, in Node
// and in Python, with the AWS SDK that is built into the server.
//   -c prefix=TEXT   of the keys that the function is told about
//   -c keep=true     leaves the objects where they are
const { App, CfnOutput, RemovalPolicy, Stack } = require('aws-cdk-lib');
const { Code, Function, Runtime } = require('aws-cdk-lib/aws-lambda');
const { Bucket, EventType } = require('aws-cdk-lib/aws-s3');
const { LambdaDestination } = require('aws-cdk-lib/aws-s3-notifications');
const flags = require('aws-cdk-lib/recommended-feature-flags.json'); // as cdk init has them

const app = new App({ context: flags });
const stack = new Stack(app, 'Emptied');
const keep = app.node.tryGetContext('keep') === 'true';
const bucket = new Bucket(stack, 'Bucket', { removalPolicy: RemovalPolicy.DESTROY, autoDeleteObjects: !keep });
const told = new Function(stack, 'Told', {
  runtime: Runtime.NODEJS_22_X,
  code: Code.fromInline("exports.handler = async (event) => console.log('told of ' + event.Records[0].s3.object.key)"),
  handler: 'index.handler',
});
bucket.addEventNotification(EventType.OBJECT_CREATED, new LambdaDestination(told), { prefix: app.node.tryGetContext('prefix') ?? 'in/' });
new CfnOutput(stack, 'FunctionName', { value: told.functionName });
new CfnOutput(stack, 'BucketName', { value: bucket.bucketName });
