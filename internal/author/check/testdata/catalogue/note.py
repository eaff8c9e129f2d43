"""A provider of notes. BUG names the mistake that it makes; without one it makes none that is known."""
import hashlib
import http.client
import json
import os
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

BUG = os.environ.get("BUG", "")
FOLDER = os.environ["NOTES"]

made = {}  # what a mistake keeps in memory
shared = {"NoEcho": False, "Data": {}}


def handler(event, context):
    if "Records" in event:
        event = json.loads(event["Records"][0]["Sns"]["Message"])
    log(event)
    if BUG == "hangs-on-update" and event["RequestType"] == "Update":
        time.sleep(3600)
    if BUG == "returns-the-answer":
        return {"PhysicalResourceId": "note", "Data": {}}
    if BUG == "no-answer-to-delete" and event["RequestType"] == "Delete":
        return None
    if BUG == "missing-key" and event["RequestType"] == "Delete":
        print("deleting the note of", event["PhysicalResourceId"][0])
    if BUG == "uncaught":
        answer = success(event, handle(event, context))
    elif BUG == "uncaught-exit":
        try:
            answer = success(event, handle(event, context))
        except ValueError:
            os._exit(1)
    else:
        try:
            answer = success(event, handle(event, context))
        except Exception as error:
            answer = failure(event, context, error)
    respond(event, answer)
    return None


def log(event):
    if BUG == "logs-event":
        print(json.dumps(event))
    elif BUG == "logs-url":
        print("answering to", event["ResponseURL"])
    elif BUG == "logs-properties":
        print("properties:", event["ResourceProperties"])
    else:
        print(event["RequestType"], event["LogicalResourceId"])


def success(event, result):
    return {"Status": "SUCCESS", **copies(event), **result}


def copies(event):
    answer = {key: event[key] for key in ("StackId", "RequestId", "LogicalResourceId")}
    if BUG == "own-request-id":
        answer["RequestId"] = str(uuid.uuid4())
    return answer


def failure(event, context, error):
    answer = {
        "Status": "FAILED", "Reason": str(error)[:300], **copies(event),
        "PhysicalResourceId": event.get("PhysicalResourceId") or "failed-" + event["RequestId"],
    }
    if BUG == "no-reason":
        del answer["Reason"]
    elif BUG == "long-reason":
        answer["Reason"] = "Traceback (most recent call last):\n" + "  File handler.py, line 1\n" * 300 + str(error)
    elif BUG == "event-in-reason":
        answer["Reason"] = f"{error}: {event['ResourceProperties']}"[:1000]
    elif BUG == "coloured-reason":
        answer["Reason"] = f"\x1b[31m{error}\x1b[0m"
    elif BUG == "exception-as-reason":
        answer["Reason"] = error.args
    elif BUG == "failed-without-id":
        answer.pop("PhysicalResourceId")
    elif BUG == "failed-update-other-id":
        answer["PhysicalResourceId"] = "FAILED"
    elif BUG == "none-id-on-failure":
        answer["PhysicalResourceId"] = str(event.get("PhysicalResourceId"))
    elif BUG == "log-stream-on-failure":
        answer["PhysicalResourceId"] = context.log_stream_name
    return answer


def identity(event):
    owner = hashlib.sha256((event["StackId"] + event["LogicalResourceId"]).encode()).hexdigest()[:10]
    name = event["ResourceProperties"].get("Name", "")
    if not isinstance(name, str) or not re.fullmatch("[a-z0-9-]{1,40}", name):
        raise ValueError(f"Name: want lower-case letters, got {str(name)[:60]}")
    return f"{name}-{owner}"


def path(note):
    return os.path.join(FOLDER, os.path.basename(note)[:200])


def handle(event, context):
    kind, properties, note = event["RequestType"], event["ResourceProperties"], event.get("PhysicalResourceId")
    if kind == "Delete":
        return delete(event, properties, note)
    if kind not in ("Create", "Update"):
        if BUG == "else-is-create":
            return {"PhysicalResourceId": note}
        raise ValueError(f"RequestType {kind} is not known")
    check(event, properties, kind)
    new = identity(event)
    if BUG == "random-id":
        name = properties["Name"]
        new = note if note and note.startswith(name) else f"{name}-{uuid.uuid4()}"
    elif BUG == "log-stream-id":
        new = context.log_stream_name
    elif BUG == "invocation-id":
        new = context.aws_request_id
    elif BUG == "content-id":
        new = new + "-" + hashlib.sha256(json.dumps(properties).encode()).hexdigest()[:8]
    if kind == "Update" and new == note:
        known = note in made if BUG == "in-memory" else os.path.exists(path(note))
        if not known:
            raise ValueError("there is no such note")
    if BUG == "exclusive" and kind == "Create" and os.path.exists(path(new)):
        raise ValueError("File exists")
    text = properties.get("Text", "hello")
    made[new] = text
    with open(path(new), "w", encoding="utf-8") as f:
        f.write(str(text))
    return result(properties, new, kind)


def check(event, properties, kind):
    if BUG == "uses-old" and kind == "Update":
        properties = {**properties, "Was": event["OldResourceProperties"]["Name"]}
    if BUG == "integers" and not isinstance(properties.get("Size", 1), int):
        raise ValueError("Size: want an integer")
    known = {"ServiceToken", "Name", "Text", "Size", "Open", "Password"}
    if BUG == "strict" and set(properties) - known:
        raise ValueError("unexpected keyword argument")
    members = {"RequestType", "ResponseURL", "StackId", "RequestId", "ResourceType", "LogicalResourceId", "PhysicalResourceId",
               "ResourceProperties", "OldResourceProperties", "ServiceToken"}
    if BUG == "strict-event" and set(event) - members:
        raise ValueError("additional properties are not allowed")
    if BUG == "only-grows" and kind == "Update":
        if int(properties.get("Size", "1")) < int(event["OldResourceProperties"].get("Size", "1")):
            raise ValueError("Size: a note cannot shrink")


def result(properties, note, kind):
    data = {
        "Path": path(note),
        "Size": int(properties.get("Size", "1")),
        "Open": str(properties.get("Open", "false")).lower() == "true",
    }
    answer = {"PhysicalResourceId": note, "Data": data}
    if BUG == "truthy":
        data["Open"] = bool(properties.get("Open"))
    elif BUG == "echo":
        answer["Data"] = properties
    elif BUG == "nan":
        data["Ratio"] = float("nan")
    elif BUG == "data-list":
        answer["Data"] = [data]
    elif BUG == "number-id":
        answer["PhysicalResourceId"] = 42
    elif BUG == "global-data":
        shared["Data"].update(data)
        shared["Data"][kind] = "done"
        answer["Data"] = shared["Data"]
    elif BUG == "global-noecho":
        shared["NoEcho"] = shared["NoEcho"] or kind == "Update"
        answer["NoEcho"] = shared["NoEcho"]
    return answer


def delete(event, properties, note):
    if BUG == "delete-validates":
        identity(event)
    if note is None or note == "":
        return {"PhysicalResourceId": "none-made"}
    made.pop(note, None)
    if BUG == "remove-raises":
        os.remove(path(note))
    elif os.path.exists(path(note)):
        os.remove(path(note))
    if BUG == "deletes-by-name":
        for name in os.listdir(FOLDER):
            if name.startswith(str(properties.get("Name")) + "-"):
                os.remove(path(name))
    return {"PhysicalResourceId": note}


def respond(event, answer):
    url, text = event["ResponseURL"], json.dumps(answer)
    if BUG == "repr":
        text = str(answer)
    elif BUG == "twice-encoded":
        text = json.dumps(text)
    body = text.encode("utf-8")
    if BUG == "latin-1":
        body = json.dumps(answer, ensure_ascii=False).encode("latin-1", "replace")
    elif BUG == "byte-order-mark":
        body = text.encode("utf-8-sig")
    if BUG == "length-of-text":
        return characters(url, json.dumps(answer, ensure_ascii=False))
    if BUG == "after-return":
        threading.Timer(0.05, put, (url, body)).start()
        return None
    put(url, body)
    if BUG == "sends-in-finally":
        put(url, body)
    elif BUG == "fails-after-success" and answer["Status"] == "SUCCESS":
        put(url, json.dumps({**answer, "Status": "FAILED", "Reason": "the lock is gone"}).encode())
    elif BUG == "raises-after-answer":
        raise ValueError("after all")
    return None


def put(url, body):
    method, headers = "PUT", {"Content-Type": ""}
    if BUG == "post":
        method = "POST"
    elif BUG == "default-content-type":
        headers = {}
    elif BUG == "quoted-url":
        url = urllib.parse.quote(url, safe=":/?=&")
    for pause in (0, 0.05, 0.1):
        time.sleep(pause)
        try:
            urllib.request.urlopen(urllib.request.Request(url, data=body, method=method, headers=headers)).close()
            return
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise
            if BUG == "swallows-503":
                return
    raise RuntimeError("the answer was not taken")


def characters(url, text):
    """Says as length how many characters there are, and sends as many bytes."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc)
    connection.request("PUT", parts.path + "?" + parts.query, text.encode("utf-8")[:len(text)], {"Content-Type": ""})
    connection.getresponse().read()
    connection.close()
