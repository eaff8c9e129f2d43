# Snippets for Python handlers on crhelper. Rules that are not here use those of plain.py.
# --- crash silence
helper = CfnResource()

try:
    client = boto3.client("s3")  # everything that can fail outside of the handlers
except Exception as error:
    helper.init_failure(error)
# --- created-twice id-changed id-log-stream id-placeholder id-request-id id-shared not-replaced redelivery-refused
import hashlib

@helper.create
@helper.update
def write(event, context):
    # Name stands for the properties that replace the resource.
    owner = hashlib.sha256((event["StackId"] + event["LogicalResourceId"]).encode()).hexdigest()[:12]
    physical_id = event["ResourceProperties"]["Name"] + "-" + owner
    write_resource(physical_id)
    return physical_id
# --- delete-after-failure-refused delete-harms-other delete-refused delete-unknown-refused
@helper.delete
def delete(event, context):
    try:
        delete_resource(event["PhysicalResourceId"])  # by ID alone, without validating the properties
    except NotFound:
        pass  # it was never created, or is already deleted
# --- properties-in-log secret-in-log url-in-log
helper = CfnResource(log_level="INFO")  # at DEBUG, the default, crhelper logs the event and the response URL
# --- secret-attribute secret-in-data
helper.NoEcho = True
# --- not-done hang
@helper.poll_create
def poll_create(event, context):
    physical_id = event["CrHelperData"]["PhysicalResourceId"]  # as the create function returned it
    return physical_id if is_ready(physical_id) else None  # None polls again
# --- answer-after-return answer-content-type answer-copies answer-encoding answer-json answer-length answer-reason answer-status
# --- answer-url answer-verb answered-twice answers-disagree failed-with-other-id gives-up id-changed-on-delete id-changed-on-failure
# --- answer-grows answer-near-limit answer-too-long id-missing missing-id-unanswered unknown-request-type
