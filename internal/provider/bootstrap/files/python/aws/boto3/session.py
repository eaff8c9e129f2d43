"""Sessions and clients of the built-in boto3."""

import base64
import datetime
import decimal
import http.client
import io
import json
import os
import time

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError, WaiterError

# TOKENS maps a pagination token of an output to the parameter of the next call that takes it. An output may have several tokens. The
# next call then needs all of them.
TOKENS = {
    "NextToken": "NextToken", "nextToken": "nextToken", "NextContinuationToken": "ContinuationToken", "NextMarker": "Marker",
    "NextKeyMarker": "KeyMarker", "NextVersionIdMarker": "VersionIdMarker", "NextUploadIdMarker": "UploadIdMarker",
    "LastEvaluatedKey": "ExclusiveStartKey", "LastEvaluatedTableName": "ExclusiveStartTableName",
    "NextRecordName": "StartRecordName", "NextRecordType": "StartRecordType", "NextRecordIdentifier": "StartRecordIdentifier",
    "NextDNSName": "DNSName", "NextHostedZoneId": "HostedZoneId", "position": "position",
}
MARKERS = ("Marker", "marker")  # tokens with the same name in input and output; they count only in a truncated output

# WAITERS holds, for each waiter, the method that it polls, a function that reports success, the error codes that mean "not yet", the
# seconds between two attempts, and the number of attempts. Source: botocore.
WAITERS = {
    "bucket_exists": ("head_bucket", lambda o: True, ("404", "NoSuchBucket"), 5, 20),
    "function_active": ("get_function_configuration", lambda o: o.get("State") == "Active", (), 5, 60),
    "function_active_v2": ("get_function", lambda o: o["Configuration"].get("State") == "Active", (), 1, 300),
    "function_updated": ("get_function_configuration", lambda o: o.get("LastUpdateStatus") == "Successful", (), 5, 60),
    "function_updated_v2": ("get_function", lambda o: o["Configuration"].get("LastUpdateStatus") == "Successful", (), 1, 300),
    "invalidation_completed": ("get_invalidation", lambda o: o["Invalidation"]["Status"] == "Completed", (), 20, 30),
    "object_exists": ("head_object", lambda o: True, ("404", "NoSuchKey"), 5, 20),
    "resource_record_sets_changed": ("get_change", lambda o: o["ChangeInfo"]["Status"] == "INSYNC", (), 30, 60),
    "table_exists": ("describe_table", lambda o: o["Table"]["TableStatus"] == "ACTIVE", ("ResourceNotFoundException",), 20, 25),
}


def unknown(name):
    return NotImplementedError("Pintle's built-in boto3 has no %s: install the package, e.g. python3 -m pip install boto3" % name)


class StreamingBody(io.BytesIO):
    """The body of a response."""

    def iter_lines(self, chunk_size=1024, keepends=False):
        yield from self.getvalue()[self.tell():].splitlines(keepends)

    def iter_chunks(self, chunk_size=1024):
        while True:
            chunk = self.read(chunk_size)
            if not chunk:
                return
            yield chunk


def encoded(value):
    """Returns an input value in a form that JSON can carry."""
    if hasattr(value, "read"):
        value = value.read()
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$bytes": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, (datetime.datetime, datetime.date)):
        if isinstance(value, datetime.datetime) and value.tzinfo is None:
            value = value.astimezone()
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError("a parameter cannot be of type %s" % type(value).__name__)


def decoded(found):
    """Restores bytes, streams and dates in an output."""
    if "$bytes" in found:
        data = base64.b64decode(found["$bytes"])
        return StreamingBody(data) if found.get("payload") else data
    if "$stream" in found:
        return StreamingBody(base64.b64decode(found["$stream"]))
    if "$time" in found:
        return datetime.datetime.fromtimestamp(found["$time"] / 1000, datetime.timezone.utc)
    return found


class Exceptions:
    """The exception classes of a client, by error code."""

    ClientError = ClientError

    def __init__(self):
        self._made = {}

    def from_code(self, code):
        if code not in self._made:
            self._made[code] = type(code, (ClientError,), {})
        return self._made[code]

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.from_code(name)


class Meta:
    def __init__(self, service, region, endpoint):
        self.region_name, self.endpoint_url, self.service_name = region, endpoint, service


class Client:
    """A client of one service with a method for each action."""

    def __init__(self, service, region, endpoint, keys):
        self.exceptions = Exceptions()
        self.meta = Meta(service, region, endpoint)
        self._keys = keys

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        def call(**params):
            return self._call(name, params)

        call.__name__ = name
        return call

    def _call(self, method, params):
        endpoints = {name: value for name, value in os.environ.items() if name.startswith("AWS_ENDPOINT_URL")}
        if os.environ.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() == "true":
            endpoints = {}
        if self.meta.endpoint_url:
            endpoints = {"AWS_ENDPOINT_URL": self.meta.endpoint_url}
        call = {
            "service": self.meta.service_name, "action": method.replace("_", ""), "region": self.meta.region_name,
            "endpoints": endpoints, "credentials": self._keys, "input": params,
        }
        told = self._post(json.dumps(call, default=encoded))
        error = told.get("error")
        if error is None:
            output = told.get("output") or {}
            output["ResponseMetadata"] = {"RequestId": "", "HTTPStatusCode": 200, "HTTPHeaders": {}, "RetryAttempts": 0}
            return output
        if not error["status"]:
            raise BotoCoreError(error["message"])
        metadata = {"RequestId": error["requestId"], "HTTPStatusCode": error["status"], "HTTPHeaders": {}, "RetryAttempts": 0}
        code = "404" if error["code"] == "NotFound" and method.startswith("head_") else error["code"]
        response = {"Error": {"Code": code, "Message": error["message"]}, "ResponseMetadata": metadata}
        raise self.exceptions.from_code(code)(response, error["action"])

    def _post(self, body):
        address = os.environ.get("AWS_LAMBDA_RUNTIME_API") or os.environ["FC_RUNTIME_API"]
        host, slash, path = address.partition("/")
        connection = http.client.HTTPConnection(host)
        try:
            connection.request("POST", slash + path + "/pintle/aws", body.encode(), {"Content-Type": "application/json"})
            return json.loads(connection.getresponse().read(), object_hook=decoded)
        finally:
            connection.close()

    def can_paginate(self, _method):
        return True

    def get_paginator(self, method):
        return Paginator(self, method)

    def get_waiter(self, name):
        if name not in WAITERS:
            raise unknown("waiter " + name)
        return Waiter(self, name)

    def generate_presigned_url(self, *_args, **_settings):
        raise unknown("presigned URLs")

    def generate_presigned_post(self, *_args, **_settings):
        raise unknown("presigned forms")

    def upload_fileobj(self, Fileobj, Bucket, Key, ExtraArgs=None, **_settings):
        self._call("put_object", {"Bucket": Bucket, "Key": Key, "Body": Fileobj.read(), **(ExtraArgs or {})})

    def upload_file(self, Filename, Bucket, Key, ExtraArgs=None, **_settings):
        with open(Filename, "rb") as file:
            self.upload_fileobj(file, Bucket, Key, ExtraArgs)

    def download_fileobj(self, Bucket, Key, Fileobj, ExtraArgs=None, **_settings):
        Fileobj.write(self._call("get_object", {"Bucket": Bucket, "Key": Key, **(ExtraArgs or {})})["Body"].read())

    def download_file(self, Bucket, Key, Filename, ExtraArgs=None, **_settings):
        body = self._call("get_object", {"Bucket": Bucket, "Key": Key, **(ExtraArgs or {})})["Body"].read()
        with open(Filename, "wb") as file:
            file.write(body)

    def close(self):
        pass


class Paginator:
    """Yields the pages of an action."""

    def __init__(self, client, method):
        self._client, self._method = client, method

    def paginate(self, PaginationConfig=None, **params):
        if PaginationConfig and set(PaginationConfig) - {"PageSize"}:
            raise unknown("PaginationConfig with " + ", ".join(sorted(PaginationConfig)))
        following, last = params, None
        while True:
            page = self._client._call(self._method, following)
            yield page
            more = {to: page[of] for of, to in TOKENS.items() if page.get(of)}
            more.update({name: page[name] for name in MARKERS if page.get("IsTruncated") and page.get(name) and name not in more})
            if not more or more == last:
                return
            following, last = {**params, **more}, more


class Waiter:
    """Polls an action until it reports success."""

    def __init__(self, client, name):
        self._client, self._name = client, name

    def wait(self, WaiterConfig=None, **params):
        method, done, absent, delay, tries = WAITERS[self._name]
        config = WaiterConfig or {}
        delay, tries = config.get("Delay", delay), config.get("MaxAttempts", tries)
        for left in range(tries, 0, -1):
            try:
                if done(self._client._call(method, params)):
                    return
            except ClientError as error:
                if error.response["Error"]["Code"] not in absent:
                    raise
            if left > 1:
                time.sleep(delay)
        raise WaiterError(self._name, "Max attempts exceeded", None)


class Session:
    """Creates clients. Region and credentials default to the environment."""

    def __init__(
        self, aws_access_key_id=None, aws_secret_access_key=None, aws_session_token=None, region_name=None, botocore_session=None,
        profile_name=None, **_settings
    ):
        if botocore_session is not None or profile_name is not None:
            raise unknown("sessions of profiles")
        env = os.environ
        self.region_name = region_name or env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION")
        self._keys = self._given(aws_access_key_id, aws_secret_access_key, aws_session_token)

    @staticmethod
    def _given(key, secret, token):
        if not key:
            return None
        return {"accessKeyId": key, "secretAccessKey": secret, "sessionToken": token or ""}

    def client(
        self, service_name, region_name=None, api_version=None, use_ssl=True, verify=None, endpoint_url=None, aws_access_key_id=None,
        aws_secret_access_key=None, aws_session_token=None, config=None
    ):
        region = region_name or getattr(config, "region_name", None) or self.region_name
        if not region:
            raise NoRegionError()
        env = os.environ
        keys = self._given(aws_access_key_id, aws_secret_access_key, aws_session_token) or self._keys
        keys = keys or self._given(env.get("AWS_ACCESS_KEY_ID"), env.get("AWS_SECRET_ACCESS_KEY"), env.get("AWS_SESSION_TOKEN"))
        if keys is None:
            raise NoCredentialsError()
        return Client(service_name, region, endpoint_url, keys)

    def resource(self, *_args, **_settings):
        raise unknown("resources")
