"""Detects drift with the SDK of ROS for Python: python3 drift.py ENDPOINT SHELF.

SHELF is the directory in which the provider keeps its resources. The key and the template are in the environment, KEY_ID, KEY_SECRET and
TEMPLATE. An unexpected reply ends the script with an error.
"""

import os
import re
import sys
import time

from alibabacloud_ros20190910 import models as m
from alibabacloud_ros20190910.client import Client
from alibabacloud_tea_openapi.models import Config

endpoint, shelf = sys.argv[1:]
REGION = "cn-hangzhou"
client = Client(Config(access_key_id=os.environ["KEY_ID"], access_key_secret=os.environ["KEY_SECRET"],
                       endpoint=endpoint.removeprefix("http://"), protocol="http", region_id=REGION))


def same(got, want):
    if got != want:
        raise AssertionError(f"{got!r}, want {want!r}")


def until(look, done):
    for _ in range(600):
        found = look()
        if done(found):
            return found
        time.sleep(0.05)
    raise AssertionError(f"{found} remains")


def refused(code, status, function, request):
    try:
        reply = function(request)
    except Exception as error:
        same((getattr(error, "code", None), getattr(error, "status_code", None) or (getattr(error, "data", None) or {}).get("statusCode")), (code, status))
        return
    raise AssertionError(f"{code} was expected, not {reply}")


def get_stack():
    return client.get_stack(m.GetStackRequest(region_id=REGION, stack_id=stack)).body


def shelve(text):
    with open(os.path.join(shelf, "a.json"), "w") as file:
        file.write(text)


stack = client.create_stack(m.CreateStackRequest(
    region_id=REGION, stack_name="sdk", template_body=os.environ["TEMPLATE"],
    parameters=[m.CreateStackRequestParameters(parameter_key="Key", parameter_value="hunter2")])).body.stack_id
same(until(get_stack, lambda s: not s.status.endswith("_IN_PROGRESS")).status, "CREATE_COMPLETE")
same(get_stack().stack_drift_status, "NOT_CHECKED")

# One resource.
one = client.detect_stack_resource_drift(m.DetectStackResourceDriftRequest(region_id=REGION, stack_id=stack, logical_resource_id="A")).body
same((one.resource_drift_status, one.resource_type, one.physical_resource_id, one.stack_id), ("IN_SYNC", "Custom::File", "a", stack))
same(one.property_differences, [])

# The whole stack.
shelve('{"size": 7, "key": "swordfish"}')
detection = client.detect_stack_drift(m.DetectStackDriftRequest(region_id=REGION, stack_id=stack, logical_resource_id=["A"])).body.drift_detection_id
end = until(lambda: client.get_stack_drift_detection_status(m.GetStackDriftDetectionStatusRequest(region_id=REGION, drift_detection_id=detection)).body,
            lambda d: d.drift_detection_status != "DETECTION_IN_PROGRESS")
same((end.drift_detection_status, end.stack_drift_status, end.drifted_stack_resource_count, end.stack_id), ("DETECTION_COMPLETE", "DRIFTED", 1, stack))
same(end.drift_detection_status_reason, "Detect stack drift successfully")
if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", end.drift_detection_time):
    raise AssertionError(end.drift_detection_time)
found = client.list_stack_resource_drifts(m.ListStackResourceDriftsRequest(
    region_id=REGION, stack_id=stack, resource_drift_status=["MODIFIED", "DELETED"], max_results=10)).body
same(found.next_token, None)
same([(d.property_path, d.difference_type, d.expected_value, d.actual_value) for d in found.resource_drifts[0].property_differences],
     [("/Parameters/Size", "NOT_EQUAL", "5", "7"), ("/Parameters/Key", "NOT_EQUAL", "*****", "*****")])
same(found.resource_drifts[0].expected_properties, '{"Parameters":{"Name":"a","Size":5,"Key":"*****"}}')
described = get_stack()
same((described.stack_drift_status, described.checked_stack_resource_count, described.not_checked_stack_resource_count), ("DRIFTED", 1, 0))
listed = client.list_stacks(m.ListStacksRequest(region_id=REGION)).body.stacks[0]
same((listed.stack_drift_status, listed.drift_detection_time), ("DRIFTED", described.drift_detection_time))
resource = client.list_stack_resources(m.ListStackResourcesRequest(region_id=REGION, stack_id=stack)).body.resources[0]
same((resource.resource_drift_status, bool(resource.drift_detection_time)), ("MODIFIED", True))
resource = client.get_stack_resource(m.GetStackResourceRequest(region_id=REGION, stack_id=stack, logical_resource_id="A")).body
same((resource.resource_drift_status, bool(resource.drift_detection_time)), ("MODIFIED", True))
for reply in (one, end, found, described, listed, resource):
    if "hunter2" in str(reply.to_map()) or "swordfish" in str(reply.to_map()):
        raise AssertionError(f"{reply} shows a secret")

# Errors.
missing = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"
refused("StackNotFound", 404, client.detect_stack_drift, m.DetectStackDriftRequest(region_id=REGION, stack_id=missing))
refused("ResourceNotFound", 404, client.detect_stack_resource_drift,
        m.DetectStackResourceDriftRequest(region_id=REGION, stack_id=stack, logical_resource_id="X"))
refused("DriftDetectionNotFound", 404, client.get_stack_drift_detection_status,
        m.GetStackDriftDetectionStatusRequest(region_id=REGION, drift_detection_id=missing))
