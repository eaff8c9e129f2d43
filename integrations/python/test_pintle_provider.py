"""Tests of pintle_provider: python3 -m unittest, in this directory. They need nothing else."""

import dataclasses
import http.server
import json
import logging
import pathlib
import re
import threading
import time
import typing
import unittest

import pintle_provider as pintle

STACK = "arn:aws:cloudformation:eu-west-1:123456789012:stack/site/51af3dc0-da77-11e4-872e-1234567db123"
SIGNATURE = "AWSAccessKeyId=AKIA&Signature=c0ffee5ec2e7c0ffee5ec2e7"


class Context:
    """The context of an invocation on Lambda."""

    def __init__(self, seconds: float = 60) -> None:
        self._end = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        return int((self._end - time.monotonic()) * 1000)


class World(unittest.TestCase):
    """A service that sends requests and receives answers at its own URL."""

    def setUp(self) -> None:
        self.statuses: list = []  # those of the next answers; 200 if there is none
        self.bodies: list = []
        self.headers: list = []
        world = self

        class Receiver(http.server.BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = world.statuses.pop(0) if world.statuses else 200
                if status == 200:
                    world.bodies.append(body)
                    world.headers.append(dict(self.headers))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: typing.Any) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}/answer?{SIGNATURE}"
        self.requests = 0

    def event(self, kind: str, properties: dict, old: typing.Optional[dict] = None, id: str = "") -> dict:
        self.requests += 1
        event = {
            "RequestType": kind, "ResponseURL": self.url, "StackId": STACK, "RequestId": f"request-{self.requests}",
            "LogicalResourceId": "Thing", "ResourceType": "Custom::Thing", "ServiceToken": "arn",
            "ResourceProperties": {"ServiceToken": "arn", **properties},
        }
        if old is not None:
            event["OldResourceProperties"] = {"ServiceToken": "arn", **old}
        if id:
            event["PhysicalResourceId"] = id
        return event

    def ask(self, handler: typing.Callable, *args: typing.Any, seconds: float = 60, **options: typing.Any) -> dict:
        return self.send(handler, self.event(*args, **options), seconds)

    def send(self, handler: typing.Callable, event: dict, seconds: float = 60) -> dict:
        before = len(self.bodies)
        handler(event, Context(seconds))
        self.assertEqual(len(self.bodies), before + 1, "one answer")
        self.assertLessEqual(len(self.bodies[-1]), 4096)
        return json.loads(self.bodies[-1])


@dataclasses.dataclass
class Person:
    Name: str
    Age: typing.Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Thing:
    Name: str = pintle.prop(immutable=True, pattern="[a-z]+", max_length=8)
    Size: int = pintle.prop(default=1, min=1, max=10)
    Ratio: float = 0.5
    Public: bool = False
    Kind: typing.Literal["small", "large"] = "small"
    Tags: "dict[str, str]" = pintle.prop(default={})
    Ports: "list[int]" = pintle.prop(default=[], max_length=2)
    Owner: typing.Optional[Person] = None
    Key: pintle.Secret = pintle.Secret("")
    pin: str = pintle.prop("PIN", default="", secret=True)


class Things(pintle.Provider[Thing]):
    """Records its calls, and does what the test wants."""

    def __init__(self) -> None:
        self.calls: list = []
        self.seen: typing.Any = None
        self.act: typing.Callable[[pintle.Request], typing.Any] = lambda r: pintle.Response(id=f"thing-{r.properties.Name}")

    def _call(self, name: str, request: pintle.Request) -> typing.Any:
        self.calls.append(name)
        self.seen = request
        return self.act(request)

    def create(self, request: pintle.Request[Thing]) -> typing.Any:
        return self._call("create", request)

    def update(self, request: pintle.Request[Thing]) -> typing.Any:
        return self._call("update", request)

    def delete(self, request: pintle.Request[Thing]) -> typing.Any:
        self.calls.append("delete")
        self.seen = request

    def poll(self, request: pintle.Request[Thing]) -> typing.Any:
        return self._call("poll", request)


class Decoding(World):
    def test_strings_become_typed(self) -> None:
        things = Things()
        answer = self.ask(pintle.handler(things), "Create", {
            "Name": "a", "Size": "3", "Ratio": "1e-1", "Public": "True", "Kind": "large", "Tags": {"n": 1, "b": True}, "Ports": ["80", 81],
            "Owner": {"Name": "o", "Age": "40.0"}, "Key": "k-secret", "PIN": "1234",
        })
        self.assertEqual(answer["Status"], "SUCCESS", answer)
        self.assertEqual(things.seen.properties, Thing(
            "a", 3, 0.1, True, "large", {"n": "1", "b": "true"}, [80, 81], Person("o", 40), pintle.Secret("k-secret"), "1234",
        ))

    def test_problems(self) -> None:
        for properties, want in (
            ({}, "Name: is missing"),
            ({"Name": "A"}, "Name: want a text of 0 to 8 characters that matches [a-z]+"),
            ({"Name": "a\n"}, "Name: want a text of 0 to 8 characters that matches [a-z]+"),
            ({"Name": "abcdefghi"}, "Name: want a text of 0 to 8 characters that matches [a-z]+"),
            ({"Name": "a", "Size": "1.5"}, "Size: want a whole number from 1 to 10"),
            ({"Name": "a", "Size": "11"}, "Size: want a whole number from 1 to 10"),
            ({"Name": "a", "Size": "0x1"}, "Size: want a whole number from 1 to 10"),
            ({"Name": "a", "Size": "1_0"}, "Size: want a whole number from 1 to 10"),
            ({"Name": "a", "Size": ""}, "Size: want a whole number from 1 to 10"),
            ({"Name": "a", "Ratio": "nan"}, "Ratio: want a number"),
            ({"Name": "a", "Ratio": "1e999"}, "Ratio: want a number"),
            ({"Name": "a", "Public": "yes"}, "Public: want true or false"),
            ({"Name": "a", "Kind": "huge"}, "Kind: want one of small, large"),
            ({"Name": "a", "Tags": "x"}, "Tags: want an object"),
            ({"Name": "a", "Ports": ["1", "2", "3"]}, "Ports: want a list of 0 to 2 items"),
            ({"Name": "a", "Ports": ["1", "x"]}, "Ports[1]: want a whole number"),
            ({"Name": "a", "Owner": {"Age": "x"}}, "Owner.Name: is missing; Owner.Age: want a whole number"),
            ({"Name": "a", "Nmae": "b"}, "Nmae: is not known, did you mean Name?"),
            ({"Name": "a", "Zzz": "b"}, "Zzz: is not known"),
            ({"Name": ["a"]}, "Name: want a text of 0 to 8 characters that matches [a-z]+"),
        ):
            with self.subTest(want):
                things = Things()
                answer = self.ask(pintle.handler(things), "Create", properties)
                self.assertEqual((answer["Status"], answer["PhysicalResourceId"]), ("FAILED", "Pintle::CreateFailed"))
                self.assertEqual(answer["Reason"], "properties: " + want)
                self.assertEqual(things.calls, [])

    def test_many_problems(self) -> None:
        answer = self.ask(pintle.handler(Things()), "Create", {"Name": "a", **{f"x{i}": "" for i in range(12)}})
        self.assertTrue(answer["Reason"].endswith("; and 2 more"), answer["Reason"])

    def test_old_properties_are_lenient(self) -> None:
        things = Things()
        things.act = lambda r: None
        answer = self.ask(pintle.handler(things), "Update", {"Name": "a"}, {"Host": "h", "Name": "a", "Size": "x"}, id="i")
        self.assertEqual(answer["Status"], "SUCCESS", answer)
        self.assertEqual((things.calls, things.seen.old_properties.Size), (["update"], None))
        self.ask(pintle.handler(things), "Delete", {"Host": "h"}, id="i")
        self.assertEqual((things.calls[-1], things.seen.properties.Name, things.seen.properties.Kind), ("delete", None, "small"))

    def test_unchecked(self) -> None:
        class Raw(pintle.Provider[dict]):
            def create(self, request: "pintle.Request[dict]") -> pintle.Response:
                return pintle.Response(attributes=request.properties)

        event = self.event("Create", {"Any": "1"})
        answer = self.send(pintle.handler(Raw()), event)
        self.assertEqual((answer["Data"], answer["PhysicalResourceId"]), ({"Any": "1"}, event["RequestId"]))

    def test_generic_base(self) -> None:
        kind = typing.TypeVar("kind")

        class Base(pintle.Provider[kind], typing.Generic[kind]):
            def create(self, request: "pintle.Request[kind]") -> pintle.Response:
                return pintle.Response(attributes=request.properties)

        class People(Base[Person]):
            pass

        self.assertEqual(self.ask(pintle.handler(People()), "Create", {"Name": "a", "Age": "1"})["Data"], {"Name": "a", "Age": 1})

    def test_types_are_checked_at_once(self) -> None:
        @dataclasses.dataclass
        class Wrong:
            When: complex

        with self.assertRaisesRegex(TypeError, "Bad.When: properties cannot have the type"):
            class Bad(pintle.Provider[Wrong]):
                pass

        with self.assertRaisesRegex(TypeError, "want a dataclass or dict"):
            class Worse(pintle.Provider[int]):
                pass

        with self.assertRaisesRegex(TypeError, "want an instance"):
            pintle.handler(Things)  # type: ignore[arg-type]


class Answers(World):
    def test_headers(self) -> None:
        self.ask(pintle.handler(Things()), "Create", {"Name": "a"})
        self.assertEqual(self.headers[0].get("Content-Type"), "")

    def test_replacement_is_explicit(self) -> None:
        for response, want in (
            (None, "SUCCESS old"),
            (pintle.Response(), "SUCCESS old"),
            (pintle.Response(id="old", replaces=True), "SUCCESS old"),
            (pintle.Response(id="new", replaces=True), "SUCCESS new"),
            (pintle.Response(id="new"), 'FAILED old the Update of "old" returned another physical ID, "new", without replaces. '),
        ):
            things = Things()
            things.act = lambda r, response=response: response
            answer = self.ask(pintle.handler(things), "Update", {"Name": "a"}, {"Name": "a"}, id="old")
            got = " ".join([answer["Status"], answer["PhysicalResourceId"], answer.get("Reason", "")])
            self.assertTrue(got.startswith(want), got)

    def test_an_immutable_change_replaces(self) -> None:
        things = Things()
        answer = self.ask(pintle.handler(things), "Update", {"Name": "b"}, {"Name": "a"}, id="thing-a")
        self.assertEqual((answer["Status"], answer["PhysicalResourceId"], things.calls), ("SUCCESS", "thing-b", ["create"]))

    def test_immutable_fields(self) -> None:
        @dataclasses.dataclass
        class Area:
            Zone: str = pintle.prop(immutable=True)

        @dataclasses.dataclass
        class Site:
            Name: str = pintle.prop(default="", immutable=True)
            Port: int = pintle.prop(default=0, immutable=True)
            Place: typing.Optional[Area] = None

            def __post_init__(self) -> None:
                self.Name = self.Name.lower()

        class Sites(pintle.Provider[Site]):
            def create(self, request: "pintle.Request[Site]") -> pintle.Response:
                return pintle.Response(id="new")

            def update(self, request: "pintle.Request[Site]") -> None:
                pass

        for old, new, want in (
            ({"Name": "A"}, {"Name": "A"}, "SUCCESS old"),  # __post_init__ changes only the new one
            ({"Port": "1"}, {"Port": "1.0"}, "SUCCESS old"),
            ({"Place": {"Zone": "a"}}, {"Place": {"Zone": "b"}}, "SUCCESS new"),
        ):
            with self.subTest(want):
                answer = self.ask(pintle.handler(Sites()), "Update", new, old, id="old")
                self.assertEqual(f"{answer['Status']} {answer['PhysicalResourceId']} {answer['Reason']}".strip(), want)

        @dataclasses.dataclass
        class Chain:
            Places: typing.List[Area]

        with self.assertRaisesRegex(TypeError, "Bad.Places.Zone: is immutable within a list or dict"):
            class Bad(pintle.Provider[Chain]):
                pass

    def test_old_immutable_properties_that_cannot_be_read(self) -> None:
        @dataclasses.dataclass
        class Area:
            Zone: str = pintle.prop(immutable=True)

        @dataclasses.dataclass
        class Site:
            Port: int = pintle.prop(default=0, immutable=True)
            Place: typing.Optional[Area] = None
            Size: int = 1

        calls: list = []

        class Sites(pintle.Provider[Site]):
            def create(self, request: "pintle.Request[Site]") -> pintle.Response:
                calls.append("create")
                return pintle.Response(id="new")

            def update(self, request: "pintle.Request[Site]") -> None:
                calls.append("update")

            def delete(self, request: "pintle.Request[Site]") -> None:
                calls.append("delete")

            def plan(self, request: "pintle.Request[Site]") -> None:
                calls.append("plan")

        for old, problem in (({"Port": "http"}, "Port: want a whole number"), ({"Port": ["1"]}, "Port: want a whole number"),
                             ({"Place": "here"}, "Place: want an object"), ({"Place": {"Zone": ["a"]}}, "Place.Zone: want a text")):
            with self.subTest(problem):
                want = (
                    f"old properties: {problem}; they were accepted once, and an immutable one cannot be read, so it is unknown whether the resource "
                    "must be replaced. Nothing was changed: let the provider accept the old value too, then repeat the update"
                )
                handler = pintle.handler(Sites())
                answer = self.ask(handler, "Update", {"Port": "1"}, old, id="old")
                self.assertEqual((answer["Status"], answer["PhysicalResourceId"], answer["Reason"]), ("FAILED", "old", want))
                event = self.event("Plan", {"Port": "1"}, old, id="old")
                self.assertEqual(handler(event), {"PintlePlan": {"change": "Refuse", "reason": want}})
        self.assertEqual(calls, [])
        self.assertEqual(self.ask(pintle.handler(Sites()), "Update", {}, {"Size": "big"}, id="old")["Status"], "SUCCESS")
        self.assertEqual(self.ask(pintle.handler(Sites()), "Delete", {"Port": "http"}, id="old")["Status"], "SUCCESS")
        self.assertEqual(calls, ["update", "delete"])

    def test_the_rollback_of_a_failed_replacement_updates(self) -> None:
        things, fails = Things(), True

        def act(request: pintle.Request) -> pintle.Response:
            if fails:
                raise ValueError("no room")
            return pintle.Response()

        things.act = act
        handler = pintle.handler(things)
        self.assertEqual(self.ask(handler, "Update", {"Name": "b"}, {"Name": "a"}, id="thing-a")["Reason"], "no room")
        fails = False
        answer = self.ask(handler, "Update", {"Name": "a"}, {"Name": "b"}, id="thing-a")
        self.assertEqual((answer["PhysicalResourceId"], things.calls), ("thing-a", ["create", "update"]))

    def test_the_rollback_of_a_refused_update_updates(self) -> None:
        things = Things()
        handler = pintle.handler(things)
        self.assertEqual(self.ask(handler, "Update", {"Name": "B!"}, {"Name": "a"}, id="thing-a")["Status"], "FAILED")
        self.assertEqual(self.ask(handler, "Update", {"Name": "a"}, {"Name": "B!"}, id="thing-a")["Status"], "SUCCESS")
        self.assertEqual(things.calls, ["update"])

    def test_gone(self) -> None:
        class Missing(Things):
            def update(self, request: pintle.Request) -> typing.Any:
                raise pintle.Gone

            def delete(self, request: pintle.Request) -> typing.Any:
                raise pintle.Gone("not there")

        things = Missing()
        things.act = lambda r: pintle.Response(id="again")
        self.assertEqual(self.ask(pintle.handler(things), "Update", {"Name": "a"}, {"Name": "a"}, id="old")["PhysicalResourceId"], "again")
        self.assertEqual(self.ask(pintle.handler(things), "Delete", {"Name": "a"}, id="old")["Status"], "SUCCESS")

    def test_failed_create(self) -> None:
        class Partly(Exception):
            id = "made"

        for error, want in ((ValueError("why"), "Pintle::CreateFailed why"), (Partly("why"), "made why"), (KeyError("k"), "Pintle::CreateFailed KeyError: 'k'"),
                            (SystemExit(3), "Pintle::CreateFailed 3"), (ValueError(), "Pintle::CreateFailed the handler failed with an error that has no text, a ValueError")):
            things = Things()

            def act(_: pintle.Request, error: BaseException = error) -> typing.Any:
                raise error

            things.act = act
            answer = self.ask(pintle.handler(things), "Create", {"Name": "a"})
            self.assertEqual(f"{answer['PhysicalResourceId']} {answer['Reason']}", want)
        things = Things()
        answer = self.ask(pintle.handler(things), "Delete", {"Name": "a"}, id="Pintle::CreateFailed")
        self.assertEqual((answer["Status"], things.calls), ("SUCCESS", []))

    def test_invalid_ids(self) -> None:
        for bad, want in (("x" * 1025, "is 1025 bytes long"), ("a\nb", "control character"), ("\ud800", "not UTF-8"), (7, "has the type int, want str")):
            things = Things()
            things.act = lambda r, bad=bad: pintle.Response(id=bad)
            event = self.event("Create", {"Name": "a"})
            answer = self.send(pintle.handler(things), event)
            self.assertEqual((answer["Status"], answer["PhysicalResourceId"]), ("FAILED", event["RequestId"]))
            self.assertIn(want, answer["Reason"])

    def test_too_much(self) -> None:
        things = Things()
        things.act = lambda r: pintle.Response(id="i", attributes={"Big": "ü" * 3000, "Small": 1})
        answer = self.ask(pintle.handler(things), "Create", {"Name": "a"})
        self.assertEqual((answer["Status"], "Data" in answer, answer["PhysicalResourceId"]), ("FAILED", False, "i"))
        self.assertRegex(answer["Reason"], r'the response is \d+ bytes long, 4096 are allowed: .* the largest attributes are "Big" with 6002, "Small" with 1;')

        def fail(_: pintle.Request) -> typing.Any:
            raise ValueError("begin " + "ü" * 5000 + " end")

        things.act = fail
        answer = self.ask(pintle.handler(things), "Create", {"Name": "a"})
        self.assertRegex(answer["Reason"], r"^begin ü+… \[\d+ characters are left out here, the log of the provider has them\] …ü+ end$")
        self.assertGreater(len(self.bodies[-1]), 4080)

    def test_attributes(self) -> None:
        @dataclasses.dataclass
        class Attributes:
            Url: str
            Size: typing.Optional[int] = None
            internal: str = pintle.prop("Internal", default="x")

        things = Things()
        things.act = lambda r: pintle.Response(id="i", attributes=Attributes("u"))
        answer = self.ask(pintle.handler(things), "Create", {"Name": "a"})
        self.assertEqual((answer["Data"], answer.get("NoEcho")), ({"Url": "u", "Internal": "x"}, None))
        things.act = lambda r: pintle.Response(id="i", attributes={"Bad": {1, 2}})
        answer = self.ask(pintle.handler(things), "Create", {"Name": "a"})
        self.assertTrue(answer["Reason"].startswith("the attributes cannot be encoded: "), answer)
        loop: dict = {}
        loop["Loop"] = loop
        things.act = lambda r: pintle.Response(id="i", attributes=loop)
        answer = self.ask(pintle.handler(things), "Create", {"Name": "a"})
        self.assertTrue(answer["Reason"].startswith("the attributes cannot be encoded: "), answer)

    def test_odd_reasons(self) -> None:
        class Silent(Exception):
            def __str__(self) -> str:
                raise RuntimeError

        def act(_: pintle.Request) -> typing.Any:
            raise Silent

        things = Things()
        things.act = act
        answer = self.ask(pintle.handler(things), "Create", {"Name": "a"})
        self.assertEqual(answer["Reason"], "the handler failed with an error that has no text, a Silent")
        things.act = lambda r: pintle.Response(id="i", reason=None)  # type: ignore[arg-type]
        self.assertEqual(self.ask(pintle.handler(things), "Create", {"Name": "a"})["Status"], "SUCCESS")

    def test_resource_types(self) -> None:
        things = Things()
        handler = pintle.handler({"Custom::Other": things})
        answer = self.ask(handler, "Create", {"Name": "a"})
        self.assertEqual(answer["Reason"], "this provider has no resource type Custom::Thing, it has Custom::Other")

    def test_events(self) -> None:
        things = Things()
        handler = pintle.handler(things)
        handler({"Records": [{"Sns": {"Message": json.dumps(self.event("Create", {"Name": "a"}))}}]}, Context())
        self.assertEqual(json.loads(self.bodies[0])["Status"], "SUCCESS")
        with self.assertRaisesRegex(ValueError, "it has no ResponseURL, StackId"):
            handler({"RequestId": "r", "LogicalResourceId": "l"}, Context())

    def test_names(self) -> None:
        things = Things()
        self.ask(pintle.handler(things), "Create", {"Name": "a"})
        self.assertRegex(things.seen.name, "^site-Thing-[0-9a-f]{12}$")
        self.assertRegex(things.seen.token, "^[0-9a-f]{32}$")
        self.assertTrue(0 < things.seen.remaining < 60)


class Secrets(World):
    SECRET = 'p/ss"wörd'

    def test_reasons_and_logs(self) -> None:
        things = Things()

        def act(request: pintle.Request) -> typing.Any:
            raise ValueError(f"{request.properties.Key.reveal()} {request.properties.Key} {json.dumps(self.SECRET)} {self.url}")

        things.act = act
        with self.assertLogs("pintle_provider", logging.ERROR) as logs:
            answer = self.ask(pintle.handler(things), "Create", {"Name": "a", "Key": self.SECRET})
        for text in (answer["Reason"], "\n".join(logs.output)):
            self.assertIn("****", text)
            for secret in (self.SECRET, json.dumps(self.SECRET)[1:-1], "c0ffee5ec2e7"):
                self.assertNotIn(secret, text)

    def test_no_echo(self) -> None:
        for attributes, want in (
            ({"Url": "x"}, None), ({"Key": pintle.Secret("new")}, True), ({"Url": "http://" + self.SECRET}, True), ({"List": [self.SECRET]}, True),
        ):
            things = Things()
            things.act = lambda r, attributes=attributes: pintle.Response(id="i", attributes=attributes)
            answer = self.ask(pintle.handler(things), "Create", {"Name": "a", "Key": self.SECRET})
            self.assertEqual(answer.get("NoEcho"), want, attributes)
        self.assertIn("new", json.dumps(self.bodies[1].decode()))

    def test_default_secrets(self) -> None:
        @dataclasses.dataclass
        class Login:
            Key: pintle.Secret = pintle.Secret("key-secret")
            Pin: str = pintle.prop(default="pin-secret", secret=True)

        class Logins(pintle.Provider[Login]):
            def create(self, request: "pintle.Request[Login]") -> None:
                raise ValueError(f"rejected {request.properties.Key.reveal()} {request.properties.Pin}")

        self.assertEqual(self.ask(pintle.handler(Logins()), "Create", {})["Reason"], "rejected **** ****")

    def test_secret_shows_as_stars(self) -> None:
        secret = pintle.Secret("x")
        self.assertEqual([str(secret), repr(secret), f"{secret}", f"{[secret]}"], ["****", "****", "****", "[****]"])
        self.assertEqual((secret == pintle.Secret("x"), secret == pintle.Secret("y"), bool(pintle.Secret(""))), (True, False, False))

    def test_a_failure_to_send_has_no_url(self) -> None:
        self.statuses = [403]
        with self.assertRaises(Exception) as raised:
            pintle.handler(Things())(self.event("Create", {"Name": "a"}), Context())
        self.assertRegex(str(raised.exception), r"^send response to 127\.0\.0\.1:\d+, try 1: status 403$")


class Delivery(World):
    def test_tries_again(self) -> None:
        self.statuses = [503, 429, 500]
        with self.assertLogs("pintle_provider", logging.WARNING) as logs:
            self.assertEqual(self.ask(pintle.handler(Things()), "Create", {"Name": "a"})["Status"], "SUCCESS")
        self.assertEqual(len(logs.output), 3)
        self.assertNotIn("Signature", "".join(logs.output))

    def test_a_redelivery_gets_the_same_answer(self) -> None:
        things = Things()
        handler, event = pintle.handler(things), self.event("Create", {"Name": "a"})
        first = self.send(handler, event)
        self.assertEqual(self.send(handler, {**event, "ResponseURL": self.url + "&again=1"}), first)
        self.assertEqual(things.calls, ["create"])

    def test_out_of_time(self) -> None:
        things, freed = Things(), threading.Event()
        things.act = lambda r: freed.wait(30) and pintle.Response(id="late")
        handler, event = pintle.handler(things), self.event("Create", {"Name": "a"})
        answer = self.send(handler, event, seconds=1)
        self.assertEqual((answer["Status"], answer["PhysicalResourceId"]), ("FAILED", event["RequestId"]))
        self.assertRegex(answer["Reason"], "^ran out of time: the handler did not return within")
        freed.set()  # the next request waits for the late method
        self.assertEqual(self.ask(handler, "Delete", {"Name": "a"}, id=event["RequestId"])["Status"], "SUCCESS")
        self.assertEqual(things.calls, ["create", "delete"])

    def test_service_timeout(self) -> None:
        things, freed = Things(), threading.Event()
        self.addCleanup(freed.set)
        things.act = lambda r: freed.wait(30)

        answer = self.ask(pintle.handler(things), "Create", {"Name": "a", "ServiceTimeout": "1"})
        self.assertRegex(answer["Reason"], "^ran out of time")


class Readme(World):
    def test_the_first_example(self) -> None:
        text = (pathlib.Path(__file__).parent / "README.md").read_text(encoding="utf-8")
        code = re.search("```python\n(.*?)```", text, re.DOTALL).group(1)
        made: list = []
        names = {"__name__": "site", "make_site": lambda *args: made.append(args)}
        exec(compile(code, "site.py", "exec"), names)
        answer = self.ask(names["handler"], "Create", {"Name": "a", "Size": "3"})
        self.assertEqual((made, answer["PhysicalResourceId"], answer["Data"]), ([("a", 3)], "site-a", {"Url": "https://a.test"}))


class Waiting(World):
    def test_polls(self) -> None:
        things = Things()
        results = iter([
            pintle.InProgress(state={"job": 1}, id="thing", after=0), pintle.InProgress(state={"job": 2}, after=0.01), pintle.Response(attributes={"A": "b"}),
        ])
        states: list = []

        def act(request: pintle.Request) -> typing.Any:
            states.append((request.state, request.id))
            return next(results)

        things.act = act
        answer = self.ask(pintle.handler(things), "Create", {"Name": "a"})
        self.assertEqual((answer["Status"], answer["PhysicalResourceId"], answer["Data"]), ("SUCCESS", "thing", {"A": "b"}))
        self.assertEqual(states, [(None, ""), ({"job": 1}, "thing"), ({"job": 2}, "thing")])

    def test_a_failed_operation_keeps_its_id(self) -> None:
        things = Things()

        def act(request: pintle.Request) -> typing.Any:
            if request.state is None:
                return pintle.InProgress(state=1, id="half", after=0)
            raise ValueError("job failed")

        things.act = act
        answer = self.ask(pintle.handler(things), "Create", {"Name": "a"})
        self.assertEqual((answer["Status"], answer["PhysicalResourceId"], answer["Reason"]), ("FAILED", "half", "job failed"))

    def test_a_failed_replacement_keeps_the_old_resource(self) -> None:
        things = Things()

        def act(request: pintle.Request) -> typing.Any:
            if request.type == "Update" and request.state is None and things.calls == ["create"]:
                return pintle.InProgress(state=1, id="half", after=0)
            if things.calls[-1] == "poll":
                raise ValueError("job failed")
            return None

        things.act = act
        handler = pintle.handler(things)
        answer = self.ask(handler, "Update", {"Name": "b"}, {"Name": "a"}, id="old")
        # With the ID "half", CloudFormation would delete the good resource after the rollback.
        self.assertEqual((answer["Status"], answer["PhysicalResourceId"], answer["Reason"]), ("FAILED", "old", "job failed"))
        self.assertEqual((things.calls, things.seen.type, things.seen.id), (["create", "poll", "delete"], "Delete", "half"))
        self.assertEqual(self.ask(handler, "Update", {"Name": "a"}, {"Name": "b"}, id="old")["PhysicalResourceId"], "old")
        self.assertEqual(things.calls[-1], "update")

    def test_what_a_failed_replacement_leaves_behind(self) -> None:
        class Stuck(Things):
            def delete(self, request: pintle.Request) -> None:
                raise ValueError("locked")

        class Partly(Exception):
            id = "half"

        def act(_: pintle.Request) -> typing.Any:
            raise Partly("no room")

        things = Stuck()
        things.act = act
        answer = self.ask(pintle.handler(things), "Update", {"Name": "b"}, {"Name": "a"}, id="old")
        self.assertEqual(answer["PhysicalResourceId"], "old")
        self.assertEqual(answer["Reason"], "no room; and half, which it had made, is left behind: locked")

    def test_a_replacement_with_bad_attributes(self) -> None:
        for id, attributes, want in (
            ("new", {"Big": "x" * 5000}, "the response is"),
            ("new", {"Bad": {1}}, "the attributes cannot be encoded"),
            ("new", "text", "the attributes cannot be encoded: want a dict or a dataclass"),
            ("", {"Big": "x" * 5000}, "the response is"),  # its ID is that of the request
        ):
            things = Things()
            things.act = lambda r, id=id, attributes=attributes: pintle.Response(id=id, attributes=attributes)
            event = self.event("Update", {"Name": "b"}, {"Name": "a"}, id="old")
            answer = self.send(pintle.handler(things), event)
            self.assertEqual((answer["Status"], answer["PhysicalResourceId"]), ("FAILED", "old"))
            self.assertTrue(answer["Reason"].startswith(want), answer["Reason"])
            self.assertEqual((things.calls, things.seen.id), (["create", "delete"], id or event["RequestId"]))

    def test_a_late_poll_keeps_the_id(self) -> None:
        release = threading.Event()
        self.addCleanup(release.set)
        things = Things()
        things.act = lambda r: release.wait(30) and None if r.state else pintle.InProgress(state=1, id="half", after=0)
        answer = self.ask(pintle.handler(things), "Create", {"Name": "a"}, seconds=1)
        self.assertEqual((answer["Status"], answer["PhysicalResourceId"]), ("FAILED", "half"))

    def test_ends_before_the_function(self) -> None:
        things = Things()
        things.act = lambda r: pintle.InProgress(state=1, id="slow", after=0.2)
        began = time.monotonic()
        answer = self.ask(pintle.handler(things), "Create", {"Name": "a"}, seconds=1)
        self.assertRegex(answer["Reason"], "^Operation timed out")
        self.assertEqual(answer["PhysicalResourceId"], "slow")
        self.assertLess(time.monotonic() - began, 1)

    def test_without_poll(self) -> None:
        class Half(pintle.Provider[dict]):
            def create(self, request: pintle.Request) -> pintle.InProgress:
                return pintle.InProgress(after=0)

        self.assertIn("has no method poll", self.ask(pintle.handler(Half()), "Create", {})["Reason"])


class ReadingAndPlanning(World):
    """The requests that only Pintle sends."""

    DECLARED = {"Name": "a", "Size": "3", "Ports": ["80", "81"], "Tags": {"n": "1"}, "Owner": {"Name": "o"}, "Key": "k-secret", "PIN": "1234"}

    def reader(self, act: typing.Callable[[pintle.Request], typing.Any]) -> typing.Callable:
        class Readable(Things):
            def read(self, request: pintle.Request[Thing]) -> typing.Any:
                return act(request)

        return pintle.handler(Readable())

    def test_read_sends_equal_properties_as_declared(self) -> None:
        handler = self.reader(lambda r: pintle.ReadResponse(r.properties, {"Url": "u"}))
        answer = self.ask(handler, "Read", self.DECLARED, id="thing-a")
        self.assertEqual(answer["PintleState"], {"properties": self.DECLARED, "secret": ["Key", "PIN"]})
        self.assertEqual((answer["Status"], answer["PhysicalResourceId"], answer["Data"]), ("SUCCESS", "thing-a", {"Url": "u"}))

    def test_read_reports_differences_without_secrets(self) -> None:
        now = Thing("a", 4, Ports=[80, 82], Tags={"n": "1", "m": "2"}, Owner=None, Key=pintle.Secret("k-other"), pin="")
        answer = self.ask(self.reader(lambda r: pintle.ReadResponse(now)), "Read", self.DECLARED, id="thing-a")
        self.assertEqual(answer["PintleState"], {
            "properties": {"Name": "a", "Size": 4, "Ports": ["80", 82], "Tags": {"n": "1", "m": "2"}, "Owner": None, "Key": "****", "PIN": "1234"},
            "secret": ["Key", "PIN"],
        })
        self.assertNotIn("k-other", self.bodies[-1].decode())

    def test_read_hides_a_property_with_a_known_secret(self) -> None:
        answer = self.ask(self.reader(lambda r: pintle.ReadResponse(dataclasses.replace(r.properties, Tags={"t": "is k-secret"}))), "Read", self.DECLARED, id="a")
        self.assertEqual(answer["PintleState"]["secret"], ["Key", "PIN", "Tags"])

    def test_read_of_what_is_gone(self) -> None:
        def gone(_: pintle.Request) -> typing.Any:
            raise pintle.Gone("no thing-a")

        answer = self.ask(self.reader(gone), "Read", self.DECLARED, id="thing-a")
        self.assertEqual((answer["Status"], answer["PintleState"]), ("SUCCESS", {"gone": True}))

    def test_read_fails(self) -> None:
        def broken(_: pintle.Request) -> typing.Any:
            raise OSError("no access with k-secret")

        for handler, declared, want in (
            (pintle.handler(Things()), self.DECLARED, "this provider has no method read, so the present state of its resources is unknown"),
            (self.reader(broken), self.DECLARED, "no access with ****"),
            (self.reader(lambda r: None), self.DECLARED, "read returned a NoneType, want a ReadResponse"),
            (self.reader(lambda r: pintle.ReadResponse({})), self.DECLARED, "the properties from read are a dict, want a Thing"),
            (self.reader(lambda r: pintle.ReadResponse(dataclasses.replace(r.properties, Tags={"t": {1}}))), self.DECLARED, "the state cannot be encoded: "),
            (self.reader(lambda r: pintle.ReadResponse(dataclasses.replace(r.properties, Tags={"t": "x" * 5000}))), self.DECLARED,
             "bytes long, 4096 are allowed: the state of the resource takes "),
            (self.reader(lambda r: pintle.ReadResponse(r.properties)), {**self.DECLARED, "Size": "many"}, "properties: Size: want a whole number from 1 to 10"),
        ):
            answer = self.ask(handler, "Read", declared, id="thing-a")
            self.assertEqual((answer["Status"], answer["PhysicalResourceId"]), ("FAILED", "thing-a"))
            self.assertIn(want, answer["Reason"])
            self.assertNotIn("PintleState", answer)

    def test_read_without_a_dataclass(self) -> None:
        class Raw(pintle.Provider[dict]):
            def read(self, request: pintle.Request[dict]) -> pintle.ReadResponse:
                return pintle.ReadResponse({**request.properties, "More": 1})

        answer = self.ask(pintle.handler(Raw()), "Read", {"Name": "a"}, id="x")
        self.assertEqual(answer["PintleState"], {"properties": {"Name": "a", "More": 1}, "secret": []})

    def plan(self, act: typing.Callable[[pintle.Request], typing.Any], *args: typing.Any, seconds: float = 60, **options: typing.Any) -> dict:
        class Plannable(Things):
            def plan(self, request: pintle.Request[Thing]) -> typing.Any:
                return act(request)

        event = self.event("Plan", *args, **options)
        del event["ResponseURL"]
        answer = pintle.handler(Plannable())(event, Context(seconds))
        self.assertEqual(self.bodies, [], "a Plan has no response URL")
        self.assertEqual(list(answer), ["PintlePlan"])
        return answer["PintlePlan"]

    def test_plan(self) -> None:
        def fails(error: Exception) -> typing.Callable:
            def act(_: pintle.Request) -> typing.Any:
                raise error

            return act

        in_place, replace = {"change": "InPlace"}, pintle.PlanResponse(replace=True, reason="k-secret is too old")
        good, other = {"Name": "a", "Key": "k-secret"}, {"Name": "b", "Key": "k-secret"}
        for act, new, old, want in (
            (lambda r: None, good, None, in_place),
            (lambda r: replace, good, None, in_place),  # nothing is replaced by a Create
            (lambda r: None, good, good, in_place),
            (lambda r: replace, good, good, {"change": "Replace", "reason": "**** is too old"}),
            (lambda r: None, good, other, {"change": "Replace", "reason": "Name is immutable"}),
            (lambda r: replace, good, other, {"change": "Replace", "reason": "Name is immutable; **** is too old"}),
            (fails(pintle.Gone("no thing")), good, good, {"change": "Replace", "reason": "no thing"}),
            (fails(pintle.Gone("no place")), good, None, {"change": "Refuse", "reason": "no place"}),
            (fails(ValueError("no room for k-secret")), good, good, {"change": "Refuse", "reason": "no room for ****"}),
            (fails(ValueError("")), good, good, {"change": "Refuse", "reason": "the provider refuses the change without an explanation"}),
            (lambda r: None, {"Name": "A"}, None, {"change": "Refuse", "reason": "properties: Name: want a text of 0 to 8 characters that matches [a-z]+"}),
            (lambda r: True, good, good, {"error": "plan returned a bool, want a PlanResponse or None"}),
            (fails(SystemExit("ended")), good, good, {"error": "ended"}),
            (lambda r: pintle.PlanResponse(True, "ä" * 1000), good, good, {"change": "Replace", "reason": "ä" * 512}),
        ):
            self.assertEqual(self.plan(act, new, old, id="thing-a" if old else ""), want)

    def test_the_request_of_a_plan(self) -> None:
        seen: list = []
        self.plan(lambda r: seen.append(r), {"Name": "b", "Size": 2}, {"Name": "a"}, id="thing-a")
        self.plan(lambda r: seen.append(r), {"Name": "b"})
        self.assertEqual([(r.type, r.id, r.immutable) for r in seen], [("Plan", "thing-a", ["Name"]), ("Plan", "", [])])
        self.assertEqual((seen[0].properties.Size, seen[0].old_properties.Name, seen[1].old_properties), (2, "a", None))

    def test_a_plan_that_is_not_answered(self) -> None:
        release = threading.Event()
        self.addCleanup(release.set)
        self.assertEqual(self.plan(lambda r: release.wait(30), {"Name": "a"}, seconds=0.5), {"error": "ran out of time: plan did not return"})
        event = self.event("Plan", {"Name": "a"})
        self.assertEqual(pintle.handler(Things())(event), {"PintlePlan": {"error": "this provider has no method plan"}})
        self.assertEqual(pintle.handler({"Custom::Other": Things()})(event), {
            "PintlePlan": {"error": "this provider has no resource type Custom::Thing, it has Custom::Other"},
        })


@dataclasses.dataclass
class User:
    Name: str
    Key: pintle.Secret = pintle.Secret("")


@dataclasses.dataclass
class Hidden:
    """Properties that are secret in every place where one can be."""

    Keys: "list[pintle.Secret]" = pintle.prop(default=[])
    Pins: "typing.List[str]" = pintle.prop(default=[], secret=True)
    Logins: "typing.Dict[str, pintle.Secret]" = pintle.prop(default={})
    Key: typing.Optional[pintle.Secret] = None
    Owner: typing.Optional[User] = None
    Users: "typing.Optional[typing.List[User]]" = None
    Extra: typing.Any = None
    Note: str = ""


def leaked() -> pintle.Secret:
    return pintle.Secret("leaked-1")


class ReadingSecrets(World):
    """A Read must not show a secret, wherever it is in the properties."""

    def state(self, shape: typing.Any, given: dict, now: typing.Any, **more: typing.Any) -> dict:
        class Readable(pintle.Provider[shape]):  # type: ignore[valid-type]
            def read(self, request: pintle.Request) -> pintle.ReadResponse:
                return pintle.ReadResponse(now(request) if callable(now) else now, **more)

        answer = self.ask(pintle.handler(Readable()), "Read", given, id="x")
        self.assertEqual(answer["Status"], "SUCCESS", answer["Reason"])
        return answer["PintleState"]

    def test_values(self) -> None:
        other: typing.Any = pintle.Secret("leaked-0")
        plain: typing.Any = "leaked-1"
        for given, now, want, secret in (
            ({"Keys": ["old-key-1", "old-key-2"]}, Hidden(Keys=["old-key-1", plain]), {"Keys": ["old-key-1", "****"]}, ["Keys"]),
            ({"Keys": ["old-key-1"]}, Hidden(Keys=[leaked(), pintle.Secret("")]), {"Keys": ["****", None]}, ["Keys"]),
            ({"Keys": ["old-key-1"]}, Hidden(Keys=plain), {"Keys": "****"}, ["Keys"]),
            ({"Pins": ["old-pin"]}, Hidden(Pins=["leaked-1"]), {"Pins": "****"}, ["Pins"]),
            ({"Logins": {"a": "old"}}, Hidden(Logins={"a": pintle.Secret("old"), "b": plain}), {"Logins": {"a": "old", "b": "****"}}, ["Logins"]),
            ({"Key": "old"}, Hidden(Key=plain), {"Key": "****"}, ["Key"]),
            ({"Key": "old"}, Hidden(Key=None), {"Key": "old"}, ["Key"]),
            ({"Owner": {"Name": "a", "Key": "old"}}, Hidden(Owner=User("b", plain)), {"Owner": {"Name": "b", "Key": "****"}}, ["Owner"]),
            ({"Owner": {"Name": "a"}}, Hidden(Owner=typing.cast(typing.Any, {"Key": "leaked-1"})), {"Owner": "****"}, ["Owner"]),
            ({"Users": [{"Name": "a"}]}, Hidden(Users=[User("b", plain)]), {"Users": [{"Name": "b", "Key": "****"}]}, ["Users"]),
            ({"Extra": {"a": "1"}}, Hidden(Extra={"a": 1, "b": None, "c": ({"d": leaked()},)}), {"Extra": {"a": 1, "c": [{"d": "****"}]}}, ["Extra"]),
            ({"Extra": "old"}, Hidden(Extra=leaked()), {"Extra": "****"}, ["Extra"]),
            ({"Extra": "leaked-0"}, Hidden(Extra=other), {"Extra": "leaked-0"}, ["Extra"]),
            ({"Extra": {"Name": "a"}}, Hidden(Extra=User("a", plain)), {"Extra": {"Name": "a", "Key": "****"}}, ["Extra"]),
            ({"Note": "old"}, Hidden(Note=typing.cast(typing.Any, leaked())), {"Note": "****"}, ["Note"]),
            ({"Note": "old"}, Hidden(Note="is leaked-1", Keys=[leaked()]), {"Note": "is leaked-1", "Keys": ["****"]}, ["Keys", "Note"]),
            ({"Note": "old"}, Hidden(Note="is leaked-1", Pins=["leaked-1"]), {"Note": "is leaked-1", "Pins": "****"}, ["Note", "Pins"]),
        ):
            with self.subTest(now):
                state = self.state(Hidden, given, now)
                state["properties"] = {name: value for name, value in state["properties"].items() if name in want or value}
                state["secret"] = [name for name in state["secret"] if name in want]
                self.assertEqual(state, {"properties": want, "secret": secret})

    def test_without_a_dataclass(self) -> None:
        for given, now, want, secret in (
            ({"Name": "a", "Key": "old"}, {"Name": "a", "Key": leaked(), "More": None}, {"Name": "a", "Key": "****"}, ["Key"]),
            ({"Name": "a", "Key": "leaked-0"}, {"Name": "b", "Key": pintle.Secret("leaked-0")}, {"Name": "b", "Key": "leaked-0"}, ["Key"]),
            ({"Key": "leaked-0"}, {"Key": pintle.Secret("leaked-0")}, {"Key": "leaked-0"}, ["Key"]),
            ({"Name": "a"}, {"Name": "a", "All": [{"key": leaked()}]}, {"Name": "a", "All": [{"key": "****"}]}, ["All"]),
            ({}, {"Owner": User("a", leaked())}, {"Owner": {"Name": "a", "Key": "****"}}, ["Owner"]),
            ({"Url": "u"}, {"Url": "http://leaked-1@host", "Key": leaked()}, {"Url": "http://leaked-1@host", "Key": "****"}, ["Key", "Url"]),
        ):
            with self.subTest(now):
                self.assertEqual(self.state(dict, given, now), {"properties": want, "secret": secret})

    def test_a_changed_request(self) -> None:
        def change(request: pintle.Request) -> typing.Any:
            tags = request.properties["Extra"] if isinstance(request.properties, dict) else request.properties.Extra
            tags.update(key=leaked(), size=2)
            return request.properties

        for shape in (dict, Hidden):
            state = self.state(shape, {"Extra": {"key": "old", "size": "1"}}, change)
            self.assertEqual(state["properties"], {"Extra": {"key": "****", "size": 2}})
            self.assertIn("Extra", state["secret"])

    def test_values_that_are_not_json(self) -> None:
        class Readable(pintle.Provider[dict]):
            def read(self, request: pintle.Request[dict]) -> pintle.ReadResponse:
                return pintle.ReadResponse({"Keys": {leaked()}})

        answer = self.ask(pintle.handler(Readable()), "Read", {}, id="x")
        self.assertEqual((answer["Status"], answer["Reason"]), ("FAILED", "the state cannot be encoded: Object of type set is not JSON serializable"))

    def test_properties_that_repeat_secrets_in_attributes(self) -> None:
        @dataclasses.dataclass
        class Out:
            Password: "list[pintle.Secret]"

        now = {"Url": "http://me:leaked-1@host", "Path": "/leaked-2", "Name": "a"}
        self.assertEqual(self.state(dict, {}, now, attributes={"Password": leaked()})["secret"], ["Url"])
        self.assertEqual(self.state(dict, {}, now, attributes=Out(typing.cast(typing.Any, ["leaked-1"])))["secret"], ["Url"])
        self.assertEqual(self.state(dict, {}, now, attributes={"Password": ["leaked-1"], "Path": "leaked-2"}, no_echo=True)["secret"], ["Path", "Url"])
        self.assertEqual(self.state(dict, {}, now, attributes={"Password": ["leaked-1"]})["secret"], [])

    def test_attributes_that_are_secret(self) -> None:
        @dataclasses.dataclass
        class Out:
            Name: str = "n"
            Key: typing.Optional[pintle.Secret] = None
            Later: "Unknown | list[pintle.Secret] | None" = None  # type: ignore[name-defined] # noqa: F821

        plain: typing.Any = "plain"
        for attributes, want in ((Out(), None), (Out(Key=plain), True), ({"a": [Out(Key=plain)]}, True), (Out(Later=[plain]), True)):
            things = Things()
            things.act = lambda r, attributes=attributes: pintle.Response(id="i", attributes=attributes)
            self.assertEqual(self.ask(pintle.handler(things), "Create", {"Name": "a"}).get("NoEcho"), want, attributes)
        self.state(dict, {}, {"Key": leaked()}, attributes={"Url": "http://leaked-1@host"})
        self.assertEqual(json.loads(self.bodies[-1])["NoEcho"], True)

    def test_reasons_without_the_secrets_of_the_attributes(self) -> None:
        odd: typing.Any = 12345
        for response, want in (
            (pintle.Response(attributes={"Key": leaked()}), "made **** and plain-2, 12345"),
            (pintle.Response(attributes={"Key": leaked(), "Other": ["plain-2"], "Is": True}, no_echo=True), "made **** and ****, 12345"),
            (pintle.Response(attributes={"Key": pintle.Secret(odd)}), "made leaked-1 and plain-2, ****"),
            (pintle.Response(attributes={"Key": pintle.Secret(typing.cast(typing.Any, None))}), "made leaked-1 and plain-2, 12345"),
        ):
            things = Things()
            things.act = lambda r, response=response: dataclasses.replace(response, id="i", reason="made leaked-1 and plain-2, 12345")
            self.assertEqual(self.ask(pintle.handler(things), "Create", {"Name": "a"})["Reason"], want)

    def test_secrets_in_defaults(self) -> None:
        @dataclasses.dataclass
        class Login:
            Keys: "list[pintle.Secret]" = pintle.prop(default=[pintle.Secret("key-secret")])
            Pins: "list[str]" = pintle.prop(default=["pin-secret"], secret=True)

        class Logins(pintle.Provider[Login]):
            def create(self, request: "pintle.Request[Login]") -> None:
                raise ValueError(f"rejected {request.properties.Keys[0].reveal()} {request.properties.Pins[0]}")

        self.assertEqual(self.ask(pintle.handler(Logins()), "Create", {})["Reason"], "rejected **** ****")

    def test_an_id_with_a_secret(self) -> None:
        key = "start-" + "k" * 300
        for rest, kind in (("i" * 1000, "Create"), ("\n", "Create"), ("", "Update"), ("", "Delete")):
            class Late(Things):
                def delete(self, request: pintle.Request[Thing], rest: str = rest) -> typing.Any:
                    return pintle.Response(id=key + rest)

            things = Late()
            things.act = lambda r, rest=rest: pintle.Response(id=key + rest)
            answer = self.ask(pintle.handler(things), kind, {"Name": "a", "Key": key}, {"Name": "a", "Key": key}, id="thing-a")
            self.assertEqual(answer["Status"], "FAILED")
            self.assertIn("****", answer["Reason"])
            self.assertNotIn("start-", answer["Reason"])

    def test_a_secret_that_is_not_unicode(self) -> None:
        things = Things()
        things.act = lambda r: pintle.Response(id="i", reason="a \ud800key")
        self.assertEqual(self.ask(pintle.handler(things), "Create", {"Name": "a", "Key": "\ud800key"})["Reason"], "a ****")


@dataclasses.dataclass
class Tree:
    Kind: typing.Literal["a", 1]
    Level: int = pintle.prop(enum=["1", "2"])
    Words: str = pintle.prop(default="w", pattern=r"\w+")
    Part: typing.Optional["Tree"] = None
    More: "dict[str, Person]" = pintle.prop(default={}, immutable=True, min_length=1)
    Any: typing.Any = None


class Schemas(unittest.TestCase):
    def test_schema(self) -> None:
        class Readable(pintle.Provider[Tree]):
            def read(self, request: pintle.Request) -> typing.Any:
                return None

            def plan(self, request: pintle.Request) -> typing.Any:
                return None

        schema = pintle.handler({"Custom::Tree": Readable(), "Custom::Thing": Things()}).pintle_schema()
        self.assertEqual(sorted(schema["resourceTypes"]), ["Custom::Thing", "Custom::Tree"])
        thing, tree = schema["resourceTypes"]["Custom::Thing"], schema["resourceTypes"]["Custom::Tree"]
        self.assertEqual(thing["properties"]["createOnlyProperties"], ["/properties/Name"])
        self.assertEqual(thing["properties"]["properties"]["Name"], {"type": "string", "pattern": "^(?:[a-z]+)$", "maxLength": 8})
        self.assertEqual(thing["properties"]["properties"]["PIN"], {"type": "string", "writeOnly": True})
        self.assertNotIn("reads", thing)
        self.assertEqual((tree["reads"], tree["plans"]), (True, True))
        properties = tree["properties"]
        self.assertEqual(properties["properties"], {
            "Kind": {"enum": ["a", 1, "1"]}, "Level": {"enum": ["1", "2"]}, "Words": {"type": "string", "default": "w"}, "Part": {"$ref": "#/$defs/Tree"},
            "More": {"type": "object", "minProperties": 1, "additionalProperties": {
                "type": "object", "additionalProperties": False, "required": ["Name"], "properties": {
                    "Name": {"type": "string"}, "Age": {"type": ["integer", "string"], "pattern": pintle._NUMBER_PATTERN},
                },
            }},
            "Any": {},
        })
        self.assertEqual((properties["required"], properties["createOnlyProperties"]), (["Kind", "Level"], ["/properties/More"]))
        self.assertEqual(properties["$defs"]["Tree"]["properties"]["Part"], {"$ref": "#/$defs/Tree"})
        json.dumps(schema)

    def test_schema_of_a_dict(self) -> None:
        class Raw(pintle.Provider[dict]):
            pass

        self.assertEqual(pintle.handler(Raw()).pintle_schema()["resourceTypes"], {"*": {"properties": {}}})


if __name__ == "__main__":
    unittest.main()
