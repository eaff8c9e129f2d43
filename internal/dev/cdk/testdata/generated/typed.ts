// An app with the construct that was generated from the provider of examples/typed.
import { App, CfnOutput, Stack } from 'aws-cdk-lib';
import { Account } from './account';

const app = new App();
const stack = new Stack(app, 'typed');
const account = new Account(stack, 'Account', {
  serviceToken: 'arn:aws:sns:us-east-1:000000000000:Accounts',
  adminKey: 'correct horse battery staple',
  region: app.node.tryGetContext('region') ?? 'north',
  quota: 20,
});
new CfnOutput(stack, 'Login', { value: account.attrLogin });
new CfnOutput(stack, 'Id', { value: account.ref });
