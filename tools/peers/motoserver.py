"""Serves moto on 127.0.0.1 at the port that is its argument, with functions that need no Docker.

moto runs the code of a function in a container. Here it is run in moto's own process instead, one call after the other and not
before the call that makes the stack has returned: moto does not expect answers as early as that, and would make resources twice.
Response URLs lead to this server and not to the host of containers. Nothing else of moto is changed.
"""

import importlib.machinery
import io
import json
import logging
import sys
import threading
import zipfile

from moto import settings
from moto.server import ThreadedMotoServer

port = int(sys.argv[1])
loaded = {}
turn = threading.RLock()  # of whoever makes a stack or runs a function


def handler_of(function):
    """Returns the handler of a function, whose code is loaded once."""
    module, name = function.handler.split(".")
    if function.code_sha_256 not in loaded:
        space = {"__name__": module}
        with zipfile.ZipFile(io.BytesIO(function.code_bytes)) as code:
            names = code.namelist()
            found = f"{module}.py" if f"{module}.py" in names else names[0]  # of inline code, whatever its name
            exec(compile(code.read(found), found, "exec"), space)
        loaded[function.code_sha_256] = space
    return loaded[function.code_sha_256][name]


def invoke(function, event=None):
    """Stands in for LambdaFunction._invoke_lambda: the response, whether it is an error, and the log."""
    if isinstance(event, (str, bytes)):
        event = json.loads(event)
    try:
        with turn:
            return json.dumps(handler_of(function)(event or {}, None)), False, ""
    except Exception as failure:  # the function's, whatever it is
        return json.dumps({"errorType": type(failure).__name__, "errorMessage": str(failure)}), True, str(failure)


def run_here(models):
    """Patches the functions of moto.awslambda.models."""
    models.LambdaFunction._invoke_lambda = invoke


def take_turns(models):
    """Patches the stacks of moto.cloudformation.models."""
    create_stack = models.CloudFormationBackend.create_stack

    def create(backend, *args, **kwargs):
        with turn:
            return create_stack(backend, *args, **kwargs)

    models.CloudFormationBackend.create_stack = create


patches = {"moto.awslambda.models": run_here, "moto.cloudformation.models": take_turns}


class Patching(importlib.machinery.PathFinder):
    """Patches modules when moto loads them, which is when they are first needed: a start and a rest are moto's own."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name not in patches:
            return None
        spec = super().find_spec(name, path, target)
        load = spec.loader.exec_module

        def load_and_patch(module):
            load(module)
            patches[name](module)

        spec.loader.exec_module = load_and_patch
        return spec


sys.meta_path.insert(0, Patching)
settings.moto_server_host = lambda: "http://127.0.0.1"
settings.moto_server_port = lambda: str(port)
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
server.start()
print("listening", flush=True)
threading.Event().wait()
