"""A note, on pintle-provider."""
import dataclasses

import pintle_provider as pintle


@dataclasses.dataclass
class Note:
    Text: str
    Name: str = pintle.prop(immutable=True, pattern="[a-z0-9-]+")
    Lines: int = pintle.prop(default=1, min=1, max=100)
    Password: pintle.Secret = pintle.Secret("")


class Notes(pintle.Provider[Note]):
    def create(self, request: pintle.Request[Note]) -> pintle.Response:
        name = request.properties.Name
        return pintle.Response(id=f"note-{name}", attributes={"Path": f"/notes/{name}"})

    def update(self, request: pintle.Request[Note]) -> pintle.Response:
        return self.create(request)

    def delete(self, request: pintle.Request[Note]) -> None:
        pass


handler = pintle.handler(Notes())
