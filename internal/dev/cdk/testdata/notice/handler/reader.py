import json
import os
import urllib.request


def read(event, context):
    for record in event["Records"]:
        notification = record["Sns"]
        answer(json.loads(notification["Message"]), notification)


def answer(request, notification):
    text = request["ResourceProperties"]["Text"]
    with open(os.environ["LEDGER"], "a") as ledger:
        entry = {"type": request["RequestType"], "text": text, "pins": request["ResourceProperties"]["Pins"],
                 "subject": notification["Subject"], "topic": notification["TopicArn"]}
        ledger.write(json.dumps(entry) + "\n")
    refused = text == "nothing" and request["RequestType"] != "Delete"
    body = json.dumps({
        "Status": "FAILED" if refused else "SUCCESS",
        "Reason": "a notice has to say something" if refused else "",
        "PhysicalResourceId": "notice",
        "StackId": request["StackId"], "RequestId": request["RequestId"], "LogicalResourceId": request["LogicalResourceId"],
        "Data": {"Board": "on the board: " + text},
    }).encode()
    put = urllib.request.Request(request["ResponseURL"], data=body, method="PUT", headers={"Content-Type": ""})
    urllib.request.urlopen(put).close()
