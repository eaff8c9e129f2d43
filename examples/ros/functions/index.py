"""A handler of Function Compute that makes readings: it takes its time, fails on demand, and returns numbers."""

import json
import time
import urllib.request


def handler(event, context):
    request = json.loads(event)  # the event is bytes
    answer = {name: request[name] for name in ("StackId", "RequestId", "LogicalResourceId")}
    try:
        answer.update(reading(request))
        answer["Status"] = "SUCCESS"
    except Exception as problem:  # silence would cost the whole Timeout
        answer.update(Status="FAILED", Reason=str(problem) or repr(problem))
    send(request["ResponseURL"], answer)


def reading(request):
    asked = request["ResourceProperties"]
    if request["RequestType"] == "Delete" and "PhysicalResourceId" not in request:
        return {"PhysicalResourceId": "none"}  # its Create failed, perhaps for these very properties
    time.sleep(asked.get("Sleep", 0))
    if asked.get("Fail") == request["RequestType"]:
        raise ValueError("the meter fails on request")
    # An id never changes: what is there keeps its own.
    made = {"PhysicalResourceId": request.get("PhysicalResourceId") or "meter-" + asked["Name"]}
    if request["RequestType"] != "Delete":
        values = asked["Values"]
        made["Data"] = {"Mean": sum(values) / len(values), "Most": max(values), "Values": values}
    return made


def send(url, answer):
    """ROS takes answers by POST, as JSON, with a Date."""
    headers = {
        "Content-Type": "application/json",
        "Date": time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime()),
    }
    for attempt in range(5):
        try:
            urllib.request.urlopen(urllib.request.Request(url, json.dumps(answer).encode(), headers), timeout=20).read()
            return
        except urllib.error.HTTPError as problem:
            if problem.code < 500 or attempt == 4:
                raise
            time.sleep(attempt)
