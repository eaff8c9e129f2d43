"""Makes databases. These are files; real ones take as long to be ready as these pretend to."""

import json
import os
import tempfile
import time

FOLDER = os.environ.get("DATABASES_DIR", tempfile.gettempdir())


def on_event(event, context):
    print(event["RequestType"], event["LogicalResourceId"])
    if event["RequestType"] == "Delete":
        return delete(event["PhysicalResourceId"])
    return write(event["ResourceProperties"])


def write(properties):
    name, size = properties["Name"], int(properties["Size"])
    if not name.replace("-", "").isalnum():
        raise ValueError(f"Name is {name!r}: want letters, digits and hyphens")
    if size > 100:
        raise ValueError(f"Size is {size}: the largest database has 100")
    path = os.path.join(FOLDER, name + ".db")
    with open(path, "w") as file:
        json.dump({"size": size, "ready": time.time() + 1}, file)
    # An ID that changes in an update means that the resource was replaced: a Delete for the old one follows. Path is
    # for isComplete, which gets whatever is returned here.
    return {"PhysicalResourceId": name, "Data": {"Path": path}, "Path": path}


def delete(name):
    path = os.path.join(FOLDER, os.path.basename(name) + ".db")
    if os.path.exists(path):
        os.remove(path)
    return {"Path": path}
