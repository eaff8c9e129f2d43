// Custom resources of other services, and functions of the library that services call.
const cdk = require('aws-cdk-lib');
const {
  aws_codedeploy: codedeploy, aws_cognito: cognito, aws_dynamodb: dynamodb, aws_ec2: ec2, aws_ecs: ecs, aws_eks: eks,
  aws_emrcontainers: emrcontainers, aws_events: events, aws_events_targets: targets, aws_glue: glue, aws_iam: iam, aws_lambda: lambda,
  aws_ses: ses, aws_stepfunctions: sfn, aws_stepfunctions_tasks: tasks, aws_synthetics: synthetics,
} = cdk;
const DESTROY = cdk.RemovalPolicy.DESTROY;

const pool = (t) => new cognito.UserPool(t.stack, 'Pool', { removalPolicy: DESTROY });
const machine = (t, chainable) => new sfn.StateMachine(t.stack, 'Machine', { definitionBody: sfn.DefinitionBody.fromChainable(chainable) });

module.exports = {
  OpenIdConnectProvider: {
    rejects: true,
    define: (t) => t.out(new iam.OpenIdConnectProvider(t.stack, 'Provider', {
      url: 'https://issuer.example.com', clientIds: [t.changed ? 'two' : 'one'], thumbprints: [(t.changed ? 'b' : 'a').repeat(t.bad ? 41 : 40)],
    }).openIdConnectProviderArn),
  },
  // The handler reads the certificate of the issuer, which the test serves. In the failing app, the issuer stays: the handler answers the
  // rollback of another one by creating the provider that still exists, on AWS too.
  EksOpenIdConnectProvider: {
    stays: true,
    define: (t) => t.out(new eks.OpenIdConnectProvider(t.stack, 'Provider', {
      url: `https://localhost/id/${t.changed ? 'two' : 'one'}`, removalPolicy: DESTROY,
    }).openIdConnectProviderArn),
  },
  TableReplicas: {
    define: (t) => new dynamodb.Table(t.stack, 'Table', {
      partitionKey: { name: 'id', type: dynamodb.AttributeType.STRING }, removalPolicy: DESTROY,
      replicationRegions: t.changed ? ['eu-west-2', 'eu-central-1'] : ['eu-west-2'],
    }),
  },
  UserPoolClientSecret: {
    define: (t) => {
      const client = pool(t).addClient('Client', { generateSecret: true, authFlows: { userPassword: t.changed } });
      new cdk.CfnResource(t.stack, 'Reader', {
        type: 'Test::Secret::Reader', properties: { Secret: client.userPoolClientSecret.unsafeUnwrap() },
      });
    },
  },
  UserPoolDomain: {
    define: (t) => t.out(pool(t).addDomain('Domain', { cognitoDomain: { domainPrefix: t.changed ? 'two' : 'one' } }).cloudFrontDomainName),
  },
  // In the failing app, it stays, for the same reason as the provider of EKS.
  CustomLambdaDeploymentConfig: {
    stays: true,
    define: (t) => new codedeploy.CustomLambdaDeploymentConfig(t.stack, 'Config', {
      type: codedeploy.CustomLambdaDeploymentConfigType.LINEAR, interval: cdk.Duration.minutes(1), percentage: t.changed ? 10 : 5,
    }),
  },
  CanaryCleanup: {
    define: (t) => new synthetics.Canary(t.stack, 'Canary', {
      runtime: synthetics.Runtime.SYNTHETICS_NODEJS_PUPPETEER_7_0, provisionedResourceCleanup: false, cleanup: synthetics.Cleanup.LAMBDA,
      test: synthetics.Test.custom({ handler: 'index.handler', code: synthetics.Code.fromInline('exports.handler = async () => {}') }),
      schedule: synthetics.Schedule.rate(cdk.Duration.minutes(t.changed ? 10 : 5)),
    }),
  },
  GluePartitionIndex: {
    define: (t) => new glue.S3Table(t.stack, 'Table', {
      database: new glue.Database(t.stack, 'Database'), dataFormat: glue.DataFormat.JSON,
      columns: [{ name: 'text', type: glue.Schema.STRING }],
      partitionKeys: [{ name: 'year', type: glue.Schema.SMALL_INT }, { name: 'month', type: glue.Schema.SMALL_INT }],
      partitionIndexes: [{ indexName: t.changed ? 'by-month' : 'by-year', keyNames: [t.changed ? 'month' : 'year'] }],
    }),
  },
  EmrContainersStartJobRun: {
    define: (t) => {
      const cluster = new emrcontainers.CfnVirtualCluster(t.stack, 'Cluster', {
        name: 'cluster', containerProvider: { id: 'eks', type: 'EKS', info: { eksInfo: { namespace: 'jobs' } } },
      });
      machine(t, new tasks.EmrContainersStartJobRun(t.stack, 'Job', {
        virtualCluster: tasks.VirtualClusterInput.fromVirtualClusterId(cluster.attrId), releaseLabel: tasks.ReleaseLabel.EMR_6_2_0,
        jobDriver: { sparkSubmitJobDriver: { entryPoint: sfn.TaskInput.fromText(`local:///${t.changed ? 'two' : 'one'}.py`) } },
      }));
    },
  },
  DropSpam: {
    define: (t) => new ses.ReceiptRuleSet(t.stack, 'Rules', {
      dropSpam: true, rules: [{ recipients: [`${t.changed ? 'two' : 'one'}.example.com`] }],
    }),
  },
  AwsApiTarget: {
    define: (t) => new events.Rule(t.stack, 'Rule', {
      schedule: events.Schedule.rate(cdk.Duration.hours(t.changed ? 2 : 1)),
      targets: [new targets.AwsApi({ service: 'SSM', action: 'describeParameters' })],
    }),
  },
  StepFunctionsTasks: {
    define: (t) => {
      const sum = new tasks.EvaluateExpression(t.stack, 'Sum', {
        expression: t.changed ? '$.a - $.b' : '$.a + $.b', runtime: lambda.Runtime.NODEJS_22_X,
      });
      machine(t, sum.next(new tasks.CallAwsServiceCrossRegion(t.stack, 'Call', {
        service: 'ssm', action: 'describeParameters', region: 'us-east-1', iamResources: ['*'],
      })));
    },
  },
  ContainerInstanceDrain: {
    define: (t) => {
      const vpc = new ec2.Vpc(t.stack, 'Vpc', { maxAzs: 1, natGateways: 0, restrictDefaultSecurityGroup: false });
      new ecs.Cluster(t.stack, 'Cluster', { vpc }).addCapacity('Capacity', {
        instanceType: new ec2.InstanceType(t.changed ? 't3.small' : 't3.micro'), vpcSubnets: { subnetType: ec2.SubnetType.PUBLIC },
      });
    },
  },
};
