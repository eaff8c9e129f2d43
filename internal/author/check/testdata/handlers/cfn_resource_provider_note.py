"""A note, on cfn-resource-provider."""
from cfn_resource_provider import ResourceProvider


class NoteProvider(ResourceProvider):
    def __init__(self):
        super().__init__()
        self.request_schema = {
            "type": "object",
            "required": ["Name"],
            "properties": {"Name": {"type": "string", "pattern": "^[a-z0-9-]+$"}, "Text": {"type": "string"}},
        }

    def is_supported_resource_type(self):
        return True  # also of the check's resource type

    def create(self):
        name = self.get("Name")
        self.physical_resource_id = f"note-{name}"
        self.set_attribute("Path", f"/notes/{name}")

    def update(self):
        self.create()

    def delete(self):
        pass


provider = NoteProvider()


def handler(request, context):
    return provider.handle(request, context)
