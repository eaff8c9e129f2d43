// Custom resources of buckets, of repositories and of the code of functions.
const path = require('node:path');
const cdk = require('aws-cdk-lib');
const {
  aws_cloudfront: cloudfront, aws_cloudfront_origins: origins, aws_ecr: ecr, aws_lambda: lambda, aws_s3: s3,
  aws_s3_deployment: deployment, aws_s3_notifications: notifications, aws_servicecatalog: servicecatalog, aws_sns: sns, aws_sqs: sqs,
} = cdk;
const DESTROY = cdk.RemovalPolicy.DESTROY;
const NODE = { runtime: lambda.Runtime.NODEJS_22_X, handler: 'index.handler' };
const handler = path.join(__dirname, 'handler');

// notify has a bucket send its events to a function, a topic and a queue.
const notify = (t, bucket) => {
  const filter = (suffix) => ({ prefix: t.changed ? 'out/' : 'in/', suffix });
  const noop = new lambda.Function(t.stack, 'Function', { ...NODE, code: lambda.Code.fromInline('exports.handler = async () => {}') });
  bucket.addEventNotification(s3.EventType.OBJECT_CREATED, new notifications.LambdaDestination(noop), filter('.function'));
  bucket.addEventNotification(s3.EventType.OBJECT_CREATED, new notifications.SnsDestination(new sns.Topic(t.stack, 'Topic')), filter('.topic'));
  bucket.addEventNotification(s3.EventType.OBJECT_REMOVED, new notifications.SqsDestination(new sqs.Queue(t.stack, 'Queue')), filter('.queue'));
};

module.exports = {
  BucketDeployment: {
    rejects: true,
    define: (t) => {
      const destinationBucket = t.bucket({ autoDeleteObjects: true });
      const sources = [deployment.Source.data('page.txt', `${destinationBucket.bucketName} ${t.changed}`)];
      if (t.bad) sources.push(deployment.Source.bucket(destinationBucket, 'missing.zip'));
      new deployment.BucketDeployment(t.stack, 'Deployment', { sources, destinationBucket });
    },
  },
  BucketDeploymentInvalidation: {
    define: (t) => {
      const destinationBucket = t.bucket({ autoDeleteObjects: true });
      const distribution = new cloudfront.Distribution(t.stack, 'Distribution', {
        defaultBehavior: { origin: origins.S3BucketOrigin.withOriginAccessControl(destinationBucket) },
      });
      new deployment.BucketDeployment(t.stack, 'Deployment', {
        sources: [deployment.Source.data('page.txt', String(t.changed))], destinationBucket, distribution, distributionPaths: ['/*'],
      });
    },
  },
  ProductStack: {
    define: (t) => {
      const assetBucket = new s3.Bucket(t.stack, 'Assets', { bucketName: 'product-assets', removalPolicy: DESTROY, autoDeleteObjects: true });
      class Product extends servicecatalog.ProductStack {
        constructor(scope, id) {
          super(scope, id, { assetBucket });
          new lambda.Function(this, 'Function', { ...NODE, code: lambda.Code.fromAsset(handler) });
          new sns.Topic(this, 'Topic', { displayName: String(t.changed) });
        }
      }
      new servicecatalog.CloudFormationProduct(t.stack, 'Product', {
        productName: 'product', owner: 'owner',
        productVersions: [{ cloudFormationTemplate: servicecatalog.CloudFormationTemplate.fromProductStack(new Product(t.stack, 'Stack')) }],
      });
    },
  },
  AutoDeleteObjects: { define: (t) => t.bucket({ autoDeleteObjects: !t.changed }) },
  AutoDeleteObjectsMixin: {
    define: (t) => {
      const bucket = new s3.CfnBucket(t.stack, 'Bucket', { versioningConfiguration: t.changed ? { status: 'Enabled' } : undefined });
      bucket.applyRemovalPolicy(DESTROY);
      bucket.with(new s3.mixins.BucketAutoDeleteObjects());
    },
  },
  AutoDeleteImages: {
    define: (t) => new ecr.Repository(t.stack, 'Repository', { autoDeleteImages: true, removalPolicy: DESTROY, imageScanOnPush: t.changed }),
  },
  BucketNotifications: { define: (t) => notify(t, t.bucket()) },
  BucketNotificationsImported: { define: (t) => notify(t, s3.Bucket.fromBucketName(t.stack, 'Imported', t.bucket().bucketName)) },
  S3ObjectCopy: {
    define: (t) => new lambda.WebFunction(t.stack, 'Function', {
      runtime: lambda.WebFunctionRuntime.NODEJS_24_X, entryPoint: 'index.handler', defaultEndpointAuth: lambda.WebFunctionAuthType.IAM_AUTH,
      code: lambda.WebFunctionCode.fromAssetToManagedBucket(t.changed ? __dirname : handler),
    }),
  },
  EdgeFunction: {
    define: (t) => t.out(new cloudfront.experimental.EdgeFunction(t.stack, 'Edge', {
      ...NODE, stackId: 'EdgeFunctionOther', code: lambda.Code.fromInline(`exports.handler = async () => ${t.changed}`),
    }).currentVersion.edgeArn),
  },
};
