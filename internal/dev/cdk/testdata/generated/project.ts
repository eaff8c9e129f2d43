// An app with the constructs of a new project: the provider, and the resource that is generated from its schema.
import { App, CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { SecurityGroup, Vpc } from 'aws-cdk-lib/aws-ec2';
import { Role } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { ApplicationLogLevel, Architecture } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { LogLevel } from 'aws-cdk-lib/aws-stepfunctions';
import { SiteProvider } from './cdk/provider';
import { Site } from './cdk/site';

const app = new App();
if (process.argv[2] === 'options') {
  const stack = new Stack(app, 'options');
  new SiteProvider(stack, 'Provider', {
    functionName: 'sites',
    role: Role.fromRoleArn(stack, 'Role', 'arn:aws:iam::000000000000:role/sites'),
    timeout: Duration.minutes(1),
    memorySize: 256,
    vpc: Vpc.fromVpcAttributes(stack, 'Vpc', { vpcId: 'vpc-1', availabilityZones: ['a'], privateSubnetIds: ['subnet-1'] }),
    securityGroups: [SecurityGroup.fromSecurityGroupId(stack, 'Group', 'sg-1')],
    environmentEncryption: Key.fromKeyArn(stack, 'Key', 'arn:aws:kms:us-east-1:000000000000:key/k'),
    logGroup: LogGroup.fromLogGroupName(stack, 'Log', 'sites'),
    logLevel: ApplicationLogLevel.DEBUG,
    wait: true,
    waitLogLevel: LogLevel.OFF,
  });
  console.log(JSON.stringify(app.synth().getStackByName('options').template));
} else {
  const stack = new Stack(app, 'site');
  const provider = new SiteProvider(stack, 'Provider', {
    architecture: process.arch === 'arm64' ? Architecture.ARM_64 : Architecture.X86_64,
    wait: true,
  });
  const site = new Site(stack, 'Site', { serviceToken: provider.function, name: app.node.getContext('name'), text: app.node.getContext('text') });
  new CfnOutput(stack, 'Path', { value: site.attrPath });
}
