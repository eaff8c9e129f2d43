"""A note, on b-aws-cf-response."""
import re

from b_aws_cf_response.cfresponse import CfResponse


def handler(event, context):
    response = CfResponse(event, context)
    try:
        if event["RequestType"] == "Delete":
            response.respond(CfResponse.CfResponseStatus.SUCCESS)
            return
        name = event["ResourceProperties"]["Name"]
        if not re.fullmatch("[a-z0-9-]+", name):
            raise ValueError(f"Name: want lower-case letters, got {name}")
        data = {"Path": f"/notes/{name}"}
        response.respond(CfResponse.CfResponseStatus.SUCCESS, data=data, resource_id=f"note-{name}")
    except Exception as error:
        response.respond(CfResponse.CfResponseStatus.FAILED, status_reason=str(error))
