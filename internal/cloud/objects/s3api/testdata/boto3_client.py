"""Calls the S3 at argv[1] with boto3, and says what is not as S3 has it."""
import base64, hashlib, io, json, sys, urllib.error, urllib.request, zlib
import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError

ACCOUNT = "111111111111"
s3 = boto3.client("s3", endpoint_url=sys.argv[1], config=Config(proxies={}, signature_version="s3v4", s3={"addressing_style": "path"}))
wrong = []


def same(got, want, what):
    if got != want:
        wrong.append(f"{what}: got {got!r}, want {want!r}")


def fails(code, status, call, **args):
    try:
        call(**args)
    except ClientError as e:
        same((e.response["Error"]["Code"], e.response["ResponseMetadata"]["HTTPStatusCode"]), (code, status), f"{call.__name__} {args}")
    else:
        wrong.append(f"{call.__name__} {args}: no {code}")


def fetch(url, method="GET", body=None, headers={}):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, data=body, method=method, headers=headers)) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as e:
        return e.code, e.read()


# Buckets.
s3.create_bucket(Bucket="things", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
fails("BucketAlreadyOwnedByYou", 409, s3.create_bucket, Bucket="things", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
fails("BucketAlreadyExists", 409, s3.create_bucket, Bucket="strange", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
fails("InvalidBucketName", 400, s3.create_bucket, Bucket="127.0.0.1")
s3.create_bucket(Bucket="my.io")
same(s3.get_bucket_location(Bucket="things")["LocationConstraint"], "eu-central-1", "location")
same(s3.head_bucket(Bucket="things")["BucketRegion"], "eu-central-1", "region")
same([b["Name"] for b in s3.list_buckets()["Buckets"]], ["my.io", "things"], "buckets")
same(s3.list_buckets()["Owner"]["ID"], ACCOUNT, "owner of buckets")
s3.create_bucket(Bucket="writers", ObjectOwnership="ObjectWriter")
same(s3.get_bucket_ownership_controls(Bucket="writers")["OwnershipControls"]["Rules"], [{"ObjectOwnership": "ObjectWriter"}], "ownership")
s3.put_object(Bucket="writers", Key="a", ACL="public-read")
fails("AccessControlListNotSupported", 400, s3.put_object, Bucket="things", Key="a", ACL="public-read")
fails("OwnershipControlsNotFoundError", 404, s3.get_bucket_ownership_controls, Bucket="things")
fails("404", 404, s3.head_bucket, Bucket="nothing")
fails("403", 403, s3.head_bucket, Bucket="strange")
fails("AccessDenied", 403, s3.list_objects_v2, Bucket="strange")
fails("AccessDenied", 403, s3.list_objects_v2, Bucket="things", ExpectedBucketOwner="222222222222")
assets = f"cdk-hnb659fds-assets-{ACCOUNT}-eu-west-1"
listed = s3.list_objects_v2(Bucket=assets, Prefix="x.zip", MaxKeys=1, ExpectedBucketOwner=ACCOUNT)
same((listed["KeyCount"], listed["IsTruncated"], listed.get("Contents")), (0, False, None), "an empty list")
same(s3.get_bucket_location(Bucket=assets)["LocationConstraint"], "eu-west-1", "location of assets")
same(s3.get_bucket_encryption(Bucket=assets)["ServerSideEncryptionConfiguration"]["Rules"][0]["ApplyServerSideEncryptionByDefault"],
     {"SSEAlgorithm": "AES256"}, "encryption of assets")

# Objects.
key = "a b/grüße+&%=?#.txt"
body = "Grüße".encode()
put = s3.put_object(Bucket="things", Key=key, Body=body, ContentType="text/plain", CacheControl="no-cache", ContentDisposition="inline",
                    ContentLanguage="de", ContentEncoding="identity", Metadata={"Who": "me"}, ServerSideEncryption="AES256",
                    ChecksumSHA256=base64.b64encode(hashlib.sha256(body).digest()).decode(), Tagging="a=b&c=d%20e")
same(put["ETag"], '"%s"' % hashlib.md5(body).hexdigest(), "etag")
same((put["ServerSideEncryption"], put["ChecksumType"]), ("AES256", "FULL_OBJECT"), "put")
for call in (s3.get_object, s3.head_object):
    got = call(Bucket="things", Key=key, ChecksumMode="ENABLED")
    same({k: got.get(k) for k in ("ContentType", "CacheControl", "ContentDisposition", "ContentLanguage", "ContentEncoding", "Metadata",
                                  "ContentLength", "ETag", "ServerSideEncryption", "TagCount", "ChecksumSHA256", "AcceptRanges")},
         {"ContentType": "text/plain", "CacheControl": "no-cache", "ContentDisposition": "inline", "ContentLanguage": "de",
          "ContentEncoding": "identity", "Metadata": {"who": "me"}, "ContentLength": 7, "ETag": put["ETag"], "ServerSideEncryption": "AES256",
          "TagCount": 2 if call == s3.get_object else got.get("TagCount"),
          "ChecksumSHA256": put["ChecksumSHA256"], "AcceptRanges": "bytes"}, call.__name__)
    same(set(got["ResponseMetadata"]["HTTPHeaders"]) & {"x-amz-content-sha256", "x-amz-date", "access-control-allow-origin", "x-amz-meta-authorization",
                                                        "x-amz-sdk-checksum-algorithm"}, set(), "headers that are told")
same(s3.get_object(Bucket="things", Key=key)["Body"].read(), body, "body")
part = s3.get_object(Bucket="things", Key=key, Range="bytes=2-3")
same((part["Body"].read(), part["ContentRange"], part["ResponseMetadata"]["HTTPStatusCode"]), (body[2:4], "bytes 2-3/7", 206), "range")
same(s3.get_object(Bucket="things", Key=key, Range="bytes=-99")["Body"].read(), body, "a range from the end")
same(s3.head_object(Bucket="things", Key=key, Range="bytes=-99")["ContentLength"], 7, "a range from the end, head")
same(s3.get_object(Bucket="things", Key=key, Range="lines=1-2")["Body"].read(), body, "no range")
fails("InvalidRange", 416, s3.get_object, Bucket="things", Key=key, Range="bytes=7-")
fails("304", 304, s3.get_object, Bucket="things", Key=key, IfNoneMatch=put["ETag"])
fails("PreconditionFailed", 412, s3.get_object, Bucket="things", Key=key, IfMatch='"x"')
fails("304", 304, s3.head_object, Bucket="things", Key=key, IfModifiedSince=got["LastModified"])
same(s3.get_object(Bucket="things", Key=key, IfMatch=put["ETag"], ResponseContentType="text/x")["ContentType"], "text/x", "another type")
fails("PreconditionFailed", 412, s3.put_object, Bucket="things", Key=key, Body=b"", IfNoneMatch="*")
fails("PreconditionFailed", 412, s3.put_object, Bucket="things", Key=key, Body=b"", IfMatch='"x"')
fails("NoSuchKey", 404, s3.put_object, Bucket="things", Key="nothing", Body=b"", IfMatch='"x"')
fails("NoSuchKey", 404, s3.get_object, Bucket="things", Key="nothing")
fails("404", 404, s3.head_object, Bucket="things", Key="nothing")
fails("NoSuchBucket", 404, s3.get_object, Bucket="nothing", Key="a")
fails("NoSuchBucket", 404, s3.put_object, Bucket="nothing", Key="a", Body=b"x")
fails("NoSuchVersion", 404, s3.get_object, Bucket="things", Key=key, VersionId="abc")
same(s3.get_object(Bucket="things", Key=key, VersionId="null")["Body"].read(), body, "the version null")
fails("BadDigest", 400, s3.put_object, Bucket="things", Key="bad", Body=body, ContentMD5=base64.b64encode(b"0" * 16).decode())
fails("BadDigest", 400, s3.put_object, Bucket="things", Key="bad", Body=body, ChecksumCRC32="AAAAAA==")
fails("InvalidRequest", 400, s3.put_object, Bucket="things", Key="bad", Body=body, ChecksumSHA1="AAAAAA==")
fails("MetadataTooLarge", 400, s3.put_object, Bucket="things", Key="bad", Body=body, Metadata={"a": "x" * 2048})
fails("KeyTooLongError", 400, s3.put_object, Bucket="things", Key="k" * 1025, Body=body)
fails("404", 404, s3.head_object, Bucket="things", Key="bad")
for algorithm in ("CRC32", "SHA1", "SHA256"):
    s3.put_object(Bucket="things", Key="sum", Body=io.BytesIO(body), ChecksumAlgorithm=algorithm)
    same(("Checksum" + algorithm) in s3.get_object(Bucket="things", Key="sum", ChecksumMode="ENABLED"), True, algorithm)
s3.delete_object(Bucket="things", Key="sum")
s3.put_object(Bucket="things", Key="empty")
same(s3.get_object(Bucket="things", Key="empty")["Body"].read(), b"", "an empty object")

# Tags of objects.
same(s3.get_object_tagging(Bucket="things", Key=key)["TagSet"], [{"Key": "a", "Value": "b"}, {"Key": "c", "Value": "d e"}], "tags")
s3.put_object_tagging(Bucket="things", Key=key, Tagging={"TagSet": [{"Key": "x", "Value": "y"}]})
same(s3.get_object_tagging(Bucket="things", Key=key)["TagSet"], [{"Key": "x", "Value": "y"}], "other tags")
s3.delete_object_tagging(Bucket="things", Key=key)
same(s3.get_object_tagging(Bucket="things", Key=key)["TagSet"], [], "no tags")

# Copies.
copied = s3.copy_object(Bucket="things", Key="copy", CopySource={"Bucket": "things", "Key": key})
same(copied["CopyObjectResult"]["ETag"], put["ETag"], "etag of a copy")
same(s3.head_object(Bucket="things", Key="copy")["Metadata"], {"who": "me"}, "metadata of a copy")
s3.copy_object(Bucket="things", Key="copy", CopySource={"Bucket": "things", "Key": "copy"}, MetadataDirective="REPLACE", ContentType="text/y", Metadata={"b": "c"})
got = s3.head_object(Bucket="things", Key="copy")
same((got["Metadata"], got["ContentType"], got.get("CacheControl")), ({"b": "c"}, "text/y", None), "replaced metadata")
fails("InvalidRequest", 400, s3.copy_object, Bucket="things", Key="copy", CopySource={"Bucket": "things", "Key": "copy"})
fails("AccessDenied", 403, s3.copy_object, Bucket="things", Key="copy", CopySource={"Bucket": "strange", "Key": "a"})
fails("InvalidRequest", 400, s3.copy_object, Bucket="things", Key="copy", CopySource={"Bucket": "things", "Key": key}, ChecksumAlgorithm="XXHASH64")
fails("NoSuchKey", 404, s3.copy_object, Bucket="things", Key="copy", CopySource={"Bucket": "things", "Key": "nothing"})
fails("PreconditionFailed", 412, s3.copy_object, Bucket="things", Key="copy", CopySource={"Bucket": "things", "Key": key}, CopySourceIfNoneMatch=put["ETag"])
s3.delete_object(Bucket="things", Key="copy")
s3.delete_object(Bucket="things", Key="empty")

# Lists.
for name in ("l/1", "l/2", "l/a/1", "l/a/2", "l/b", "l/ü&<"):
    s3.put_object(Bucket="things", Key=name, Body=name.encode())
pages = list(s3.get_paginator("list_objects_v2").paginate(Bucket="things", Prefix="l/", Delimiter="/", PaginationConfig={"PageSize": 2}))
same([c["Key"] for p in pages for c in p.get("Contents", [])], ["l/1", "l/2", "l/b", "l/ü&<"], "keys")
same([c["Prefix"] for p in pages for c in p.get("CommonPrefixes", [])], ["l/a/"], "prefixes")
pages = list(s3.get_paginator("list_objects").paginate(Bucket="things", Prefix="l/", PaginationConfig={"PageSize": 4}))
same([c["Key"] for p in pages for c in p.get("Contents", [])], ["l/1", "l/2", "l/a/1", "l/a/2", "l/b", "l/ü&<"], "keys of version 1")
pages = list(s3.get_paginator("list_object_versions").paginate(Bucket="things", Prefix="l/", PaginationConfig={"PageSize": 4}))
same([(v["Key"], v["VersionId"], v["IsLatest"]) for p in pages for v in p.get("Versions", [])],
     [(k, "null", True) for k in ("l/1", "l/2", "l/a/1", "l/a/2", "l/b", "l/ü&<")], "versions")
pages = list(s3.get_paginator("list_objects").paginate(Bucket="things", Prefix="l/", Delimiter="/", PaginationConfig={"PageSize": 1}))
same([c["Prefix"] for p in pages for c in p.get("CommonPrefixes", [])], ["l/a/"], "prefixes of version 1")
same([c["Key"] for p in pages for c in p.get("Contents", [])], ["l/1", "l/2", "l/b", "l/ü&<"], "keys next to prefixes of version 1")
status, text = fetch(s3.generate_presigned_url("list_objects", {"Bucket": "things", "Prefix": "l/ü", "EncodingType": "url"}))
same((status, b"<Key>l/%C3%BC%26%3C</Key>" in text, b"<EncodingType>url</EncodingType>" in text), (200, True, True), "encoded keys")
same(s3.list_objects_v2(Bucket="things", StartAfter="l/a/2", FetchOwner=True)["Contents"][0]["Owner"]["ID"], ACCOUNT, "owner")
fails("InvalidArgument", 400, s3.list_objects_v2, Bucket="things", ContinuationToken="!")
deleted = s3.delete_objects(Bucket="things", Delete={"Objects": [{"Key": "l/1"}, {"Key": "l/nothing"}, {"Key": "l/2", "VersionId": "null"}, {"Key": "l/b", "VersionId": "abc"}]})
same([d["Key"] for d in deleted["Deleted"]], ["l/1", "l/nothing", "l/2"], "deleted")
same([(e["Key"], e["Code"]) for e in deleted["Errors"]], [("l/b", "NoSuchVersion")], "not deleted")
same(s3.delete_objects(Bucket="things", Delete={"Quiet": True, "Objects": [{"Key": "l/b"}]}).get("Deleted"), None, "deleted quietly")
fails("MalformedXML", 400, s3.delete_objects, Bucket="things", Delete={"Objects": []})
tag = s3.put_object(Bucket="things", Key="l/tagged", Body=b"new")["ETag"]
deleted = s3.delete_objects(Bucket="things", Delete={"Objects": [{"Key": "l/tagged", "ETag": '"old"'}]})
same(([d["Key"] for d in deleted.get("Deleted", [])], [e["Code"] for e in deleted["Errors"]]), ([], ["PreconditionFailed"]), "another entity tag")
deleted = s3.delete_objects(Bucket="things", Delete={"Objects": [{"Key": "l/tagged", "ETag": tag}]})
same([d["Key"] for d in deleted["Deleted"]], ["l/tagged"], "the entity tag")

# Settings.
fails("NoSuchBucketPolicy", 404, s3.get_bucket_policy, Bucket="things")
policy = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject", "Resource": "arn:aws:s3:::things/*"}]})
s3.put_bucket_policy(Bucket="things", Policy=policy)
same(s3.get_bucket_policy(Bucket="things")["Policy"], policy, "policy")
fails("MalformedPolicy", 400, s3.put_bucket_policy, Bucket="things", Policy="[]")
s3.delete_bucket_policy(Bucket="things")
fails("NoSuchBucketPolicy", 404, s3.get_bucket_policy, Bucket="things")
fails("NoSuchTagSet", 404, s3.get_bucket_tagging, Bucket="things")
s3.put_bucket_tagging(Bucket="things", Tagging={"TagSet": [{"Key": "aws-cdk:auto-delete-objects", "Value": "true"}]})
same(s3.get_bucket_tagging(Bucket="things")["TagSet"], [{"Key": "aws-cdk:auto-delete-objects", "Value": "true"}], "tags of a bucket")
s3.delete_bucket_tagging(Bucket="things")
fails("NoSuchTagSet", 404, s3.get_bucket_tagging, Bucket="things")
same(s3.get_bucket_versioning(Bucket="things").get("Status", ""), "", "versioning")
s3.put_bucket_versioning(Bucket="things", VersioningConfiguration={"Status": "Enabled"})
same(s3.get_bucket_versioning(Bucket="things")["Status"], "Enabled", "versioning, enabled")
fails("NoSuchPublicAccessBlockConfiguration", 404, s3.get_public_access_block, Bucket="things")
block = {"BlockPublicAcls": True, "IgnorePublicAcls": True, "BlockPublicPolicy": True, "RestrictPublicBuckets": True}
s3.put_public_access_block(Bucket="things", PublicAccessBlockConfiguration=block)
same(s3.get_public_access_block(Bucket="things")["PublicAccessBlockConfiguration"], block, "public access block")
same({k: v for k, v in s3.get_bucket_notification_configuration(Bucket="things").items() if k != "ResponseMetadata"}, {}, "notifications")
notification = {"LambdaFunctionConfigurations": [{"Id": "x", "LambdaFunctionArn": f"arn:aws:lambda:eu-west-1:{ACCOUNT}:function:f", "Events": ["s3:ObjectCreated:*"]}]}
s3.put_bucket_notification_configuration(Bucket="things", NotificationConfiguration=notification, SkipDestinationValidation=True)
same(s3.get_bucket_notification_configuration(Bucket="things")["LambdaFunctionConfigurations"], notification["LambdaFunctionConfigurations"], "notifications, set")
s3.put_bucket_encryption(Bucket="things", ServerSideEncryptionConfiguration={"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}}]})
same(s3.get_bucket_encryption(Bucket="things")["ServerSideEncryptionConfiguration"]["Rules"][0]["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"], "aws:kms", "encryption")
fails("NoSuchLifecycleConfiguration", 404, s3.get_bucket_lifecycle_configuration, Bucket="things")
fails("NotImplemented", 501, s3.get_bucket_replication, Bucket="things")
fails("NotImplemented", 501, s3.get_object_attributes, Bucket="things", Key=key, ObjectAttributes=["ETag"])

# In parts.
big = bytes(range(256)) * (6 << 12)  # 6 MiB
for extra in ({}, {"ChecksumAlgorithm": "SHA256"}, {"ChecksumAlgorithm": "CRC32", "ChecksumType": "FULL_OBJECT"}):
    s3.upload_fileobj(io.BytesIO(big * 2), "things", "big", ExtraArgs={"ContentType": "text/z", **({"ChecksumAlgorithm": extra["ChecksumAlgorithm"]} if extra else {})},
                      Config=TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20))
    got = s3.get_object(Bucket="things", Key="big", ChecksumMode="ENABLED")
    same((hashlib.md5(got["Body"].read()).hexdigest(), got["ETag"][-3:], got["ContentType"]), (hashlib.md5(big * 2).hexdigest(), '-3"', "text/z"), f"big {extra}")
upload = s3.create_multipart_upload(Bucket="things", Key="big", ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT", Metadata={"a": "b"})
same((upload["ChecksumAlgorithm"], upload["ChecksumType"]), ("CRC32", "FULL_OBJECT"), "upload")
identity = {"Bucket": "things", "Key": "big", "UploadId": upload["UploadId"]}
parts = []
for number, data in ((1, big), (2, b"end")):
    answer = s3.upload_part(PartNumber=number, Body=data, **identity)
    parts.append({"PartNumber": number, "ETag": answer["ETag"], "ChecksumCRC32": answer["ChecksumCRC32"]})
part = s3.upload_part_copy(PartNumber=3, CopySource={"Bucket": "things", "Key": key}, CopySourceRange="bytes=0-1", **identity)
same([(p["PartNumber"], p["Size"]) for p in s3.list_parts(**identity)["Parts"]], [(1, 6 << 20), (2, 3), (3, 2)], "parts")
same([u["Key"] for u in s3.list_multipart_uploads(Bucket="things")["Uploads"]], ["big"], "uploads")
fails("InvalidPartOrder", 400, s3.complete_multipart_upload, MultipartUpload={"Parts": parts[::-1]}, **identity)
fails("InvalidPart", 400, s3.complete_multipart_upload, MultipartUpload={"Parts": [{**parts[0], "ETag": "x"}]}, **identity)
fails("EntityTooSmall", 400, s3.complete_multipart_upload, MultipartUpload={"Parts": [parts[1], {"PartNumber": 3, "ETag": part["CopyPartResult"]["ETag"]}]}, **identity)
whole = base64.b64encode(zlib.crc32(big + b"end").to_bytes(4, "big")).decode()
fails("BadDigest", 400, s3.complete_multipart_upload, MultipartUpload={"Parts": parts}, ChecksumCRC32="AAAAAA==", ChecksumType="FULL_OBJECT", **identity)
done = s3.complete_multipart_upload(MultipartUpload={"Parts": parts}, ChecksumCRC32=whole, ChecksumType="FULL_OBJECT", MpuObjectSize=len(big) + 3, **identity)
etag = '"%s-2"' % hashlib.md5(hashlib.md5(big).digest() + hashlib.md5(b"end").digest()).hexdigest()
got = s3.head_object(Bucket="things", Key="big", ChecksumMode="ENABLED")
same((done["ETag"], got["ETag"], got["ContentLength"], got["Metadata"], got["ChecksumCRC32"]), (etag, etag, len(big) + 3, {"a": "b"}, whole), "completed")
fails("NoSuchUpload", 404, s3.upload_part, PartNumber=1, Body=b"x", **identity)
uploads = [s3.create_multipart_upload(Bucket="things", Key=k) for k in ("u/1", "u/a/1", "u/a/2", "u/b ü", "u/b ü")]
for number in (1, 2, 3):
    s3.upload_part(Bucket="things", Key="u/1", UploadId=uploads[0]["UploadId"], PartNumber=number, Body=b"part")
pages = list(s3.get_paginator("list_parts").paginate(Bucket="things", Key="u/1", UploadId=uploads[0]["UploadId"], PaginationConfig={"PageSize": 2}))
same([[p["PartNumber"] for p in page["Parts"]] for page in pages], [[1, 2], [3]], "pages of parts")
pages = list(s3.get_paginator("list_multipart_uploads").paginate(Bucket="things", Prefix="u/", PaginationConfig={"PageSize": 2}))
same([(u["Key"], u["UploadId"]) for page in pages for u in page["Uploads"]], sorted((u["Key"], u["UploadId"]) for u in uploads[:3]) + [
     (u["Key"], u["UploadId"]) for page in pages for u in page["Uploads"] if u["Key"] == "u/b ü"], "pages of uploads")
same(len({u["UploadId"] for page in pages for u in page["Uploads"]}), 5, "all uploads")
pages = list(s3.get_paginator("list_multipart_uploads").paginate(Bucket="things", Prefix="u/", Delimiter="/", PaginationConfig={"PageSize": 1}))
same([c["Prefix"] for page in pages for c in page.get("CommonPrefixes", [])], ["u/a/"], "prefixes of uploads")
same(len([u for page in pages for u in page.get("Uploads", [])]), 3, "uploads with a delimiter")
marker = {}
while uploads:  # as tools clean up: a page of one, which is aborted before the next is asked for
    page = s3.list_multipart_uploads(Bucket="things", Prefix="u/", MaxUploads=1, **marker)
    if not page.get("Uploads"):
        break
    s3.abort_multipart_upload(Bucket="things", Key=page["Uploads"][0]["Key"], UploadId=page["Uploads"][0]["UploadId"])
    if not page["IsTruncated"]:
        break
    marker = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}
same(s3.list_multipart_uploads(Bucket="things", Prefix="u/").get("Uploads"), None, "uploads that were aborted page by page")
fails("InvalidArgument", 400, s3.list_parts, PartNumberMarker=-1, **identity)
fails("IllegalVersioningConfigurationException", 400, s3.put_bucket_versioning, Bucket="things", VersioningConfiguration={"Status": "On"})
upload = s3.create_multipart_upload(Bucket="things", Key="big")
s3.abort_multipart_upload(Bucket="things", Key="big", UploadId=upload["UploadId"])
fails("NoSuchUpload", 404, s3.abort_multipart_upload, Bucket="things", Key="big", UploadId=upload["UploadId"])
same(s3.list_multipart_uploads(Bucket="things").get("Uploads"), None, "no uploads")

# Presigned URLs.
url = s3.generate_presigned_url("get_object", {"Bucket": "things", "Key": key})
same(fetch(url), (200, body), "a presigned GET")
same(fetch(url.replace("gr", "xx"))[0], 403, "a presigned GET of another key")
same(fetch(url, "DELETE")[0], 403, "a presigned GET that deletes")
url = s3.generate_presigned_url("put_object", {"Bucket": "things", "Key": "presigned", "ContentType": "text/p"})
same(fetch(url, "PUT", b"text", {"Content-Type": "text/p"})[0], 200, "a presigned PUT")
same(fetch(url, "PUT", b"text", {"Content-Type": "text/p", "x-amz-meta-a": "b"})[0], 403, "a presigned PUT with more headers")
same(fetch(url, "PUT", b"text", {"Content-Type": "text/q"})[0], 403, "a presigned PUT of another type")
got = s3.get_object(Bucket="things", Key="presigned")
same((got["Body"].read(), got["ContentType"]), (b"text", "text/p"), "what was put by a presigned URL")

# The end.
fails("BucketNotEmpty", 409, s3.delete_bucket, Bucket="things")
resource = boto3.resource("s3", endpoint_url=sys.argv[1], config=Config(proxies={}, s3={"addressing_style": "path"}))
resource.Bucket("things").object_versions.delete()
s3.delete_bucket(Bucket="things")
fails("NoSuchBucket", 404, s3.delete_bucket, Bucket="things")

if wrong:
    sys.exit("\n".join(wrong))
