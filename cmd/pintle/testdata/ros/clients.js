// The life of a stack, by a client of Alibaba Cloud: node clients.js FOLDER CLIENT ENDPOINT PROVIDER, where FOLDER is what
// tools/popcore/install has made, CLIENT is popcore, popcore-get, ros-cdk or sdk, and PROVIDER a service token. The key is in the environment,
// KEY_ID and KEY_SECRET. What is not as it should be ends it with an error.
"use strict";
const assert = require("assert");
const path = require("path");
const { createRequire } = require("module");

const [folder, kind, endpoint, provider] = process.argv.slice(2);
const load = createRequire(path.join(folder, "clients.js"));
const RegionId = "cn-hangzhou";

// connect returns a function that calls an action with parameters. Errors have the code of the service.
function connect(secret) {
  const key = { accessKeyId: process.env.KEY_ID, accessKeySecret: secret };
  if (kind.startsWith("popcore")) {
    const { RPCClient } = load("@alicloud/pop-core");
    const client = new RPCClient({ ...key, endpoint, apiVersion: "2019-09-10" });
    const method = kind === "popcore-get" ? "GET" : "POST";
    return (action, parameters) => client.request(action, { RegionId, ...parameters }, { method, timeout: 30000 });
  }
  const spelled = (name) => name[0].toLowerCase() + name.slice(1);
  if (kind === "ros-cdk") { // the client inside the command line of the CDK of ROS
    const Client = load("@alicloud/ros-2019-09-10");
    const client = new Client({ ...key, endpoint });
    const required = { PreviewStack: { TimeoutInMinutes: 20 }, CreateStack: { TimeoutInMinutes: 20 } }; // by the client, not by the service
    return (action, parameters) => (
      client[spelled(action)]({ RegionId, ...required[action], ...parameters }, { method: "POST", timeout: 30000 })
    );
  }
  const ros = load("@alicloud/ros20190910");
  const { $OpenApiUtil } = load("@alicloud/openapi-core");
  const url = new URL(endpoint);
  const client = new ros.default(new $OpenApiUtil.Config({ ...key, endpoint: url.host, protocol: "HTTP", regionId: RegionId }));
  const asModel = (v) =>
    Array.isArray(v) ? v.map(asModel)
      : v && typeof v === "object" ? Object.fromEntries(Object.entries(v).map(([name, inner]) => [spelled(name), asModel(inner)])) : v;
  const asReply = (model) => JSON.parse(JSON.stringify(model.toMap ? model.toMap() : model));
  return async (action, parameters) => {
    const request = new ros[action + "Request"](asModel({ RegionId, ...parameters }));
    return asReply((await client[spelled(action)](request)).body);
  };
}

const call = connect(process.env.KEY_SECRET);

async function refused(promise, code, text) {
  const error = await promise.then((reply) => assert.fail(`${code} was expected, not ${JSON.stringify(reply)}`), (error) => error);
  assert.strictEqual(error.code, code, error.message);
  if (text) assert.match(error.message, text);
}

// settled waits for the end of a stack's operation.
async function settled(StackId, want) {
  for (let turn = 0; turn < 600; turn++) {
    const stack = await call("GetStack", { StackId });
    if (!stack.Status.endsWith("_IN_PROGRESS")) {
      assert.strictEqual(stack.Status, want, stack.StatusReason);
      return stack;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`${StackId} did not come to ${want}`);
}

const template = (parameters) => JSON.stringify({
  ROSTemplateFormatVersion: "2015-09-01",
  Description: "Ein Ding für *alle* ~ & a+b=c %",
  Parameters: { Size: { Type: "Number", Default: 1 }, Password: { Type: "String", NoEcho: true } },
  Resources: { Thing: { Type: "Custom::Thing", Properties: { ServiceToken: provider, Timeout: 60, Parameters: parameters } } },
  Outputs: { Answer: { Value: { "Fn::GetAtt": ["Thing", "Answer"] } }, Id: { Value: { Ref: "Thing" } } },
});

async function main() {
  const StackName = "stack-" + kind;
  const given = [{ ParameterKey: "Password", ParameterValue: "p ä*~'()!" }];
  await refused(connect("not the secret of the key")("ListStacks", {}), "SignatureDoesNotMatch");
  await refused(call("GetStack", { StackId: "8acc3dcd-cf48-4fa1-863e-7c767b61fe42" }), "StackNotFound", /could not be found/);

  const preview = await call("PreviewStack", {
    StackName, TemplateBody: template({ Size: { Ref: "Size" } }), Parameters: given,
  });
  assert.deepStrictEqual(preview.Stack.Resources.map((r) => [r.LogicalResourceId, r.Action]), [["Thing", "Add"]]);
  assert.strictEqual((await call("ValidateTemplate", { TemplateBody: template({}) })).Description, "Ein Ding für *alle* ~ & a+b=c %");

  if (kind !== "popcore-get") { // whose template is in the URL
    const longest = template({}).padEnd(524288 - Buffer.byteLength(template({})) + template({}).length, " ");
    assert.strictEqual(Buffer.byteLength(longest), 524288);
    assert.deepStrictEqual((await call("ValidateTemplate", { TemplateBody: longest })).ResourceTypes.Resources, ["Custom::Thing"]);
    const long = await call("CreateStack", { StackName: StackName + "-long", TemplateBody: longest, Parameters: given });
    await settled(long.StackId, "CREATE_COMPLETE");
    assert.strictEqual((await call("GetTemplate", { StackId: long.StackId })).TemplateBody, longest);
    await refused(call("ValidateTemplate", { TemplateBody: longest + " " }), "InvalidSchema", /524289 bytes/);
    await call("DeleteStack", { StackId: long.StackId });
    await settled(long.StackId, "DELETE_COMPLETE");
  }

  const body = template({ Size: { Ref: "Size" }, Password: { Ref: "Password" } });
  const { StackId } = await call("CreateStack", {
    StackName, TemplateBody: body, Parameters: given, TimeoutInMinutes: 20, DisableRollback: false, ClientToken: "create-" + kind,
    Tags: [{ Key: "team", Value: "x" }], NotificationURLs: [process.env.TOLD + "/told/" + kind],
  });
  const made = await settled(StackId, "CREATE_COMPLETE");
  const outputs = Object.fromEntries(made.Outputs.map((o) => [o.OutputKey, o.OutputValue]));
  assert.deepStrictEqual(outputs, { Answer: 42.5, Id: "thing-1" });
  const parameters = Object.fromEntries(made.Parameters.map((p) => [p.ParameterKey, p.ParameterValue]));
  assert.strictEqual(parameters.Password, "******");
  assert.strictEqual(parameters["ALIYUN::StackId"], StackId);
  assert.strictEqual(made.TimeoutInMinutes, 20);
  assert.match(made.CreateTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/);
  await refused(call("CreateStack", { StackName, TemplateBody: template({}), Parameters: given }), "StackExists");
  await refused(call("UpdateStack", { StackId, TemplateBody: body, Parameters: given }), "NotSupported", /Update the completely same stack/);
  assert.strictEqual((await call("GetTemplate", { StackId })).TemplateBody, body);

  await call("UpdateStack", { StackId, TemplateBody: body, UsePreviousParameters: true,
    Parameters: [{ ParameterKey: "Size", ParameterValue: "2" }] });
  await settled(StackId, "UPDATE_COMPLETE");
  await call("UpdateStack", { StackId, TemplateBody: template({ Fail: true }), UsePreviousParameters: true });
  await settled(StackId, "ROLLBACK_COMPLETE");

  const list = await call("ListStacks", { StackName: ["stack-pop*", "stack-ros-cdk", "stack-sdk"], Status: ["ROLLBACK_COMPLETE"], PageSize: 50 });
  assert.deepStrictEqual(list.Stacks.map((s) => s.StackId), [StackId]);
  assert.strictEqual(list.TotalCount, 1);
  const resources = await call("ListStackResources", { StackId });
  assert.deepStrictEqual(resources.Resources.map((r) => [r.LogicalResourceId, r.PhysicalResourceId]), [["Thing", "thing-1"]]);
  const events = await call("ListStackEvents", { StackId, PageNumber: 1, PageSize: 50 });
  assert.strictEqual(events.Events[0].Status, "ROLLBACK_COMPLETE");
  assert.match(events.Events.find((e) => e.LogicalResourceId === "Thing" && e.Status === "UPDATE_FAILED").StatusReason, /no disk/);
  assert.strictEqual(events.Events.at(-1).StatusReason, "Stack CREATE started");

  const set = await call("CreateChangeSet", { ChangeSetName: "more", StackId, TemplateBody: template({ Size: 3 }), UsePreviousParameters: true });
  const shown = await call("GetChangeSet", { ChangeSetId: set.ChangeSetId });
  assert.deepStrictEqual(shown.Changes.map((c) => c.ResourceChange.Action), ["Modify"]);
  await call("ExecuteChangeSet", { ChangeSetId: set.ChangeSetId });
  await settled(StackId, "UPDATE_COMPLETE");

  if (kind !== "ros-cdk") { // whose client is older than some of these calls
    const summary = await call("GetTemplateSummary", { StackId });
    const declared = Object.fromEntries(summary.Parameters.map((p) => [p.ParameterKey, [p.Type, p.NoEcho]]));
    assert.deepStrictEqual(declared, { Size: ["Number", "false"], Password: ["String", "true"] });
    assert.deepStrictEqual([summary.ResourceTypes, summary.Version], [["Custom::Thing"], "2015-09-01"]);
    const { ParameterConstraints } = await call("GetTemplateParameterConstraints", { TemplateBody: template({}) });
    assert.deepStrictEqual(ParameterConstraints.map((c) => [c.ParameterKey, c.Behavior]), [["Size", "NotSupport"], ["Password", "NotSupport"]]);
    await call("MoveResourceGroup", { ResourceType: "stack", ResourceId: StackId, NewResourceGroupId: "rg-" + kind });
    assert.strictEqual((await call("GetStack", { StackId })).ResourceGroupId, "rg-" + kind);
    assert.deepStrictEqual((await call("ListTagKeys", { ResourceType: "stack" })).Keys, ["team"]);
    const { DriftDetectionId } = await call("DetectStackDrift", { StackId });
    const found = await call("GetStackDriftDetectionStatus", { DriftDetectionId });
    assert.deepStrictEqual([found.DriftDetectionStatus, found.StackDriftStatus, found.DriftedStackResourceCount], ["DETECTION_COMPLETE", "IN_SYNC", 0]);
    const { ResourceDrifts } = await call("ListStackResourceDrifts", { StackId, MaxResults: 10 });
    assert.deepStrictEqual(ResourceDrifts.map((r) => [r.LogicalResourceId, r.ResourceDriftStatus]), [["Thing", "NOT_CHECKED"]]);
    await refused(call("DetectStackResourceDrift", { StackId, LogicalResourceId: "Thing" }), "NotSupported", /Drift detection of a resource/);
    await refused(call("ListStackGroups", {}), "NotSupported", /ListStackGroups is not supported/);
    await refused(call("GetTemplateEstimateCost", { TemplateBody: template({}) }), "NotSupported");
  }

  await call("DeleteStack", { StackId });
  await settled(StackId, "DELETE_COMPLETE");
  assert.ok((await call("DescribeRegions", {})).Regions.length > 20);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
