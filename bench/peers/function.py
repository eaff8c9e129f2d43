import json
import urllib.error
import urllib.request

opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def send(method, url, body):
    request = urllib.request.Request(url, data=body.encode(), method=method, headers={"Content-Type": ""})
    try:
        with opener.open(request) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read()


def handler(event, context):
    _, answers = send("POST", "RECORDER/ask", json.dumps(event))
    for answer in json.loads(answers):
        status, _ = send("PUT", event["ResponseURL"], answer)
        send("POST", "RECORDER/told", json.dumps(status))
