"""The errors that handlers commonly catch, with botocore's messages."""


class BotoCoreError(Exception):
    """An error that did not come from a service."""


class NoRegionError(BotoCoreError):
    def __init__(self):
        super().__init__("You must specify a region.")


class NoCredentialsError(BotoCoreError):
    def __init__(self):
        super().__init__("Unable to locate credentials")


class ParamValidationError(BotoCoreError):
    pass


class EndpointConnectionError(BotoCoreError):
    pass


class WaiterError(BotoCoreError):
    def __init__(self, name, reason, last_response):
        super().__init__("Waiter %s failed: %s" % (name, reason))
        self.last_response = last_response


class ClientError(Exception):
    """An error response of a service."""

    def __init__(self, error_response, operation_name):
        error = error_response.get("Error", {})
        code, message = error.get("Code", "Unknown"), error.get("Message", "Unknown")
        super().__init__("An error occurred (%s) when calling the %s operation: %s" % (code, operation_name, message))
        self.response = error_response
        self.operation_name = operation_name
