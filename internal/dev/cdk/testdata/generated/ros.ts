// Prints the template of a stack with a generated construct.
import { App, RosOutput, Stack } from '@alicloud/ros-cdk-core';
import { WebSite } from './web-site';

const app = new App();
const stack = new Stack(app, 'S');
const site = new WebSite(stack, 'Site', {
  serviceToken: 'acs:fc:cn-hangzhou:1234567890:functions/sites',
  operationTimeout: 120,
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
new RosOutput(stack, 'Url', { value: site.attrUrl });
new RosOutput(stack, 'Visits', { value: site.attrVisits });
console.log(JSON.stringify(app.synth().getStackArtifact('S').template));
