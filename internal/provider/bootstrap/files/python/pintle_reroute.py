"""Connects to the port of the response URL when a handler assumes 443.

A response URL of CloudFormation is always https on port 443, so handlers commonly keep only its host. The one of an engine on
this machine has another port, where TLS is spoken too. So a connection to port 443 of a loopback host that a response URL
names goes to that URL's port. It is patched at the socket, because http.client, urllib3 and asyncio connect in different
ways. All other connections are left alone.
"""

import hashlib
import ipaddress
import json
import os
import socket
import tempfile
import urllib.parse

HTTPS = 443
DEEP = 20  # levels at which a response URL is looked for
PROPERTIES = ("ResourceProperties", "OldResourceProperties")  # the author of a template writes these
AUTHORITY = "PINTLE_CA_FILE"

ports = {}  # of the newest response URL, by its host


def learn(event, depth=0):
    """Notes the response URLs in an event, also in the text of a notification in it."""
    if depth > DEEP:
        return
    if isinstance(event, (bytes, bytearray)):
        try:
            event = event.decode()
        except UnicodeDecodeError:
            return
    if isinstance(event, str):
        if "ResponseURL" not in event:
            return
        try:
            event = json.loads(event)
        except ValueError:
            return
    if isinstance(event, list):
        for value in event:
            learn(value, depth + 1)
    elif isinstance(event, dict):
        for name, value in event.items():
            if name == "ResponseURL" and isinstance(value, str):
                note(value)
            elif name not in PROPERTIES:
                learn(value, depth + 1)


def note(text):
    try:
        url = urllib.parse.urlsplit(text)
        host, port = url.hostname, url.port
        if url.scheme != "http" or not (host == "localhost" or ipaddress.ip_address(host).is_loopback):
            return
    except ValueError:
        return
    if not ports:
        install()
    ports[host] = port or 80


def install():
    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, rerouted(getattr(socket.socket, name)))
    trust_requests()


def rerouted(original):
    def method(self, address):
        if isinstance(address, tuple) and len(address) > 1 and address[1] == HTTPS and address[0] in ports:
            address = (address[0], ports[address[0]]) + address[2:]
        return original(self, address)

    return method


def trust_requests():
    """Makes requests trust the response URL in addition to its own certificates, where the system has none to add it to."""
    authority = os.environ.get(AUTHORITY)
    if not authority or os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE"):
        return
    try:
        import certifi

        with open(certifi.where(), "rb") as bundle, open(authority, "rb") as more:
            text = bundle.read() + b"\n" + more.read()
        folder = os.path.dirname(authority)
        path = os.path.join(folder, "certifi-" + hashlib.sha256(text).hexdigest()[:16] + ".pem")
        if not os.path.exists(path):
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                file.write(text)
            os.replace(file.name, path)
        os.environ["REQUESTS_CA_BUNDLE"] = path
    except (ImportError, OSError):
        pass  # without certifi there is no requests
