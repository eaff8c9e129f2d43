"""A note, on cfn-handler."""
import re

from cfn_handler import CustomResource

resource = CustomResource()


@resource.create
@resource.update
def write(event, _):
    name = event["ResourceProperties"]["Name"]
    if not re.fullmatch("[a-z0-9-]+", name):
        raise ValueError(f"Name: want lower-case letters, got {name}")
    resource.physical_resource_id = f"note-{name}"
    return {"Path": f"/notes/{name}"}


@resource.delete
def delete(event, _):
    pass


def handler(event, context):
    return resource(event, context)
