"""The parts of botocore that the built-in boto3 and common handlers import."""

__version__ = "1.0.0+pintle"
