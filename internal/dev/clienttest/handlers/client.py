"""Answers with the client that the resource's property Client names, as CLIENT:FORM."""
import asyncio
import http.client
import json
import ssl
import urllib.parse
import urllib.request


def handler(event, context):
    assert context.aws_request_id != event["RequestId"]
    client, form = event["ResourceProperties"]["Client"].split(":")
    url = urllib.parse.urlsplit(event["ResponseURL"])
    assert url.scheme == "http" and url.port
    if form == "port":
        url = url._replace(scheme="https")
    elif form == "443":
        url = url._replace(scheme="https", netloc=url.hostname)
    body = json.dumps({
        "Status": "SUCCESS", "PhysicalResourceId": event["LogicalResourceId"], "StackId": event["StackId"],
        "RequestId": event["RequestId"], "LogicalResourceId": event["LogicalResourceId"],
    }).encode()
    status = CLIENTS[client](url, body)
    assert status == 200, status


def http_client(url, body):
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.netloc)
    connection.request("PUT", url.path + "?" + url.query, body)
    return connection.getresponse().status


def urllib_request(url, body):
    request = urllib.request.Request(url.geturl(), body, {"Content-Type": ""}, method="PUT")
    return urllib.request.urlopen(request).status


def urllib3_pool(url, body):
    import urllib3

    return urllib3.PoolManager().request("PUT", url.geturl(), body=body).status


def requests_put(url, body):
    import requests

    return requests.put(url.geturl(), data=body).status_code


async def streams(url, body):
    secure = ssl.create_default_context() if url.scheme == "https" else None
    reader, writer = await asyncio.open_connection(url.hostname, url.port or 443, ssl=secure)
    head = "PUT %s?%s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
    writer.write((head % (url.path, url.query, url.netloc, len(body))).encode() + body)
    status = int((await reader.readline()).split()[1])
    writer.close()
    return status


CLIENTS = {
    "http.client": http_client,
    "urllib": urllib_request,
    "urllib3": urllib3_pool,
    "requests": requests_put,
    "asyncio": lambda url, body: asyncio.run(streams(url, body)),
}
