import json
import os

import boto3


def on_event(event, context):
    return {"Pass": 12345}


def is_complete(event, context):
    if event["RequestType"] == "Delete":
        return {"IsComplete": True}
    if event["Pass"] != 12345:
        raise ValueError("what on_event returned has become %r" % event["Pass"])
    properties = event["ResourceProperties"]
    found = boto3.client("s3").get_object(Bucket=properties["Bucket"], Key=properties["Key"])["Body"].read().decode()
    with open(os.environ["LEDGER"], "a") as ledger:
        ledger.write(json.dumps({"type": "look", "of": event["LogicalResourceId"], "id": event["PhysicalResourceId"], "key": properties["Key"]}) + "\n")
    return {"IsComplete": found == properties["Text"]}
