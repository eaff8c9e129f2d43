# Snippets for Python handlers that send the answer themselves. Lines of dashes name the rules.
# --- answer-copies answer-reason answer-status answered-twice answers-disagree crash failed-with-other-id
# --- id-changed-on-failure id-missing missing-id-unanswered silence unknown-request-type
def handler(event, context):
    answer = {key: event[key] for key in ("StackId", "RequestId", "LogicalResourceId")}
    answer["PhysicalResourceId"] = event.get("PhysicalResourceId") or "failed-" + event["RequestId"]
    try:
        answer.update(handle(event), Status="SUCCESS")  # handle returns PhysicalResourceId and Data
    except Exception as error:
        answer.update(Status="FAILED", Reason=str(error)[:1000] or type(error).__name__)
    send(event["ResponseURL"], answer)
# --- answer-after-return answer-content-type answer-encoding answer-json answer-length answer-url answer-verb gives-up
import json, time, urllib.error, urllib.request

def send(url, answer):
    body = json.dumps(answer).encode()
    request = urllib.request.Request(url, data=body, method="PUT", headers={"Content-Type": ""})
    for attempt in range(5):
        try:
            return urllib.request.urlopen(request, timeout=10).close()
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise
        except urllib.error.URLError:
            pass
        time.sleep(0.2 * 2**attempt)
    raise RuntimeError("the answer was not accepted")
# --- created-twice id-changed id-log-stream id-placeholder id-request-id id-shared not-replaced redelivery-refused
import hashlib

def physical_id(event):
    # Name stands for the properties that replace the resource.
    owner = hashlib.sha256((event["StackId"] + event["LogicalResourceId"]).encode()).hexdigest()[:12]
    return event["ResourceProperties"]["Name"] + "-" + owner
# --- delete-after-failure-refused delete-harms-other delete-refused delete-unknown-refused id-changed-on-delete
def delete(event):
    physical_id = event.get("PhysicalResourceId", "")
    try:
        delete_resource(physical_id)  # by ID alone, without validating the properties
    except NotFound:
        pass  # it was never created, or is already deleted
    return {"PhysicalResourceId": physical_id}
# --- strings-misread strings-refused
size = int(properties.get("Size", 1))
enabled = str(properties.get("Enabled", False)).lower() == "true"
# --- properties-in-log secret-in-log url-in-log
print(event["RequestType"], event["LogicalResourceId"], event["RequestId"])
# --- secret-attribute secret-in-data
answer["NoEcho"] = True
# --- answer-grows answer-near-limit answer-too-long
reason = str(error)[:1000]  # the rest is for the log
# --- bad-accepted
if not re.fullmatch("[a-z0-9-]{1,40}", properties.get("Name", "")):
    raise ValueError("Name: use 1 to 40 lower-case letters, digits and hyphens")
# --- hang not-done
while not is_ready(physical_id):
    if context.get_remaining_time_in_millis() < 20_000:
        raise TimeoutError(physical_id + " is not ready")
    time.sleep(5)
