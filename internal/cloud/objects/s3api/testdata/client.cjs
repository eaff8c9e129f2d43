// Calls the S3 of AWS_ENDPOINT_URL_S3 with the SDK that the handlers of the CDK have.
const assert = require('node:assert');
const { Readable } = require('node:stream');
const { S3Client, ...commands } = require('@aws-sdk/client-s3');

const endpoint = process.env.AWS_ENDPOINT_URL_S3;

async function text(body) {
  return Buffer.from(await body.transformToByteArray()).toString();
}

async function fails(name, promise) {
  await assert.rejects(promise, (error) => {
    assert.equal(error.name, name);
    return true;
  });
}

async function main(client) {
  const send = (name, input) => client.send(new commands[`${name}Command`](input));
  const Bucket = 'handlers';
  await send('CreateBucket', { Bucket });
  await send('PutObject', { Bucket, Key: 'text', Body: 'Grüße' });
  // A stream has its checksum behind it.
  await send('PutObject', { Bucket, Key: 'ü/stream', Body: Readable.from([Buffer.alloc(70000, 'a'), Buffer.from('end')]), ContentLength: 70003 });
  const got = await send('GetObject', { Bucket, Key: 'ü/stream', ChecksumMode: 'ENABLED' });
  assert.ok(got.ChecksumCRC32);
  assert.equal(await text(got.Body), 'a'.repeat(70000) + 'end');
  assert.equal(got.ContentEncoding, undefined);
  assert.equal(await text((await send('GetObject', { Bucket, Key: 'text' })).Body), 'Grüße');
  await fails('NoSuchKey', send('GetObject', { Bucket, Key: 'nothing' }));
  await fails('NotFound', send('HeadObject', { Bucket, Key: 'nothing' }));
  await fails('NoSuchBucket', send('ListObjectsV2', { Bucket: 'nothing' }));

  // What the handlers of autoDeleteObjects and of notifications do.
  await send('PutBucketTagging', { Bucket, Tagging: { TagSet: [{ Key: 'aws-cdk:auto-delete-objects', Value: 'true' }] } });
  assert.equal((await send('GetBucketTagging', { Bucket })).TagSet[0].Value, 'true');
  await fails('NoSuchBucketPolicy', send('GetBucketPolicy', { Bucket }));
  await send('PutBucketPolicy', { Bucket, Policy: JSON.stringify({ Version: '2012-10-17', Statement: [] }) });
  assert.deepEqual(JSON.parse((await send('GetBucketPolicy', { Bucket })).Policy).Statement, []);
  await send('PutBucketNotificationConfiguration', { Bucket, NotificationConfiguration: { EventBridgeConfiguration: {} } });
  const versions = await send('ListObjectVersions', { Bucket });
  const contents = [...versions.Versions ?? [], ...versions.DeleteMarkers ?? []];
  assert.deepEqual(contents.map((o) => [o.Key, o.VersionId]), [['text', 'null'], ['ü/stream', 'null']]);
  await send('DeleteObjects', { Bucket, Delete: { Objects: contents.map((o) => ({ Key: o.Key, VersionId: o.VersionId })) } });
  const empty = await send('ListObjectsV2', { Bucket });
  assert.equal(empty.KeyCount, 0);
  assert.equal(empty.Contents, undefined);
  await send('DeleteBucket', { Bucket });
}

main(new S3Client({ endpoint, forcePathStyle: true, maxAttempts: 1 })).catch((error) => {
  console.error(error);
  process.exit(1);
});
