"""Prints the template of a stack with a generated construct."""
import json

import aws_cdk as cdk
from aws_cdk import aws_lambda
from web_site import WebSite, WebSiteGroupsValueItem, WebSiteMenu, WebSiteOrigin, WebSitePagesItem

app = cdk.App()
stack = cdk.Stack(app, "S")
site = WebSite(
    stack,
    "Site",
    service_token=aws_lambda.Function.from_function_arn(stack, "F", "arn:aws:lambda:us-east-1:000000000000:function:sites"),
    name="a",
    pages=[WebSitePagesItem(title="Home", weight=3)],
    groups={"admins": [WebSiteGroupsValueItem(member="m")]},
    labels={"k": "v"},
    level=2,
    menu=WebSiteMenu(title="Top", entries=[WebSiteMenu(title="Below")]),
    origin=WebSiteOrigin(class_=True, from_="x"),
    private=True,
    timeout="30s",
    urls=["a", "b"],
)
cdk.CfnOutput(site, "Url", value=site.attr_url)
cdk.CfnOutput(stack, "Visits", value=cdk.Token.as_string(site.attr_visits))
print(json.dumps(app.synth().get_stack_by_name("S").template))
