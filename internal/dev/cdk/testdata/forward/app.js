// Apps whose stacks mix custom resources with resources of another endpoint, a stack for each app.
//   node app.js DIRECTORY base|changed|failing NAME…
// The program writes the assembly of an app with these stacks. In the failing app, the endpoint rejects a queue that depends on all of the
// stack.
const cdk = require('aws-cdk-lib');
const {
  aws_apigateway: apigateway, aws_certificatemanager: acm, aws_cognito: cognito, aws_dynamodb: dynamodb, aws_ec2: ec2, aws_ecr: ecr,
  aws_events: events, aws_events_targets: targets, aws_kinesis: kinesis, aws_kms: kms, aws_lambda: lambda, aws_logs: logs, aws_route53: route53,
  aws_s3: s3, aws_s3_notifications: notifications, aws_secretsmanager: secretsmanager, aws_sns: sns, aws_sns_subscriptions: subscriptions,
  aws_sqs: sqs, aws_ssm: ssm, aws_stepfunctions: sfn, custom_resources: custom,
} = cdk;
const flags = require('aws-cdk-lib/recommended-feature-flags.json'); // as cdk init has them

const removalPolicy = cdk.RemovalPolicy.DESTROY;

// call is a custom resource that makes an AWS call when it is created, and again in the changed app. It returns the resource.
const call = (t, id, service, action, parameters, { outputPaths, ...more } = {}) => new custom.AwsCustomResource(t.stack, id, {
  onUpdate: {
    service, action, parameters, outputPaths, physicalResourceId: custom.PhysicalResourceId.of(more.onDelete ? id : id + (t.changed ? 2 : 1)),
  },
  installLatestAwsSdk: false,
  policy: custom.AwsCustomResourcePolicy.fromSdkCalls({ resources: custom.AwsCustomResourcePolicy.ANY_RESOURCE }), ...more,
});

const table = (scope, id, props) => new dynamodb.Table(scope, id, {
  partitionKey: { name: 'id', type: dynamodb.AttributeType.STRING }, billingMode: dynamodb.BillingMode.PAY_PER_REQUEST, removalPolicy, ...props,
});

const seconds = (t) => cdk.Duration.seconds(t.changed ? 44 : 33);

const apps = {
  // A function sends a message to the queue for each request.
  QueueAndFunction(t) {
    const dead = new sqs.Queue(t.stack, 'Dead');
    const queue = new sqs.Queue(t.stack, 'Queue', { visibilityTimeout: seconds(t), deadLetterQueue: { queue: dead, maxReceiveCount: 3 } });
    const onEventHandler = new lambda.Function(t.stack, 'OnEvent', {
      runtime: lambda.Runtime.NODEJS_22_X, handler: 'index.handler', environment: { QUEUE: queue.queueUrl },
      code: lambda.Code.fromInline(`const { SQSClient, SendMessageCommand, GetQueueAttributesCommand } = require('@aws-sdk/client-sqs');
exports.handler = async (event) => {
  const client = new SQSClient({});
  await client.send(new SendMessageCommand({ QueueUrl: process.env.QUEUE, MessageBody: event.RequestType }));
  const { Attributes } = await client.send(new GetQueueAttributesCommand({ QueueUrl: process.env.QUEUE, AttributeNames: ['All'] }));
  return { Data: { Timeout: Attributes.VisibilityTimeout } };
};`),
    });
    queue.grantSendMessages(onEventHandler);
    const sender = new cdk.CustomResource(t.stack, 'Sender', {
      serviceToken: new custom.Provider(t.stack, 'Provider', { onEventHandler }).serviceToken, resourceType: 'Custom::Sender',
      properties: { Round: t.changed ? 2 : 1 },
    });
    sender.node.addDependency(queue);
    t.out(sender.getAttString('Timeout'));
  },
  // The custom resource of the network revokes the rules of the default security group.
  Network(t) {
    const vpc = new ec2.Vpc(t.stack, 'Vpc', {
      availabilityZones: ['eu-west-1a'], natGateways: 0, restrictDefaultSecurityGroup: true,
      subnetConfiguration: [{ name: 'Public', subnetType: ec2.SubnetType.PUBLIC, cidrMask: 24 }],
    });
    const group = new ec2.SecurityGroup(t.stack, 'Group', { vpc, description: 'web' });
    group.addIngressRule(ec2.Peer.anyIpv4(), ec2.Port.tcp(t.changed ? 443 : 80));
    t.out(vpc.vpcDefaultSecurityGroup);
  },
  // The custom resource reads the client's secret.
  UserPool(t) {
    const pool = new cognito.UserPool(t.stack, 'Pool', { removalPolicy, passwordPolicy: { minLength: t.changed ? 12 : 10 } });
    const client = pool.addClient('Client', { generateSecret: true });
    const reader = call(t, 'Reader', 'CognitoIdentityServiceProvider', 'describeUserPool', { UserPoolId: pool.userPoolId }, {
      outputPaths: ['UserPool.Policies.PasswordPolicy.MinimumLength'],
    });
    new cdk.CfnOutput(t.stack, 'ClientId', { value: client.userPoolClientId });
    reader.node.addDependency(pool);
    t.out(reader.getResponseField('UserPool.Policies.PasswordPolicy.MinimumLength'));
    t.out(client.userPoolClientSecret.unsafeUnwrap(), 'Secret');
  },
  // The custom resource deletes an existing record before the record is created.
  ZoneAndCertificate(t) {
    const zone = new route53.PublicHostedZone(t.stack, 'Zone', { zoneName: 'shop.example' });
    new acm.Certificate(t.stack, 'Certificate', { domainName: 'shop.example', validation: acm.CertificateValidation.fromDns(zone) });
    new route53.ARecord(t.stack, 'Record', {
      zone, recordName: 'www', target: route53.RecordTarget.fromIpAddresses(t.changed ? '10.0.0.2' : '10.0.0.1'), deleteExisting: true,
    });
    t.out(cdk.Fn.join(' ', zone.hostedZoneNameServers));
  },
  TableAndItem(t) {
    const items = table(t.stack, 'Table', t.changed ? { timeToLiveAttribute: 'expires' } : {});
    const Key = { id: { S: 'one' } };
    const put = call(t, 'Put', 'DynamoDB', 'putItem', { TableName: items.tableName, Item: { ...Key, text: { S: t.changed ? 'two' : 'one' } } }, {
      onDelete: { service: 'DynamoDB', action: 'deleteItem', parameters: { TableName: items.tableName, Key } },
    });
    const get = call(t, 'Get', 'DynamoDB', 'getItem', { TableName: items.tableName, Key });
    get.node.addDependency(put);
    t.out(get.getResponseField('Item.text.S'));
  },
  // The bucket is Pintle's, and the queue that gets its notifications is the endpoint's.
  BucketAndQueue(t) {
    const bucket = new s3.Bucket(t.stack, 'Bucket', { removalPolicy, autoDeleteObjects: true });
    const queue = new sqs.Queue(t.stack, 'Queue', { visibilityTimeout: seconds(t) });
    bucket.addEventNotification(s3.EventType.OBJECT_CREATED, new notifications.SqsDestination(queue), { prefix: t.changed ? 'new/' : 'in/' });
    t.out(bucket.bucketName);
    t.out(queue.queueUrl, 'QueueUrl');
  },
  StateMachine(t) {
    const machine = new sfn.StateMachine(t.stack, 'Machine', {
      definitionBody: sfn.DefinitionBody.fromChainable(new sfn.Pass(t.stack, 'Pass', { result: sfn.Result.fromString(t.changed ? 'two' : 'one') })),
    });
    const start = call(t, 'Start', 'StepFunctions', 'describeStateMachine', { stateMachineArn: machine.stateMachineArn });
    start.node.addDependency(machine);
    t.out(start.getResponseField('definition'));
  },
  TopicAndSubscription(t) {
    const topic = new sns.Topic(t.stack, 'Topic', { displayName: t.changed ? 'two' : 'one' });
    topic.addSubscription(new subscriptions.SqsSubscription(new sqs.Queue(t.stack, 'Queue'), { rawMessageDelivery: true }));
    const publish = call(t, 'Publish', 'SNS', 'publish', { TopicArn: topic.topicArn, Message: t.changed ? 'two' : 'one' });
    t.out(publish.getResponseField('MessageId'));
  },
  Parameter(t) {
    const parameter = new ssm.StringParameter(t.stack, 'Parameter', { stringValue: t.changed ? 'two' : 'one', parameterName: '/shop/name' });
    const read = call(t, 'Read', 'SSM', 'getParameter', { Name: parameter.parameterName });
    read.node.addDependency(parameter);
    t.out(read.getResponseField('Parameter.Value'));
  },
  // The template's NoEcho parameter is a secret at the endpoint.
  Secret(t) {
    const password = new cdk.CfnParameter(t.stack, 'Password', { noEcho: true, default: 'correct-horse' });
    const secret = new secretsmanager.CfnSecret(t.stack, 'Secret', { secretString: password.valueAsString, description: t.changed ? 'two' : 'one' });
    const read = call(t, 'Read', 'SecretsManager', 'describeSecret', { SecretId: secret.ref });
    t.out(read.getResponseField('ARN'));
  },
  LogGroups(t) {
    const retention = t.changed ? logs.RetentionDays.TWO_WEEKS : logs.RetentionDays.ONE_WEEK;
    const group = new logs.LogGroup(t.stack, 'Group', { retention, removalPolicy });
    new logs.LogRetention(t.stack, 'Retention', { logGroupName: '/shop/other', retention, removalPolicy });
    new logs.MetricFilter(t.stack, 'Filter', {
      logGroup: group, filterPattern: logs.FilterPattern.literal('ERROR'), metricNamespace: 'shop', metricName: 'errors',
    });
    t.out(group.logGroupArn);
  },
  // Two nested stacks have the same logical IDs.
  NestedStacks(t) {
    const urls = ['One', 'Two'].map((id) => {
      const nested = new cdk.NestedStack(t.stack, id);
      table(nested, 'Table');
      return new sqs.Queue(nested, 'Queue', { visibilityTimeout: seconds(t) }).queueUrl;
    });
    const read = urls.map((QueueUrl, i) => call(t, `Read${i}`, 'SQS', 'getQueueAttributes', { QueueUrl, AttributeNames: ['All'] }));
    t.out(cdk.Fn.join(' ', read.map((r) => r.getResponseField('Attributes.VisibilityTimeout'))));
  },
  StreamAndKey(t) {
    const encryptionKey = new kms.Key(t.stack, 'Key', { removalPolicy, description: t.changed ? 'two' : 'one', alias: 'alias/shop' });
    const stream = new kinesis.Stream(t.stack, 'Stream', { encryptionKey, shardCount: 1, streamMode: kinesis.StreamMode.PROVISIONED, removalPolicy });
    const read = call(t, 'Read', 'KMS', 'describeKey', { KeyId: encryptionKey.keyArn });
    t.out(read.getResponseField('KeyMetadata.KeyId'));
    t.out(stream.streamArn, 'StreamArn');
  },
  RestApi(t) {
    const api = new apigateway.RestApi(t.stack, 'Api', { cloudWatchRole: false, description: t.changed ? 'two' : 'one' });
    api.root.addResource('items').addMethod('GET', new apigateway.MockIntegration({
      integrationResponses: [{ statusCode: '200' }], requestTemplates: { 'application/json': '{"statusCode": 200}' },
    }), { methodResponses: [{ statusCode: '200' }] });
    const read = call(t, 'Read', 'APIGateway', 'getRestApi', { restApiId: api.restApiId });
    t.out(read.getResponseField('name'));
  },
  RuleAndQueue(t) {
    const rule = new events.Rule(t.stack, 'Rule', { eventPattern: { source: [t.changed ? 'two' : 'one'] } });
    rule.addTarget(new targets.SqsQueue(new sqs.Queue(t.stack, 'Queue')));
    const read = call(t, 'Read', 'EventBridge', 'describeRule', { Name: rule.ruleName });
    read.node.addDependency(rule);
    t.out(read.getResponseField('EventPattern'));
  },
  // The custom resource deletes the images of the repository.
  Repository(t) {
    const repository = new ecr.Repository(t.stack, 'Repository', {
      removalPolicy, autoDeleteImages: true, imageTagMutability: t.changed ? ecr.TagMutability.IMMUTABLE : ecr.TagMutability.MUTABLE,
    });
    t.out(repository.repositoryUri);
  },
};

const [outdir, variant, ...names] = process.argv.slice(2);
const app = new cdk.App({ outdir, analyticsReporting: false, context: flags });
for (const name of names) {
  const stack = new cdk.Stack(app, name, { env: { account: '000000000000', region: 'eu-west-1' }, analyticsReporting: false });
  apps[name]({ stack, changed: variant === 'changed', out: (value, id = 'Out') => new cdk.CfnOutput(stack, id, { value }) });
  if (variant === 'failing') {
    const before = stack.node.children.filter((child) => !(child instanceof cdk.CfnOutput));
    new cdk.CfnResource(stack, 'Rejected', { type: 'AWS::SQS::Queue', properties: { VisibilityTimeout: 99999999 } }).node.addDependency(...before);
  }
}
app.synth();
