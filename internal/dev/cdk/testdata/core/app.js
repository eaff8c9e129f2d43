// The provider that the core library of the CDK has, with which its own constructs are made.
//   -c ledger=FILE   where the handler writes what it was asked
//   -c seats=NUMBER  thirteen are refused
const path = require('node:path');
const { App, CfnOutput, CustomResource, CustomResourceProvider, Duration, Stack } = require('aws-cdk-lib');

const app = new App();
const stack = new Stack(app, 'Tables');
const provider = CustomResourceProvider.getOrCreateProvider(stack, 'Custom::Table', {
  codeDirectory: path.join(__dirname, 'handler'),
  runtime: 'nodejs22.x',
  timeout: Duration.seconds(30),
  environment: { LEDGER: app.node.tryGetContext('ledger') },
});
const table = new CustomResource(stack, 'Table', {
  resourceType: 'Custom::Table',
  serviceToken: provider.serviceToken,
  serviceTimeout: Duration.seconds(60),
  properties: { Seats: Number(app.node.tryGetContext('seats') ?? 4), Window: true },
});
new CfnOutput(stack, 'Name', { value: table.ref });
new CfnOutput(stack, 'Key', { value: table.getAttString('Key') });
