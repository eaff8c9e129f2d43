'use strict';

// Does with ali-oss what tools and handlers do for assets: with signature V1 or V4, and the bucket in the Host header, as it
// writes it for an IP address, or in the path.

const assert = require('node:assert');
const OSS = require('ali-oss');

const [endpoint, version, style] = process.argv.slice(2);
const options = {
  endpoint, region: 'oss-cn-hangzhou', accessKeyId: 'AKIDEXAMPLE', accessKeySecret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  authorizationV4: version === 'v4', sldEnable: style === 'path',
};

async function fails(code, status, promise) {
  await assert.rejects(promise, (error) => {
    assert.strictEqual(error.code, code, error.stack);
    assert.strictEqual(error.status, status);
    return true;
  });
}

async function main() {
  const client = new OSS(options);
  await fails('NoSuchBucket', 404, client.getBucketInfo('third'));
  await client.putBucket('third', {storageClass: 'Standard', acl: 'private', dataRedundancyType: 'LRS'});
  await client.putBucket('third', {storageClass: 'Standard', acl: 'private', dataRedundancyType: 'LRS'});
  assert.strictEqual((await client.getBucketInfo('third')).bucket.Name, 'third');
  assert.deepStrictEqual((await client.listBuckets({'max-keys': 10})).buckets.map((b) => b.name), ['third']);
  client.useBucket('third');
  const put = await client.put('dir/a b+ü.txt', Buffer.from('hello'), {meta: {m: '1'}, headers: {'x-oss-object-acl': 'private'}});
  assert.strictEqual(put.res.status, 200);
  await client.put('file.cjs', __filename);
  await client.putStream('stream', require('node:fs').createReadStream(__filename));
  const got = await client.get('dir/a b+ü.txt');
  assert.strictEqual(got.content.toString(), 'hello');
  assert.strictEqual((await client.head('dir/a b+ü.txt')).meta.m, '1');
  assert.strictEqual((await client.get('dir/a b+ü.txt', {headers: {Range: 'bytes=1-2'}})).content.toString(), 'el');
  await client.copy('copy', 'dir/a b+ü.txt');
  assert.deepStrictEqual((await client.list({'max-keys': 2})).objects.map((o) => o.name), ['copy', 'dir/a b+ü.txt']);
  const page = await client.listV2({prefix: 'dir/', 'max-keys': '10'});
  assert.deepStrictEqual(page.objects.map((o) => o.name), ['dir/a b+ü.txt']);
  const big = Buffer.alloc(300 << 10, 'x');
  await client.multipartUpload('big', big, {partSize: 100 << 10});
  assert.ok((await client.get('big')).content.equals(big));
  if (style === 'path') { // of an IP address, ali-oss makes no URL
    const link = version === 'v4' ? await client.signatureUrlV4('GET', 60, undefined, 'dir/a b+ü.txt')
      : client.signatureUrl('dir/a b+ü.txt', {expires: 60});
    assert.strictEqual(await (await fetch(link)).text(), 'hello', link);
  }
  await fails('NoSuchKey', 404, client.get('none'));
  await fails('NotImplemented', 501, client.getBucketCORS('third'));
  await fails('BucketNotEmpty', 409, client.deleteBucket('third'));
  await client.deleteMulti(['dir/a b+ü.txt', 'file.cjs', 'stream', 'copy']);
  await client.delete('big');
  await client.deleteBucket('third');
  await fails('SignatureDoesNotMatch', 403, new OSS({...options, accessKeySecret: 'wrong'}).getBucketInfo('third'));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
