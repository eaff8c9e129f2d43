"""Looks whether a database is ready, or gone."""

import json
import os
import time


def is_complete(event, context):
    if event["RequestType"] == "Delete":
        return {"IsComplete": not os.path.exists(event["Path"])}
    with open(event["Path"]) as file:
        database = json.load(file)
    if time.time() < database["ready"]:
        return {"IsComplete": False}
    return {"IsComplete": True, "Data": {"Address": event["PhysicalResourceId"] + ".databases.test"}}
