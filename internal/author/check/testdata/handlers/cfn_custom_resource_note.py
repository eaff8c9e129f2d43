"""A note, on cfn-custom-resource."""
import re

from cfn_custom_resource import ResourceError, create, delete, lambda_handler, update


def write(event, _):
    name = event["ResourceProperties"]["Name"]
    if not re.fullmatch("[a-z0-9-]+", name):
        raise ResourceError(f"Name: want lower-case letters, got {name}")
    return f"note-{name}", {"Path": f"/notes/{name}"}


create()(write)
update()(write)


@delete()
def remove(event, _):
    pass


handler = lambda_handler
