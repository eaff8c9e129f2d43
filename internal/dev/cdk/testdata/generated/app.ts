// Prints the template of a stack with a generated construct.
import { App, CfnOutput, Stack, Token } from 'aws-cdk-lib';
import { WebSite } from './web-site';

const app = new App();
const stack = new Stack(app, 'S');
const site = new WebSite(stack, 'Site', {
  serviceToken: { functionArn: 'arn:aws:lambda:us-east-1:000000000000:function:sites' },
  name: 'a',
  pages: [{ title: 'Home', weight: 3 }],
  groups: { admins: [{ member: 'm' }] },
  labels: { k: 'v' },
  level: 2,
  menu: { title: 'Top', entries: [{ title: 'Below' }] },
  origin: { class: true, from: 'x' },
  private: true,
  timeout: '30s',
  urls: ['a', 'b'],
});
new CfnOutput(site, 'Url', { value: site.attrUrl });
new CfnOutput(stack, 'Visits', { value: Token.asString(site.attrVisits) });
console.log(JSON.stringify(app.synth().getStackByName('S').template));
