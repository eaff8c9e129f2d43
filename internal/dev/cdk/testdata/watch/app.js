// A function whose code is in the directory from which the CDK runs, for cdk watch.
const path = require('node:path');
const { App, Stack } = require('aws-cdk-lib');
const { Code, Function, Runtime } = require('aws-cdk-lib/aws-lambda');

const stack = new Stack(new App(), 'Watched');
new Function(stack, 'Function', {
  functionName: 'watched',
  runtime: Runtime.PYTHON_3_12,
  handler: 'index.handler',
  code: Code.fromAsset(path.join(process.cwd(), 'watched')),
});
