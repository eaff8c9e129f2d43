// A resource that takes its time: the framework asks for it until it is complete.
//   -c ledger=FILE     where the handlers write what they were asked
//   -c item=NAME       cake is ready at the third look; fog never is; glass breaks;
//                      bread is when there is a file beside the ledger, LEDGER.baked
//   -c patience=SECONDS, 2 of them unless told
const path = require('node:path');
const { App, CfnOutput, CustomResource, Duration, Stack } = require('aws-cdk-lib');
const { Code, Function, Runtime } = require('aws-cdk-lib/aws-lambda');
const { Provider } = require('aws-cdk-lib/custom-resources');
const flags = require('aws-cdk-lib/recommended-feature-flags.json'); // as cdk init has them

const app = new App({ context: flags });
const stack = new Stack(app, 'Orders');
const handler = (id, name) =>
  new Function(stack, id, {
    runtime: Runtime.PYTHON_3_13,
    code: Code.fromAsset(path.join(__dirname, 'handler')),
    handler: `order.${name}`,
    timeout: Duration.seconds(30),
    environment: { LEDGER: app.node.tryGetContext('ledger') },
  });
const provider = new Provider(stack, 'Provider', {
  onEventHandler: handler('OnEvent', 'on_event'),
  isCompleteHandler: handler('IsComplete', 'is_complete'),
  queryInterval: Duration.seconds(1),
  totalTimeout: Duration.seconds(Number(app.node.tryGetContext('patience') ?? 2)),
});
const order = new CustomResource(stack, 'Order', {
  serviceToken: provider.serviceToken,
  properties: { Item: app.node.tryGetContext('item') ?? 'cake', Count: 12 },
});
new CfnOutput(stack, 'Number', { value: order.ref });
new CfnOutput(stack, 'Receipt', { value: order.getAttString('Receipt') });
