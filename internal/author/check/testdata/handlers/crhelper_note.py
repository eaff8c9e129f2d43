"""A note, on crhelper."""
import re

from crhelper import CfnResource

helper = CfnResource()


@helper.create
@helper.update
def write(event, _):
    name = event["ResourceProperties"]["Name"]
    if not re.fullmatch("[a-z0-9-]+", name):
        raise ValueError(f"Name: want lower-case letters, got {name}")
    helper.Data["Path"] = f"/notes/{name}"
    return f"note-{name}"


@helper.delete
def delete(event, _):
    pass


def handler(event, context):
    helper(event, context)
