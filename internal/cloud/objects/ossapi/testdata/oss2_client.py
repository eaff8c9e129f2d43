"""Does with the SDK oss2 what tools and handlers do for assets: with signature v1 or v4."""

import base64
import hashlib
import io
import os
import sys

import oss2
import requests

url, version = sys.argv[1:]
key, secret = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
token = sys.argv[3] if len(sys.argv) > 3 else ""


def auth(secret=secret, key=key):
    return oss2.make_auth(key, secret, version)


def bucket(name, auth=auth(), **more):
    return oss2.Bucket(auth, url, name, region="cn-hangzhou", **more)


def fails(kind, status, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind as error:
        assert error.status == status, (kind, error.status)
        return error
    raise AssertionError("no %s" % kind)


fails(oss2.exceptions.NoSuchBucket, 404, bucket("assets").get_bucket_info)
b = bucket("assets")
config = oss2.models.BucketCreateConfig(oss2.BUCKET_STORAGE_CLASS_IA, oss2.BUCKET_DATA_REDUNDANCY_TYPE_ZRS)
assert b.create_bucket(oss2.BUCKET_ACL_PRIVATE, config).status == 200
assert b.create_bucket().status == 200, "clients put a bucket of theirs again"
info = b.get_bucket_info()
assert (info.name, info.storage_class, info.acl.grant, info.location) == ("assets", "IA", "private", "oss-cn-hangzhou")
assert info.data_redundancy_type == "ZRS" and info.extranet_endpoint == "oss-cn-hangzhou.aliyuncs.com"
assert b.get_bucket_location().location == "oss-cn-hangzhou"
assert [one.name for one in oss2.BucketIterator(oss2.Service(auth(), url, region="cn-hangzhou"))] == ["assets"]
fails(oss2.exceptions.ServerError, 409, bucket("strange").create_bucket)
fails(oss2.exceptions.AccessDenied, 403, bucket("strange").get_bucket_info)
fails(oss2.exceptions.SignatureDoesNotMatch, 403, bucket("assets", auth("wrong")).get_bucket_info)
error = fails(oss2.exceptions.ServerError, 403, bucket("assets", auth(key="AKIDNONE")).get_bucket_info)
assert error.code == "InvalidAccessKeyId" and error.request_id and error.details["HostId"], error
fails(oss2.exceptions.AccessDenied, 403, bucket("assets", oss2.AnonymousAuth()).get_object, "a")

# Objects, of odd names too. The SDK compares CRC-64 of what it sends and gets.
names = ["a.txt", "dir/b c+d.txt", "dir/größe?.txt", "dir/sub/%41.txt", "e&f=g.txt"]
for name in names:
    result = b.put_object(name, name.encode() * 10, headers={"x-oss-meta-Name": "n", "Content-Type": "text/plain"})
    assert result.etag == hashlib.md5(name.encode() * 10).hexdigest().upper(), result.etag
    got = b.get_object(name)
    assert got.read() == name.encode() * 10 and got.server_crc == got.client_crc, name
    assert got.content_type == "text/plain" and got.headers["x-oss-meta-name"] == "n"
head = b.head_object("a.txt")
assert (head.content_length, head.object_type) == (50, "Normal") and b.object_exists("a.txt") and not b.object_exists("none")
assert b.get_object_meta("a.txt").content_length == 50
assert b.get_object("a.txt", byte_range=(1, 3)).read() == b".tx"
assert b.get_object("a.txt", byte_range=(None, 2)).read() == b"xt"
assert len(b.get_object("a.txt", byte_range=(100, 200)).read()) == 50, "a range that is not satisfiable is ignored"
strict = {"x-oss-range-behavior": "standard"}
fails(oss2.exceptions.ServerError, 416, b.get_object, "a.txt", byte_range=(100, 200), headers=strict)
fails(oss2.exceptions.NotModified, 304, b.get_object, "a.txt", headers={"If-None-Match": head.headers["ETag"]})
fails(oss2.exceptions.PreconditionFailed, 412, b.get_object, "a.txt", headers={"If-Match": '"0"'})
assert b.get_object("a.txt", params={"response-content-type": "x/y"}).content_type == "x/y"
fails(oss2.exceptions.NoSuchKey, 404, b.get_object, "none")
fails(oss2.exceptions.NotFound, 404, b.head_object, "none")
wrong = base64.b64encode(hashlib.md5(b"other").digest()).decode()
fails(oss2.exceptions.ServerError, 400, b.put_object, "none", b"x", headers={"Content-MD5": wrong})
assert not b.object_exists("none")
error = fails(oss2.exceptions.ServerError, 409, b.put_object, "a.txt", b"x", headers={"x-oss-forbid-overwrite": "true"})
assert error.code == "FileAlreadyExists"
b.put_object("stream", io.BytesIO(b"s" * 100000))
b.put_object("iterator", (chunk for chunk in [b"1", b"2"]))
assert b.get_object("iterator").read() == b"12"

# Lists.
assert sorted(o.key for o in oss2.ObjectIterator(b, max_keys=2)) == sorted([*names, "stream", "iterator"])
assert sorted(o.key for o in oss2.ObjectIteratorV2(b, max_keys=2)) == sorted([*names, "stream", "iterator"])
page = b.list_objects(prefix="dir/", delimiter="/")
assert page.prefix_list == ["dir/sub/"] and [o.key for o in page.object_list] == names[1:3], page.object_list
assert page.object_list[0].size == 130 and page.object_list[0].type == "Normal" and page.object_list[0].last_modified

# Copies.
assert b.copy_object("assets", "dir/b c+d.txt", "copy").status == 200
assert b.get_object("copy").read() == names[1].encode() * 10 and b.head_object("copy").headers["x-oss-meta-name"] == "n"
replace = {"x-oss-metadata-directive": "REPLACE", "x-oss-meta-other": "o"}
b.copy_object("assets", "a.txt", "a.txt", headers=replace)
assert b.head_object("a.txt").headers["x-oss-meta-other"] == "o"
fails(oss2.exceptions.NoSuchKey, 404, b.copy_object, "assets", "none", "copy")
fails(oss2.exceptions.AccessDenied, 403, b.copy_object, "strange", "a", "copy")

# Uploads in parts of 100 KiB, which S3 does not take.
data = os.urandom(250 << 10)
with open("big", "wb") as file:
    file.write(data)
oss2.resumable_upload(b, "big", "big", multipart_threshold=1, part_size=100 << 10, num_threads=2)
assert b.get_object("big").read() == data and b.head_object("big").object_type == "Multipart"
upload = b.init_multipart_upload("parts").upload_id
part = b.upload_part("parts", upload, 1, data[: 100 << 10])
copied = b.upload_part_copy("assets", "big", ((100 << 10), len(data) - 1), "parts", upload, 2)
assert [p.part_number for p in b.list_parts("parts", upload).parts] == [1, 2]
assert [(u.key, u.upload_id) for u in b.list_multipart_uploads().upload_list] == [("parts", upload)]
parts = [oss2.models.PartInfo(1, part.etag), oss2.models.PartInfo(2, copied.etag)]
b.complete_multipart_upload("parts", upload, parts)
assert b.get_object("parts").read() == data
upload = b.init_multipart_upload("parts").upload_id
small = [oss2.models.PartInfo(n, b.upload_part("parts", upload, n, b"x").etag) for n in (1, 2)]
error = fails(oss2.exceptions.ServerError, 400, b.complete_multipart_upload, "parts", upload, small)
assert error.code == "EntityTooSmall"
b.abort_multipart_upload("parts", upload)
fails(oss2.exceptions.NoSuchUpload, 404, b.list_parts, "parts", upload)

# Appends.
first = b.append_object("log", 0, b"one")
second = b.append_object("log", first.next_position, b"two", init_crc=first.crc)
assert second.next_position == 6 and b.get_object("log").read() == b"onetwo"
fails(oss2.exceptions.PositionNotEqualToLength, 409, b.append_object, "log", 0, b"x")
fails(oss2.exceptions.ObjectNotAppendable, 409, b.append_object, "a.txt", 50, b"x")

# Settings.
b.put_bucket_acl(oss2.BUCKET_ACL_PUBLIC_READ)
assert b.get_bucket_acl().acl == "public-read" and b.get_object_acl("a.txt").acl == "default"
tags = oss2.models.Tagging(oss2.models.TaggingRule())
tags.tag_set.add("k", "v")
b.put_bucket_tagging(tags)
assert b.get_bucket_tagging().tag_set.tagging_rule == {"k": "v"}
b.put_object_tagging("a.txt", tags)
assert b.get_object_tagging("a.txt").tag_set.tagging_rule == {"k": "v"}
assert b.get_bucket_versioning().status is None
error = fails(oss2.exceptions.ServerError, 501, b.get_bucket_lifecycle)
assert error.code == "NotImplemented" and "?lifecycle" in error.message, error

# Signed URLs, which are checked and end.
link = b.sign_url("GET", "dir/b c+d.txt", 60)
assert requests.get(link).content == names[1].encode() * 10
assert requests.get(link.replace("dir", "dir2", 1)).status_code == 403
assert requests.put(link, data=b"x").status_code == 403
assert requests.put(b.sign_url("PUT", "put by URL", 60), data=b"by URL").status_code == 200
assert b.get_object("put by URL").read() == b"by URL"
assert requests.get(b.sign_url("GET", "a.txt", -10)).status_code in (400, 403)

# Names that are refused.
fails(oss2.exceptions.ServerError, 400, b.put_object, "/leading", b"x")
error = fails(oss2.exceptions.ServerError, 409, b.delete_bucket)
assert error.code == "BucketNotEmpty", error
result = b.batch_delete_objects([o.key for o in oss2.ObjectIterator(b)])
assert "dir/größe?.txt" in result.deleted_keys, result.deleted_keys
b.delete_object("none")
b.delete_bucket()
fails(oss2.exceptions.NoSuchBucket, 404, b.delete_bucket)
