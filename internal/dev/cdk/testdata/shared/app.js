// One provider whose name is known, for the resources of two stacks.
//   -c ledger=FILE   where the handler writes what it was asked
//   -c guest=NAME    the resource of the second stack; "Crowd" is refused
const path = require('node:path');
const { App, ArnFormat, CfnOutput, CustomResource, Stack } = require('aws-cdk-lib');
const { Code, Function, Runtime } = require('aws-cdk-lib/aws-lambda');
const { Provider } = require('aws-cdk-lib/custom-resources');

const app = new App();
const providerFunctionName = 'doorkeeper';

const house = new Stack(app, 'House');
const onEvent = new Function(house, 'OnEvent', {
  runtime: Runtime.NODEJS_22_X,
  code: Code.fromAsset(path.join(__dirname, 'handler')),
  handler: 'door.onEvent',
  environment: { LEDGER: app.node.tryGetContext('ledger') },
});
const provider = new Provider(house, 'Provider', { onEventHandler: onEvent, providerFunctionName });
const owner = new CustomResource(house, 'Owner', { serviceToken: provider.serviceToken, properties: { Name: 'Olga' } });
new CfnOutput(house, 'Key', { value: owner.getAttString('Key') });

const party = new Stack(app, 'Party');
party.addStackDependency(house);
const guest = new CustomResource(party, 'Guest', {
  serviceToken: party.formatArn({ service: 'lambda', resource: 'function', resourceName: providerFunctionName, arnFormat: ArnFormat.COLON_RESOURCE_NAME }),
  properties: { Name: app.node.tryGetContext('guest') ?? 'Gil' },
});
new CfnOutput(party, 'Key', { value: guest.getAttString('Key') });
