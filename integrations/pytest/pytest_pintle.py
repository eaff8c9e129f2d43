"""Pintle in pytest: scenarios of ``pintle check`` as test cases, and a local CloudFormation as a fixture.

A check of a handler, in any test file::

    from pytest_pintle import check

    test_site = check("../site/handler.py", properties={"Name": "a"}, replace={"Name": "b"}, bad={"Name": ""})

makes a test case of each scenario: ``test_site[life]``, ``test_site[redelivery]`` and so on. The fixture ``pintle_server`` is a
server that all tests of a session share::

    def test_stack(pintle_server):
        outputs = pintle_server.deploy("site", template=open("template.yaml").read(), parameters={"Name": "a"})
        assert outputs["Url"].startswith("https://")
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import typing

import pytest

__all__ = ["Server", "check", "pintle_server"]

_START_SECONDS = 60
_STOP_SECONDS = 30

# pintle prints UTF-8, whatever the locale is.
_TEXT: typing.Any = {"encoding": "utf-8", "errors": "replace"}


def _program() -> str:
    """Returns the path of pintle: the variable PINTLE, else the one next to Python, else the one on PATH."""
    given = os.environ.get("PINTLE")
    if given:
        return os.path.abspath(shutil.which(given) or given)  # commands run in other directories
    own = pathlib.Path(sys.executable).parent
    found = shutil.which("pintle", path=str(own)) or shutil.which("pintle")
    if not found:
        raise pytest.UsageError("pintle is neither next to this Python nor on PATH: install it, for example with pip install pintle")
    return found


@functools.lru_cache(maxsize=None)
def _scenarios() -> list[str]:
    out = subprocess.run([_program(), "check", "--list", "-o", "json"], check=True, stdout=subprocess.PIPE).stdout
    return [scenario["id"] for scenario in json.loads(out)["scenarios"]]


def check(
    target: str,
    *,
    properties: typing.Optional[dict] = None,
    update: typing.Optional[dict] = None,
    replace: typing.Optional[dict] = None,
    bad: typing.Optional[dict] = None,
    secrets: typing.Sequence[str] = (),
    options: typing.Sequence[str] = (),
) -> typing.Callable[[str], None]:
    """Returns a test of a handler with a case for each scenario of ``pintle check``.

    :param target: the target of the command: a handler, a program, a Go package, a name in pintle.yaml, or a URL. Paths are relative
        to the file that calls this function.
    :param properties: the properties of the resource. Default: made from the schema that the provider publishes.
    :param update: properties for an update in place.
    :param replace: properties that replace the resource.
    :param bad: properties that the provider must reject.
    :param secrets: names of properties with secret values.
    :param options: other options of the command, such as ``["--ros"]``.

    A case fails if its scenario has an error or a warning. It is skipped if the scenario cannot run, for example because it needs
    properties that were not given. All scenarios run with the first case, once in each process of pytest. In a class, write
    ``test_site = staticmethod(check(...))``.
    """
    directory = pathlib.Path(inspect.stack()[1].filename).parent
    command = ["check", target, "-o", "json"]
    for option, value in (("-p", properties), ("--update", update), ("--replace", replace), ("--bad", bad)):
        if value is not None:
            command += [option, json.dumps(value)]
    for name in secrets:
        command += ["--secret", name]
    command += options

    @functools.lru_cache(maxsize=None)
    def report() -> typing.Union[dict, str]:
        done = subprocess.run([_program(), *command], cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **_TEXT)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return done.stderr.strip() or f"pintle check exited with status {done.returncode} and printed no report"

    @pytest.mark.parametrize("scenario", _scenarios())
    def test(scenario: str) -> None:
        __tracebackhide__ = True
        got = report()
        if isinstance(got, str):
            pytest.fail(got, pytrace=False)
        findings = [f for f in got["findings"] if f["scenario"] == scenario and f["severity"] != "note"]
        if findings:
            pytest.fail("\n\n".join(_text(f) for f in findings), pytrace=False)
        result = next((s for s in got["scenarios"] if s["id"] == scenario), None)
        if result is None:
            pytest.skip("the options leave this scenario out, or the provider declares no such request")
        if result["outcome"] != "passed":
            reason = result.get("reason", result["outcome"])
            pytest.fail(reason, pytrace=False) if result["asked"] else pytest.skip(reason)

    test.__doc__ = f"pintle check {target}"
    return test


def _reasons(cloudformation: typing.Any, stack: str) -> list[str]:
    """Returns the reasons why the last operation of a stack failed, oldest first."""
    reasons: list[str] = []
    for page in cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack):
        for event in page["StackEvents"]:  # the newest is the first
            if "FAILED" in event["ResourceStatus"] and "ResourceStatusReason" in event:
                reasons.insert(0, f"{event['LogicalResourceId']}: {event['ResourceStatusReason']}")
            if event["PhysicalResourceId"] == stack and event["ResourceStatus"] in ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS"):
                return reasons
    return reasons


def _text(finding: dict) -> str:
    """Formats a finding as text."""
    lines = [f"{finding['severity']}: {finding['detail'] or finding['statement']} [{finding['rule']}]"]
    for name, text in (("rule", finding["statement"]), ("why", finding["why"]), ("fix", finding["remedy"]["text"]),
                       ("request", finding["request"]), ("response", finding["response"])):
        if text:
            lines.append(f"  {name:<8} {text}")
    if finding["remedy"].get("snippet"):
        lines += ["", *("    " + line for line in finding["remedy"]["snippet"].splitlines())]
    return "\n".join(lines)


class Server:
    """A running ``pintle serve --dev``, which serves CloudFormation and the services around it on a port of 127.0.0.1.

    ``url`` is its address, and ``env`` has the variables that point AWS clients at it. The server also stops if this process is killed.
    """

    def __init__(self, directory: pathlib.Path, options: typing.Sequence[str], cwd: pathlib.Path) -> None:
        self._log = directory / "log"
        self._data = directory / "data"
        flags = ["--dev", "--listen", "127.0.0.1:0", "--data", str(self._data), "--until-stdin-closes"]
        # Variables such as PINTLE_DATABASE would set flags.
        self._variables = {name: value for name, value in os.environ.items() if not name.startswith("PINTLE_")}
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [_program(), "serve", *flags, *options], cwd=cwd, env=self._variables, stdin=subprocess.PIPE, stdout=log, stderr=log
            )
        try:
            self.env = self._environment()
        except BaseException:
            self.stop()
            raise
        self.url = self.env["AWS_ENDPOINT_URL_CLOUDFORMATION"]

    def _environment(self) -> dict[str, str]:
        end = time.monotonic() + _START_SECONDS
        command = [_program(), "env", "--data", str(self._data), "-o", "json"]
        while True:
            done = subprocess.run(command, env=self._variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **_TEXT)
            if done.returncode == 0:
                return json.loads(done.stdout)["set"]
            if self._process.poll() is not None:
                raise RuntimeError(f"pintle serve exited with status {self._process.returncode}: {self.log()}")
            if time.monotonic() > end:
                raise RuntimeError(f"pintle serve is not ready after {_START_SECONDS} s: {done.stderr}{self.log()}")
            time.sleep(0.05)

    def log(self) -> str:
        """Returns the output of the server."""
        return self._log.read_text(**_TEXT)

    def client(self, service: str, **options: typing.Any) -> typing.Any:
        """Returns a boto3 client; boto3 must be installed. The client uses no proxy, since the server is local."""
        import boto3  # only users of clients need it
        import botocore.config

        config = botocore.config.Config(proxies={})
        if "config" in options:
            config = config.merge(options.pop("config"))
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=self.env["AWS_REGION"],
            aws_access_key_id=self.env["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.env["AWS_SECRET_ACCESS_KEY"],
            config=config,
            **options,
        )

    def deploy(self, stack: str, template: str, parameters: typing.Optional[dict[str, str]] = None) -> dict[str, str]:
        """Creates or updates a stack and returns its outputs. If that fails, the test fails with the reasons."""
        __tracebackhide__ = True
        cloudformation = self.client("cloudformation")
        try:
            found = self._deployed(cloudformation, stack, template, parameters or {})
        except cloudformation.exceptions.ClientError as error:
            found, reasons = None, [error.response["Error"]["Message"]]
        else:
            if found["StackStatus"] in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
                return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}
            reasons = _reasons(cloudformation, found["StackId"])
        state = f"is {found['StackStatus']}" if found else "is not deployed"
        pytest.fail("\n".join([f"{stack} {state}", *reasons]), pytrace=False)

    def _deployed(self, cloudformation: typing.Any, stack: str, template: str, parameters: dict[str, str]) -> dict:
        """Returns the description of a stack after its creation or update."""
        request = {
            "StackName": stack,
            "TemplateBody": template,
            "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
            "Capabilities": ["CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"],
        }
        try:
            cloudformation.update_stack(**request)
        except cloudformation.exceptions.ClientError as error:
            message = error.response["Error"]["Message"]
            if message.endswith("] does not exist"):
                cloudformation.create_stack(**request)
            elif "No updates are to be performed" not in message:
                raise
        while True:
            found = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
            if not found["StackStatus"].endswith("_IN_PROGRESS"):
                return found
            time.sleep(0.1)

    def delete(self, stack: str) -> None:
        """Deletes a stack and waits until it is deleted. If that fails, the test fails with the reasons."""
        __tracebackhide__ = True
        cloudformation = self.client("cloudformation")
        try:
            found = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
        except cloudformation.exceptions.ClientError:
            return  # there is no such stack
        cloudformation.delete_stack(StackName=stack)
        while found["StackStatus"] != "DELETE_COMPLETE":
            if found["StackStatus"] == "DELETE_FAILED":
                reasons = _reasons(cloudformation, found["StackId"])
                pytest.fail("\n".join([f"{stack} is DELETE_FAILED", *reasons]), pytrace=False)
            time.sleep(0.1)
            found = cloudformation.describe_stacks(StackName=found["StackId"])["Stacks"][0]

    def stop(self) -> None:
        """Stops the server and waits until it has exited."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # it has exited
        if os.name == "posix" and self._process.poll() is None:
            self._process.terminate()  # a fork of this process may still hold the pipe
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("pintle_serve", "options of pintle serve for the fixture pintle_server", type="args", default=[])


@pytest.fixture(scope="session")
def pintle_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> typing.Iterator[Server]:
    """A server that all tests of the session share. It starts with the first test that needs it."""
    server = Server(tmp_path_factory.mktemp("pintle"), request.config.getini("pintle_serve"), request.config.rootpath)
    yield server
    server.stop()
