"""Pintle's built-in boto3, used where the package is not installed.

A client sends each call to the Runtime API of this process. Pintle calls the service and returns the response, so all actions of all
services work, with pagination. WAITERS lists the waiters. Resources, presigned URLs, profiles and other waiters raise an error that
names the package to install.
"""

from .session import Session, unknown

__version__ = "1.0.0+pintle"

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
