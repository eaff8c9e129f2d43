const fs = require('node:fs');
const { DeleteObjectCommand, PutObjectCommand, S3Client } = require('@aws-sdk/client-s3');

const s3 = new S3Client();

// A file is known by its key. One that has none given has one of its own making, for life.
exports.handler = async (event) => {
  const { Bucket, Text, Key } = event.ResourceProperties;
  fs.appendFileSync(process.env.LEDGER, JSON.stringify({ type: event.RequestType, of: event.LogicalResourceId, id: event.PhysicalResourceId, key: Key }) + '\n');
  if (event.RequestType === 'Delete') {
    await s3.send(new DeleteObjectCommand({ Bucket, Key: event.PhysicalResourceId }));
    return {};
  }
  const key = Key ?? event.PhysicalResourceId ?? `${event.LogicalResourceId}-${event.RequestId}.txt`;
  const { ETag } = await s3.send(new PutObjectCommand({ Bucket, Key: key, Body: Text, ContentType: 'text/plain; charset=utf-8' }));
  return { PhysicalResourceId: key, Data: { Key: key, ETag } };
};
