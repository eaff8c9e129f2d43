// Snippets for Node handlers that send the answer themselves. Lines of dashes name the rules.
// --- answer-copies answer-reason answer-status answered-twice answers-disagree crash failed-with-other-id
// --- id-changed-on-failure id-missing missing-id-unanswered silence unknown-request-type
exports.handler = async (event) => {
  const {StackId, RequestId, LogicalResourceId} = event;
  const PhysicalResourceId = event.PhysicalResourceId || `failed-${RequestId}`;
  let answer = {Status: 'SUCCESS', StackId, RequestId, LogicalResourceId, PhysicalResourceId};
  try {
    answer = {...answer, ...await handle(event)}; // handle returns PhysicalResourceId and Data
  } catch (error) {
    answer = {...answer, Status: 'FAILED', Reason: String(error.message || error).slice(0, 1000)};
  }
  await send(event.ResponseURL, answer);
};
// --- answer-after-return answer-content-type answer-encoding answer-json answer-length answer-url answer-verb gives-up
async function send(url, answer) {
  const body = Buffer.from(JSON.stringify(answer)); // with bytes, fetch sends no Content-Type
  for (let attempt = 0; attempt < 5; attempt++) {
    const {status} = await fetch(url, {method: 'PUT', body}).catch(() => ({status: 503}));
    if (status < 300) return;
    if (status < 500) break;
    await new Promise((resolve) => setTimeout(resolve, 200 * 2 ** attempt));
  }
  throw new Error('the answer was not accepted');
}
// --- created-twice id-changed id-log-stream id-placeholder id-request-id id-shared not-replaced redelivery-refused
const {createHash} = require('node:crypto');

function physicalId(event) {
  // Name stands for the properties that replace the resource.
  const owner = createHash('sha256').update(event.StackId + event.LogicalResourceId).digest('hex').slice(0, 12);
  return `${event.ResourceProperties.Name}-${owner}`;
}
// --- delete-after-failure-refused delete-harms-other delete-refused delete-unknown-refused id-changed-on-delete
async function remove(event) {
  const id = event.PhysicalResourceId;
  try {
    await deleteResource(id); // by ID alone, without validating the properties
  } catch (error) {
    if (!isNotFound(error)) throw error; // it was never created, or is already deleted
  }
  return {PhysicalResourceId: id};
}
// --- strings-misread strings-refused
const size = Number(properties.Size ?? 1);
const enabled = String(properties.Enabled ?? false) === 'true';
// --- properties-in-log secret-in-log url-in-log
console.log(event.RequestType, event.LogicalResourceId, event.RequestId);
// --- secret-attribute secret-in-data
answer.NoEcho = true;
// --- answer-grows answer-near-limit answer-too-long
const reason = String(error.message).slice(0, 1000); // the rest is for the log
// --- bad-accepted
if (!/^[a-z0-9-]{1,40}$/.test(properties.Name)) {
  throw new Error('Name: use 1 to 40 lower-case letters, digits and hyphens');
}
// --- hang not-done
async function waitFor(id, context) {
  while (!await isReady(id)) {
    if (context.getRemainingTimeInMillis() < 20_000) throw new Error(`${id} is not ready`);
    await new Promise((resolve) => setTimeout(resolve, 5_000));
  }
}
