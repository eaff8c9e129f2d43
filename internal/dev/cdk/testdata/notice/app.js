// A resource whose requests are notifications of a topic.
//   -c ledger=FILE   where the handler writes what it was asked
//   -c text=TEXT     what is said; "nothing" is refused
const path = require('node:path');
const { App, CfnOutput, CustomResource, Stack } = require('aws-cdk-lib');
const { Code, Function, Runtime } = require('aws-cdk-lib/aws-lambda');
const { Topic } = require('aws-cdk-lib/aws-sns');
const { LambdaSubscription } = require('aws-cdk-lib/aws-sns-subscriptions');

const app = new App();
const stack = new Stack(app, 'Notices');
const topic = new Topic(stack, 'Requests');
const reader = new Function(stack, 'Reader', {
  runtime: Runtime.PYTHON_3_12,
  code: Code.fromAsset(path.join(__dirname, 'handler')),
  handler: 'reader.read',
  environment: { LEDGER: app.node.tryGetContext('ledger') },
});
topic.addSubscription(new LambdaSubscription(reader));
const notice = new CustomResource(stack, 'Notice', {
  resourceType: 'Custom::Notice',
  serviceToken: topic.topicArn,
  properties: { Text: app.node.tryGetContext('text') ?? 'mind the step', Pins: 4 },
});
notice.node.addDependency(reader); // and so on its subscription, without which nobody would read
new CfnOutput(stack, 'Board', { value: notice.getAttString('Board') });
new CfnOutput(stack, 'Topic', { value: topic.topicArn });
