"""Custom resources of CloudFormation in Python: typed properties in, one answer out.

A provider is a class with the methods create, update and delete::

    import dataclasses
    import pintle_provider as pintle

    @dataclasses.dataclass
    class Site:
        Name: str = pintle.prop(immutable=True, pattern="[a-z0-9-]+")
        Size: int = 1
        Key: pintle.Secret = pintle.Secret("")

    class Sites(pintle.Provider[Site]):
        def create(self, request):
            make_site(request.properties.Name, request.properties.Size)
            return pintle.Response(id="site-" + request.properties.Name, attributes={"Url": f"https://{request.properties.Name}.test"})

        update = create

        def delete(self, request):
            remove_site(request.id)

    handler = pintle.handler(Sites())

``handler`` is the function for AWS Lambda. It reads the properties into the dataclass, calls the method, and sends the answer. Every
request gets one answer that CloudFormation accepts: also if the method raises, returns too much, or runs out of time.

The module needs only Python 3.9 or newer.
"""

from __future__ import annotations

import base64
import collections
import collections.abc
import copy
import dataclasses
import difflib
import functools
import hashlib
import json
import logging
import math
import os
import random
import re
import threading
import time
import traceback
import types
import typing
import urllib.error
import urllib.parse
import urllib.request

__all__ = [
    "Gone", "InProgress", "PlanResponse", "PropertiesError", "Provider", "ReadResponse", "Request", "Response", "Secret", "handler", "prop",
]

log = logging.getLogger("pintle_provider")

# CloudFormation, custom resource response objects.
_MAX_RESPONSE = 4096
_MAX_ID = 1024

# The physical ID of a resource whose Create failed before it made anything. CloudFormation sends a Delete for it.
_CREATE_FAILED = "Pintle::CreateFailed"
_NOTHING_CREATED = (_CREATE_FAILED, "AWSCDK::CustomResourceProviderFramework::CREATE_FAILED")

_SERVICE_TIMEOUT = 3600.0  # seconds, the default of ServiceTimeout
_SEND_TRIES = 8
_SEND_SECONDS = 10.0  # for one try
_KEEP_FAILURE = 300.0  # seconds for which a FAILED answer is repeated
_KEEP_ANSWERS = 100
_SHORT_SECRET = 4  # shorter texts occur in almost any text
_MAX_PROBLEMS = 10
_MAX_PLAN_REASON = 1024  # bytes
_MASK = "****"
_OWN_PROPERTIES = ("ServiceToken", "ServiceTimeout")  # those of CloudFormation


class Secret:
    """A text that is printed as ****. ``reveal`` returns the text.

    As a property it is read from a string. As an attribute it is sent in clear text and makes the answer NoEcho.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Returns the text."""
        return self._text

    def __repr__(self) -> str:
        return "****"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> typing.NoReturn:
        raise TypeError("a Secret is not pickled: use reveal()")


class Gone(Exception):
    """The resource does not exist any more.

    A delete that raises it has succeeded. After an update that raises it, the resource is created again.
    """


class PropertiesError(ValueError):
    """The properties of a resource are invalid. It never quotes a value, because that may be a secret."""

    def __init__(self, problems: typing.Sequence[str], old: bool = False) -> None:
        text = ("old properties: " if old else "properties: ") + "; ".join(problems[:_MAX_PROBLEMS])
        if len(problems) > _MAX_PROBLEMS:
            text += f"; and {len(problems) - _MAX_PROBLEMS} more"
        if old:
            text += (
                "; they were accepted once, and an immutable one cannot be read, so it is unknown whether the resource must be replaced. "
                "Nothing was changed: let the provider accept the old value too, then repeat the update"
            )
        super().__init__(text)
        self.problems = list(problems)


@dataclasses.dataclass
class Response:
    """The result of create and update."""

    #: The physical ID. Empty means the ID of the request for a Create, and the current ID for an Update. 1,024 bytes at most.
    id: str = ""
    #: The values that a template reads with Fn::GetAtt: a dict, or a dataclass. Members that are None are left out.
    attributes: typing.Any = None
    #: True if an Update made a new resource with this ID. CloudFormation then deletes the old one. Without it, an Update that returns
    #: another ID fails, because CloudFormation would delete the live resource.
    replaces: bool = False
    #: True to hide the attributes. A Secret in the attributes, or the value of a secret property, sets it too.
    no_echo: bool = False
    #: A text for the events of the stack.
    reason: str = ""


@dataclasses.dataclass
class InProgress:
    """The result of a method whose operation is not done. The library then calls ``poll`` until that returns a Response.

    It waits within the time of the function: 15 minutes on Lambda at most.
    """

    #: The ``request.state`` of the next call of ``poll``.
    state: typing.Any = None
    #: The physical ID of the resource that create has begun to make. If the operation fails, CloudFormation deletes it.
    id: str = ""
    #: Seconds until the next call of ``poll``. None means one second, then two, four, up to thirty.
    after: typing.Optional[float] = None


@dataclasses.dataclass
class ReadResponse:
    """The present state of a resource: the result of read."""

    #: The present properties: the dataclass of the provider, or a dict if it has none. Copy those that cannot be read back from the request.
    #: An empty Secret counts as one. Values of secret properties, and every other Secret, are not sent: the answer only reports whether they
    #: differ.
    properties: typing.Any
    #: The attributes of a Response, for an imported resource.
    attributes: typing.Any = None
    #: The no_echo of a Response.
    no_echo: bool = False


@dataclasses.dataclass
class PlanResponse:
    """The result of plan. None, and one without arguments, mean that the resource is created or changed in place."""

    #: True to announce that an Update will make a new resource. It has no effect for a Create.
    replace: bool = False
    #: The reason of the replacement, such as "the engine cannot be upgraded in place". At most 1,024 bytes of it are shown.
    reason: str = ""


P = typing.TypeVar("P")


class Request(typing.Generic[P]):
    """A request of CloudFormation."""

    def __init__(self, event: dict, properties: P, old_properties: typing.Optional[P], deadline: float) -> None:
        #: "Create", "Update" or "Delete"; in a call of read "Read", and in one of plan "Plan".
        self.type: str = event["RequestType"]
        #: The recorded physical ID. Empty for a Create, and for the Plan of one.
        self.id: str = event.get("PhysicalResourceId") or ""
        #: The name of the resource in the template.
        self.logical_id: str = event["LogicalResourceId"]
        #: The type in the template, such as "Custom::Site".
        self.resource_type: str = event.get("ResourceType", "")
        #: The ARN of the stack.
        self.stack_id: str = event["StackId"]
        #: The same when the request is delivered again.
        self.request_id: str = event["RequestId"]
        #: The properties: the dataclass of the provider, or a dict if it has none. For a Delete and a Read they are read leniently, see Provider.
        self.properties: P = properties
        #: The properties before an Update, read leniently. None for the others, and for the Plan of a Create.
        self.old_properties: typing.Optional[P] = old_properties
        #: The paths of the immutable properties that change, in a call of plan. The library announces a replacement because of them.
        self.immutable: list[str] = []
        #: The state of the last InProgress, in a call of ``poll``.
        self.state: typing.Any = None
        self._deadline = deadline
        self._made = ""  # the physical ID of the last InProgress

    @property
    def remaining(self) -> float:
        """Seconds until the library answers FAILED for a method that has not returned."""
        return self._deadline - time.monotonic()

    @property
    def token(self) -> str:
        """32 hexadecimal digits for APIs that take a client token. It is the same for every delivery of one request."""
        return _digest(f"{self.stack_id}|{self.logical_id}|{self.request_id}")[:32]

    @property
    def name(self) -> str:
        """A name for the resource that is the same in all its requests: stack, logical ID and twelve hexadecimal digits.

        A create that looks for its resource under this name finds it again when the request is delivered twice.
        """
        parts = self.stack_id.split("/")
        digits = _digest(f"{self.stack_id}|{self.logical_id}")[:12]
        return "-".join([*parts[1:2], self.logical_id, digits])


class Provider(typing.Generic[P]):
    """Manages one resource type. Derive from Provider[Site], where Site is the dataclass of the properties, and define create, update and
    delete. They must be idempotent, because a request can be delivered twice. Provider[dict] gets the properties unchecked, as CloudFormation
    sends them.

    The library reads the properties of a Create and an Update strictly, and reports every problem. An exception from the __post_init__ of
    the dataclass fails the request too. Those of a Delete, and the old ones of an Update, were accepted earlier, perhaps by another version:
    there, a field that is missing or cannot be read is None, and __post_init__ is not called. An Update fails if an old immutable property cannot be
    read, because it is then unknown whether the resource must be replaced.

    An exception makes the request FAILED, with its text as the reason. CloudFormation then undoes the request. A create that raises has
    made nothing, so its Delete is answered without a call; raise with a physical ID in the attribute ``id`` of the exception if
    something was made. If that create was to replace a resource, the library calls delete for this ID at once.
    """

    _shape: typing.Optional[type] = None  # the dataclass of the properties

    def __init_subclass__(cls, **options: typing.Any) -> None:
        super().__init_subclass__(**options)
        for base in getattr(cls, "__orig_bases__", ()):
            shape = _shape_of(base)
            if shape is not None:
                if dataclasses.is_dataclass(shape):
                    _check_type(shape, cls.__name__)
                    cls._shape = typing.cast(type, shape)
                elif shape is not dict and typing.get_origin(shape) is not dict and not isinstance(shape, typing.TypeVar):
                    raise TypeError(f"{cls.__name__}: the properties are a {shape}, want a dataclass or dict")

    def create(self, request: Request[P]) -> typing.Union[Response, InProgress, None]:
        """Makes the resource. Also called for an Update that changes an immutable property, and for one that raises Gone."""
        raise NotImplementedError(f"{type(self).__name__} has no method create")

    def update(self, request: Request[P]) -> typing.Union[Response, InProgress, None]:
        """Changes the resource. A failed Update is followed by one in the other direction."""
        raise NotImplementedError(f"{type(self).__name__} has no method update")

    def delete(self, request: Request[P]) -> typing.Union[Response, InProgress, None]:
        """Deletes the resource. It is not an error if there is none."""
        raise NotImplementedError(f"{type(self).__name__} has no method delete")

    def poll(self, request: Request[P]) -> typing.Union[Response, InProgress, None]:
        """Looks once whether an operation is done. Needed if another method returns InProgress."""
        raise NotImplementedError(f"{type(self).__name__} returned InProgress and has no method poll")

    def read(self, request: Request[P]) -> ReadResponse:
        """Returns the present state of the resource, and changes nothing. Gone reports that the resource does not exist.

        Optional. Only Pintle sends a Read, to detect drift and to import resources. CloudFormation never does.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method read")

    def plan(self, request: Request[P]) -> typing.Optional[PlanResponse]:
        """Predicts the effect of a Create or an Update with these properties, and changes nothing. The properties were checked.

        An exception refuses the change, with its text as the reason. Gone reports that the resource does not exist, so that an Update would
        make a new one. It may be called while another request of the resource is in progress, and should return within seconds.

        Optional. Only Pintle sends a Plan: for a dry run, for "pintle validate" and for change sets. CloudFormation never does.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method plan")


def prop(
    name: str = "",
    *,
    default: typing.Any = dataclasses.MISSING,
    immutable: bool = False,
    secret: bool = False,
    pattern: str = "",
    enum: typing.Sequence[str] = (),
    min: typing.Optional[float] = None,  # noqa: A002
    max: typing.Optional[float] = None,  # noqa: A002
    min_length: int = 0,
    max_length: typing.Optional[int] = None,
) -> typing.Any:
    """Describes a property or an attribute, as the default of a field of a dataclass.

    :param name: the name in templates. Default: the name of the field.
    :param default: the value if the template has none. Without it the property is required.
    :param immutable: a change replaces the resource: the library calls create, and CloudFormation deletes the old one.
    :param secret: the value must not appear in reasons, and makes answers with it NoEcho. A Secret is so by itself.
    :param pattern: a regular expression that a text must match as a whole.
    :param enum: the values that are allowed.
    :param min: the smallest number.
    :param max: the largest number.
    :param min_length: the fewest characters of a text, items of a list, or members of a dict.
    :param max_length: the most.
    """
    rules = _Rules(name, immutable, secret, pattern, tuple(enum), min, max, min_length, max_length)
    extra: typing.Any = {"default": default}
    if isinstance(default, (list, dict)):
        extra = {"default_factory": lambda: type(default)(default)}
    return dataclasses.field(metadata={"pintle": rules}, **extra)


@dataclasses.dataclass(frozen=True)
class _Rules:
    name: str = ""
    immutable: bool = False
    secret: bool = False
    pattern: str = ""
    enum: tuple = ()
    least: typing.Optional[float] = None
    most: typing.Optional[float] = None
    shortest: int = 0
    longest: typing.Optional[int] = None


_NO_RULES = _Rules()


def _rules(field: dataclasses.Field) -> _Rules:
    return field.metadata.get("pintle", _NO_RULES)


def _shape_of(base: typing.Any) -> typing.Any:
    """Returns the properties of a base such as Provider[Site], or of a generic class derived from Provider. None for any other class."""
    origin, arguments = typing.get_origin(base), typing.get_args(base)
    if origin is Provider:
        return arguments[0]
    if isinstance(origin, type) and issubclass(origin, Provider):
        given = dict(zip(getattr(origin, "__parameters__", ()), arguments))
        for each in getattr(origin, "__orig_bases__", ()):
            shape = _shape_of(each)
            if shape is not None:
                return given.get(shape, shape)
    return None


def _check_type(kind: typing.Any, path: str, seen: tuple = (), item: bool = False) -> None:
    """Raises TypeError for a type that properties cannot have, and for an immutable field within a list or dict."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind in seen or kind in (str, int, float, bool, Secret, list, dict, typing.Any) or origin is typing.Literal:
        return
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        for field in dataclasses.fields(kind):
            if item and _rules(field).immutable:
                raise TypeError(f"{path}.{field.name}: is immutable within a list or dict: make the whole of it immutable")
            _check_type(hints[field.name], f"{path}.{field.name}", (*seen, kind), item)
    elif origin is list or (origin is dict and arguments[0] is str):
        _check_type(arguments[-1], path, seen, True)
    elif _optional(kind):
        _check_type(_optional(kind), path, seen, item)
    else:
        raise TypeError(f"{path}: properties cannot have the type {kind}: use str, int, float, bool, Secret, list, dict, Literal, Optional or a dataclass")


def _optional(kind: typing.Any) -> typing.Any:
    """Returns T of Optional[T] and T | None, and None for any other type."""
    if typing.get_origin(kind) not in (typing.Union, getattr(types, "UnionType", typing.Union)):
        return None
    plain = [argument for argument in typing.get_args(kind) if argument is not type(None)]
    return plain[0] if len(plain) == 1 else None


class _Invalid(Exception):
    """A value cannot be read."""


def _scalar(value: typing.Any) -> str:
    """Returns a scalar as CloudFormation would send it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return json.dumps(value)
    raise _Invalid


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise _Invalid
    return float(text)


def _whole(text: str) -> int:
    if re.fullmatch(r"[+-]?\d{1,4000}", text, re.ASCII):
        return int(text)
    number = _number(text)
    if number != math.trunc(number) or abs(number) > 1 << 53:
        raise _Invalid
    return int(number)


class _Decoder:
    """Reads properties into dataclasses and collects the problems. Old properties are read leniently: they were accepted once."""

    def __init__(self, lenient: bool) -> None:
        self.lenient = lenient
        self.immutable = False  # one of the problems is with an immutable property
        self.problems: list[str] = []
        self.secrets: list[str] = []

    def object(self, kind: type, given: dict, path: str) -> typing.Any:
        hints = typing.get_type_hints(kind)
        values, names, before = {}, [], len(self.problems)
        for field in dataclasses.fields(kind):
            if not field.init:
                continue
            rules = _rules(field)
            name = rules.name or field.name
            names.append(name)
            value, place, problems = given.get(name), _join(path, name), len(self.problems)
            if value is not None:
                if rules.secret:
                    self.hide(value)
                values[field.name] = self.value(hints[field.name], rules, value, place)
            elif field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING:
                default = field.default_factory() if field.default is dataclasses.MISSING else field.default  # type: ignore[misc]
                values[field.name] = default
                self.secrets += _secret_texts(Secret if rules.secret else hints[field.name], default)
            else:
                values[field.name] = None
                if not self.lenient:
                    self.problems.append(f"{place}: is missing")
            if rules.immutable and len(self.problems) > problems:
                self.immutable = True
        if self.lenient:
            instance = object.__new__(kind)
            for member, value in values.items():
                object.__setattr__(instance, member, value)  # the class may be frozen
            return instance
        for name in sorted(set(given) - set(names)):
            near = difflib.get_close_matches(name, names, 1)
            hint = f", did you mean {near[0]}?" if near else ""
            self.problems.append(f"{_join(path, name)[:100]}: is not known{hint}")
        return kind(**values) if len(self.problems) == before else None

    def hide(self, value: typing.Any) -> None:
        """Remembers the scalars in a value as secrets."""
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                self.hide(item)
        elif value is not None:
            self.secrets.append(_scalar(value))

    def value(self, kind: typing.Any, rules: _Rules, value: typing.Any, path: str) -> typing.Any:
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if _optional(kind):
            return self.value(_optional(kind), rules, value, path)
        if kind is typing.Any:
            return value
        try:
            if dataclasses.is_dataclass(kind):
                if not isinstance(value, dict):
                    self.immutable = self.immutable or bool(_create_only(kind, "", ()))
                    raise _Invalid
                return self.object(typing.cast(type, kind), value, path)
            if origin is list or kind is list:
                if not isinstance(value, list) or not self.fits(rules, len(value)):
                    raise _Invalid
                items = dataclasses.replace(rules, shortest=0, longest=None)
                item_kind = arguments[0] if arguments else typing.Any
                return [self.value(item_kind, items, item, f"{path}[{i}]") for i, item in enumerate(value)]
            if origin is dict or kind is dict:
                if not isinstance(value, dict) or not self.fits(rules, len(value)):
                    raise _Invalid
                items = dataclasses.replace(rules, shortest=0, longest=None)
                item_kind = arguments[1] if arguments else typing.Any
                return {name: self.value(item_kind, items, item, _join(path, name)) for name, item in value.items()}
            return self.scalar(kind, rules, _scalar(value))
        except _Invalid:
            self.problems.append(f"{path}: want {_describe(kind, rules)}")
            return None

    def scalar(self, kind: typing.Any, rules: _Rules, text: str) -> typing.Any:
        result: typing.Any
        if kind is Secret:
            self.secrets.append(text)
            result = Secret(text)
        elif kind is str:
            result = text
        elif kind is bool:
            if text.lower() not in ("true", "false"):
                raise _Invalid
            result = text.lower() == "true"
        elif kind is int:
            result = _whole(text)
        elif kind is float:
            result = _number(text)
        else:  # a Literal
            for choice in typing.get_args(kind):
                if _scalar(choice) == text:
                    return choice
            raise _Invalid
        if self.lenient:
            return result
        if rules.enum and (str(result) if kind is int else text) not in [_scalar(choice) for choice in rules.enum]:
            raise _Invalid
        if kind in (str, Secret) and not (self.fits(rules, len(text)) and (not rules.pattern or re.fullmatch(rules.pattern, text))):
            raise _Invalid
        if kind in (int, float) and not (
            (rules.least is None or result >= rules.least) and (rules.most is None or result <= rules.most)
        ):
            raise _Invalid
        return result

    def fits(self, rules: _Rules, length: int) -> bool:
        return self.lenient or (length >= rules.shortest and (rules.longest is None or length <= rules.longest))


def _describe(kind: typing.Any, rules: _Rules) -> str:
    """Describes the values that a property can have, such as "a whole number from 1 to 65535"."""
    origin = typing.get_origin(kind)

    def length(unit: str) -> str:
        if rules.longest is not None and rules.shortest == rules.longest:
            return f" of {rules.longest} {unit}"
        if rules.longest is not None:
            return f" of {rules.shortest} to {rules.longest} {unit}"
        return f" of {rules.shortest} {unit} or more" if rules.shortest else ""

    if origin is typing.Literal:
        return "one of " + ", ".join(_scalar(choice) for choice in typing.get_args(kind))
    if dataclasses.is_dataclass(kind) or origin is dict or kind is dict:
        return "an object" + length("members")
    if origin is list or kind is list:
        return "a list" + length("items")
    if rules.enum:
        return "one of " + ", ".join(_scalar(choice) for choice in rules.enum)
    if kind is bool:
        return "true or false"
    if kind in (str, Secret):
        return "a text" + length("characters") + (f" that matches {rules.pattern}" if rules.pattern else "")
    text = "a whole number" if kind is int else "a number"
    if rules.least is not None and rules.most is not None:
        return f"{text} from {rules.least} to {rules.most}"
    if rules.least is not None:
        return f"{text}, {rules.least} or more"
    return f"{text}, {rules.most} or less" if rules.most is not None else text


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class _Masks:
    """Replaces the secrets of a request in texts, in each encoding in which they can appear."""

    def __init__(self, secrets: typing.Iterable[str], response_url: str) -> None:
        self._texts = sorted({form for secret in secrets for form in self._forms(secret)}, key=len, reverse=True)
        signed = urllib.parse.urlsplit(response_url)
        self._signed = [text for text in (response_url, signed.query) if len(text) >= _SHORT_SECRET]
        self._signed += [value for _, value in urllib.parse.parse_qsl(signed.query) if len(value) >= 16]

    @staticmethod
    def _forms(secret: str) -> typing.Iterator[str]:
        if len(secret) < _SHORT_SECRET:
            return
        yield secret
        yield json.dumps(secret)[1:-1]
        yield json.dumps(secret, ensure_ascii=False)[1:-1]
        yield repr(secret)[1:-1]
        yield urllib.parse.quote(secret, safe="", errors="replace")
        yield urllib.parse.quote_plus(secret, errors="replace")
        yield base64.b64encode(secret.encode("utf-8", "replace")).decode()

    def mask(self, text: str) -> str:
        for signed in self._signed:
            text = text.replace(signed, "****")
        for secret in self._texts:
            text = text.replace(secret, "****")
        return text

    def shows(self, text: str) -> bool:
        """Reports whether a text contains a secret property."""
        return any(secret in text for secret in self._texts)


def _plain(value: typing.Any) -> typing.Any:
    """Returns attributes as JSON has them, with secrets in clear text."""
    if isinstance(value, Secret):
        return value.reveal()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {_rules(field).name or field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items() if member is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _data(attributes: typing.Any) -> dict:
    """Returns the attributes of a response as the Data of an answer."""
    data = _plain(attributes) if attributes is not None else {}
    if not isinstance(data, dict):
        raise TypeError("want a dict or a dataclass")
    return data


def _kinds(kind: type) -> dict[str, typing.Any]:
    """Returns the types of the fields of a dataclass. A type that cannot be resolved is Secret if its text contains that name, else Any."""
    try:
        return typing.get_type_hints(kind)
    except Exception:  # noqa: BLE001: an annotation can raise anything
        return {
            field.name: (Secret if re.search(r"\bSecret\b", field.type) else typing.Any) if isinstance(field.type, str) else field.type
            for field in dataclasses.fields(kind)
        }


def _may_hold_secret(kind: typing.Any, seen: tuple = ()) -> bool:
    """Reports whether a type contains a Secret or a secret field."""
    if kind is Secret or kind in seen:
        return kind is Secret
    if dataclasses.is_dataclass(kind):
        kinds = _kinds(typing.cast(type, kind))
        return any(_rules(field).secret or _may_hold_secret(kinds[field.name], (*seen, kind)) for field in dataclasses.fields(kind))
    return any(_may_hold_secret(argument, seen) for argument in typing.get_args(kind) if typing.get_origin(kind) is not typing.Literal)


def _all_secret(kind: typing.Any, value: typing.Any) -> bool:
    """Reports whether all of a value is secret: a Secret, or a value that does not have the parts of its type, of which some are secret."""
    if isinstance(value, Secret) or kind is Secret:
        return True
    origin = typing.get_origin(kind)
    fits = (
        dataclasses.is_dataclass(kind) and dataclasses.is_dataclass(value)
        or origin is list and isinstance(value, (list, tuple)) or origin is dict and isinstance(value, dict)
    )
    return not fits and _may_hold_secret(kind)


def _kind_of_items(kind: typing.Any) -> typing.Any:
    """Returns the type of the items of a list or dict."""
    arguments = typing.get_args(kind)
    return arguments[-1] if arguments and typing.get_origin(kind) in (list, dict) else typing.Any


def _texts(value: typing.Any) -> list[str]:
    """Returns the texts and numbers in a value, as texts."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [_scalar(value)] if isinstance(value, (str, int, float)) and not isinstance(value, bool) else []


def _secret_texts(kind: typing.Any, value: typing.Any) -> list[str]:
    """Returns the texts and numbers in a value that are secret, because of their type or because they are in a Secret. A secret without any
    counts as an empty text.
    """
    kind = _optional(kind) or kind
    if value is None:
        return []
    if _all_secret(kind, value):
        return _texts(_plain(value)) or [""]
    found: list[str] = []
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kinds = _kinds(type(value))
        for field in dataclasses.fields(value):
            found += _secret_texts(Secret if _rules(field).secret else kinds[field.name], getattr(value, field.name, None))
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            found += _secret_texts(_kind_of_items(kind), item)
    return found


def _secrets_found(response: Response) -> list[str]:
    """Returns the texts of the secrets in the result of a method. All attributes are secret if they are NoEcho."""
    found: list[str] = []
    try:
        found += _secret_texts(typing.Any, response.attributes)
        if response.no_echo:
            found += _texts(_plain(response.attributes))
        if isinstance(response, _Present):
            found += _secret_texts(typing.Any, response.now)
    except Exception:  # noqa: BLE001: the value is not JSON, which its encoding reports
        pass
    return found


def _clean(text: str) -> str:
    """Returns a text without the characters that XML 1.0, and so a list of events, cannot hold."""
    text = text.encode("utf-8", "replace").decode()
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "", text)


def _encode(document: dict) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")


def _body(document: dict) -> bytes:
    """Returns the body of an answer: 4,096 bytes at most. It shortens the reason, and fails a request whose attributes do not fit."""
    problem = _too_long(document) if document["Status"] == "SUCCESS" else ""
    if problem:
        document.pop("Data", None)
        document.pop("PintleState", None)
        document.pop("NoEcho", None)
        document["Status"], document["Reason"] = "FAILED", problem
    return _cut(document)


def _too_long(document: dict) -> str:
    """Returns a problem that names the largest attributes if an answer is too long without its reason."""
    size = len(_encode(document))
    if size <= _MAX_RESPONSE or len(_encode({**document, "Reason": ""})) <= _MAX_RESPONSE:
        return ""
    data = document.get("Data", {})
    if "PintleState" in document:
        return (
            f"the response is {size} bytes long, {_MAX_RESPONSE} are allowed: the state of the resource takes {len(_encode(document['PintleState']))} "
            f"of them, the attributes {len(_encode(data))}"
        )
    largest = sorted(((len(_encode(value)), name) for name, value in data.items()), reverse=True)[:3]
    text = ", ".join(f'"{name[:100]}" with {length}' for length, name in largest)
    return (
        f"the response is {size} bytes long, {_MAX_RESPONSE} are allowed: Data takes {len(_encode(data))} of them, the largest "
        f"attributes are {text}; return the name of a place where the value is kept instead"
    )


def _cut(document: dict) -> bytes:
    """Encodes an answer and leaves out the middle of its reason: errors begin with the attempt and end with the cause."""
    reason = document["Reason"]

    def shortened(keep: int) -> bytes:
        head, tail = keep - keep // 3, len(reason) - keep // 3
        text = f"{reason[:head]}… [{tail - head} characters are left out here, the log of the provider has them] …{reason[tail:]}"
        return _encode({**document, "Reason": text})

    if len(_encode(document)) <= _MAX_RESPONSE:
        return _encode(document)
    least, most = 0, len(reason)
    while least < most:
        middle = (least + most + 1) // 2
        if len(shortened(middle)) <= _MAX_RESPONSE:
            least = middle
        else:
            most = middle - 1
    return shortened(least)


class _NotSent(Exception):
    """An answer did not arrive. Its text has no response URL."""


def _send(url: str, body: bytes, until: float) -> None:
    """Sends an answer until it arrives. Connection errors, 429 and 5xx are tried again, any other status is an error at once."""
    host = urllib.parse.urlsplit(url).netloc.rpartition("@")[2]
    request = urllib.request.Request(url, body, {"Content-Type": "", "Content-Length": str(len(body))}, method="PUT")
    for attempt in range(1, _SEND_TRIES + 1):
        left = until - time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=max(min(_SEND_SECONDS, left), 0.1)) as reply:
                reply.read(1 << 16)
            return
        except urllib.error.HTTPError as error:
            error.close()
            problem = f"status {error.code}"
            again = error.code == 429 or error.code >= 500
        except Exception as error:  # noqa: BLE001: its text may have the URL
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            problem = type(reason).__name__
            again = True
        pause = random.uniform(0, min(0.2 * 2 ** (attempt - 1), 5.0))
        if not again or attempt == _SEND_TRIES or time.monotonic() + pause > until:
            raise _NotSent(f"send response to {host}, try {attempt}: {problem}") from None
        log.warning("response did not arrive, trying again: send response to %s, try %d: %s", host, attempt, problem)
        time.sleep(pause)


class _Budget:
    """Divides the time until a deadline: for the method, until the library answers for it, and for sending."""

    def __init__(self, now: float, deadline: float) -> None:
        left = max(deadline - now, 0.0)
        reserve = min(max(left / 5, 0.2), 5.0, left / 2)
        self.watchdog = deadline - reserve
        self.method = self.watchdog - reserve / 2
        self.send = deadline - reserve / 5


@dataclasses.dataclass
class _Outcome:
    response: Response
    error: typing.Optional[BaseException] = None
    late: bool = False


@dataclasses.dataclass
class _Present(Response):
    """The result of a read, with the properties of its request as they were sent and as they were decoded."""

    given: typing.Any = None
    declared: typing.Any = None
    now: typing.Any = None
    gone: bool = False


class _Handler:
    """The function for Lambda. It serves one request at a time."""

    def __init__(self, providers: dict[str, Provider]) -> None:
        self._providers = providers
        self._answers: collections.OrderedDict[str, tuple[float, bytes]] = collections.OrderedDict()
        # Updates that did not change their resource, so that their rollbacks are known: those must not replace the resource.
        self._refused: collections.OrderedDict[str, tuple[str, str]] = collections.OrderedDict()
        self._running: typing.Optional[threading.Thread] = None

    def __call__(self, event: dict, context: typing.Any = None) -> typing.Optional[dict]:
        now = time.monotonic()
        left = context.get_remaining_time_in_millis() / 1000 if hasattr(context, "get_remaining_time_in_millis") else _SERVICE_TIMEOUT
        if isinstance(event, dict) and event.get("RequestType") == "Plan":
            return self._plan(event, _Budget(now, now + left))
        for request in _requests(event):
            self._serve(request, now, now + left)
        return None

    def pintle_schema(self) -> dict:
        """Returns the schema of the resource types, which Pintle asks for."""
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "resourceTypes": {name: _schema(provider) for name, provider in self._providers.items()},
        }

    def _serve(self, event: dict, now: float, deadline: float) -> None:
        missing = [name for name in ("ResponseURL", "StackId", "RequestId", "LogicalResourceId") if not _text(event, name)]
        if missing:
            raise ValueError(f"the event is not a request of CloudFormation: it has no {', '.join(missing)}")
        given = event.get("ResourceProperties")
        properties = given if isinstance(given, dict) else {}
        try:
            timeout = min(max(_number(_scalar(properties.get("ServiceTimeout", _SERVICE_TIMEOUT))), 1.0), _SERVICE_TIMEOUT)
        except _Invalid:
            timeout = _SERVICE_TIMEOUT
        budget = _Budget(now, min(deadline, now + timeout))
        key = _digest(json.dumps({name: value for name, value in event.items() if name != "ResponseURL"}, sort_keys=True))
        body = self._recall(key, now)
        if body is None:
            body = self._answer(event, properties, budget)
            _remember(self._answers, key, (now, body))
        else:
            log.info("the request was handled before, it is answered as it was")
        _send(event["ResponseURL"], body, budget.send)

    def _recall(self, key: str, now: float) -> typing.Optional[bytes]:
        when, body = self._answers.get(key, (now, None))
        if body is not None and b'"Status":"FAILED"' in body and now - when > _KEEP_FAILURE:
            return None
        return body

    def _answer(self, event: dict, properties: dict, budget: _Budget) -> bytes:
        """Returns the body of the answer to a request."""
        kind, current = event.get("RequestType"), _text(event, "PhysicalResourceId")
        secrets: list[str] = []
        outcome = self._ask(event, properties, budget, secrets)
        response, error = outcome.response, outcome.error
        masks = _Masks([*secrets, *_secrets_found(response)], event["ResponseURL"])
        status, reason, physical = "SUCCESS", _words(response.reason or ""), response.id
        if kind == "Delete" and isinstance(error, Gone):
            error = None
        if error is not None:
            status = "FAILED"
            reason = _words(error) or f"the handler failed with an error that has no text, a {type(error).__name__}"
            if isinstance(error, LookupError):  # its text is no more than the key
                reason = f"{type(error).__name__}: {reason}"
            trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            log.error("%s %s failed: %s", kind, event["LogicalResourceId"], masks.mask(trace))
            if isinstance(getattr(error, "id", None), str):
                physical = error.id  # type: ignore[attr-defined]
        if kind == "Read":
            physical = current
        problem = _id_problem(physical, masks)
        if problem:
            status, reason = "FAILED", problem
            physical = event["RequestId"] if kind == "Create" else ""  # something was made, so its Delete must be asked for
        if kind == "Create":
            physical = physical or (_CREATE_FAILED if error is not None and not outcome.late and not problem else event["RequestId"])
        elif kind == "Update" and physical and physical != current and not response.replaces:
            if error is None and not problem:
                status, reason = "FAILED", _not_replaced(current, masks.mask(physical))
            physical = current
        elif kind == "Delete" and physical and current and physical != current:
            status = "FAILED"
            reason = f'a Delete cannot change the physical ID, the handler answered "{masks.mask(physical)[:200]}" to the Delete of "{current}"'
            physical = current
        document: dict[str, typing.Any] = {
            "Status": status,
            "PhysicalResourceId": physical or current or _CREATE_FAILED,
            "StackId": event["StackId"],
            "RequestId": event["RequestId"],
            "LogicalResourceId": event["LogicalResourceId"],
            "Reason": _clean(masks.mask(reason)) or ("the handler failed with an error that has no text to show" if status == "FAILED" else ""),
        }
        if status == "SUCCESS" and kind != "Delete":
            try:
                data = _data(response.attributes)
                text = _encode(data).decode()
                clear = json.dumps(data)
                state = _state(response, masks) if isinstance(response, _Present) else None
            except (TypeError, ValueError, RecursionError) as failure:
                part = "state" if kind == "Read" else "attributes"
                document["Status"], document["Reason"] = "FAILED", f"the {part} cannot be encoded: {masks.mask(str(failure))}"
            else:
                if data:
                    document["Data"] = data
                if state is not None:
                    document["PintleState"] = state
                if response.no_echo or _secret_texts(typing.Any, response.attributes) or any(masks.shows(t) for t in (text, clear, document["PhysicalResourceId"])):
                    document["NoEcho"] = True
        return _body(document)

    def _ask(self, event: dict, properties: dict, budget: _Budget, secrets: list[str]) -> _Outcome:
        """Calls the method of the provider in a thread, and waits for it within the budget."""
        kind = event.get("RequestType")
        try:
            if kind not in ("Create", "Update", "Delete", "Read"):
                raise ValueError(f"the request type {str(kind)[:100]!r} is not known")
            if kind == "Delete" and event.get("PhysicalResourceId") in _NOTHING_CREATED:
                log.info("nothing to delete, the Create had failed")
                return _Outcome(Response())
            if kind != "Create" and not _text(event, "PhysicalResourceId"):
                raise ValueError(f"the {kind} has no PhysicalResourceId")
            request, call = self._prepare(event, properties, budget, secrets)
        except BaseException as error:  # noqa: BLE001
            return _Outcome(Response(), error)
        self._wait(budget)
        outcome = _Outcome(Response(), RuntimeError("the handler ended its thread without an answer"))

        def run() -> None:
            try:
                outcome.response, outcome.error = call(), None
            except BaseException as error:  # noqa: BLE001: SystemExit of a handler is its failure too
                outcome.error = error

        began = time.monotonic()
        thread = threading.Thread(target=run, name="pintle-handler", daemon=True)
        self._running = thread
        thread.start()
        thread.join(max(budget.watchdog - time.monotonic(), 0))
        if thread.is_alive():
            late = TimeoutError(
                f"ran out of time: the handler did not return within {time.monotonic() - began:.3f} s; "
                "give it more time (the timeout of the function, ServiceTimeout in the template), or make it respect request.remaining"
            )
            if kind == "Create":
                _with_id(late, request._made)
            return _Outcome(Response(), late, late=True)
        return outcome

    def _wait(self, budget: _Budget) -> None:
        """Waits for a method that ran out of time in an earlier request: it must not work at the same time as this one."""
        if self._running is not None and self._running.is_alive():
            self._running.join(max(budget.method - time.monotonic(), 0))
            if self._running.is_alive():
                log.error("an earlier request is still being handled: the process ends, and the request is delivered again")
                os._exit(1)

    def _provider(self, event: dict) -> Provider:
        name = event.get("ResourceType", "")
        provider = self._providers.get(name) or self._providers.get("*")
        if provider is None:
            raise ValueError(f"this provider has no resource type {name[:100]}, it has {', '.join(sorted(self._providers))}")
        return provider

    def _prepare_read(
        self, provider: Provider, event: dict, properties: dict, budget: _Budget, secrets: list[str],
    ) -> tuple[Request, typing.Callable[[], Response]]:
        if not _has(provider, "read"):
            raise NotImplementedError("this provider has no method read, so the present state of its resources is unknown")
        declared = _decode(provider, properties, True, secrets, whole=True)
        # The method may change the properties of its request.
        request = Request(event, _decode(provider, copy.deepcopy(properties), True, []), None, budget.method)

        def read() -> Response:
            try:
                result = provider.read(request)
            except Gone:
                return _Present(gone=True)
            if not isinstance(result, ReadResponse):
                raise TypeError(f"read returned a {type(result).__name__}, want a ReadResponse")
            want = provider._shape or dict
            if not isinstance(result.properties, want):
                raise TypeError(f"the properties from read are a {type(result.properties).__name__}, want a {want.__name__}")
            return _Present(attributes=result.attributes, no_echo=result.no_echo, given=_own(properties), declared=declared, now=result.properties)

        return request, read

    def _plan(self, event: dict, budget: _Budget) -> dict:
        """Answers a Plan. It records nothing, and does not wait for other requests of the resource."""
        secrets: list[str] = []
        answer: dict[str, str] = {"error": "the handler ended its thread without an answer"}

        def run() -> None:
            answer.update(self._planned(event, budget, secrets))
            del answer["error"]

        def guarded() -> None:
            try:
                run()
            except BaseException as error:  # noqa: BLE001: SystemExit of a handler is its failure too
                answer["error"] = _words(error) or f"the handler failed with an error that has no text, a {type(error).__name__}"

        thread = threading.Thread(target=guarded, name="pintle-plan", daemon=True)
        thread.start()
        thread.join(max(budget.watchdog - time.monotonic(), 0))
        shown = {"error": "ran out of time: plan did not return"} if thread.is_alive() else dict(answer)
        masks = _Masks(secrets, "")
        for name in ("reason", "error"):
            if name in shown:
                shown[name] = _clean(masks.mask(shown[name])).encode()[:_MAX_PLAN_REASON].decode(errors="ignore")
        return {"PintlePlan": shown}

    def _planned(self, event: dict, budget: _Budget, secrets: list[str]) -> dict:
        """Returns the members of the answer to a Plan. A refusal is an answer; an exception means that the provider cannot plan."""
        missing = [name for name in ("StackId", "RequestId", "LogicalResourceId") if not _text(event, name)]
        if missing:
            raise ValueError(f"the event is not a Plan: it has no {', '.join(missing)}")
        provider = self._provider(event)
        if not _has(provider, "plan"):
            raise NotImplementedError("this provider has no method plan")
        given = event.get("ResourceProperties")
        properties = given if isinstance(given, dict) else {}
        exists = bool(_text(event, "PhysicalResourceId"))
        try:
            current, before = _decode(provider, properties, False, secrets), None
            if exists:
                old = event.get("OldResourceProperties")
                before = _decode(provider, old if isinstance(old, dict) else {}, True, secrets, old=True)
            request = Request(event, current, before, budget.method)
            if exists:
                request.immutable = _changed(_decode(provider, properties, True, []), before)
            changed = list(request.immutable)
            try:
                result = provider.plan(request)
            except Gone as error:
                if not exists:
                    raise
                result = PlanResponse(replace=True, reason=_words(error) or "the resource is gone")
        except Exception as error:  # noqa: BLE001: of any kind, it refuses the change
            reason = _words(error) or "the provider refuses the change without an explanation"
            log.info("the plan refuses the change of %s", event["LogicalResourceId"])
            return {"change": "Refuse", "reason": f"{type(error).__name__}: {reason}" if isinstance(error, LookupError) else reason}
        if result is None:
            result = PlanResponse()
        if not isinstance(result, PlanResponse):
            raise TypeError(f"plan returned a {type(result).__name__}, want a PlanResponse or None")
        if not exists or not (result.replace or changed):
            return {"change": "InPlace"}
        verb = "is" if len(changed) == 1 else "are"
        reasons = [f"{', '.join(changed)} {verb} immutable" if changed else "", _words(result.reason or "")]
        return {"change": "Replace", "reason": "; ".join(each for each in reasons if each)}

    def _prepare(self, event: dict, properties: dict, budget: _Budget, secrets: list[str]) -> tuple[Request, typing.Callable[[], Response]]:
        """Decodes the properties and returns the request and the call to make."""
        kind, provider = event["RequestType"], self._provider(event)
        if kind == "Read":
            return self._prepare_read(provider, event, properties, budget, secrets)
        given = event.get("OldResourceProperties")
        old = given if isinstance(given, dict) else {}
        note = f"{event['StackId']}|{event['LogicalResourceId']}|{event.get('PhysicalResourceId')}"
        was, now = (_digest(json.dumps(_own(each), sort_keys=True)) for each in (old, properties))
        refused = self._refused.pop(note, None) if kind == "Update" else None
        undoes = refused == (now, was)
        before = None
        try:
            if kind == "Update":
                before = _decode(provider, old, True, secrets, old=True)
            current = _decode(provider, properties, kind == "Delete", secrets)
        except Exception:
            if kind == "Update":  # the rollback of a refused Update may be refused too, and is then tried again
                _remember(self._refused, note, (now, was) if undoes else (was, now))
            raise
        request = Request(event, current, before, budget.method)
        if kind == "Create":
            return request, lambda: self._finish(provider, request, provider.create(request))
        if kind == "Delete":
            return request, lambda: self._finish(provider, request, provider.delete(request))
        # Both are read in the same way: __post_init__ may have changed the current ones.
        if not undoes and _immutables(_decode(provider, properties, True, [])) != _immutables(before):
            _remember(self._refused, note, (was, now))

            def replace() -> Response:
                response = self._replace(provider, request)
                self._refused.pop(note, None)
                return response

            return request, replace

        def update() -> Response:
            try:
                return self._finish(provider, request, provider.update(request))
            except Gone:
                return self._replace(provider, request)

        return request, update

    def _replace(self, provider: Provider, request: Request) -> Response:
        """Answers an Update by create. If that fails, the answer must keep the ID of the old resource: with the ID of an incomplete
        replacement, CloudFormation would delete the good resource. So the incomplete one is deleted here.
        """
        current = request.id
        try:
            response = self._finish(provider, request, provider.create(request))
            response = dataclasses.replace(response, id=response.id or request.request_id, replaces=True)
            self._check(request, response)
        except Exception as error:
            made = getattr(error, "id", "")
            if isinstance(made, str) and made not in ("", current):
                self._undo(provider, request, made, error)
            raise
        return response

    def _check(self, request: Request, response: Response) -> None:
        """Raises an error if the attributes of a replacement cannot be sent. Its ID must not be in an answer that is FAILED."""
        try:
            problem = _too_long({
                "Status": "SUCCESS", "PhysicalResourceId": response.id, "StackId": request.stack_id, "RequestId": request.request_id,
                "LogicalResourceId": request.logical_id, "Reason": "", "Data": _data(response.attributes), "NoEcho": True,
            })
        except (TypeError, ValueError, RecursionError) as error:
            problem = f"the attributes cannot be encoded: {error}"
        if problem:
            raise _with_id(ValueError(problem), response.id)

    def _undo(self, provider: Provider, request: Request, made: str, error: Exception) -> None:
        """Deletes the resource that a failed replacement has made."""
        remove = copy.copy(request)
        remove.type, remove.id, remove.state, remove.old_properties = "Delete", made, None, None
        try:
            self._finish(provider, remove, provider.delete(remove))
        except Gone:
            pass
        except Exception as failure:
            raise RuntimeError(f"{_words(error)}; and {made}, which it had made, is left behind: {_words(failure)}") from error

    def _finish(self, provider: Provider, request: Request, result: typing.Any) -> Response:
        """Polls an operation until it is done."""
        physical, pause = "", 1.0
        while isinstance(result, InProgress):
            physical = request._made = result.id or physical
            wait = result.after
            if wait is None:
                wait, pause = pause * random.uniform(0.75, 1.25), min(pause * 2, 30.0)
            if wait > request.remaining:
                raise _with_id(TimeoutError("Operation timed out: the function has no time left for another poll"), physical)
            time.sleep(max(wait, 0))
            request.state = result.state
            request.id = physical or request.id
            try:
                result = provider.poll(request)
            except Exception as error:
                raise _with_id(error, physical)
        if result is None:
            result = Response()
        if not isinstance(result, Response):
            raise TypeError(f"the handler returned a {type(result).__name__}, want a Response, InProgress or None")
        return dataclasses.replace(result, id=result.id or physical)


def _with_id(error: Exception, physical: str) -> Exception:
    """Returns an error with the physical ID of a resource that exists although the request failed."""
    if physical and not hasattr(error, "id"):
        error.id = physical  # type: ignore[attr-defined]
    return error


def _remember(memory: collections.OrderedDict, key: str, value: typing.Any) -> None:
    """Records a value, and forgets the oldest one if there are too many."""
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > _KEEP_ANSWERS:
        memory.popitem(last=False)


def _own(properties: dict) -> dict:
    return {name: value for name, value in properties.items() if name not in _OWN_PROPERTIES}


def _decode(provider: Provider, given: dict, lenient: bool, secrets: list[str], whole: bool = False, old: bool = False) -> typing.Any:
    """Returns the properties for a provider, and adds the values of secret ones. It raises PropertiesError for problems, in lenient mode
    only if whole is set. Those of immutable old properties count too, or a replacement could be missed, or made without need.
    """
    own = _own(given)
    if provider._shape is None:
        return own
    decoder = _Decoder(lenient)
    try:
        properties = decoder.object(provider._shape, own, "")
    finally:
        secrets += decoder.secrets
    if decoder.problems and (whole or not lenient):
        raise PropertiesError(decoder.problems)
    if old and decoder.immutable:
        raise PropertiesError(decoder.problems, old=True)
    return properties


def _immutables(properties: typing.Any, path: str = "") -> dict:
    """Returns the immutable properties by their paths, also those of dataclasses in them."""
    found: dict[str, typing.Any] = {}
    for field in dataclasses.fields(properties) if dataclasses.is_dataclass(properties) else ():
        place, value = _join(path, field.name), getattr(properties, field.name, None)
        if _rules(field).immutable:
            found[place] = _plain(value)
        else:
            found.update(_immutables(value, place))
    return found


def _changed(now: typing.Any, before: typing.Any) -> list[str]:
    """Returns the paths of the immutable properties that differ."""
    one, other = _immutables(now), _immutables(before)
    return sorted(path for path in {**one, **other} if one.get(path) != other.get(path))


def _has(provider: Provider, method: str) -> bool:
    """Reports whether a provider defines an optional method."""
    return getattr(type(provider), method) is not getattr(Provider, method)


def _state(response: _Present, masks: _Masks) -> dict:
    """Returns the present properties for the answer to a Read. Those that equal the declared ones are sent as declared."""
    if response.gone:
        return {"gone": True}
    now = response.now
    present = _present if dataclasses.is_dataclass(now) else functools.partial(_present_value, typing.Any)
    members = present(response.given, response.declared, now)
    secret = {name for name, value in members.items() if masks.shows(json.dumps(value)) or masks.shows(_encode({"": value}).decode())}
    if dataclasses.is_dataclass(now):
        kinds = _kinds(type(now))
        for field in dataclasses.fields(now):
            kind = Secret if _rules(field).secret else kinds[field.name]
            if _may_hold_secret(kind) or _shows_secret(getattr(now, field.name, None)):
                secret.add(_rules(field).name or field.name)
    else:
        secret |= {name for name, value in now.items() if _shows_secret(value)}
    return {"properties": members, "secret": sorted(secret & members.keys())}


def _shows_secret(value: typing.Any) -> bool:
    """Reports whether a value is or contains a Secret, also an empty one, or a secret field of a dataclass."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _may_hold_secret(type(value)) or any(_shows_secret(getattr(value, field.name, None)) for field in dataclasses.fields(value))
    if isinstance(value, (list, tuple, dict)):
        return any(_shows_secret(item) for item in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, Secret)


def _same(one: typing.Any, other: typing.Any) -> bool:
    """Reports whether two values are equal in a template."""
    return json.dumps(_plain(one), sort_keys=True) == json.dumps(_plain(other), sort_keys=True)


def _present(given: typing.Any, was: typing.Any, now: typing.Any) -> dict:
    """Returns the members of an object in the form of a template. given are the declared members, and was is their decoded value."""
    members: dict[str, typing.Any] = {}
    kinds = _kinds(type(now))
    for field in dataclasses.fields(now):
        if not field.init:
            continue
        name = _rules(field).name or field.name
        declared = given.get(name) if isinstance(given, dict) else None
        old = was.get(name) if isinstance(was, dict) else getattr(was, field.name, None) if dataclasses.is_dataclass(was) else None
        new = getattr(now, field.name, None)
        kind = Secret if _rules(field).secret else _optional(kinds[field.name]) or kinds[field.name]
        unread = not new and (kind is Secret or isinstance(new, Secret) or (new is None and isinstance(old, Secret)))
        if not unread and not _same(old, new):
            members[name] = _present_value(kind, declared, old, new)
        elif declared is not None:
            members[name] = declared
    return members


def _present_value(kind: typing.Any, given: typing.Any, was: typing.Any, now: typing.Any) -> typing.Any:
    """Returns a value of an object, list or dict. Parts that equal the declared ones keep their declared form. It masks those that are secret
    because of their type or because they are a Secret.
    """
    if _same(was, now) and given is not None:
        return given
    kind = _optional(kind) or kind
    if _all_secret(kind, now):
        return _MASK if now else given
    if dataclasses.is_dataclass(now):
        return _present(given, was, now)
    if isinstance(now, (list, tuple)):
        items, before = (each if isinstance(each, (list, tuple)) else [] for each in (given, was))
        known, item_kind = min(len(items), len(before)), _kind_of_items(kind)
        return [_present_value(item_kind, items[i] if i < known else None, before[i] if i < known else None, item) for i, item in enumerate(now)]
    if isinstance(now, dict):
        parts, former = (each if isinstance(each, dict) else {} for each in (given, was))
        item_kind = _kind_of_items(kind)
        return {
            name: _present_value(item_kind, parts.get(name), former.get(name), item)
            for name, item in now.items() if item is not None or item_kind is not typing.Any
        }
    return now


_NUMBER_PATTERN = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def _schema(provider: Provider) -> dict:
    """Returns the schema of a resource type, in the form of the command "schema" of the SDK for Go."""
    properties: dict[str, typing.Any] = {}
    if provider._shape is not None:
        defs: dict[str, typing.Any] = {}
        properties = _schema_of(provider._shape, _NO_RULES, defs, ())
        paths = _create_only(provider._shape, "/properties", ())
        if paths:
            properties["createOnlyProperties"] = paths
        if defs:
            properties["$defs"] = defs
    schema: dict[str, typing.Any] = {"properties": properties}
    for method, member in (("read", "reads"), ("plan", "plans")):
        if _has(provider, method):
            schema[member] = True
    return schema


def _create_only(kind: typing.Any, path: str, seen: tuple) -> list[str]:
    """Returns the JSON pointers of the immutable properties."""
    if not dataclasses.is_dataclass(kind) or kind in seen:
        return []
    hints, paths = typing.get_type_hints(kind), []
    for field in dataclasses.fields(kind):
        place = path + "/" + (_rules(field).name or field.name).replace("~", "~0").replace("/", "~1")
        if _rules(field).immutable:
            paths.append(place)
        else:
            paths += _create_only(_optional(hints[field.name]) or hints[field.name], place, (*seen, kind))
    return paths


def _schema_of(kind: typing.Any, rules: _Rules, defs: dict, seen: tuple) -> dict:
    """Returns the schema of a value. A number or boolean may be a string, because CloudFormation sends it as one."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    schema: dict[str, typing.Any] = {}

    def length(least: str, most: str) -> None:
        if rules.shortest:
            schema[least] = rules.shortest
        if rules.longest is not None:
            schema[most] = rules.longest

    if _optional(kind):
        return _schema_of(_optional(kind), rules, defs, seen)
    if dataclasses.is_dataclass(kind):
        return _schema_of_object(kind, defs, seen)
    if origin is typing.Literal or (rules.enum and kind in (str, int, float)):
        choices = list(arguments if origin is typing.Literal else rules.enum)
        return {"enum": [*choices, *(_scalar(choice) for choice in choices if not isinstance(choice, str))]}
    if kind in (str, Secret):
        schema["type"] = "string"
        length("minLength", "maxLength")
        if rules.pattern and not re.search(r"\\[A-Za-z]", rules.pattern):  # classes such as \w mean something else elsewhere
            schema["pattern"] = f"^(?:{rules.pattern})$"
    elif kind is bool:
        schema["enum"] = [True, False, *(form(word) for word in ("true", "false") for form in (str.lower, str.title, str.upper))]
    elif kind in (int, float):
        schema["type"], schema["pattern"] = ["integer" if kind is int else "number", "string"], _NUMBER_PATTERN
        if rules.least is not None:
            schema["minimum"] = rules.least
        if rules.most is not None:
            schema["maximum"] = rules.most
    elif origin is list or kind is list:
        schema["type"] = "array"
        schema["items"] = _schema_of(arguments[0] if arguments else typing.Any, dataclasses.replace(rules, shortest=0, longest=None), defs, seen)
        length("minItems", "maxItems")
    elif origin is dict or kind is dict:
        items = dataclasses.replace(rules, shortest=0, longest=None)
        schema["type"], schema["additionalProperties"] = "object", _schema_of(arguments[1] if arguments else typing.Any, items, defs, seen)
        length("minProperties", "maxProperties")
    return schema


def _schema_of_object(kind: typing.Any, defs: dict, seen: tuple) -> dict:
    """Returns the schema of a dataclass, or a reference to it if the dataclass contains itself."""
    if kind in seen:
        defs.setdefault(kind.__qualname__, {})
        return {"$ref": "#/$defs/" + kind.__qualname__}
    hints, properties, required = typing.get_type_hints(kind), {}, []
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        rules = _rules(field)
        name = rules.name or field.name
        member = _schema_of(hints[field.name], rules, defs, (*seen, kind))
        if rules.secret or (_optional(hints[field.name]) or hints[field.name]) is Secret:
            member["writeOnly"] = True
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            required.append(name)
        elif isinstance(field.default, (str, int, float)) and not rules.secret:
            member["default"] = field.default
        properties[name] = member
    schema: dict[str, typing.Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    if kind.__qualname__ in defs:
        defs[kind.__qualname__] = schema
        return {"$ref": "#/$defs/" + kind.__qualname__} if seen else dict(schema)
    return schema


def _text(event: dict, name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""


def _requests(event: typing.Any) -> list[dict]:
    """Returns the requests in an event of Lambda: the event itself, or those in the messages of an SNS topic."""
    if isinstance(event, dict) and isinstance(event.get("Records"), list):
        return [json.loads(record["Sns"]["Message"]) for record in event["Records"]]
    if not isinstance(event, dict):
        raise ValueError("the event is not a request of CloudFormation: it is not an object")
    return [event]


def _words(value: typing.Any) -> str:
    """Returns a value as text, and "" if it has none because its __str__ raises."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001
        return ""


def _id_problem(physical: typing.Any, masks: _Masks) -> str:
    """Returns the problem of a physical ID from a provider, or "" for a valid one. It quotes a part of the masked ID."""
    if not isinstance(physical, str):
        return f"the physical ID from the handler has the type {type(physical).__name__}, want str"
    try:
        size = len(physical.encode("utf-8"))
    except UnicodeEncodeError:
        return "the physical ID from the handler is not UTF-8"
    if size > _MAX_ID:
        return f'the physical ID from the handler is {size} bytes long, {_MAX_ID} are allowed: "{masks.mask(physical)[:40]}"…'
    if _clean(physical) != physical or re.search("[\t\n\r]", physical):
        return f"the physical ID from the handler holds a control character: {masks.mask(physical)[:40]!r}"
    return ""


def _not_replaced(was: str, now: str) -> str:
    return (
        f'the Update of "{was}" returned another physical ID, "{now[:200]}", without replaces. CloudFormation would then delete "{was}", so the '
        "resource keeps its ID. If the Update made a new resource, set replaces in the response or make the property immutable; otherwise "
        "return the ID of the request, or none"
    )


def handler(provider: typing.Union[Provider, typing.Mapping[str, Provider]]) -> typing.Callable[..., None]:
    """Returns the function for AWS Lambda.

    :param provider: the provider, or a dict with one for each resource type, such as ``{"Custom::Site": Sites()}``.
    """
    providers = dict(provider) if isinstance(provider, collections.abc.Mapping) else {"*": provider}
    for name, each in providers.items():
        if not isinstance(each, Provider):
            raise TypeError(f"the provider for {name} is a {type(each).__name__}, want an instance of a class derived from Provider")
    return _Handler(providers)
