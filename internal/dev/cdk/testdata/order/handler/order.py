import json
import os


def write(**entry):
    with open(os.environ["LEDGER"], "a") as ledger:
        ledger.write(json.dumps(entry) + "\n")


def looks(event):
    """How often the order of this request has been looked at, with this look."""
    with open(os.environ["LEDGER"]) as ledger:
        return sum(entry["function"] == "is_complete" and entry["request"] == event["RequestId"] for entry in map(json.loads, ledger))


def on_event(event, context):
    item = event["ResourceProperties"]["Item"]
    write(function="on_event", type=event["RequestType"], request=event["RequestId"], id=event.get("PhysicalResourceId"), item=item)
    if event["RequestType"] == "Create":
        return {"PhysicalResourceId": "order-" + event["LogicalResourceId"], "Data": {"Receipt": "to come"}, "Basket": {"Item": item, "Eggs": 3}}
    return {"Basket": {"Item": item, "Eggs": 3}}


def is_complete(event, context):
    item = event["ResourceProperties"]["Item"]
    write(function="is_complete", type=event["RequestType"], request=event["RequestId"], id=event["PhysicalResourceId"], item=item)
    if event["RequestType"] == "Delete":
        return {"IsComplete": True}
    if item == "glass":
        raise ValueError("the glass broke")
    if item == "bread" and not os.path.exists(os.environ["LEDGER"] + ".baked"):
        return {"IsComplete": False}
    if item == "fog" or looks(event) < 3:
        return {"IsComplete": False}
    basket = event["Basket"]  # what on_event returned, with numbers that are still numbers
    return {"IsComplete": True, "Data": {"Receipt": "%s x %s, %d eggs" % (event["ResourceProperties"]["Count"], basket["Item"], basket["Eggs"])}}
