// A website as in the documentation of the CDK, and data with values that are known only when it is deployed.
const path = require('node:path');
const cdk = require('aws-cdk-lib');
const s3 = require('aws-cdk-lib/aws-s3');
const s3deploy = require('aws-cdk-lib/aws-s3-deployment');

const app = new cdk.App();
const context = (name, value) => app.node.tryGetContext(name) ?? value;
const stack = new cdk.Stack(app, 'Website');
const bucket = new s3.Bucket(stack, 'WebsiteBucket', {
  websiteIndexDocument: 'index.html', publicReadAccess: true, removalPolicy: cdk.RemovalPolicy.DESTROY, autoDeleteObjects: true,
  blockPublicAccess: s3.BlockPublicAccess.BLOCK_ACLS_ONLY,
});
const site = path.join(__dirname, 'site');
const deployment = new s3deploy.BucketDeployment(stack, 'DeployWebsite', {
  sources: [
    s3deploy.Source.asset(site),
    s3deploy.Source.jsonData('config.json', { bucket: bucket.bucketArn, quoted: 'a "word"' }),
    s3deploy.Source.data('hello.txt', `Hello from ${bucket.bucketName}: ${context('text', 'first')}`),
  ],
  destinationBucket: bucket, destinationKeyPrefix: context('prefix', 'web/static'), retainOnDelete: false,
  exclude: ['*.tmp'], cacheControl: [s3deploy.CacheControl.maxAge(cdk.Duration.hours(1))], metadata: { Owner: 'kitchen' },
});
const whole = new s3deploy.BucketDeployment(stack, 'DeployArchive', {
  sources: [s3deploy.Source.asset(site)], destinationBucket: bucket, destinationKeyPrefix: 'archive',
  extract: false, prune: false, memoryLimit: 512, retainOnDelete: false,
});
if (context('wrong')) {
  // A file that is not an archive fails the deployment after the first one has changed the bucket.
  const broken = new s3deploy.BucketDeployment(stack, 'Broken', {
    sources: [s3deploy.Source.bucket(bucket, 'web/static/hello.txt')], destinationBucket: bucket, destinationKeyPrefix: 'broken',
  });
  broken.node.addDependency(deployment);
}
new cdk.CfnOutput(stack, 'BucketName', { value: bucket.bucketName });
new cdk.CfnOutput(stack, 'Deployed', { value: deployment.deployedBucket.bucketArn });
new cdk.CfnOutput(stack, 'Archive', { value: cdk.Fn.select(0, whole.objectKeys) });
