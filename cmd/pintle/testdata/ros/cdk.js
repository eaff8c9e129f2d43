// The commands of ros-cdk, by the client that they call with: node cdk.js FOLDER ENDPOINT PROVIDER, where FOLDER is what
// tools/popcore/install has made and PROVIDER a service token. The app is one of the CDK of ROS, and is synthesized by its library. Each
// function has the calls of the command of its name, with their parameters. The key is in the environment, KEY_ID and KEY_SECRET. What is
// not as it should be ends it with an error.
"use strict";
const assert = require("assert");
const fs = require("fs");
const http = require("http");
const os = require("os");
const path = require("path");
const { createRequire } = require("module");

const [folder, endpoint, provider] = process.argv.slice(2);
const load = createRequire(path.join(folder, "cdk.js"));
const core = load("@alicloud/ros-cdk-core");
const { CustomResource } = load("@alicloud/ros-cdk-ros");
const Client = load("@alicloud/ros-2019-09-10");
const RegionId = "cn-hangzhou";
const StackName = "cdk-demo";
const options = { headers: { "User-Agent": "ROS-CLI-1.0.10::javascript" }, timeout: 15000, method: "GET" };

const client = new Client({ endpoint, accessKeyId: process.env.KEY_ID, accessKeySecret: process.env.KEY_SECRET });
client.keepAliveAgent = new http.Agent({ keepAlive: true, keepAliveMsecs: 15000 });

// synth writes the app's template with a size, and returns the file. The command reads it as bytes.
function synth(size) {
  const outdir = fs.mkdtempSync(path.join(os.tmpdir(), "cdk.out-"));
  const app = new core.App({ outdir });
  const stack = new core.Stack(app, StackName, { stackName: StackName });
  const thing = new CustomResource(stack, "Thing", { serviceToken: provider, timeout: 60, parameters: { Size: size } });
  new core.RosOutput(stack, "All", { value: thing.getAtt("Outputs") });
  app.synth();
  return fs.readFileSync(path.join(outdir, `${StackName}.template.json`));
}

// deploy updates the stack that the command has written down, or creates one, and returns what it says and the stack's id.
async function deploy(StackId, size) {
  const content = { StackName, RegionId, TimeoutInMinutes: 20, TemplateBody: synth(size) };
  if (StackId) {
    content.StackId = StackId;
    try {
      return ["updated", (await client.updateStack(content, options)).StackId];
    } catch (error) {
      if (error.code === "NotSupported" && error.message.startsWith("Update the completely same stack")) {
        return ["unchanged", StackId];
      }
      if (error.code !== "StackNotFound") throw error;
    }
  }
  return ["created", (await client.createStack(content, options)).StackId];
}

// diff returns whether the deployed template differs from the app's.
async function diff(StackId, size) {
  const { TemplateBody } = await client.getTemplate({ RegionId, StackId }, options);
  try {
    assert.deepStrictEqual(JSON.parse(TemplateBody), JSON.parse(synth(size)));
    return false;
  } catch {
    return true;
  }
}

const output = async (StackId) => (await client.getStack({ StackId, RegionId }, options)).Outputs;
const event = async (StackId, LogicalResourceId) => (
  await client.listStackEvents({ StackId, RegionId, LogicalResourceId, PageSize: 10, PageNumber: 1 }, options)
).Events;
const resource = async (StackId) => (await client.listStackResources({ StackId, RegionId }, options)).Resources;
const listStacks = async (StackName) => (await client.listStacks({ RegionId, PageSize: 10, PageNumber: 1, StackName }, options)).Stacks;
const destroy = (StackId) => client.deleteStack({ StackId, RegionId }, options);

async function settled(StackId, want) {
  for (let turn = 0; turn < 600; turn++) {
    const stack = await client.getStack({ StackId, RegionId }, options);
    if (!stack.Status.endsWith("_IN_PROGRESS")) {
      assert.strictEqual(stack.Status, want, stack.StatusReason);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`${StackId} did not come to ${want}`);
}

async function main() {
  const [created, id] = await deploy(null, 1);
  assert.strictEqual(created, "created");
  await settled(id, "CREATE_COMPLETE");
  assert.deepStrictEqual((await output(id)).map((o) => [o.OutputKey, JSON.stringify(o.OutputValue)]), [["All", `{"Answer":42.5}`]]);
  assert.strictEqual(await diff(id, 1), false);
  assert.deepStrictEqual(await deploy(id, 1), ["unchanged", id]);
  assert.strictEqual(await diff(id, 2), true);
  assert.deepStrictEqual(await deploy(id, 2), ["updated", id]);
  await settled(id, "UPDATE_COMPLETE");
  assert.deepStrictEqual((await event(id, ["Thing"])).map((e) => e.Status),
    ["UPDATE_COMPLETE", "UPDATE_IN_PROGRESS", "CREATE_COMPLETE", "CREATE_IN_PROGRESS"]);
  assert.strictEqual((await event(id, [])).length, 8);
  assert.deepStrictEqual((await resource(id)).map((r) => [r.LogicalResourceId, r.Status]), [["Thing", "UPDATE_COMPLETE"]]);
  assert.deepStrictEqual((await listStacks([StackName])).map((s) => s.StackId), [id]);
  await destroy(id);
  await settled(id, "DELETE_COMPLETE");
  assert.deepStrictEqual(await listStacks([StackName]), []);

  // A stack that was deleted elsewhere: the command still has its id, and creates another.
  const [again, next] = await deploy(id, 2);
  assert.deepStrictEqual([again, next === id], ["created", false]);
  await settled(next, "CREATE_COMPLETE");
  await destroy(next);
  await settled(next, "DELETE_COMPLETE");
}

async function both() {
  await main(); // its releases up to 1.0.10 call by GET, with the template in the query
  options.method = "POST"; // later ones
  await main();
}

both().catch((error) => {
  console.error(error);
  process.exit(1);
});
