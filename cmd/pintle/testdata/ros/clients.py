"""The life of a stack, by a generation of the SDK of ROS for Python: python3 clients.py CLIENT ENDPOINT PROVIDER.

CLIENT is python, python-iact3 or python-v1, whose libraries PYTHONPATH names. PROVIDER is a service token. The key is in the
environment, KEY_ID and KEY_SECRET. An unexpected reply ends the script with an error.
"""

import asyncio
import json
import os
import re
import sys
import time

kind, endpoint, provider = sys.argv[1:]
host = endpoint.removeprefix("http://")
REGION = "cn-hangzhou"


class Refused(Exception):
    def __init__(self, code, status, message):
        super().__init__(f"{status} {code}: {message}")
        self.code, self.status = code, status


def asynchronous():
    """Returns a client of the generated library."""
    from alibabacloud_ros20190910.client import Client
    from alibabacloud_tea_openapi.models import Config

    return Client(Config(access_key_id=os.environ["KEY_ID"], access_key_secret=os.environ["KEY_SECRET"], endpoint=host, protocol="http", region_id=REGION))


def connect(secret):
    """Returns a function that calls an action with parameters."""
    if kind == "python-v1":
        return connect_v1(secret)
    from alibabacloud_ros20190910 import models
    from alibabacloud_ros20190910.client import Client
    from alibabacloud_tea_openapi.models import Config

    client = Client(Config(access_key_id=os.environ["KEY_ID"], access_key_secret=secret, endpoint=host, protocol="http", region_id=REGION))

    def call(action, **parameters):
        request = getattr(models, action + "Request")()
        request.from_map({"RegionId": REGION, **parameters})
        method = getattr(client, re.sub("(?<!^)([A-Z])", r"_\1", action).lower())
        try:
            return method(request).body.to_map()
        except Exception as error:
            code = getattr(error, "code", None)
            if not code:
                raise
            status = getattr(error, "status_code", None) or getattr(error, "statusCode", None) or (getattr(error, "data", None) or {}).get("statusCode")
            raise Refused(code, status, str(error)) from error

    return call


def connect_v1(secret):
    from importlib import import_module

    from aliyunsdkcore.acs_exception.exceptions import ServerException
    from aliyunsdkcore.client import AcsClient

    client = AcsClient(os.environ["KEY_ID"], secret, REGION)

    def call(action, **parameters):
        request = getattr(import_module(f"aliyunsdkros.request.v20190910.{action}Request"), action + "Request")()
        request.set_endpoint(host)
        request.set_protocol_type("http")
        request.set_accept_format("JSON")
        for name, value in parameters.items():
            setter = getattr(request, "set_" + name, None) or getattr(request, "set_" + name + "s")
            setter(value)
        try:
            return json.loads(client.do_action_with_exception(request))
        except ServerException as error:
            raise Refused(error.get_error_code(), error.get_http_status(), error.get_error_msg()) from error

    return call


call = connect(os.environ["KEY_SECRET"])


def same(got, want):
    if got != want:
        raise AssertionError(f"{got!r}, want {want!r}")


def refused(code, status, function, *arguments, **parameters):
    try:
        reply = function(*arguments, **parameters)
    except Refused as error:
        same((error.code, error.status), (code, status))
        return str(error)
    raise AssertionError(f"{code} was expected, not {reply!r}")


def settled(stack_id, want):
    """Waits for the end of a stack's operation."""
    for _ in range(600):
        stack = call("GetStack", StackId=stack_id)
        if not stack["Status"].endswith("_IN_PROGRESS"):
            same(stack["Status"], want)
            return stack
        time.sleep(0.05)
    raise AssertionError(f"{stack_id} did not become {want}")


def template(parameters):
    return json.dumps({
        "ROSTemplateFormatVersion": "2015-09-01",
        "Description": "Ein Ding für *alle* ~ & a+b=c %",
        "Parameters": {"Size": {"Type": "Number", "Default": 1}, "Password": {"Type": "String", "NoEcho": True}},
        "Resources": {"Thing": {"Type": "Custom::Thing", "Properties": {"ServiceToken": provider, "Timeout": 60, "Parameters": parameters}}},
        "Outputs": {"Answer": {"Value": {"Fn::GetAtt": ["Thing", "Answer"]}}},
    })


name = "stack-" + kind
missing = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"
given = [{"ParameterKey": "Password", "ParameterValue": "p ä*~'()!"}]
body = template({"Size": {"Ref": "Size"}})
refused("SignatureDoesNotMatch", 400, connect("not the secret of the key"), "ListStacks")
refused("StackNotFound", 404, call, "GetStack", StackId=missing)
refused("ChangeSetNotFound", 404, call, "GetChangeSet", ChangeSetId=missing)

longest = template({}) + " " * (524288 - len(template({})))  # ASCII
same(call("ValidateTemplate", TemplateBody=longest)["ResourceTypes"]["Resources"], ["Custom::Thing"])
refused("InvalidSchema", 400, call, "ValidateTemplate", TemplateBody=longest + " ")
long_id = call("CreateStack", StackName=name + "-long", TemplateBody=longest, Parameters=given)["StackId"]
settled(long_id, "CREATE_COMPLETE")
same(call("GetTemplate", StackId=long_id)["TemplateBody"], longest)

stack_id = call("CreateStack", StackName=name, TemplateBody=body, Parameters=given, TimeoutInMinutes=20, ClientToken="create-" + kind)["StackId"]
made = settled(stack_id, "CREATE_COMPLETE")
same([(o["OutputKey"], o["OutputValue"]) for o in made["Outputs"]], [("Answer", 42.5)])
same({p["ParameterKey"]: p["ParameterValue"] for p in made["Parameters"]}["Password"], "******")
refused("StackExists", 409, call, "CreateStack", StackName=name, TemplateBody=body, Parameters=given)
text = refused("NotSupported", 400, call, "UpdateStack", StackId=stack_id, TemplateBody=body, Parameters=given)
if "Update the completely same stack" not in text:
    raise AssertionError(text)

call("UpdateStack", StackId=stack_id, TemplateBody=body, UsePreviousParameters=True, Parameters=[{"ParameterKey": "Size", "ParameterValue": "2"}])
settled(stack_id, "UPDATE_COMPLETE")
change_set = call("CreateChangeSet", ChangeSetName="more", StackId=stack_id, TemplateBody=template({"Size": 3}), UsePreviousParameters=True)["ChangeSetId"]
shown = call("GetChangeSet", ChangeSetId=change_set)
same([c["ResourceChange"]["Action"] for c in shown["Changes"]], ["Modify"])
call("ExecuteChangeSet", ChangeSetId=change_set)
settled(stack_id, "UPDATE_COMPLETE")

same(call("GetTemplate", StackId=stack_id)["TemplateBody"], template({"Size": 3}))
same([s["StackId"] for s in call("ListStacks", StackName=[name], PageSize=50)["Stacks"]], [stack_id])
resources = call("ListStackResources", StackId=stack_id)["Resources"]
same([(r["LogicalResourceId"], r["PhysicalResourceId"]) for r in resources], [("Thing", "thing-1")])
events = call("ListStackEvents", StackId=stack_id, PageNumber=1, PageSize=50)["Events"]
same((events[0]["Status"], events[-1]["StatusReason"]), ("UPDATE_COMPLETE", "Stack CREATE started"))

summary = call("GetTemplateSummary", StackId=stack_id)
same({p["ParameterKey"]: (p["Type"], p["NoEcho"]) for p in summary["Parameters"]}, {"Size": ("Number", "false"), "Password": ("String", "true")})
same((summary["ResourceTypes"], summary["Version"]), (["Custom::Thing"], "2015-09-01"))
constraints = call("GetTemplateParameterConstraints", TemplateBody=body)["ParameterConstraints"]
same([(c["ParameterKey"], c["Behavior"]) for c in constraints], [("Size", "NotSupport"), ("Password", "NotSupport")])
call("MoveResourceGroup", ResourceType="stack", ResourceId=stack_id, NewResourceGroupId="rg-" + kind)
same(call("GetStack", StackId=stack_id)["ResourceGroupId"], "rg-" + kind)
detection = call("DetectStackDrift", StackId=stack_id)["DriftDetectionId"]
found = call("GetStackDriftDetectionStatus", DriftDetectionId=detection)
same((found["DriftDetectionStatus"], found["StackDriftStatus"], found["DriftedStackResourceCount"]), ("DETECTION_COMPLETE", "IN_SYNC", 0))
drifts = call("ListStackResourceDrifts", StackId=stack_id, MaxResults=10)["ResourceDrifts"]
same([(r["LogicalResourceId"], r["ResourceDriftStatus"]) for r in drifts], [("Thing", "NOT_CHECKED")])
refused("NotSupported", 400, call, "DetectStackResourceDrift", StackId=stack_id, LogicalResourceId="Thing")
refused("DriftDetectionNotFound", 404, call, "GetStackDriftDetectionStatus", DriftDetectionId=missing)
refused("NotSupported", 400, call, "ListStackGroups")
refused("NotSupported", 400, call, "GetTemplateEstimateCost", TemplateBody=body)

if kind != "python-v1":
    # The asynchronous methods send their requests with another library.
    from alibabacloud_ros20190910 import models

    listed = asyncio.run(asynchronous().list_stacks_async(models.ListStacksRequest(region_id=REGION, stack_name=[name])))
    same([s.stack_id for s in listed.body.stacks], [stack_id])

call("DeleteStack", StackId=stack_id)
settled(stack_id, "DELETE_COMPLETE")
