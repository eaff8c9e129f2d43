"""Calls services that a server does not have, and prints what boto3 reports, a JSON object for each service.

Usage: absent.py URL
"""
import json
import sys

import boto3
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

# A few services of each protocol, among them all that are often used with custom resources, and several that share a name in signatures.
SERVICES = """
    autoscaling docdb elasticache elb elbv2 iam neptune rds ses sns
    ec2
    acm config ds dynamodb dynamodbstreams ecr ecs events kms logs secretsmanager servicecatalog sqs stepfunctions
    amp apigateway apigatewayv2 batch efs eks es greengrass lambda mwaa opensearch sesv2
    cloudfront route53 s3
    cloudwatch compute-optimizer marketplace-entitlement
"""
ARGUMENTS = {  # of services all of whose operations need some
    "marketplace-entitlement": ("get_entitlements", {"ProductCode": "p"}),
}

config = Config(retries={"total_max_attempts": 1}, inject_host_prefix=False, s3={"addressing_style": "path"})
for name in SERVICES.split():
    client = boto3.client(
        name, endpoint_url=sys.argv[1], region_name="eu-west-1", aws_access_key_id="AKID", aws_secret_access_key="SECRET", config=config
    )
    model = client.meta.service_model
    method, arguments = ARGUMENTS.get(name, (None, {}))
    if method is None:
        free = (o for o in model.operation_names if not getattr(model.operation_model(o).input_shape, "required_members", None))
        method = xform_name(next(free))
    variable = "AWS_ENDPOINT_URL_" + model.service_id.hyphenize().replace("-", "_").upper()
    said = {"service": name, "method": method, "protocol": model.protocol, "variable": variable, "code": "", "message": ""}
    try:
        getattr(client, method)(**arguments)
    except ClientError as e:
        said["code"], said["message"] = e.response["Error"]["Code"], e.response["Error"]["Message"]
    except BotoCoreError as e:
        said["message"] = str(e)
    print(json.dumps(said))
