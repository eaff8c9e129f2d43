"""Does with the SDK alibabacloud_oss_v2 what tools and handlers do for assets: with signature v1 or v4."""

import sys
import datetime

import alibabacloud_oss_v2 as oss
import requests

url, version = sys.argv[1:]
config = oss.config.load_default()
config.credentials_provider = oss.credentials.StaticCredentialsProvider("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
config.region, config.endpoint, config.signature_version = "cn-hangzhou", url, version
config.retry_max_attempts = 1
config.use_path_style = True
client = oss.Client(config)


def fails(code, call, request):
    try:
        call(request)
    except oss.exceptions.OperationError as error:
        error = error.unwrap()
        assert error.code == code, error
        return
    raise AssertionError("no " + code)


client.put_bucket(oss.PutBucketRequest(bucket="second"))
assert client.is_bucket_exist("second") and not client.is_bucket_exist("third")
client.put_object(oss.PutObjectRequest(bucket="second", key="dir/a b.txt", body=b"hello", metadata={"m": "1"}))
got = client.get_object(oss.GetObjectRequest(bucket="second", key="dir/a b.txt"))
assert got.body.content == b"hello" and got.metadata["m"] == "1"
assert client.is_object_exist("second", "dir/a b.txt") and not client.is_object_exist("second", "none")
client.copy_object(oss.CopyObjectRequest(bucket="second", key="copy", source_key="dir/a b.txt"))
pages = client.list_objects_v2_paginator().iter_page(oss.ListObjectsV2Request(bucket="second", max_keys=1))
assert [o.key for page in pages for o in page.contents or []] == ["copy", "dir/a b.txt"]
with open("big2", "wb") as file:
    file.write(b"0123456789abcdef" * (16 << 10))
uploader = client.uploader(part_size=100 << 10, parallel_num=2)
uploader.upload_file(oss.PutObjectRequest(bucket="second", key="big"), "big2")
client.downloader(part_size=100 << 10).download_file(oss.GetObjectRequest(bucket="second", key="big"), "big3")
with open("big3", "rb") as file:
    assert file.read() == b"0123456789abcdef" * (16 << 10)
link = client.presign(oss.GetObjectRequest(bucket="second", key="dir/a b.txt"), expires=datetime.timedelta(minutes=1))
assert requests.get(link.url, headers=link.signed_headers).content == b"hello"
fails("NoSuchKey", client.get_object, oss.GetObjectRequest(bucket="second", key="none"))
fails("BucketNotEmpty", client.delete_bucket, oss.DeleteBucketRequest(bucket="second"))
fails("NotImplemented", client.get_bucket_lifecycle, oss.GetBucketLifecycleRequest(bucket="second"))
keys = [oss.DeleteObject(key=key) for key in ("copy", "dir/a b.txt", "big")]
client.delete_multiple_objects(oss.DeleteMultipleObjectsRequest(bucket="second", objects=keys))
client.delete_bucket(oss.DeleteBucketRequest(bucket="second"))
