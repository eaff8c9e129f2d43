// A secret, a parameter that has its value, and one that is changed behind the stack's back.
const { App, CfnOutput, RemovalPolicy, Stack } = require('aws-cdk-lib');
const { Code, Function, Runtime } = require('aws-cdk-lib/aws-lambda');
const { Secret } = require('aws-cdk-lib/aws-secretsmanager');
const { CfnParameter, StringParameter } = require('aws-cdk-lib/aws-ssm');

const app = new App();
const stack = new Stack(app, 'Drift');
const login = new Secret(stack, 'Login', {
  removalPolicy: RemovalPolicy.DESTROY,
  generateSecretString: { secretStringTemplate: JSON.stringify({ user: 'me' }), generateStringKey: 'password', excludePunctuation: true },
});
new CfnParameter(stack, 'Copy', { name: '/drift/copy', type: 'String', value: login.secretValueFromJson('password').unsafeUnwrap() });
new StringParameter(stack, 'Oven', { parameterName: '/drift/oven', stringValue: '180' });
const greeter = new Function(stack, 'Greeter', {
  functionName: 'drift-greeter', runtime: Runtime.PYTHON_3_13, handler: 'index.handler', code: Code.fromInline('def handler(e, c): return "declared"'),
});
greeter.node.defaultChild.overrideLogicalId('Greeter');
new CfnOutput(stack, 'Secret', { value: login.secretArn });
