"""Pintle's built-in boto3: what stands in for the package where nobody has installed it.

AWS's own runtimes bring boto3. Here a method of any client is sent to the Runtime API of this process, which calls the service and
returns its answer, so every action of every service works, with paginators. There are no resources, no session configuration and no
waiters but those in WAITERS: these raise an error that names the package to install.
"""

from .session import Session, unknown

_default = None


def _session():
    global _default
    if _default is None:
        _default = Session()
    return _default


def setup_default_session(**settings):
    global _default
    _default = Session(**settings)


def client(*args, **settings):
    return _session().client(*args, **settings)


def resource(*args, **settings):
    return _session().resource(*args, **settings)


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    raise unknown("boto3." + name)
