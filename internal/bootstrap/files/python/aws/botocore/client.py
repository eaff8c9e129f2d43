"""Where some import the configuration and the errors from."""

from .config import Config  # noqa: F401
from .exceptions import ClientError  # noqa: F401
