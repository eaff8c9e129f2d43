// Functions whose code is in the template, and the modules that Lambda has for such.
//   -c ledger=FILE   where the handlers write what they were asked
//   -c word=WORD     which is turned round; "oops" is refused by the one in Python
const { App, CfnOutput, CustomResource, Stack } = require('aws-cdk-lib');
const { Code, Function, Runtime } = require('aws-cdk-lib/aws-lambda');

const app = new App();
const stack = new Stack(app, 'Words');
const LEDGER = app.node.tryGetContext('ledger');
const word = app.node.tryGetContext('word') ?? 'desserts';

const node = new Function(stack, 'Node', {
  runtime: Runtime.NODEJS_22_X,
  handler: 'index.turn',
  environment: { LEDGER },
  code: Code.fromInline(`
const fs = require('fs');
const response = require('cfn-response');
exports.turn = (event, context) => {
  const word = event.ResourceProperties.Word;
  fs.appendFileSync(process.env.LEDGER, JSON.stringify({ by: 'node', type: event.RequestType, word }) + '\\n');
  response.send(event, context, response.SUCCESS, { Turned: word.split('').reverse().join('') }, 'turned-by-node');
};`),
});
const python = new Function(stack, 'Python', {
  runtime: Runtime.PYTHON_3_12,
  handler: 'index.turn',
  environment: { LEDGER },
  code: Code.fromInline(`
import json, os
import cfnresponse

def turn(event, context):
    word = event["ResourceProperties"]["Word"]
    print("turning " + word)
    with open(os.environ["LEDGER"], "a") as ledger:
        ledger.write(json.dumps({"by": "python", "type": event["RequestType"], "word": word}) + "\\n")
    if word == "oops" and event["RequestType"] != "Delete":
        cfnresponse.send(event, context, cfnresponse.FAILED, {}, "turned-by-python", reason="this is no word")
    else:
        cfnresponse.send(event, context, cfnresponse.SUCCESS, {"Turned": word[::-1]}, "turned-by-python")
`),
});
const byNode = new CustomResource(stack, 'ByNode', { serviceToken: node.functionArn, properties: { Word: word } });
const byPython = new CustomResource(stack, 'ByPython', { serviceToken: python.functionArn, properties: { Word: word } });
byPython.node.addDependency(byNode);
new CfnOutput(stack, 'TurnedByNode', { value: byNode.getAttString('Turned') });
new CfnOutput(stack, 'TurnedByPython', { value: byPython.getAttString('Turned') });
