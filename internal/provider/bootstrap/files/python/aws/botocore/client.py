"""Other import paths of the configuration and the errors."""

from .config import Config  # noqa: F401
from .exceptions import ClientError  # noqa: F401
