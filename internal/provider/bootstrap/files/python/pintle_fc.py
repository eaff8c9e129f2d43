"""What Function Compute hands to a handler in Python: the event as it came, in bytes, and a context of its own.

Beside the fields of the newest runtime the context has those that only older ones had, so that code for any of them finds
what it looks for.
"""

import base64
import json
import logging
import os

API = "/2020-11-11/runtime"
ADDRESS = "FC_RUNTIME_API"
ROOT = "FC_FUNC_CODE_PATH"
HANDLER = "FC_FUNCTION_HANDLER"
REQUEST = "x-fc-request-id"


class Credentials:
    def __init__(self, headers):
        self.access_key_id = headers.get("x-fc-access-key-id", "")
        self.access_key_secret = headers.get("x-fc-access-key-secret", "")
        self.security_token = headers.get("x-fc-security-token", "")
        self.accessKeyId = self.access_key_id
        self.accessKeySecret = self.access_key_secret
        self.securityToken = self.security_token


class FunctionMeta:
    def __init__(self, headers):
        self.name = headers.get("x-fc-function-name", "")
        self.handler = headers.get("x-fc-function-handler", "")
        self.memory = int(headers.get("x-fc-function-memory", 0))
        self.timeout = int(headers.get("x-fc-function-timeout", 0))
        self.initializer = headers.get("x-fc-function-initializer", "")
        self.initialization_timeout = int(headers.get("x-fc-initialization-timeout", 0))
        self.version_id = headers.get("x-fc-version-id", "")
        self.qualifier = headers.get("x-fc-qualifier", "")


class ServiceMeta:
    def __init__(self, headers):
        self.name = headers.get("x-fc-service-name", "")
        self.service_name = self.name
        self.log_project = headers.get("x-fc-service-logproject", "")
        self.log_store = headers.get("x-fc-service-logstore", "")
        self.qualifier = headers.get("x-fc-qualifier", "")
        self.version_id = headers.get("x-fc-version-id", "")


class Tracing:
    def __init__(self, headers):
        self.span_context = headers.get("x-fc-tracing-opentracing-span-context", "")
        self.jaeger_endpoint = headers.get("x-fc-tracing-jaeger-endpoint", "")
        self.span_baggages = {}
        text = headers.get("x-fc-tracing-opentracing-span-baggages", "")
        if text:
            self.span_baggages = json.loads(base64.b64decode(text))


class Context:
    def __init__(self, headers):
        self.request_id = headers[REQUEST]
        self.requestId = self.request_id
        self.credentials = Credentials(headers)
        self.function = FunctionMeta(headers)
        self.service = ServiceMeta(headers)
        self.tracing = Tracing(headers)
        self.region = headers.get("x-fc-region", "")
        self.account_id = headers.get("x-fc-account-id", "")
        self.accountId = self.account_id
        self.log_project = self.service.log_project
        self.log_store = self.service.log_store
        self.retry_count = int(headers.get("x-fc-retry-count", 0))
        self.logger = logging.getLogger()


def start():
    logging.getLogger().setLevel(logging.INFO)


def begin(headers):
    pass


def event(text):
    return text


def result(value, encode):
    """What is sent of what a handler returned: bytes and texts are sent as they are."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace")
    return encode(value)


def initializer(headers):
    """The name of the function to call instead of the handler, if the event is there for that."""
    if headers.get("x-fc-function-type") == "1":
        return os.environ.get("FC_INITIALIZER_HANDLER", "")
    return ""


def explain(error, message):
    """The commonest mistake is an event that is taken for what it stands for."""
    text = str(error)
    if isinstance(error, TypeError) and text.startswith("byte indices must be integers"):
        mistaken = True
    else:
        mistaken = isinstance(error, AttributeError) and text.startswith("'bytes' object has no attribute")
    if mistaken:
        message += " (as on Function Compute, the event is bytes: json.loads(event) makes an object of it)"
    return message
