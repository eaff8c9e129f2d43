# Snippets for Python handlers on cfnresponse. Rules that are not here use those of plain.py.
# --- answered-twice answers-disagree crash silence unknown-request-type missing-id-unanswered
def handler(event, context):
    physical_id = event.get("PhysicalResourceId") or "failed-" + event["RequestId"]
    try:
        physical_id, data = handle(event)  # your code; raises an error for an unknown RequestType
    except Exception as error:
        cfnresponse.send(event, context, cfnresponse.FAILED, {}, physical_id, reason=str(error)[:1000])
        return
    cfnresponse.send(event, context, cfnresponse.SUCCESS, data, physical_id)
# --- failed-with-other-id id-changed-on-delete id-changed-on-failure id-missing
physical_id = event.get("PhysicalResourceId") or "failed-" + event["RequestId"]
cfnresponse.send(event, context, cfnresponse.FAILED, {}, physical_id)  # in a Delete, also with SUCCESS
# --- created-twice id-changed id-log-stream id-placeholder id-request-id id-shared not-replaced redelivery-refused
import hashlib

def physical_id(event):
    # Name stands for the properties that replace the resource.
    owner = hashlib.sha256((event["StackId"] + event["LogicalResourceId"]).encode()).hexdigest()[:12]
    return event["ResourceProperties"]["Name"] + "-" + owner

cfnresponse.send(event, context, cfnresponse.SUCCESS, data, physical_id(event))
# --- url-in-log secret-in-log properties-in-log
import contextlib, io

with contextlib.redirect_stdout(io.StringIO()):  # cfnresponse prints the response URL and the answer
    cfnresponse.send(event, context, cfnresponse.SUCCESS, data, physical_id)
# --- secret-attribute secret-in-data
cfnresponse.send(event, context, cfnresponse.SUCCESS, data, physical_id, noEcho=True)
# --- answer-grows answer-near-limit answer-reason answer-too-long
cfnresponse.send(event, context, cfnresponse.FAILED, {}, physical_id, reason=str(error)[:1000])
# --- answer-status answer-copies
