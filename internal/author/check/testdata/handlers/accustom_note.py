"""A note, on accustom."""
import re

import accustom


@accustom.decorator(hideResourceDeleteFailure=False)
def handler(event, context):
    if event["RequestType"] == "Delete":
        return None
    name = event["ResourceProperties"]["Name"]
    if not re.fullmatch("[a-z0-9-]+", name):
        raise ValueError(f"Name: want lower-case letters, got {name}")
    return accustom.ResponseObject(data={"Path": f"/notes/{name}"}, physicalResourceId=f"note-{name}")
