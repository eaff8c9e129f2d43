"""Calls a function in a file for each event that the Lambda Runtime API hands out, or that of Function Compute.

    python3 bootstrap.py FILE NAME...

FILE is the handler's file and each NAME a function that it may be, the first that is there being the one. With --schema before FILE, the
program prints the schema of the handler. The module pintle_template describes another form of the command.
"""

import http.client
import importlib
import importlib.machinery
import importlib.util
import json
import logging
import os
import re
import shlex
import sys
import threading
import time
import traceback
import uuid

import pintle_oss
import pintle_reroute

OLDEST = (3, 8)
NO_SCHEMA = 3  # the exit status of --schema for a handler without one
HERE = os.path.abspath(__file__)  # its frames are not the handler's
BUILT_IN = os.path.join(os.path.dirname(os.path.realpath(HERE)), "aws")  # used where boto3 is not installed
EXACT = uuid.uuid4().hex  # before a number that is a string until all is encoded


FILE = ""  # of the handler
PATHS = []  # sys.path before a handler changes it
PROJECT = ""  # where to install what is missing; empty for a function of a template

PATIENT = ""  # whether the pauses of helper libraries stay

# What Python's runtime on AWS has besides the standard library, and the names of packages whose modules are called otherwise.
AWS = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "six", "urllib3")
# What Python's runtimes on Function Compute have besides it, and the packages that have these modules.
# Source: Function Compute, Python runtimes, built-in dependencies.
FC = {
    "oss2": "oss2", "aliyunsdkcore": "aliyun-python-sdk-core", "fc2": "aliyun-fc2", "tablestore": "tablestore", "ots2": "tablestore",
    "mns": "aliyun-mns-sdk", "aliyun": "aliyun-log-python-sdk", "datahub": "pydatahub", "wand": "Wand", "cv2": "opencv-python-headless",
    "numpy": "numpy", "scipy": "scipy", "matplotlib": "matplotlib", "scrapy": "Scrapy", "PIL": "Pillow", "requests": "requests",
    "Crypto": "pycryptodome", "alibabacloud_fc20230330": "alibabacloud_fc20230330", "alibabacloud_fc_open20210406": "alibabacloud_fc_open20210406",
    "werkzeug": "Werkzeug", "simplejson": "simplejson", "dateutil": "python-dateutil", "six": "six", "cryptography": "cryptography",
}
PACKAGES = {
    "Crypto": "pycryptodome", "MySQLdb": "mysqlclient", "OpenSSL": "pyOpenSSL", "PIL": "Pillow", "attr": "attrs",
    "aws_lambda_powertools": "aws-lambda-powertools", "bs4": "beautifulsoup4", "cfn_tools": "cfn-flip",
    "cv2": "opencv-python-headless", "dateutil": "python-dateutil", "dns": "dnspython", "dotenv": "python-dotenv",
    "git": "GitPython", "jwt": "PyJWT", "ldap": "python-ldap", "psycopg2": "psycopg2-binary", "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}


class Failure(Exception):
    """What is reported as an error of the runtime, under a name of Lambda's. A plain one says all in its message."""

    def __init__(self, kind, message, plain=False):
        super().__init__(message)
        self.kind = kind
        self.plain = plain


class Identity:
    cognito_identity_id = None
    cognito_identity_pool_id = None


class Context:
    """What a handler gets beside the event, as Lambda documents it for Python."""

    def __init__(self, headers):
        env = os.environ
        self.aws_request_id = headers["Lambda-Runtime-Aws-Request-Id"]
        self.invoked_function_arn = headers["Lambda-Runtime-Invoked-Function-Arn"]
        self.function_name = env.get("AWS_LAMBDA_FUNCTION_NAME")
        self.function_version = env.get("AWS_LAMBDA_FUNCTION_VERSION")
        self.memory_limit_in_mb = env.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
        self.log_group_name = env.get("AWS_LAMBDA_LOG_GROUP_NAME")
        self.log_stream_name = env.get("AWS_LAMBDA_LOG_STREAM_NAME")
        self.identity = Identity()
        self.client_context = None
        self.tenant_id = None
        self._deadline = int(headers["Lambda-Runtime-Deadline-Ms"])

    def get_remaining_time_in_millis(self):
        return max(self._deadline - int(time.time() * 1000), 0)

    def log(self, message):
        print(message)


class Lambda:
    """How Lambda calls a handler. The module pintle_fc has the same for Function Compute."""

    API = "/2018-06-01/runtime"
    ADDRESS = "AWS_LAMBDA_RUNTIME_API"
    ROOT = "LAMBDA_TASK_ROOT"
    HANDLER = "_HANDLER"
    REQUEST = "Lambda-Runtime-Aws-Request-Id"
    Context = Context

    @staticmethod
    def start():
        if "python" not in os.environ.get("AWS_EXECUTION_ENV", ""):
            os.environ["AWS_EXECUTION_ENV"] = "AWS_Lambda_python%d.%d" % sys.version_info[:2]

    @staticmethod
    def begin(headers):
        os.environ["_X_AMZN_TRACE_ID"] = headers.get("Lambda-Runtime-Trace-Id", "")

    @staticmethod
    def event(text):
        return json.loads(text)

    @staticmethod
    def result(value, encode):
        return encode(value)

    @staticmethod
    def initializer(_headers):
        return ""

    @staticmethod
    def explain(_error, message):
        return message


contract = Lambda
work = None  # the module pintle_work, which main imports as long as its folder is found


class Runtime:
    """The Runtime API of this process."""

    def __init__(self):
        # The address has a path where other users of the machine can connect.
        self.host, slash, path = os.environ[contract.ADDRESS].partition("/")
        self.api = slash + path + contract.API
        self.connection = http.client.HTTPConnection(self.host)

    def next(self):
        return self._call("GET", "/invocation/next")

    def response(self, done, body, running=()):
        headers = {work.HEADER: printable(work.describe(running))} if running else None
        self._call("POST", "/invocation/" + done + "/response", body, headers)
        if running:
            work.watch(running, self.host, self.api + "/invocation/" + done + "/idle")

    def error(self, done, report):
        self._report("/invocation/" + done + "/error", report)

    def init_error(self, report):
        self._report("/init/error", report)

    def _report(self, path, report):
        headers = {"Lambda-Runtime-Function-Error-Type": printable(report["errorType"])}
        self._call("POST", path, json.dumps(report).encode(), headers)

    def _call(self, method, path, body=None, headers=None):
        headers = {"Content-Type": "application/json", **(headers or {})}
        self.connection.request(method, self.api + path, body, headers)
        with self.connection.getresponse() as answer:
            text = answer.read()
            if answer.status >= 500:  # this process is being ended
                raise SystemExit(1)
            # Whatever else was refused is known where it was refused, and the next event is another.
            return answer.headers, text


LEVELS = {"TRACE": logging.DEBUG, "DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARN": logging.WARNING}
LEVELS.update({"ERROR": logging.ERROR, "FATAL": logging.CRITICAL})
JSON = False  # the format of the log
LEAST = logging.INFO
current = None  # the id of the event that is handled


def line(level, fields):
    """A line of a log in JSON."""
    now = time.time()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + ".%03dZ" % int(now % 1 * 1000)
    fields = {"timestamp": stamp, "level": level, **fields, "requestId": current}
    return json.dumps({name: value for name, value in fields.items() if value is not None}, default=str)


class JSONFormat(logging.Formatter):
    """A line of a log in JSON, if that is the function's format."""

    def format(self, record):
        fields = {"message": record.getMessage(), "logger": record.name}
        if record.exc_info and record.exc_info[0]:
            kind, error, trace = record.exc_info
            fields["errorType"], fields["errorMessage"] = kind.__name__, str(error)
            fields["stackTrace"] = traceback.format_tb(trace)
        return line(record.levelname, fields)


class Format(logging.Formatter):
    """Lambda's form of a line, without the time, which whoever reads the log has."""

    def format(self, record):
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return "[" + record.levelname + "] " + text


def printable(text):
    """A text as it may stand in a header."""
    return "".join(c if " " <= c <= "~" else "?" for c in text)[:256]


def load(file):
    """The module in the file, and its name."""
    path = os.path.splitext(os.path.relpath(file, os.environ[contract.ROOT]))[0]
    name = path.replace(os.sep, ".")
    try:
        if os.sep in path:
            return name, importlib.import_module(name)
        # By its place, since its name may be that of a module that is imported here already.
        if not os.path.exists(file):
            raise ImportError("No module named '%s'" % name)
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return name, module
    except ImportError as error:
        sentence = missing(file, error)
        if sentence:
            raise Failure("Runtime.ImportModuleError", sentence, plain=True) from None
        raise Failure("Runtime.ImportModuleError", "Unable to import module '%s': %s" % (name, error)) from error
    except SyntaxError as error:
        raise Failure("Runtime.UserCodeSyntaxError", "Syntax error in module '%s': %s" % (name, error)) from error


def missing(file, error):
    """What to do about a module that is not there; empty if the error is another."""
    module = getattr(error, "name", None)
    if not isinstance(error, ModuleNotFoundError) or not module:
        return ""
    top = module.partition(".")[0]
    others = foreign(module)
    if others:
        text = '%s needs the Python module "%s", which is there for %s only, and %s is %s: install its package for that, or start Pintle '
        text += "with the other Python as python3 on PATH"
        return text % (os.path.basename(file), module, " and ".join(others), sys.executable, abi(importlib.machinery.EXTENSION_SUFFIXES[0]))
    try:
        spec = importlib.util.find_spec(top)
        if spec and not str(spec.origin).startswith(BUILT_IN) or not spec and top in sys.modules:
            return ""  # a part of it is missing, and no other package has that
    except (ImportError, ValueError):
        return ""
    brought = AWS
    package = PACKAGES.get(top, top)
    if contract is not Lambda:
        brought, package = FC, FC.get(top, package)
    own = os.path.basename(file)
    text = '%s needs the Python module "%s", which %s does not have' % (own, module, sys.executable)
    if top in brought:
        text += " (%s brings it)" % ("AWS's runtime" if brought is AWS else "the runtime of Function Compute")
    if not PROJECT:
        if top not in brought:
            return text + ": add the package that has it to the function's code, or to a layer"
        text += ': run "%s", or start Pintle in a virtual environment that has it'
        return text % pip(sys.executable, package)
    if sys.prefix != sys.base_prefix:
        command = pip(sys.executable, package)
    else:
        venv = os.path.join(PROJECT, ".venv")
        python = os.path.join(venv, *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))
        command = "python3 -m venv %s && %s -m pip install %s" % (shlex.quote(venv), shlex.quote(python), package)
    text += ': run "%s"' % command
    if top not in brought and top not in PACKAGES:  # its name may be that of anything
        text += ", or put %s.py next to %s if it is your own" % (top, own)
    return text


def foreign(module):
    """For which other interpreters a module in C is there that is missing."""
    parent, _, name = module.rpartition(".")
    folders = getattr(sys.modules.get(parent), "__path__", ()) if parent else sys.path
    found = set()
    for folder in folders:
        try:
            files = os.listdir(folder or ".")
        except OSError:
            continue
        found.update(abi(file[len(name) :]) for file in files if re.fullmatch(re.escape(name) + r"\.[\w-]+\.(so|pyd)", file))
    return sorted(found)


def abi(suffix):
    """The interpreter in the suffix of a file, such as .cpython-313-x86_64-linux-gnu.so."""
    return suffix.strip(".").rpartition(".")[0]


def pip(python, package):
    """The command that installs a package. uv makes virtual environments without pip."""
    if importlib.machinery.PathFinder.find_spec("pip", PATHS) is None:
        return "uv pip install --python %s %s" % (shlex.quote(python), package)
    return "%s -m pip install %s" % (shlex.quote(python), package)


def skip_pauses():
    """Leaves out crhelper's pause of two minutes before it answers a Delete: that is for CloudWatch Logs, and the log is here."""
    for name, module in list(sys.modules.items()):
        resource = getattr(module, "CfnResource", None) if name.rpartition(".")[2] == "resource_helper" else None
        if hasattr(resource, "_wait_for_cwlogs"):
            resource._wait_for_cwlogs = lambda self, sleep=None: None


def find(name, module, wanted):
    """The handler among the functions of a module."""
    for function in wanted:
        handler = getattr(module, function, None)
        if callable(handler):
            if len(wanted) > 1:
                os.environ[contract.HANDLER] = name + "." + function
            return handler
    message = "Handler '%s' missing on module '%s'" % ("' or '".join(wanted), name)
    if len(wanted) > 1:
        message += ": give the function one of these names, or say which it is with handler: in pintle.yaml"
        if "on_event" not in wanted and "is_complete" not in wanted and callable(getattr(module, "on_event", None)):
            message = (
                "Handler '%s' missing on module '%s', but there is on_event: a function that returns its result "
                "is declared as onEvent: in pintle.yaml" % ("' or '".join(wanted), name)
            )
    raise Failure("Runtime.HandlerNotFound", message)


def failure(error):
    """What Lambda reports of an exception, without the frames that are ours."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if os.path.abspath(f.filename) != HERE]
    cause = error.__cause__
    if isinstance(error, Failure) and cause is not None:
        frames = [
            f
            for f in traceback.extract_tb(cause.__traceback__)
            if os.path.abspath(f.filename) != HERE and "importlib" not in f.filename
        ]
    kind = error.kind if isinstance(error, Failure) else type(error).__name__
    try:
        message = str(error)
        if isinstance(error, ModuleNotFoundError):
            message = missing(FILE, error) or message  # the handler has imported it late
    except Exception:
        message = "an exception without a text"
    else:
        message = contract.explain(error, message)
    plain = getattr(error, "plain", False)
    report = {"errorType": kind, "errorMessage": message, "stackTrace": [] if plain else traceback.format_list(frames)}
    if plain and PROJECT:
        return report  # and is shown: there is nothing else to say in the log
    if JSON:
        if LEAST <= logging.ERROR:
            say(line("ERROR", report))
        return report
    text = "[ERROR] %s: %s" % (kind, message)
    if report["stackTrace"]:
        text += "\nTraceback (most recent call last):\n" + "".join(report["stackTrace"])
    say(text.rstrip("\n"))
    return report


def say(text):
    """Prints a text, also if the handler has closed or replaced what is printed to."""
    try:
        print(text)
    except Exception:
        os.write(2, (text + "\n").encode("utf-8", "backslashreplace"))


def encode(result):
    try:
        text = json.dumps(result, allow_nan=False, default=exact)
    except (TypeError, ValueError, RecursionError) as error:
        raise Failure("Runtime.MarshalError", "Unable to marshal response: %s" % error) from None
    if EXACT in text:
        text = re.sub('"' + EXACT + '([^"]*)"', r"\1", text)
    return text.encode()


def exact(value):
    """A decimal number, such as those of DynamoDB, with all its digits: so Lambda has it too."""
    decimal = sys.modules.get("decimal")
    if decimal is None or not isinstance(value, decimal.Decimal):
        raise TypeError("Object of type %s is not JSON serializable" % type(value).__name__)
    if not value.is_finite():
        raise ValueError("Out of range float values are not JSON compliant")
    return EXACT + str(value)


def initialize(file, name, context):
    """Calls the initializer, which may be in another file than the handler, and is in its file if none is named."""
    place, _, function = name.rpartition(".")
    if place:
        file = os.path.join(os.environ[contract.ROOT], *place.replace(".", "/").split("/")) + ".py"
    loaded = [(known, module) for known, module in sys.modules.items() if getattr(module, "__file__", None) == file]
    find(*(loaded[0] if loaded else load(file)), [function])(context)


def handle(runtime, file, handler, headers, text):
    global current
    done = current = headers[contract.REQUEST]
    contract.begin(headers)
    process, before = os.getpid(), work.threads()
    try:
        context = contract.Context(headers)
        first = contract.initializer(headers)
        if first:
            body = encode(initialize(file, first, context))
        else:
            event = contract.event(text)
            pintle_reroute.learn(event)
            body = contract.result(handler(event, context), encode)
    except Exception as error:
        if os.getpid() == process:
            runtime.error(done, {**failure(error), "requestId": done})
    else:
        if os.getpid() == process:
            runtime.response(done, body, work.left(before))
    if os.getpid() != process:
        os._exit(0)  # a copy that the handler made of this process, which is not to speak for it


def show_schema(file, wanted):
    """Prints the schema of a handler that has one, and returns the exit status. All else that is printed goes to standard error."""
    out = os.dup(1)
    os.dup2(2, 1)
    try:
        schema = getattr(find(*load(file), wanted), "pintle_schema", None)
        if not callable(schema):
            return NO_SCHEMA
        text = json.dumps(schema())
    except Exception as error:
        report = failure(error)
        if getattr(error, "plain", False) and PROJECT:
            say("[ERROR] " + report["errorMessage"])
        return 1
    with os.fdopen(out, "w", encoding="utf-8") as stream:
        stream.write(text)
    return 0


def configure():
    """Reads the environment, which is the function's by now."""
    global PATHS, PROJECT, PATIENT, JSON, LEAST
    PATHS = list(sys.path)
    PROJECT = os.environ.pop("PINTLE_PROJECT", "")
    PATIENT = os.environ.pop("PINTLE_PATIENT", "")
    JSON = os.environ.get("AWS_LAMBDA_LOG_FORMAT") == "JSON"
    LEAST = LEVELS.get(os.environ.get("AWS_LAMBDA_LOG_LEVEL", "INFO").upper(), logging.INFO)


def main():
    global contract, work, FILE
    import pintle_work as work

    if sys.argv[1] == "--template":
        import pintle_template

        pintle_template.serve(int(sys.argv[2]))
    schema = sys.argv[1] == "--schema"
    if schema:
        del sys.argv[1]
    configure()
    FILE = file = sys.argv[1]
    wanted = sys.argv[2:]
    if Lambda.ADDRESS not in os.environ and not schema:
        import pintle_fc

        contract = pintle_fc
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    # A module of the handler's own wins over one that comes with this file.
    here = os.path.dirname(os.path.realpath(HERE))
    others = [path for path in sys.path if os.path.realpath(path) != here]
    sys.path[:] = [os.environ[contract.ROOT], *others, os.path.join(here, "modules"), BUILT_IN]
    sys.argv = [file]
    contract.start()
    pintle_oss.install()
    log = logging.StreamHandler(sys.stdout)
    log.setFormatter(JSONFormat() if JSON else Format())
    logging.getLogger().addHandler(log)
    if JSON:
        logging.getLogger().setLevel(LEAST)

    if schema:
        raise SystemExit(show_schema(file, wanted))
    runtime = Runtime()
    try:
        if sys.version_info < OLDEST:
            raise Failure("Runtime.Unsupported", "python3 is %d.%d: 3.8 or later is needed" % sys.version_info[:2])
        handler = find(*load(file), wanted)
        if not PATIENT:
            skip_pauses()
    except Exception as error:
        runtime.init_error(failure(error))
        raise SystemExit(1)
    while True:
        handle(runtime, file, handler, *runtime.next())


def leave(left):
    """Ends the process. A thread that the handler has left behind would keep it, and the event with it."""
    main_thread = threading.main_thread()
    if all(t is main_thread or t.daemon for t in threading.enumerate()):
        raise left
    code = left.code
    if code is None:
        code = 0
    elif not isinstance(code, int):
        say(str(code))
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # it is closed, or no stream
    os._exit(code & 0xFF)


if __name__ == "__main__":
    try:
        main()
    except SystemExit as error:
        leave(error)
    except (OSError, http.client.HTTPException):
        leave(SystemExit(1))  # whoever served the Runtime API has gone
