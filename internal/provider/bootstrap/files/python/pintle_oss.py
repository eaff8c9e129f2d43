"""Sends requests for hosts of OSS in Alibaba Cloud to the local OSS.

Handlers name an endpoint such as https://oss-cn-hangzhou-internal.aliyuncs.com, which no setting of their SDK replaces. If the
environment names the local OSS, requests of the packages requests, which the SDKs use, and http.client go there, without TLS.
They keep their Host header.
"""

import http.client
import importlib.machinery
import os
import re
import sys
import urllib.parse

HERE = "PINTLE_OSS"  # the URL of the local OSS
HOSTS = re.compile(r"(?:[a-z0-9][a-z0-9-]{1,61}[a-z0-9]\.)?(?:oss(?:-[a-z0-9-]+)?|[a-z0-9-]+\.oss)\.aliyuncs\.com")


def is_oss(host):
    return bool(HOSTS.fullmatch((host or "").lower()))


def install():
    url = os.environ.pop(HERE, "")
    if not url:
        return
    here = urllib.parse.urlsplit(url)
    for kind in (http.client.HTTPConnection, http.client.HTTPSConnection):
        kind.connect = connected(kind.connect, (here.hostname, here.port or 80))
    sys.meta_path.insert(0, Finder(here))


def connected(original, address):
    def connect(self):
        if not is_oss(self.host):
            return original(self)
        self.sock = self._create_connection(address, self.timeout, self.source_address)

    return connect


class Finder:
    """Changes requests.adapters when it is imported."""

    def __init__(self, here):
        self.here = here

    def find_spec(self, name, path=None, target=None):
        if name != "requests.adapters":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            module.HTTPAdapter.send = sent(module.HTTPAdapter.send, self.here)

        spec.loader.exec_module = exec_module
        return spec


def sent(original, here):
    def send(self, request, stream=False, timeout=None, verify=True, cert=None, proxies=None):
        url = urllib.parse.urlsplit(request.url)
        if is_oss(url.hostname):
            request.headers.setdefault("Host", url.netloc)
            request.url = url._replace(scheme=here.scheme, netloc=here.netloc).geturl()
            proxies = {}
        return original(self, request, stream=stream, timeout=timeout, verify=verify, cert=cert, proxies=proxies)

    return send
