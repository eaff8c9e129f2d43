'use strict';

// Deploys Alibaba Cloud's BucketDeployment with its own library, as the deploy and destroy commands of the CDK of ROS do it: the
// library writes a template and a list of assets, ali-oss uploads those, and the client of ROS creates, updates and deletes the stack.

const assert = require('node:assert');
const {execFileSync} = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const ros = require('@alicloud/ros-cdk-core');
const oss = require('@alicloud/ros-cdk-oss');
const {BucketDeployment, Source} = require('@alicloud/ros-cdk-ossdeployment');
const OSS = require('ali-oss');
const Client = require('@alicloud/ros-2019-09-10');

const endpoint = process.env.ENDPOINT;
const keys = {accessKeyId: 'any', accessKeySecret: 'any'};
const region = 'cn-hangzhou';
const store = (bucket) => new OSS({...keys, endpoint, region: 'oss-' + region, bucket});
const client = new Client({...keys, endpoint});
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// app writes the app into a folder, with a file of its own. It is a program of its own: the library reads a file only once.
function app(text, target) {
  fs.writeFileSync('site.html', text);
  const app = new ros.App({outdir: 'cdk.out'});
  const stack = new ros.Stack(app, 'site');
  const bucket = new oss.Bucket(stack, 'Bucket', {bucketName: 'my-site', deletionForce: true});
  new BucketDeployment(stack, 'Deploy', {
    sources: [Source.asset(path.resolve('site.html')), Source.data('a/config.txt', text + ' config')],
    destinationBucket: target || bucket, timeout: 60, retainOnCreate: true,
  });
  app.synth();
}

// synth runs the app and returns the template and the assets.
function synth(...args) {
  execFileSync(process.execPath, [__filename, 'app', ...args], {stdio: 'inherit'});
  const read = (name) => fs.readFileSync(path.join('cdk.out', name));
  return {template: read('site.template.json'), files: JSON.parse(read('site.assets.json')).files};
}

// publish uploads the assets and returns their bucket.
async function publish(files) {
  let bucket;
  for (const {source, destinations} of Object.values(files)) {
    const to = destinations['current_account-current_region'];
    bucket = to.bucketName.replace('${ALIYUN::Region}', region);
    await store().putBucket(bucket, {storageClass: 'Standard', acl: 'private', dataRedundancyType: 'LRS'});
    await store(bucket).put(to.objectKey, path.join('cdk.out', source.path));
  }
  return bucket;
}

// settle waits for the end of an operation and returns the stack.
async function settle(id) {
  for (;;) {
    const stack = await client.getStack({StackId: id, RegionId: region});
    if (/_(COMPLETE|FAILED)$/.test(stack.Status)) return stack;
    await sleep(200); // as the command does
  }
}

async function text(key) {
  return (await store('my-site').get(key)).content.toString();
}

async function main() {
  let {template, files} = synth('one');
  const bucket = await publish(files);
  // From now on the library uses the bucket of the first time, as the file that the command writes tells it.
  fs.writeFileSync('stack.info.json', JSON.stringify({site: {assetAssociatedBucketName: bucket}}));
  const options = {method: 'POST'};
  const body = (bytes) => `@Base64Encoded: ${bytes.toString('base64')}`;
  const {StackId: id} = await client.createStack(
    {StackName: 'site', RegionId: region, TimeoutInMinutes: 20, TemplateBody: body(template), DisableRollback: false}, options);
  let stack = await settle(id);
  assert.strictEqual(stack.Status, 'CREATE_COMPLETE', stack.StatusReason);
  assert.strictEqual(await text('site.html'), 'one');
  assert.strictEqual(await text('a/config.txt'), 'one config');
  console.log('created:', stack.StatusReason);

  ({template, files} = synth('two'));
  assert.strictEqual(await publish(files), bucket);
  await client.updateStack({StackId: id, RegionId: region, TemplateBody: body(template)}, options);
  stack = await settle(id);
  assert.strictEqual(stack.Status, 'UPDATE_COMPLETE', stack.StatusReason);
  assert.strictEqual(await text('site.html'), 'two');
  console.log('updated:', stack.StatusReason);

  ({template, files} = synth('three', 'no-such-bucket'));
  await publish(files);
  await client.updateStack({StackId: id, RegionId: region, TemplateBody: body(template)}, options);
  stack = await settle(id);
  assert.strictEqual(stack.Status, 'ROLLBACK_COMPLETE', stack.StatusReason);
  const {Events: events} = await client.listStackEvents({StackId: id, RegionId: region, PageSize: 50});
  const reasons = events.map((e) => e.StatusReason).join('\n');
  assert.ok(reasons.includes('The destination bucket(no-such-bucket) not exist'), reasons);
  assert.strictEqual(await text('site.html'), 'two');
  console.log('failed and rolled back:', /The destination bucket\(.*exist/.exec(reasons)[0]);

  await client.deleteStack({StackId: id, RegionId: region});
  stack = await settle(id);
  assert.strictEqual(stack.Status, 'DELETE_COMPLETE', stack.StatusReason);
  const {objects} = await store(bucket).list();
  await store(bucket).deleteMulti(objects.map((object) => object.name));
  await store().deleteBucket(bucket);
  assert.deepStrictEqual((await store().listBuckets({'max-keys': 10})).buckets || [], []);
  console.log('destroyed:', stack.StatusReason);
}

if (process.argv[2] === 'app') app(...process.argv.slice(3));
else main().catch((error) => {
  console.error(error);
  process.exit(1);
});
