// A provider of notes. BUG names the mistake that it makes; without one it makes none that is known.
const crypto = require('crypto'), fs = require('fs'), http = require('http'), path = require('path'), zlib = require('zlib');

const bug = process.env.BUG || '', folder = process.env.NOTES;
let kept; // what a mistake keeps between requests

exports.handler = async (event, context) => {
  if (bug === 'console-log') console.log('request', JSON.stringify(event, null, 2));
  if (bug === 'only-create-and-update' && event.RequestType === 'Delete') return;
  const answer = {Status: 'SUCCESS'};
  for (const member of ['StackId', 'RequestId', 'LogicalResourceId']) answer[member] = event[member];
  if (bug === 'unhandled-rejection') {
    Object.assign(answer, handle(event));
  } else {
    try {
      Object.assign(answer, handle(event));
    } catch (e) {
      Object.assign(answer, failure(event, e, context));
    }
  }
  if (bug === 'awaits-nothing') {
    setTimeout(() => respond(event, answer).catch(() => {}), 50);
    return;
  }
  await respond(event, answer);
  if (bug === 'callback-twice') await respond(event, answer);
  if (bug === 'throws-after-answer') throw new Error('after all');
};

function failure(event, e, context) {
  const answer = {
    Status: 'FAILED', Reason: String(e.message).slice(0, 300), PhysicalResourceId: event.PhysicalResourceId || 'failed-' + event.RequestId,
  };
  switch (bug) {
    case 'exits': process.exit(1);
    case 'error-object': answer.Reason = e; break;
    case 'undefined-id': answer.PhysicalResourceId = event.PhysicalResourceId; break;
    case 'undefined-text': answer.PhysicalResourceId = `${undefined}`; break;
    case 'empty-reason': answer.Reason = ''; break;
    case 'log-stream': answer.PhysicalResourceId = context.logStreamName; break;
    case 'long-stack': answer.Reason = e.stack + '\n    at handler'.repeat(400); break;
  }
  return answer;
}

const file = (id) => path.join(folder, path.basename(id).slice(0, 200));

function handle(event) {
  const {RequestType: type, ResourceProperties: properties, PhysicalResourceId: id} = event;
  if (type === 'Delete') {
    if (!id) return {PhysicalResourceId: 'none-made'};
    if (bug === 'unlink') fs.unlinkSync(file(id));
    fs.rmSync(file(id), {force: true});
    return {PhysicalResourceId: bug === 'deleted-id' ? 'deleted' : id};
  }
  if (type !== 'Create' && type !== 'Update') throw new Error('RequestType is not known');
  const name = properties.Name;
  if (typeof name !== 'string' || !/^[a-z0-9-]{1,40}$/.test(name)) {
    throw new Error(`Name: want lower-case letters, got ${String(name).slice(0, 60)}`);
  }
  if (bug === 'numbers-only' && properties.Size !== undefined && typeof properties.Size !== 'number') {
    throw new Error('Size: want a number');
  }
  const owner = crypto.createHash('sha256').update(event.StackId + event.LogicalResourceId).digest('hex').slice(0, 10);
  let made = `${name}-${owner}`;
  if (bug === 'clock-id') made = `${name}-${process.hrtime.bigint()}`;
  if (bug === 'object-id') made = `${{name}}`;
  if (bug === 'module-id') made = kept ??= made;
  if (bug === 'never-replaces' && id) made = id;
  if (type === 'Update' && made === id && !fs.existsSync(file(id))) throw new Error('there is no such note');
  fs.writeFileSync(file(made), String(properties.Text));
  const data = {Path: file(made), Size: Number(properties.Size ?? 1), Open: String(properties.Open) === 'true'};
  if (bug === 'truthy-string') data.Open = properties.Open ? true : false;
  if (bug === 'adds-to-a-string') data.Size = (properties.Size ?? 1) + 1;
  if (bug === 'password-in-data') data.Login = `user:${properties.Password}`;
  if (bug === 'no-data-on-update' && type === 'Update') return {PhysicalResourceId: made};
  return {PhysicalResourceId: made, Data: data};
}

async function respond(event, answer) {
  const text = JSON.stringify(answer);
  const url = new URL(event.ResponseURL);
  let body = Buffer.from(text), target = url.pathname + url.search, method = 'PUT';
  const headers = {'content-type': ''};
  switch (bug) {
    case 'pathname': target = url.pathname; break;
    case 'encoded-url': target = encodeURI(target); break;
    case 'posts': method = 'POST'; break;
    case 'twice-stringified': body = Buffer.from(JSON.stringify(text)); break;
    case 'gzip': body = zlib.gzipSync(text); headers['content-encoding'] = 'gzip'; break;
    case 'json-content-type': headers['content-type'] = 'application/json'; break;
  }
  if (bug !== 'no-length') headers['content-length'] = bug === 'string-length' ? text.length : body.length;
  if (bug === 'string-length') body = body.subarray(0, text.length);
  for (let n = 0; n < 4; n++) {
    const status = await put(url, {method, path: target, headers}, body);
    if (status < 300 || bug === 'unchecked-status') return;
    if (status < 500) break;
  }
  throw new Error('the answer was not taken');
}

function put(url, options, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({hostname: url.hostname, port: url.port, ...options}, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    request.on('error', reject);
    request.write(body);
    request.end();
  });
}
