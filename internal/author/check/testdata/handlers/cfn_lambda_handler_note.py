"""A note, on cfn-lambda-handler."""
import re

from cfn_lambda_handler import Handler

handler = Handler()


@handler.create
@handler.update
def write(event, _):
    name = event["ResourceProperties"]["Name"]
    if not re.fullmatch("[a-z0-9-]+", name):
        return {"Status": "FAILED", "Reason": f"Name: want lower-case letters, got {name}"}
    return {"PhysicalResourceId": f"note-{name}", "Data": {"Path": f"/notes/{name}"}}


@handler.delete
def delete(event, _):
    return {}
