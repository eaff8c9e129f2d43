// Snippets for Node handlers on cfn-response. Rules that are not here use those of plain.js.
// --- answered-twice answers-disagree crash silence unknown-request-type missing-id-unanswered
exports.handler = (event, context) => {
  handle(event).then( // your async function; throws for an unknown RequestType
    ({id, data}) => response.send(event, context, response.SUCCESS, data, id),
    (error) => {
      console.log(error.message);
      response.send(event, context, response.FAILED, {}, event.PhysicalResourceId || `failed-${event.RequestId}`);
    });
};
// --- failed-with-other-id id-changed-on-delete id-changed-on-failure id-missing
const physicalId = event.PhysicalResourceId || `failed-${event.RequestId}`;
response.send(event, context, response.FAILED, {}, physicalId); // in a Delete, also with SUCCESS
// --- created-twice id-changed id-log-stream id-placeholder id-request-id id-shared not-replaced redelivery-refused
const {createHash} = require('node:crypto');

function physicalIdOf(event) {
  // Name stands for the properties that replace the resource.
  const owner = createHash('sha256').update(event.StackId + event.LogicalResourceId).digest('hex').slice(0, 12);
  return `${event.ResourceProperties.Name}-${owner}`;
}

response.send(event, context, response.SUCCESS, data, physicalIdOf(event));
// --- answer-reason answer-status answer-copies secret-attribute secret-in-data answer-grows answer-near-limit answer-too-long
