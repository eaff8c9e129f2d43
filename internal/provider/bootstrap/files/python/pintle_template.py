"""Forks the processes of functions from one process that has loaded the interpreter.

    python3 bootstrap.py --template FD

FD is a socket. For each byte that comes with two descriptors, a socket and a log, it answers "started PID", and later "ended PID STATUS".
The child reads its arguments and environment from the socket, which this process passes on unread: it never holds anything of a function,
so that no child inherits anything of another one. At the end of FD it exits, and the kernel ends the children with it.
"""

import sys

PLAIN = frozenset(sys.modules)  # what every process has loaded when its handler is

import array
import gc
import io
import os
import re
import select
import signal
import socket
import time

# What most handlers load; it takes longer than all else.
import base64  # noqa: F401
import datetime  # noqa: F401
import decimal  # noqa: F401
import hashlib  # noqa: F401
import ssl  # noqa: F401
import urllib.request  # noqa: F401

try:
    import ctypes

    prctl = ctypes.CDLL(None).prctl
except (ImportError, OSError, AttributeError):
    prctl = None  # no Linux: the child ends when it asks for its next event

PR_SET_PDEATHSIG = 1

# Variables that are read when an interpreter, or a library that is loaded by now, starts.
STARTUP = re.compile(rb"PYTHON|LD_|DYLD_|LC_|LANG|MALLOC_|GLIBC_|OPENSSL_")
SEARCHED = (b"PYTHONPATH", b"LD_LIBRARY_PATH")

# The interpreter sets this one itself where the machine doesn't have the locale that LANG names (PEP 538). Another interpreter would, too.
LOCALE = b"LC_CTYPE"


def serve(descriptor):
    """Returns in each child, with its arguments and environment in place."""
    control = socket.socket(fileno=descriptor)
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    gc.collect()
    gc.freeze()  # so that a collection in a child does not copy what it shares
    parent = os.getpid()
    while True:
        ready, _, _ = select.select([control, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            reap(control)
        if control not in ready:
            continue
        descriptors = array.array("i")
        data, ancillary, _, _ = control.recvmsg(1, socket.CMSG_SPACE(2 * descriptors.itemsize))
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
        if not data:
            os._exit(0)
        try:
            child = os.fork()
        except OSError as error:
            control.sendall(b"failed %d\n" % error.errno)
            continue
        finally:
            if os.getpid() == parent:
                for own in descriptors:
                    os.close(own)
        if child == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for other in (woken, wake):
                os.close(other)
            control.close()
            become(parent, *descriptors)
            return
        try:
            os.setpgid(child, child)
        except OSError:
            pass  # it did so itself, and is another program by now
        control.sendall(b"started %d\n" % child)


def reap(control):
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if child == 0:
            return
        control.sendall(b"ended %d %d\n" % (child, status))


def become(parent, source, log):
    """Makes this process that of a function."""
    os.setpgid(0, 0)
    if prctl is not None:
        prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:
            os._exit(1)
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        os.dup2(log, descriptor)
        # The stream of the parent knows what its file could do, such as seek.
        stream = io.TextIOWrapper(open(descriptor, "wb", 0, closefd=False), write_through=True)
        setattr(sys, name, stream)
        setattr(sys, "__%s__" % name, stream)
    os.close(log)
    with socket.socket(fileno=source) as connection, connection.makefile("rb") as stream:
        text = stream.read()
    if not text:
        os._exit(1)  # whoever asked for this process has given up
    directory, count, *rest = text.split(b"\0")[:-1]
    arguments, env = rest[: int(count)], dict(variable.split(b"=", 1) for variable in rest[int(count) :])
    os.chdir(directory)
    python = [os.path.abspath(path) for path in env.get(b"PYTHONPATH", b"").split(os.pathsep.encode()) if path]
    if unlike(env) or libraries(env) or shadows([directory, *python]):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execve(arguments[0], arguments, env)
    locale = os.environb.get(LOCALE)
    os.environb.clear()
    os.environb.update(env)
    if locale is not None:
        os.environb.setdefault(LOCALE, locale)
    time.tzset()
    gc.unfreeze()
    sys.path[1:1] = [os.fsdecode(path) for path in python]
    sys.argv = [os.fsdecode(argument) for argument in arguments[1:]]


def unlike(env):
    """Whether the interpreter would have started in another way."""
    names = {name for name in {*env, *os.environb} if STARTUP.match(name) and name not in SEARCHED}
    if LOCALE not in env:
        names.discard(LOCALE)
    return any(env.get(name) != os.environb.get(name) for name in names)


def libraries(env):
    """Whether a folder is searched for libraries that has some. It is read when a program starts."""
    inherited = os.environb.get(b"LD_LIBRARY_PATH", b"").split(b":")
    for folder in env.get(b"LD_LIBRARY_PATH", b"").split(b":"):
        if folder and folder not in inherited and any(b".so" in name for name in listed(folder)):
            return True
    return False


def shadows(folders):
    """Whether one of the folders has a module in the place of one that is loaded."""
    loaded = {os.fsencode(name.partition(".")[0]) for name in sys.modules if name not in PLAIN}
    return any(name.partition(b".")[0] in loaded for folder in folders for name in listed(folder))


def listed(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []
