// A construct of aws-cdk-lib with custom resources that call services about recorded resources.
//   -c construct=NAME  which one
//   -c changed=true    a change of it
//   -c bad=true        a change that the service refuses
const cdk = require('aws-cdk-lib');
const { aws_certificatemanager: acm, aws_cloudfront: cloudfront, aws_cognito: cognito, aws_codedeploy: codedeploy, aws_dynamodb: dynamodb,
  aws_ec2: ec2, aws_ecr: ecr, aws_elasticloadbalancingv2: elb, aws_iam: iam, aws_opensearchservice: opensearch, aws_route53: route53,
  aws_synthetics: synthetics } = cdk;

const app = new cdk.App();
const changed = app.node.tryGetContext('changed') === 'true';
const bad = app.node.tryGetContext('bad') === 'true';
const construct = app.node.tryGetContext('construct');
const stack = new cdk.Stack(app, construct, { env: { account: '000000000000', region: 'eu-west-1' } });
const zone = () => new route53.PublicHostedZone(stack, 'Zone', { zoneName: 'example.com' });
const vpc = (props) => new ec2.Vpc(stack, 'Vpc', { maxAzs: 1, natGateways: 0, ...props });
const out = (value) => new cdk.CfnOutput(stack, 'Out', { value });

const constructs = {
  RestrictDefaultSecurityGroup: () => vpc({ restrictDefaultSecurityGroup: !changed }),
  VpcEndpointServiceDomainName: () => {
    const balancer = new elb.NetworkLoadBalancer(stack, 'Balancer', { vpc: vpc() });
    const service = new ec2.VpcEndpointService(stack, 'Service', { vpcEndpointServiceLoadBalancers: [balancer] });
    new route53.VpcEndpointServiceDomainName(stack, 'Name', {
      endpointService: service, domainName: (changed ? 'b' : 'a') + '.example.com', publicHostedZone: zone(),
    });
  },
  OpenIdConnectProvider: () => out(new iam.OpenIdConnectProvider(stack, 'Provider', {
    url: 'https://issuer.example.com', thumbprints: [(changed ? 'b' : 'a').repeat(bad ? 41 : 40)], clientIds: [changed ? 'two' : 'one'],
  }).openIdConnectProviderArn),
  DeleteExistingRecordSet: () => new route53.ARecord(stack, 'Record', {
    zone: zone(), recordName: 'www', deleteExisting: true, target: route53.RecordTarget.fromIpAddresses(changed ? '192.0.2.2' : '192.0.2.1'),
  }),
  CrossAccountZoneDelegation: () => {
    const role = new iam.Role(stack, 'Role', { assumedBy: new iam.AccountRootPrincipal() });
    zone();
    const child = new route53.PublicHostedZone(stack, 'Child', { zoneName: 'child.example.com' });
    const record = new route53.CrossAccountZoneDelegationRecord(stack, 'Record', {
      delegatedZone: child, delegationRole: role, parentHostedZoneName: bad ? 'missing.example.com' : 'example.com',
      ttl: cdk.Duration.minutes(changed ? 10 : 5),
    });
    record.node.addDependency(stack.node.findChild('Zone'));
  },
  DnsValidatedCertificate: () => out(new acm.DnsValidatedCertificate(stack, 'Certificate', {
    domainName: changed ? 'b.example.com' : 'a.example.com', hostedZone: zone(), cleanupRoute53Records: true,
  }).certificateArn),
  AutoDeleteImages: () => new ecr.Repository(stack, 'Repository', {
    autoDeleteImages: true, removalPolicy: cdk.RemovalPolicy.DESTROY, imageScanOnPush: changed,
  }),
  TableReplicas: () => new dynamodb.Table(stack, 'Table', {
    partitionKey: { name: 'id', type: dynamodb.AttributeType.STRING }, removalPolicy: cdk.RemovalPolicy.DESTROY,
    replicationRegions: changed ? ['eu-west-2', 'eu-central-1'] : ['eu-west-2'],
  }),
  UserPoolClientSecret: () => {
    const pool = new cognito.UserPool(stack, 'Pool', { removalPolicy: cdk.RemovalPolicy.DESTROY });
    const client = pool.addClient('Client', { generateSecret: true, authFlows: { userPassword: changed } });
    new cdk.CfnResource(stack, 'Reader', { type: 'Test::Secret::Reader', properties: { Secret: client.userPoolClientSecret.unsafeUnwrap() } });
  },
  UserPoolDomain: () => {
    const pool = new cognito.UserPool(stack, 'Pool', { removalPolicy: cdk.RemovalPolicy.DESTROY });
    out(pool.addDomain('Domain', { cognitoDomain: { domainPrefix: changed ? 'two' : 'one' } }).cloudFrontDomainName);
  },
  OpenSearchAccessPolicy: () => new opensearch.Domain(stack, 'Domain', {
    version: opensearch.EngineVersion.OPENSEARCH_2_11, removalPolicy: cdk.RemovalPolicy.DESTROY,
    accessPolicies: [new iam.PolicyStatement({ actions: [changed ? 'es:*' : 'es:ESHttpGet'], principals: [new iam.AnyPrincipal()], resources: ['*'] })],
  }),
  CustomLambdaDeploymentConfig: () => new codedeploy.CustomLambdaDeploymentConfig(stack, 'Config', {
    type: codedeploy.CustomLambdaDeploymentConfigType.LINEAR, interval: cdk.Duration.minutes(1), percentage: changed ? 10 : 5,
  }),
  CanaryCleanup: () => new synthetics.Canary(stack, 'Canary', {
    runtime: synthetics.Runtime.SYNTHETICS_NODEJS_PUPPETEER_7_0, provisionedResourceCleanup: false, cleanup: synthetics.Cleanup.LAMBDA,
    test: synthetics.Test.custom({ handler: 'index.handler', code: synthetics.Code.fromInline('exports.handler = async () => {}') }),
    schedule: synthetics.Schedule.rate(cdk.Duration.minutes(changed ? 10 : 5)),
  }),
};
constructs[construct]();
