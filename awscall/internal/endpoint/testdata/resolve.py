"""Prints, a line each, where botocore finds endpoints."""
import json
import botocore.loaders
from botocore.endpoint_provider import EndpointProvider
from botocore.exceptions import EndpointProviderError

loader = botocore.loaders.Loader()
partitions = loader.load_data("partitions")


def show(folder, provider, params):
    try:
        found = provider.resolve_endpoint(**params)
        schemes = found.properties.get("authSchemes", [])
        answer = {"url": found.url, "headers": found.headers, "schemes": schemes}
    except EndpointProviderError as e:
        answer = {"error": True}
    print(json.dumps({"service": folder, "params": params, **answer}))


for folder in loader.list_available_services("endpoint-rule-set-1"):
    provider = EndpointProvider(loader.load_service_model(folder, "endpoint-rule-set-1"), partitions)
    known = provider.ruleset.parameters
    for region in ("us-east-1", "eu-west-1", "cn-north-1", "us-gov-west-1", "us-iso-east-1", "xx-nowhere-9"):
        for fips, dual in ((False, False), (True, False), (False, True), (True, True)):
            params = {"Region": region, "UseFIPS": fips}
            if "UseDualStack" in known:
                params["UseDualStack"] = dual
            show(folder, provider, params)
    show(folder, provider, {"Region": "us-east-1", "UseFIPS": False, "Endpoint": "http://127.0.0.1:4566"})
    if folder == "s3":
        for bucket in ("bucket", "Upper", "dotted.bucket", "a b", "b--usw2-az1--x-s3", "192.168.0.1", "arn:aws:s3:us-west-2:123456789012:accesspoint/ap",
                       "arn:aws:s3:us-west-2:123456789012:accesspoint:ap", "arn:aws:s3::123456789012:accesspoint/mfzwi23gnjvgw.mrap",
                       "arn:aws:s3-outposts:us-west-2:123456789012:outpost/op-01234567890123456/accesspoint/ap", "arn:aws:s3:us-west-2::accesspoint/ap",
                       "arn:aws:s3-object-lambda:us-west-2:123456789012:accesspoint/ap", "arn:aws:s3:cn-north-1:123456789012:accesspoint/ap", "arn:x"):
            for region in ("us-east-1", "us-west-2", "aws-global"):
                for more in ({}, {"ForcePathStyle": True}, {"UseArnRegion": True}, {"Endpoint": "http://127.0.0.1:4566"}, {"Endpoint": "https://s3.example.com/base"}, {"UseDualStack": True}, {"Accelerate": True}):
                    show(folder, provider, {"Bucket": bucket, "Region": region, "UseFIPS": False, "UseDualStack": False, "ForcePathStyle": False,
                                            "Accelerate": False, "UseGlobalEndpoint": False, "DisableMultiRegionAccessPoints": False, **more})
    if folder == "s3control":
        for name in ("AccessPointName", "Bucket", "OutpostId"):
            for value in ("plain", "op-01234567890123456", "arn:aws:s3-outposts:us-west-2:123456789012:outpost/op-01234567890123456/accesspoint/ap"):
                show(folder, provider, {name: value, "AccountId": "123456789012", "RequiresAccountId": True, "Region": "us-west-2", "UseFIPS": False, "UseDualStack": False, "UseArnRegion": True})
