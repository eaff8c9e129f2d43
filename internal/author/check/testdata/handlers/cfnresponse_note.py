"""A note, on cfnresponse."""
import re

import cfnresponse


def handler(event, context):
    try:
        if event["RequestType"] == "Delete":
            cfnresponse.send(event, context, cfnresponse.SUCCESS, {})
            return
        name = event["ResourceProperties"]["Name"]
        if not re.fullmatch("[a-z0-9-]+", name):
            raise ValueError(f"Name: want lower-case letters, got {name}")
        cfnresponse.send(event, context, cfnresponse.SUCCESS, {"Path": f"/notes/{name}"}, f"note-{name}")
    except Exception as error:
        print(error)
        cfnresponse.send(event, context, cfnresponse.FAILED, {"Error": str(error)})
