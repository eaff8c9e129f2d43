"""A provider of notes on a module like AWS's cfnresponse, used as it should be: each answer has an ID and a short Reason."""
import hashlib
import json
import re
import urllib.error
import urllib.request


def send(event, context, status, data, physical_id=None, no_echo=False, reason=None):
    body = json.dumps({
        "Status": status,
        "Reason": reason or "See the details in CloudWatch Log Stream: " + context.log_stream_name,
        "PhysicalResourceId": physical_id or context.log_stream_name,
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
        "NoEcho": no_echo,
        "Data": data,
    }).encode()
    for rest in (2, 1, 0):
        try:
            request = urllib.request.Request(event["ResponseURL"], data=body, method="PUT", headers={"Content-Type": ""})
            urllib.request.urlopen(request).close()
            return
        except urllib.error.HTTPError:
            if not rest:
                raise


def handler(event, context):
    note = event.get("PhysicalResourceId")
    try:
        if event["RequestType"] == "Delete":
            send(event, context, "SUCCESS", {}, note or "none-made")
            return
        if event["RequestType"] not in ("Create", "Update"):
            raise ValueError("RequestType is not known")
        name = event["ResourceProperties"].get("Name", "")
        if not isinstance(name, str) or not re.fullmatch("[a-z0-9-]{1,40}", name):
            raise ValueError("Name: want lower-case letters")
        owner = hashlib.sha256((event["StackId"] + event["LogicalResourceId"]).encode()).hexdigest()[:10]
    except Exception as error:
        send(event, context, "FAILED", {}, note or "failed-" + event["RequestId"], reason=str(error)[:300])
        return
    send(event, context, "SUCCESS", {"Path": "/notes/" + name}, f"{name}-{owner}")
