"""A note in a file, on pintle-provider."""
import dataclasses
import json
import os
import pathlib

import pintle_provider as pintle


@dataclasses.dataclass
class Note:
    Text: str
    Name: str = pintle.prop(immutable=True, pattern="[a-z0-9-]+")
    Lines: int = pintle.prop(default=1, min=1, max=100)
    Password: pintle.Secret = pintle.Secret("")


def file(name: str) -> pathlib.Path:
    return pathlib.Path(os.environ["NOTES"], f"{name}.json")


class Notes(pintle.Provider[Note]):
    def create(self, request: pintle.Request[Note]) -> pintle.Response:
        note = request.properties
        file("note-" + note.Name).write_text(json.dumps({"text": note.Text, "lines": note.Lines, "password": note.Password.reveal()}))
        return pintle.Response(id=f"note-{note.Name}", attributes={"Path": f"/notes/{note.Name}"})

    def update(self, request: pintle.Request[Note]) -> pintle.Response:
        return self.create(request)

    def delete(self, request: pintle.Request[Note]) -> None:
        file(request.id).unlink(missing_ok=True)

    def read(self, request: pintle.Request[Note]) -> pintle.ReadResponse:
        try:
            found = json.loads(file(request.id).read_text())
        except FileNotFoundError:
            raise pintle.Gone(f"{request.id} is gone") from None
        name = request.id[len("note-"):]
        note = Note(Text=found["text"], Name=name, Lines=found["lines"], Password=pintle.Secret(found["password"]))
        return pintle.ReadResponse(note, {"Path": f"/notes/{name}"})

    def plan(self, request: pintle.Request[Note]) -> pintle.PlanResponse:
        if request.properties.Lines > 90:
            raise ValueError(f"no room for {request.properties.Lines} lines under {request.properties.Password.reveal()}")
        if request.old_properties and request.properties.Lines < (request.old_properties.Lines or 0) - 50:
            return pintle.PlanResponse(replace=True, reason="a note cannot lose 50 lines")
        return pintle.PlanResponse()


handler = pintle.handler(Notes())
