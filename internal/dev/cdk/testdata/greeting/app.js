// Two resources of one provider, whose functions keep their logs for a day.
//   -c ledger=FILE   where the handler writes what it was asked
//   -c first=NAME -c second=NAME -c mood=MOOD
const path = require('node:path');
const { App, CfnOutput, CustomResource, Stack } = require('aws-cdk-lib');
const { Code, Function, Runtime } = require('aws-cdk-lib/aws-lambda');
const { RetentionDays } = require('aws-cdk-lib/aws-logs');
const { Provider } = require('aws-cdk-lib/custom-resources');

const app = new App();
const told = (key, otherwise) => app.node.tryGetContext(key) ?? otherwise;
const stack = new Stack(app, 'Greetings');

const onEvent = new Function(stack, 'OnEvent', {
  runtime: Runtime.NODEJS_22_X,
  code: Code.fromAsset(path.join(__dirname, 'handler')),
  handler: 'greeting.onEvent',
  environment: { LEDGER: told('ledger') },
});
const provider = new Provider(stack, 'Provider', { onEventHandler: onEvent, logRetention: RetentionDays.ONE_DAY });

const greet = (id, name, mood) =>
  new CustomResource(stack, id, {
    resourceType: 'Custom::Greeting',
    serviceToken: provider.serviceToken,
    properties: { Name: name, Mood: mood, Times: 2, Loud: false, Languages: ['en', 'eo'] },
  });
const first = greet('First', told('first', 'Ada'), told('mood', 'calm'));
const second = greet('Second', told('second', 'Blaise'), 'calm');
second.node.addDependency(first);

new CfnOutput(stack, 'FirstText', { value: first.getAttString('Text') });
new CfnOutput(stack, 'SecondText', { value: second.getAttString('Text') });
new CfnOutput(stack, 'SecondId', { value: second.ref });
