// Custom resources of log groups.
const path = require('node:path');
const cdk = require('aws-cdk-lib');
const {
  aws_appsync: appsync, aws_chatbot: chatbot, aws_docdb: docdb, aws_ec2: ec2, aws_elasticsearch: elasticsearch, aws_events: events,
  aws_events_targets: targets, aws_iam: iam, aws_lambda: lambda, aws_logs: logs, aws_opensearchservice: opensearch, aws_rds: rds,
} = cdk;
const DESTROY = cdk.RemovalPolicy.DESTROY;

const accessPolicies = (t) => [new iam.PolicyStatement({
  actions: [t.changed ? 'es:*' : 'es:ESHttpGet'], principals: [new iam.AnyPrincipal()], resources: ['*'],
})];
const openSearch = (t, props) => new opensearch.Domain(t.stack, 'Domain', {
  version: opensearch.EngineVersion.OPENSEARCH_2_11, removalPolicy: DESTROY, ...props,
});
const elasticSearch = (t, props) => new elasticsearch.Domain(t.stack, 'Domain', {
  version: elasticsearch.ElasticsearchVersion.V7_10, removalPolicy: DESTROY, ...props,
});
const logging = (t) => ({ logging: { appLogEnabled: true, slowSearchLogEnabled: t.changed } });

module.exports = {
  LogRetention: {
    define: (t) => {
      const retention = t.changed ? logs.RetentionDays.ONE_WEEK : logs.RetentionDays.ONE_DAY;
      new logs.LogRetention(t.stack, 'Retention', { logGroupName: '/constructs/retention', retention, removalPolicy: DESTROY });
      new lambda.Function(t.stack, 'Function', {
        runtime: lambda.Runtime.NODEJS_22_X, handler: 'index.handler', logRetention: retention,
        code: lambda.Code.fromInline('exports.handler = async () => {}'),
      });
      new appsync.GraphqlApi(t.stack, 'Api', {
        name: 'api', definition: appsync.Definition.fromFile(path.join(__dirname, 'schema.graphql')), logConfig: { retention },
      });
      new chatbot.SlackChannelConfiguration(t.stack, 'Slack', {
        slackChannelConfigurationName: 'slack', slackWorkspaceId: 'T00000000', slackChannelId: 'C00000000', logRetention: retention,
      });
      const network = {
        vpc: new ec2.Vpc(t.stack, 'Vpc', { maxAzs: 2, natGateways: 0, restrictDefaultSecurityGroup: false }),
        vpcSubnets: { subnetType: ec2.SubnetType.PUBLIC },
      };
      new rds.DatabaseInstance(t.stack, 'Database', {
        ...network, engine: rds.DatabaseInstanceEngine.postgres({ version: rds.PostgresEngineVersion.VER_16 }), removalPolicy: DESTROY,
        cloudwatchLogsExports: ['postgresql'], cloudwatchLogsRetention: retention,
      });
      new docdb.DatabaseCluster(t.stack, 'Documents', {
        ...network, masterUser: { username: 'documents' }, removalPolicy: DESTROY,
        instanceType: ec2.InstanceType.of(ec2.InstanceClass.T3, ec2.InstanceSize.MEDIUM),
        exportAuditLogsToCloudWatch: true, cloudWatchLogsRetention: retention,
      });
    },
  },
  LogGroupTarget: {
    define: (t) => new events.Rule(t.stack, 'Rule', {
      eventPattern: { source: [t.changed ? 'changed' : 'base'] },
      targets: [new targets.CloudWatchLogGroup(new logs.LogGroup(t.stack, 'Group', { removalPolicy: DESTROY }))],
    }),
  },
  OpenSearchLogging: { define: (t) => openSearch(t, logging(t)) },
  OpenSearchAccessPolicy: { define: (t) => openSearch(t, { accessPolicies: accessPolicies(t) }) },
  ElasticsearchLogging: { define: (t) => elasticSearch(t, logging(t)) },
  ElasticsearchAccessPolicy: { define: (t) => elasticSearch(t, { accessPolicies: accessPolicies(t) }) },
};
