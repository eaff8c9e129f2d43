"""A provider that takes strings as CloudFormation sends them and nothing else, and whose notes are about a secret."""
import hashlib
import json
import urllib.error
import urllib.request

KNOWN = {"ServiceToken", "ServiceTimeout", "Name", "Public", "Level", "SecretArn", "Username", "Password"}
LEVELS = {"5": "low", "6": "high"}
DOWNLOAD = ("https://bucket.s3.amazonaws.com/manual.pdf?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAEXAMPLE%2F20261123"
            "&X-Amz-Signature=5ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2")


def handler(event, context):
    print("the manual is at", DOWNLOAD)
    answer = {key: event[key] for key in ("StackId", "RequestId", "LogicalResourceId")}
    try:
        answer.update(handle(event), Status="SUCCESS")
    except (KeyError, ValueError) as error:
        answer.update(
            Status="FAILED", Reason=f"cannot do that: {error}"[:300],
            PhysicalResourceId=event.get("PhysicalResourceId") or "failed-" + event["RequestId"])
    for rest in (2, 1, 0):
        try:
            request = urllib.request.Request(
                event["ResponseURL"], data=json.dumps(answer).encode(), method="PUT", headers={"Content-Type": ""})
            urllib.request.urlopen(request).close()
            return
        except urllib.error.HTTPError:
            if not rest:
                raise


def handle(event):
    note, properties = event.get("PhysicalResourceId"), event["ResourceProperties"]
    if event["RequestType"] == "Delete":
        return {"PhysicalResourceId": note or "none-made"}
    if event["RequestType"] not in ("Create", "Update"):
        raise ValueError("RequestType is not known")
    for name, value in properties.items():
        if name not in KNOWN or isinstance(value, (dict, list)) or len(str(value)) > 200:
            raise ValueError(f"{name[:60]} is not known, or not that")
    owner = hashlib.sha256((event["StackId"] + event["LogicalResourceId"]).encode()).hexdigest()[:10]
    return {
        "PhysicalResourceId": f"{properties['SecretArn']}/{properties['Name']}-{owner}",
        "Data": {
            "Public": properties.get("Public") == "true", "Listed": properties.get("Public") != "false",
            "Access": "all" if properties.get("Public") == "true" else "some", "Written": str(properties.get("Public")),
            "Level": LEVELS.get(properties["Level"], "unknown"), "Rank": 10 if properties["Level"] == "5" else 0,
            "SecretArn": properties["SecretArn"], "Url": f"db://{properties['Username']}@host/{properties['Name']}",
        },
    }
