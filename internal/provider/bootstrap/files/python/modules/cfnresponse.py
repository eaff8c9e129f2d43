"""Answers a request of CloudFormation: the module that inline functions of Lambda import, anew.

send returns when the answer was taken, and raises if it was not: then the function fails, and so does the resource, at
once instead of after an hour of silence. The URL is a secret and is not printed.
"""

import json
import urllib.error
import urllib.request

SUCCESS = "SUCCESS"
FAILED = "FAILED"

TRIES = 3


def send(
    event, context, responseStatus, responseData=None, physicalResourceId=None, noEcho=False, reason=None, **_unknown
):
    body = json.dumps(
        {
            "Status": responseStatus,
            "Reason": reason or "See the details in CloudWatch Log Stream: " + context.log_stream_name,
            "PhysicalResourceId": physicalResourceId or context.log_stream_name,
            "StackId": event["StackId"],
            "RequestId": event["RequestId"],
            "LogicalResourceId": event["LogicalResourceId"],
            "NoEcho": noEcho,
            "Data": responseData if responseData is not None else {},
        }
    ).encode()
    # The signature allows for any content type or none, but urllib would add one.
    request = urllib.request.Request(event["ResponseURL"], body, {"Content-Type": ""}, method="PUT")
    for left in reversed(range(TRIES)):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                print("cfnresponse: Status code:", answer.status)
                return
        except urllib.error.HTTPError as error:
            if error.code < 500 or not left:
                raise RuntimeError("cfnresponse: the answer was refused with status %d" % error.code) from None
        except OSError as error:
            if not left:
                raise RuntimeError("cfnresponse: the answer could not be sent: %s" % error) from None
