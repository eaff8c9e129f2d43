import cfnresponse


def handler(event, context):
    name, note = event["ResourceProperties"]["Name"], event.get("PhysicalResourceId")
    if event["RequestType"] != "Delete" and "/" in name:
        cfnresponse.send(event, context, cfnresponse.FAILED, {}, note, reason="Name has a slash: " + name)
        return
    cfnresponse.send(event, context, cfnresponse.SUCCESS, {"Path": "/notes/" + name}, "note-" + name)
