'use strict';
// Tests of @pintle-dev/provider: node --test, in this directory. They need nothing else.
const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const { createServer } = require('node:http');
const { join } = require('node:path');
const { after, before, beforeEach, mock, test } = require('node:test');
const { inspect } = require('node:util');
const { runInNewContext } = require('node:vm');
const pintle = require('./index.js');

const STACK = 'arn:aws:cloudformation:eu-west-1:123456789012:stack/site/51af3dc0-da77-11e4-872e-1234567db123';
const SIGNATURE = 'AWSAccessKeyId=AKIA&Signature=c0ffee5ec2e7c0ffee5ec2e7';

// A service that sends requests and receives answers at its own URL.
let server;
let url;
let statuses; // those of the next answers; 200 if there is none
let bodies;
let headers;
let requests = 0;
let logged; // the lines of the library

before(async () => {
  server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const status = statuses.shift() ?? 200;
      if (status === 200) {
        bodies.push(Buffer.concat(chunks));
        headers.push(request.headers);
      }
      response.writeHead(status).end();
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${server.address().port}/answer?${SIGNATURE}`;
  for (const name of ['error', 'warn']) {
    mock.method(console, name, (line) => logged.push(line));
  }
});
after(() => server.close());
beforeEach(() => {
  [statuses, bodies, headers, logged] = [[], [], [], []];
});

function context(seconds = 60) {
  const end = Date.now() + seconds * 1000;
  return { getRemainingTimeInMillis: () => end - Date.now() };
}

function event(RequestType, properties, old, PhysicalResourceId) {
  requests++;
  return {
    RequestType, ResponseURL: url, StackId: STACK, RequestId: `request-${requests}`, LogicalResourceId: 'Thing', ResourceType: 'Custom::Thing',
    ServiceToken: 'arn', ResourceProperties: { ServiceToken: 'arn', ...properties },
    ...(old && { OldResourceProperties: { ServiceToken: 'arn', ...old } }), ...(PhysicalResourceId && { PhysicalResourceId }),
  };
}

async function send(handler, request, seconds) {
  const count = bodies.length;
  await handler(request, context(seconds));
  assert.equal(bodies.length, count + 1, 'one answer');
  assert.ok(bodies.at(-1).length <= 4096);
  return JSON.parse(bodies.at(-1));
}

const ask = (handler, ...args) => send(handler, event(...args));

const fields = {
  Name: pintle.text({ immutable: true, pattern: /[a-z]+/, maxLength: 8 }),
  Size: pintle.integer({ default: 1, min: 1, max: 10 }),
  Ratio: pintle.float({ default: 0.5 }),
  Public: pintle.boolean({ default: false }),
  Kind: pintle.choice(['small', 'large'], { default: 'small' }),
  Tags: pintle.map(pintle.text(), { default: {} }),
  Ports: pintle.list(pintle.integer(), { default: [], maxLength: 2 }),
  Owner: pintle.object({ Name: pintle.text(), Age: pintle.integer({ optional: true }) }, { optional: true }),
  Key: pintle.secret({ default: '' }),
  Pin: pintle.text({ default: '', secret: true }),
};

// things is a provider that records its calls and does what the test wants.
function things(act = (request) => ({ id: `thing-${request.properties.Name}` })) {
  const calls = [];
  const provider = { properties: fields, calls };
  for (const name of ['create', 'update', 'poll', 'delete']) {
    provider[name] = (request) => {
      calls.push(name);
      provider.seen = { ...request };
      return name === 'delete' ? undefined : act(request);
    };
  }
  return provider;
}

test('strings become typed', async () => {
  const provider = things();
  const answer = await ask(pintle.handler(provider), 'Create', {
    Name: 'a', Size: '3', Ratio: '1e-1', Public: 'True', Kind: 'large', Tags: { n: 1, b: true }, Ports: ['80', 81], Owner: { Name: 'o', Age: '40.0' },
    Key: 'k-secret', Pin: '1234',
  });
  assert.equal(answer.Status, 'SUCCESS', answer.Reason);
  const { Key, ...rest } = provider.seen.properties;
  assert.equal(Key.reveal(), 'k-secret');
  assert.deepEqual(rest, {
    Name: 'a', Size: 3, Ratio: 0.1, Public: true, Kind: 'large', Tags: { n: '1', b: 'true' }, Ports: [80, 81], Owner: { Name: 'o', Age: 40 }, Pin: '1234',
  });
});

for (const [properties, want] of [
  [{}, 'Name: is missing'],
  [{ Name: 'A' }, 'Name: want a text of 0 to 8 characters that matches [a-z]+'],
  [{ Name: 'a\n' }, 'Name: want a text of 0 to 8 characters that matches [a-z]+'],
  [{ Name: 'abcdefghi' }, 'Name: want a text of 0 to 8 characters that matches [a-z]+'],
  [{ Name: ['a'] }, 'Name: want a text of 0 to 8 characters that matches [a-z]+'],
  ...['1.5', '11', '0x1', '1_0', '', ' 1'].map((Size) => [{ Name: 'a', Size }, 'Size: want a whole number from 1 to 10']),
  ...['nan', 'Infinity', '1e999'].map((Ratio) => [{ Name: 'a', Ratio }, 'Ratio: want a number']),
  [{ Name: 'a', Public: 'yes' }, 'Public: want true or false'],
  [{ Name: 'a', Public: 'constructor' }, 'Public: want true or false'],
  [{ Name: 'a', Kind: 'huge' }, 'Kind: want one of small, large'],
  [{ Name: 'a', Tags: 'x' }, 'Tags: want an object'],
  [{ Name: 'a', Ports: ['1', '2', '3'] }, 'Ports: want a list of 0 to 2 items'],
  [{ Name: 'a', Ports: ['1', 'x'] }, 'Ports[1]: want a whole number'],
  [{ Name: 'a', Owner: { Age: 'x' } }, 'Owner.Name: is missing; Owner.Age: want a whole number'],
  [{ Name: 'a', Nmae: 'b' }, 'Nmae: is not known'],
  [{ Name: 'a', Ration: 'b' }, 'Ration: is not known, did you mean Ratio?'],
]) {
  test(`the problem of ${JSON.stringify(properties)}`, async () => {
    const provider = things();
    const answer = await ask(pintle.handler(provider), 'Create', properties);
    assert.deepEqual([answer.Status, answer.PhysicalResourceId, answer.Reason], ['FAILED', 'Pintle::CreateFailed', `properties: ${want}`]);
    assert.deepEqual(provider.calls, []);
  });
}

test('many problems', async () => {
  const many = Object.fromEntries([...Array(12).keys()].map((i) => [`x${i}`, '']));
  assert.match((await ask(pintle.handler(things()), 'Create', { Name: 'a', ...many })).Reason, /; and 2 more$/);
});

test('old properties are lenient', async () => {
  const provider = things(() => undefined);
  const answer = await ask(pintle.handler(provider), 'Update', { Name: 'a' }, { Host: 'h', Name: 'a', Size: 'x' }, 'i');
  assert.equal(answer.Status, 'SUCCESS', answer.Reason);
  assert.deepEqual([provider.calls, provider.seen.oldProperties.Size], [['update'], undefined]);
  await ask(pintle.handler(provider), 'Delete', { Host: 'h' }, undefined, 'i');
  assert.deepEqual([provider.calls[1], provider.seen.properties.Name, provider.seen.properties.Kind], ['delete', undefined, 'small']);
});

test('unchecked properties', async () => {
  const raw = { create: ({ properties }) => ({ attributes: properties }), update() {}, delete() {} };
  const request = event('Create', { Any: '1' });
  const answer = await send(pintle.handler(raw), request);
  assert.deepEqual([answer.Data, answer.PhysicalResourceId], [{ Any: '1' }, request.RequestId]);
});

test('mistakes are found at once', () => {
  assert.throws(() => pintle.handler({ create() {} }), /has no method update/);
  assert.throws(() => pintle.handler({}), /there is no provider/);
  assert.throws(() => pintle.handler({ properties: { A: String }, create() {}, update() {}, delete() {} }), /the property A of \* is not a field/);
});

test('headers', async () => {
  await ask(pintle.handler(things()), 'Create', { Name: 'a' });
  assert.equal(headers[0]['content-type'], '');
  assert.equal(headers[0]['transfer-encoding'], undefined);
});

test('a replacement is explicit', async () => {
  for (const [response, want] of [
    [undefined, 'SUCCESS old '],
    [{}, 'SUCCESS old '],
    [{ id: 'old', replaces: true }, 'SUCCESS old '],
    [{ id: 'new', replaces: true }, 'SUCCESS new '],
    [{ id: 'new' }, 'FAILED old the Update of "old" returned another physical ID, "new", without replaces. '],
  ]) {
    const answer = await ask(pintle.handler(things(() => response)), 'Update', { Name: 'a' }, { Name: 'a' }, 'old');
    assert.ok(`${answer.Status} ${answer.PhysicalResourceId} ${answer.Reason}`.startsWith(want), answer.Reason);
  }
});

test('an immutable change replaces', async () => {
  const provider = things();
  const answer = await ask(pintle.handler(provider), 'Update', { Name: 'b' }, { Name: 'a' }, 'thing-a');
  assert.deepEqual([answer.Status, answer.PhysicalResourceId, provider.calls], ['SUCCESS', 'thing-b', ['create']]);
});

test('a replacement with bad attributes', async () => {
  for (const [id, attributes, want] of [
    ['new', { Big: 'x'.repeat(5000) }, /^the response is/],
    ['new', { Bad: 1n }, /^the attributes cannot be encoded/],
    ['new', 'text', /^the attributes cannot be encoded: want an object/],
    ['', { Big: 'x'.repeat(5000) }, /^the response is/], // its ID is that of the request
  ]) {
    const provider = things(() => ({ id, attributes }));
    const request = event('Update', { Name: 'b' }, { Name: 'a' }, 'old');
    const answer = await send(pintle.handler(provider), request);
    assert.deepEqual(
      [answer.Status, answer.PhysicalResourceId, provider.calls, provider.seen.id],
      ['FAILED', 'old', ['create', 'delete'], id || request.RequestId],
    );
    assert.match(answer.Reason, want);
  }
});

test('immutable fields', async () => {
  const sites = {
    properties: {
      Port: pintle.integer({ default: 0, immutable: true }),
      Place: pintle.object({ Zone: pintle.text({ immutable: true }) }, { optional: true }),
    },
    create: () => ({ id: 'new' }),
    update() {},
    delete() {},
  };
  for (const [old, properties, want] of [
    [{ Port: '1' }, { Port: '1.0' }, 'SUCCESS old '],
    [{ Place: { Zone: 'a' } }, { Place: { Zone: 'b' } }, 'SUCCESS new '],
  ]) {
    const answer = await ask(pintle.handler(sites), 'Update', properties, old, 'old');
    assert.equal(`${answer.Status} ${answer.PhysicalResourceId} ${answer.Reason}`, want);
  }
  assert.throws(() => pintle.list(pintle.object({ Zone: pintle.text({ immutable: true }) })), /within a list or map cannot be immutable/);
});

test('old immutable properties that cannot be read', async () => {
  const calls = [];
  const note = (name, result) => () => {
    calls.push(name);
    return result;
  };
  const handler = pintle.handler({
    properties: {
      Port: pintle.integer({ default: 0, immutable: true }),
      Place: pintle.object({ Zone: pintle.text({ immutable: true }) }, { optional: true }),
      Size: pintle.integer({ default: 1 }),
    },
    create: note('create', { id: 'new' }),
    update: note('update'),
    delete: note('delete'),
    plan: note('plan'),
  });
  for (const [old, problem] of [
    [{ Port: 'http' }, 'Port: want a whole number'],
    [{ Port: ['1'] }, 'Port: want a whole number'],
    [{ Place: 'here' }, 'Place: want an object'],
    [{ Place: { Zone: ['a'] } }, 'Place.Zone: want a text'],
  ]) {
    const want =
      `old properties: ${problem}; they were accepted once, and an immutable one cannot be read, so it is unknown whether the resource ` +
      'must be replaced. Nothing was changed: let the provider accept the old value too, then repeat the update';
    const answer = await ask(handler, 'Update', { Port: '1' }, old, 'old');
    assert.deepEqual([answer.Status, answer.PhysicalResourceId, answer.Reason], ['FAILED', 'old', want]);
    assert.deepEqual(await handler(event('Plan', { Port: '1' }, old, 'old')), { PintlePlan: { change: 'Refuse', reason: want } });
  }
  assert.deepEqual(calls, []);
  assert.equal((await ask(handler, 'Update', {}, { Size: 'big' }, 'old')).Status, 'SUCCESS');
  assert.equal((await ask(handler, 'Delete', { Port: 'http' }, undefined, 'old')).Status, 'SUCCESS');
  assert.deepEqual(calls, ['update', 'delete']);
});

test('odd errors and reasons', async () => {
  for (const [thrown, want] of [
    [Object.create(null), /^FAILED Pintle::CreateFailed \[Object: null prototype\] {}$/],
    [{ message: 'boom', id: 'made' }, /^FAILED made boom$/],
    [undefined, /^FAILED Pintle::CreateFailed undefined$/],
    [runInNewContext('Object.assign(new Error("other"), { id: "made" })'), /^FAILED made other$/],
  ]) {
    const answer = await ask(pintle.handler(things(() => Promise.reject(thrown))), 'Create', { Name: 'a' });
    assert.match(`${answer.Status} ${answer.PhysicalResourceId} ${answer.Reason}`, want);
  }
  const act = () => ({ id: 'i', reason: Object.create(null), attributes: null });
  assert.equal((await ask(pintle.handler(things(act)), 'Create', { Name: 'a' })).Status, 'SUCCESS');
});

test('the rollback of a failed replacement updates', async () => {
  let fails = true;
  const provider = things(() => {
    if (fails) {
      throw new Error('no room');
    }
  });
  const handler = pintle.handler(provider);
  assert.equal((await ask(handler, 'Update', { Name: 'b' }, { Name: 'a' }, 'thing-a')).Reason, 'no room');
  fails = false;
  const answer = await ask(handler, 'Update', { Name: 'a' }, { Name: 'b' }, 'thing-a');
  assert.deepEqual([answer.PhysicalResourceId, provider.calls], ['thing-a', ['create', 'update']]);
});

test('the rollback of a refused Update updates', async () => {
  const provider = things();
  const handler = pintle.handler(provider);
  assert.equal((await ask(handler, 'Update', { Name: 'B!' }, { Name: 'a' }, 'thing-a')).Status, 'FAILED');
  assert.equal((await ask(handler, 'Update', { Name: 'a' }, { Name: 'B!' }, 'thing-a')).Status, 'SUCCESS');
  assert.deepEqual(provider.calls, ['update']);
});

test('gone', async () => {
  const missing = () => {
    throw new pintle.Gone();
  };
  const provider = { ...things(() => ({ id: 'again' })), update: missing, delete: missing };
  assert.equal((await ask(pintle.handler(provider), 'Update', { Name: 'a' }, { Name: 'a' }, 'old')).PhysicalResourceId, 'again');
  assert.equal((await ask(pintle.handler(provider), 'Delete', { Name: 'a' }, undefined, 'old')).Status, 'SUCCESS');
});

test('a failed Create', async () => {
  for (const [thrown, want] of [
    [new Error('why'), 'Pintle::CreateFailed why'],
    [Object.assign(new Error('why'), { id: 'made' }), 'made why'],
    ['a text', 'Pintle::CreateFailed a text'],
    [new TypeError(), 'Pintle::CreateFailed the handler failed with an error that has no text, a TypeError'],
  ]) {
    const provider = things(() => Promise.reject(thrown));
    const answer = await ask(pintle.handler(provider), 'Create', { Name: 'a' });
    assert.equal(`${answer.PhysicalResourceId} ${answer.Reason}`, want);
  }
  const provider = things();
  const answer = await ask(pintle.handler(provider), 'Delete', { Name: 'a' }, undefined, 'Pintle::CreateFailed');
  assert.deepEqual([answer.Status, provider.calls], ['SUCCESS', []]);
});

test('invalid IDs', async () => {
  for (const [id, want] of [['x'.repeat(1025), /is 1025 bytes long/], ['a\nb', /control character/], ['\ud800', /not UTF-8/], [7, /is a number/]]) {
    const request = event('Create', { Name: 'a' });
    const answer = await send(pintle.handler(things(() => ({ id }))), request);
    assert.deepEqual([answer.Status, answer.PhysicalResourceId], ['FAILED', request.RequestId]);
    assert.match(answer.Reason, want);
  }
});

test('too much', async () => {
  let answer = await ask(pintle.handler(things(() => ({ id: 'i', attributes: { Big: 'ü'.repeat(3000), Small: 1 } }))), 'Create', { Name: 'a' });
  assert.deepEqual([answer.Status, 'Data' in answer, answer.PhysicalResourceId], ['FAILED', false, 'i']);
  assert.match(answer.Reason, /^the response is \d+ bytes long, 4096 are allowed: .* the largest attributes are "Big" with 6002, "Small" with 1;/);
  const long = `begin ${'ü'.repeat(5000)} end`;
  answer = await ask(pintle.handler(things(() => Promise.reject(new Error(long)))), 'Create', { Name: 'a' });
  assert.match(answer.Reason, /^begin ü+… \[\d+ characters are left out here, the log of the provider has them\] …ü+ end$/);
  assert.ok(bodies.at(-1).length > 4080);
});

test('attributes', async () => {
  const attributes = { Url: 'u', When: new Date(0), None: null, Missing: undefined };
  const answer = await ask(pintle.handler(things(() => ({ id: 'i', attributes }))), 'Create', { Name: 'a' });
  assert.deepEqual([answer.Data, answer.NoEcho], [{ Url: 'u', When: '1970-01-01T00:00:00.000Z' }, undefined]);
  for (const bad of [{ Bad: 1n }, { Bad: NaN }, 'text']) {
    const failed = await ask(pintle.handler(things(() => ({ id: 'i', attributes: bad }))), 'Create', { Name: 'a' });
    assert.match(failed.Reason, /^the attributes cannot be encoded: /);
  }
});

test('resource types', async () => {
  const answer = await ask(pintle.handler({ 'Custom::Other': things() }), 'Create', { Name: 'a' });
  assert.equal(answer.Reason, 'this provider has no resource type Custom::Thing, it has Custom::Other');
});

test('events', async () => {
  const handler = pintle.handler(things());
  await handler({ Records: [{ Sns: { Message: JSON.stringify(event('Create', { Name: 'a' })) } }] }, context());
  assert.equal(JSON.parse(bodies[0]).Status, 'SUCCESS');
  await assert.rejects(handler({ RequestId: 'r', LogicalResourceId: 'l' }, context()), /it has no ResponseURL, StackId/);
  await assert.rejects(handler(null, context()), /it has no ResponseURL/);
});

test('names', async () => {
  const provider = things();
  await ask(pintle.handler(provider), 'Create', { Name: 'a' });
  assert.match(provider.seen.name, /^site-Thing-[0-9a-f]{12}$/);
  assert.match(provider.seen.token, /^[0-9a-f]{32}$/);
  assert.ok(provider.seen.remaining() > 0 && provider.seen.remaining() < 60);
});

const SECRET = 'p/ss"wörd😀';

test('secrets in reasons and logs', async () => {
  const act = ({ properties: { Key } }) => {
    throw new Error(`${Key.reveal()} ${Key} ${JSON.stringify(SECRET)} ${encodeURIComponent(SECRET)} ${url}`);
  };
  const answer = await ask(pintle.handler(things(act)), 'Create', { Name: 'a', Key: SECRET });
  for (const shown of [answer.Reason, logged.join('\n')]) {
    assert.match(shown, /\*\*\*\*/);
    for (const secret of [SECRET, JSON.stringify(SECRET).slice(1, -1), encodeURIComponent(SECRET), 'c0ffee5ec2e7']) {
      assert.ok(!shown.includes(secret), secret);
    }
  }
});

test('NoEcho', async () => {
  for (const [attributes, want] of [
    [{ Url: 'x' }, undefined], [{ Key: new pintle.Secret('new') }, true], [{ Url: `http://${SECRET}` }, true], [{ List: [SECRET] }, true],
  ]) {
    const answer = await ask(pintle.handler(things(() => ({ id: 'i', attributes }))), 'Create', { Name: 'a', Key: SECRET });
    assert.equal(answer.NoEcho, want);
  }
  assert.equal(JSON.parse(bodies[1]).Data.Key, 'new');
});

test('secret defaults', async () => {
  let seen;
  const properties = {
    Key: pintle.secret({ default: 'key-secret' }), Pin: pintle.text({ default: 'pin-secret', secret: true }), Size: pintle.integer({ default: 1, secret: true }),
  };
  const create = (request) => {
    seen = request.properties;
    throw new Error(`rejected ${seen.Key.reveal()} ${seen.Pin}`);
  };
  const answer = await ask(pintle.handler({ properties, create, update() {}, delete() {} }), 'Create', {});
  assert.equal(answer.Reason, 'rejected **** ****');
  assert.deepEqual([seen.Pin, seen.Size], ['pin-secret', 1]);
});

test('a secret shows as stars', () => {
  const secret = new pintle.Secret('x');
  assert.deepEqual([String(secret), JSON.stringify([secret]), inspect({ secret })], ['****', '["****"]', '{ secret: **** }']);
});

test('a failure to send has no URL', async () => {
  statuses = [403];
  await assert.rejects(pintle.handler(things())(event('Create', { Name: 'a' }), context()), /^Error: send response to 127\.0\.0\.1:\d+, try 1: status 403$/);
});

test('tries again', async () => {
  statuses = [503, 429, 500];
  assert.equal((await ask(pintle.handler(things()), 'Create', { Name: 'a' })).Status, 'SUCCESS');
  assert.equal(logged.length, 3);
  assert.ok(!logged.join('').includes('Signature'));
});

test('a redelivery gets the same answer', async () => {
  const provider = things();
  const [handler, request] = [pintle.handler(provider), event('Create', { Name: 'a' })];
  const first = await send(handler, request);
  assert.deepEqual(await send(handler, { ...request, ResponseURL: `${url}&again=1` }), first);
  assert.deepEqual(provider.calls, ['create']);
});

test('out of time', async () => {
  let free;
  const freed = new Promise((resolve) => (free = resolve));
  const provider = things(async () => {
    await freed;
    return { id: 'late' };
  });
  const [handler, request] = [pintle.handler(provider), event('Create', { Name: 'a' })];
  const answer = await send(handler, request, 1);
  assert.deepEqual([answer.Status, answer.PhysicalResourceId], ['FAILED', request.RequestId]);
  assert.match(answer.Reason, /^ran out of time: the handler did not return within/);
  free(); // the next request waits for the late method
  assert.equal((await ask(handler, 'Delete', { Name: 'a' }, undefined, request.RequestId)).Status, 'SUCCESS');
  assert.deepEqual(provider.calls, ['create', 'delete']);
});

test('ServiceTimeout', async () => {
  const never = new Promise(() => {});
  const answer = await ask(pintle.handler(things(() => never)), 'Create', { Name: 'a', ServiceTimeout: '1' });
  assert.match(answer.Reason, /^ran out of time/);
});

test('polls', async () => {
  const results = [new pintle.InProgress({ state: 1, id: 'thing', after: 0 }), new pintle.InProgress({ state: 2, after: 0.01 }), { attributes: { A: 'b' } }];
  const states = [];
  const provider = things(({ state, id }) => {
    states.push([state, id]);
    return results.shift();
  });
  const answer = await ask(pintle.handler(provider), 'Create', { Name: 'a' });
  assert.deepEqual([answer.Status, answer.PhysicalResourceId, answer.Data], ['SUCCESS', 'thing', { A: 'b' }]);
  assert.deepEqual(states, [[undefined, ''], [1, 'thing'], [2, 'thing']]);
});

test('a failed operation keeps its ID', async () => {
  const act = ({ state }) => {
    if (state === undefined) {
      return new pintle.InProgress({ state: 1, id: 'half', after: 0 });
    }
    throw new Error('job failed');
  };
  let answer = await ask(pintle.handler(things(act)), 'Create', { Name: 'a' });
  assert.deepEqual([answer.Status, answer.PhysicalResourceId, answer.Reason], ['FAILED', 'half', 'job failed']);
  // A poll that runs out of time keeps it too.
  const slow = ({ state }) => (state === undefined ? act({}) : new Promise(() => {}));
  answer = await send(pintle.handler(things(slow)), event('Create', { Name: 'a' }), 1);
  assert.deepEqual([answer.Status, answer.PhysicalResourceId], ['FAILED', 'half']);
});

test('a failed replacement keeps the old resource', async () => {
  const provider = things(({ state }) => {
    if (provider.calls.at(-1) === 'create') {
      return new pintle.InProgress({ state: 1, id: 'half', after: 0 });
    }
    if (state) {
      throw Object.freeze(new Error('job failed'));
    }
  });
  const handler = pintle.handler(provider);
  let answer = await ask(handler, 'Update', { Name: 'b' }, { Name: 'a' }, 'old');
  // With the ID "half", CloudFormation would delete the good resource after the rollback.
  assert.deepEqual([answer.Status, answer.PhysicalResourceId, answer.Reason], ['FAILED', 'old', 'job failed']);
  assert.deepEqual([provider.calls, provider.seen.type, provider.seen.id], [['create', 'poll', 'delete'], 'Delete', 'half']);
  answer = await ask(handler, 'Update', { Name: 'a' }, { Name: 'b' }, 'old');
  assert.deepEqual([answer.PhysicalResourceId, provider.calls.at(-1)], ['old', 'update']);

  const stuck = {
    properties: fields,
    create() {
      throw Object.assign(new Error('no room'), { id: 'half' });
    },
    update() {},
    delete() {
      throw new Error('locked');
    },
  };
  answer = await ask(pintle.handler(stuck), 'Update', { Name: 'b' }, { Name: 'a' }, 'old');
  assert.deepEqual([answer.PhysicalResourceId, answer.Reason], ['old', 'no room; and half, which it had made, is left behind: locked']);
});

test('a wait ends before the function', async () => {
  const act = () => new pintle.InProgress({ state: 1, id: 'slow', after: 0.2 });
  const answer = await send(pintle.handler(things(act)), event('Create', { Name: 'a' }), 1);
  assert.match(answer.Reason, /^Operation timed out/);
  assert.equal(answer.PhysicalResourceId, 'slow');
});

test('InProgress without poll', async () => {
  const provider = { create: () => new pintle.InProgress({ after: 0 }), update() {}, delete() {} };
  assert.match((await ask(pintle.handler(provider), 'Create', {})).Reason, /has no method poll/);
});

// The requests that only Pintle sends.

const DECLARED = { Name: 'a', Size: '3', Ports: ['80', '81'], Tags: { n: '1' }, Owner: { Name: 'o' }, Key: 'k-secret', Pin: '1234' };
const reader = (read) => pintle.handler({ ...things(), read });

test('a Read sends equal properties as declared', async () => {
  const answer = await ask(reader(({ properties }) => ({ properties, attributes: { Url: 'u' } })), 'Read', DECLARED, undefined, 'thing-a');
  assert.deepEqual(answer.PintleState, { properties: DECLARED, secret: ['Key', 'Pin'] });
  assert.deepEqual([answer.Status, answer.PhysicalResourceId, answer.Data], ['SUCCESS', 'thing-a', { Url: 'u' }]);
});

test('a Read reports differences without secrets', async () => {
  const now = { Name: 'a', Size: 4, Ports: [80, 82], Tags: { n: '1', m: '2' }, Owner: undefined, Key: new pintle.Secret('k-other'), Pin: '' };
  const answer = await ask(reader(() => ({ properties: now })), 'Read', DECLARED, undefined, 'thing-a');
  const { Ratio, Public, Kind, ...properties } = answer.PintleState.properties;
  assert.deepEqual(properties, { Name: 'a', Size: 4, Ports: ['80', 82], Tags: { n: '1', m: '2' }, Owner: null, Key: '****', Pin: '1234' });
  assert.deepEqual([Ratio, Public, Kind], [null, null, null]); // they are not set any more, and were not declared
  assert.deepEqual(answer.PintleState.secret, ['Key', 'Pin']);
  assert.ok(!bodies.at(-1).includes('k-other'));
});

test('a Read hides a property with a known secret', async () => {
  const read = ({ properties }) => ({ properties: { ...properties, Tags: { t: 'is k-secret' } } });
  assert.deepEqual((await ask(reader(read), 'Read', DECLARED, undefined, 'a')).PintleState.secret, ['Key', 'Pin', 'Tags']);
});

test('a Read of what is gone', async () => {
  const read = () => {
    throw new pintle.Gone('no thing-a');
  };
  const answer = await ask(reader(read), 'Read', DECLARED, undefined, 'thing-a');
  assert.deepEqual([answer.Status, answer.PintleState], ['SUCCESS', { gone: true }]);
});

test('a Read that fails', async () => {
  const broken = () => {
    throw new Error('no access with k-secret');
  };
  const tagged = (Tags) => reader(({ properties }) => ({ properties: { ...properties, Tags } }));
  for (const [handler, declared, want] of [
    [pintle.handler(things()), DECLARED, 'this provider has no method read, so the present state of its resources is unknown'],
    [reader(broken), DECLARED, 'no access with ****'],
    [reader(() => undefined), DECLARED, 'read returned no properties, want an object with the member properties'],
    [tagged({ t: 1n }), DECLARED, 'the state cannot be encoded: a bigint is not JSON'],
    [reader(({ properties }) => ({ properties, attributes: { Bad: 1n } })), DECLARED, 'the attributes cannot be encoded: a bigint is not JSON'],
    [tagged({ t: 'x'.repeat(5000) }), DECLARED, 'bytes long, 4096 are allowed: the state of the resource takes '],
    [reader(({ properties }) => ({ properties })), { ...DECLARED, Size: 'many' }, 'properties: Size: want a whole number from 1 to 10'],
  ]) {
    const answer = await ask(handler, 'Read', declared, undefined, 'thing-a');
    assert.deepEqual([answer.Status, answer.PhysicalResourceId, answer.PintleState], ['FAILED', 'thing-a', undefined]);
    assert.ok(answer.Reason.includes(want), answer.Reason);
  }
});

test('a Read without fields', async () => {
  const handler = pintle.handler({ create() {}, update() {}, delete() {}, read: ({ properties }) => ({ properties: { ...properties, More: 1 } }) });
  const answer = await ask(handler, 'Read', { Name: 'a' }, undefined, 'x');
  assert.deepEqual(answer.PintleState, { properties: { Name: 'a', More: 1 }, secret: [] });
});

// A Read must not show a secret, wherever it is in the properties.

const hidden = {
  Keys: pintle.list(pintle.secret(), { optional: true }),
  Pins: pintle.list(pintle.text({ secret: true }), { optional: true }),
  Logins: pintle.map(pintle.secret(), { optional: true }),
  Users: pintle.list(pintle.object({ Name: pintle.text(), Key: pintle.secret({ default: '' }) }), { optional: true }),
  Extra: pintle.any({ optional: true }),
  Note: pintle.text({ optional: true }),
};

// readState returns the state in the answer to a Read that finds some properties.
async function readState(properties, given, now, more = {}) {
  const handler = pintle.handler({ properties, create() {}, update() {}, delete() {}, read: () => ({ properties: now, ...more }) });
  const answer = await ask(handler, 'Read', given, undefined, 'x');
  assert.equal(answer.Status, 'SUCCESS', answer.Reason);
  return answer.PintleState;
}

const leaked = () => new pintle.Secret('leaked-1');

for (const [what, given, now, want, secret] of [
  ['a text in a list of secrets', { Keys: ['old-key-1', 'old-key-2'] }, { Keys: ['old-key-1', 'leaked-1'] }, { Keys: ['old-key-1', '****'] }, ['Keys']],
  ['a text in a list of secret texts', { Pins: ['old-pin'] }, { Pins: ['leaked-1'] }, { Pins: ['****'] }, ['Pins']],
  ['a text in a map of secrets', { Logins: { a: 'old' } }, { Logins: { a: 'old', b: 'leaked-1', constructor: 'leaked-1' } },
    { Logins: { a: 'old', b: '****', constructor: '****' } }, ['Logins']],
  ['a Secret in a list', { Keys: ['old-key-1'] }, { Keys: [leaked(), new pintle.Secret('')] }, { Keys: ['****', null] }, ['Keys']],
  ['an object in a list', { Users: [{ Name: 'a', Key: 'old-key' }] }, { Users: [{ Name: 'b', Key: 'leaked-1' }] }, { Users: [{ Name: 'b', Key: '****' }] }, ['Users']],
  ['a list of secrets that is a text', { Keys: ['old-key-1'] }, { Keys: 'leaked-1' }, { Keys: '****' }, ['Keys']],
  ['a list of secrets that is a Set', { Keys: ['old-key-1'] }, { Keys: new Set(['leaked-1']) }, { Keys: {} }, ['Keys']],
  ['an object with a secret that is a list', { Users: [{ Name: 'a' }] }, { Users: [['leaked-1']] }, { Users: ['****'] }, ['Users']],
  ['a Secret in any value', { Extra: { a: '1' } }, { Extra: { a: 1, b: null, c: [{ d: leaked() }] } }, { Extra: { a: 1, c: [{ d: '****' }] } }, ['Extra']],
  ['any value that is a Secret', { Extra: 'old' }, { Extra: leaked() }, { Extra: '****' }, ['Extra']],
  ['any value that is an equal Secret', { Extra: 'leaked-0' }, { Extra: new pintle.Secret('leaked-0') }, { Extra: 'leaked-0' }, ['Extra']],
  ['a value with toJSON', { Extra: 'old' }, { Extra: { toJSON: () => ({ key: leaked() }) } }, { Extra: { key: '****' } }, ['Extra']],
  ['a Secret in a text', { Note: 'old' }, { Note: leaked() }, { Note: '****' }, ['Note']],
  ['a text that repeats a Secret', { Note: 'old', Keys: ['old-key-1'] }, { Note: 'is leaked-1', Keys: [leaked()] }, { Note: 'is leaked-1', Keys: ['****'] }, ['Keys', 'Note']],
  ['a text that repeats a secret text', { Note: 'old', Pins: ['old-pin'] }, { Note: 'is leaked-1', Pins: ['leaked-1'] }, { Note: 'is leaked-1', Pins: ['****'] }, ['Note', 'Pins']],
]) {
  test(`a Read hides ${what}`, async () => {
    const state = await readState(hidden, given, now);
    for (const name of Object.keys(state.properties).filter((each) => !(each in want))) {
      assert.equal(state.properties[name], null, name);
      delete state.properties[name];
    }
    assert.deepEqual(state, { properties: want, secret });
  });
}

test('a Read without fields hides secrets', async () => {
  for (const [given, now, want, secret] of [
    [{ Name: 'a', Key: 'old' }, { Name: 'a', Key: leaked(), More: null }, { Name: 'a', Key: '****' }, ['Key']],
    [{ Name: 'a', Key: 'leaked-0' }, { Name: 'b', Key: new pintle.Secret('leaked-0') }, { Name: 'b', Key: 'leaked-0' }, ['Key']],
    [{ Name: 'a' }, { Name: 'a', All: [{ key: leaked() }] }, { Name: 'a', All: [{ key: '****' }] }, ['All']],
    [{ Key: 'leaked-0' }, { Key: new pintle.Secret('leaked-0') }, { Key: 'leaked-0' }, ['Key']],
    [{ Key: 'old' }, { toJSON: () => ({ Key: leaked() }) }, { Key: '****' }, ['Key']],
    [{ Url: 'u' }, { Url: 'http://leaked-1@host', Key: leaked() }, { Url: 'http://leaked-1@host', Key: '****' }, ['Key', 'Url']],
  ]) {
    assert.deepEqual(await readState(undefined, given, now), { properties: want, secret });
  }
});

test('a Read that changes the properties of its request', async () => {
  for (const properties of [undefined, { Tags: pintle.any() }]) {
    const read = (request) => {
      request.properties.Tags.key = leaked();
      request.properties.Tags.size = 2;
      return { properties: request.properties };
    };
    const answer = await ask(pintle.handler({ properties, create() {}, update() {}, delete() {}, read }), 'Read', { Tags: { key: 'old', size: '1' } }, undefined, 'x');
    assert.deepEqual(answer.PintleState, { properties: { Tags: { key: '****', size: 2 } }, secret: ['Tags'] });
  }
});

test('a Read names the properties that repeat secrets in attributes', async () => {
  const now = { Url: 'http://me:leaked-1@host', Path: '/leaked-2', Name: 'a' };
  assert.deepEqual((await readState(undefined, {}, now, { attributes: { Password: leaked() } })).secret, ['Url']);
  assert.deepEqual((await readState(undefined, {}, now, { attributes: { Password: ['leaked-1'], Path: 'leaked-2' }, noEcho: true })).secret, ['Path', 'Url']);
  assert.deepEqual((await readState(undefined, {}, now, { attributes: { Password: ['leaked-1'] } })).secret, []);
});

test('attributes that repeat a secret of a Read are NoEcho', async () => {
  const read = () => ({ properties: { Key: leaked() }, attributes: { Url: 'http://leaked-1@host' } });
  assert.equal((await ask(pintle.handler({ create() {}, update() {}, delete() {}, read }), 'Read', {}, undefined, 'x')).NoEcho, true);
});

test('a reason without the secrets of the attributes', async () => {
  const reason = 'made leaked-1 and plain-2';
  for (const [response, want] of [
    [{ attributes: { Key: leaked() } }, 'made **** and plain-2'],
    [{ attributes: { Key: leaked(), Other: ['plain-2'], Is: true }, noEcho: true }, 'made **** and ****'],
  ]) {
    assert.equal((await ask(pintle.handler(things(() => ({ id: 'i', reason, ...response }))), 'Create', { Name: 'a' })).Reason, want);
  }
});

test('secrets in the defaults of lists', async () => {
  const properties = {
    Keys: pintle.list(pintle.secret(), { default: [new pintle.Secret('key-secret')] }), Pins: pintle.list(pintle.text(), { default: ['pin-secret'], secret: true }),
    Extra: pintle.any({ default: { key: new pintle.Secret('any-secret') } }), Most: pintle.float({ default: Infinity }),
  };
  const create = ({ properties: { Keys, Pins, Extra } }) => {
    throw new Error(`rejected ${Keys[0].reveal()} ${Pins[0]} ${Extra.key.reveal()}`);
  };
  assert.equal((await ask(pintle.handler({ properties, create, update() {}, delete() {} }), 'Create', {})).Reason, 'rejected **** **** ****');
});

test('a Secret that is not a text', async () => {
  const answer = await ask(pintle.handler(things(() => ({ id: 'i', reason: 'at 12345', attributes: { a: new pintle.Secret(12345), b: new pintle.Secret(null) } }))), 'Create', { Name: 'a' });
  assert.deepEqual([answer.Reason, answer.NoEcho], ['at ****', true]);
});

test('a problem with an ID has no part of a secret', async () => {
  const Key = `start-${'k'.repeat(300)}`;
  for (const [id, kind] of [[`${'i'.repeat(1000)}`, 'Create'], ['\n', 'Create'], ['', 'Update'], ['', 'Delete']]) {
    const provider = things(() => ({ id: Key + id }));
    provider.delete = () => ({ id: Key + id });
    const answer = await ask(pintle.handler(provider), kind, { Name: 'a', Key }, { Name: 'a', Key }, 'thing-a');
    assert.equal(answer.Status, 'FAILED');
    assert.match(answer.Reason, /\*\*\*\*/);
    assert.ok(!answer.Reason.includes('start-'), answer.Reason);
  }
});

async function planned(plan, properties, old, id, seconds) {
  const { ResponseURL, ...request } = event('Plan', properties, old, id);
  const answer = await pintle.handler({ ...things(), plan })(request, context(seconds));
  assert.equal(bodies.length, 0, 'a Plan has no response URL');
  assert.deepEqual(Object.keys(answer), ['PintlePlan']);
  return answer.PintlePlan;
}

test('a Plan', async () => {
  const fails = (error) => () => {
    throw error;
  };
  const [good, other] = [{ Name: 'a', Key: 'k-secret' }, { Name: 'b', Key: 'k-secret' }];
  const replace = () => ({ replace: true, reason: 'k-secret is too old' });
  for (const [plan, properties, old, want] of [
    [() => {}, good, undefined, { change: 'InPlace' }],
    [replace, good, undefined, { change: 'InPlace' }], // nothing is replaced by a Create
    [async () => ({}), good, good, { change: 'InPlace' }],
    [replace, good, good, { change: 'Replace', reason: '**** is too old' }],
    [() => {}, good, other, { change: 'Replace', reason: 'Name is immutable' }],
    [replace, good, other, { change: 'Replace', reason: 'Name is immutable; **** is too old' }],
    [fails(new pintle.Gone('no thing')), good, good, { change: 'Replace', reason: 'no thing' }],
    [fails(new pintle.Gone('no place')), good, undefined, { change: 'Refuse', reason: 'no place' }],
    [fails(new Error('no room for k-secret')), good, good, { change: 'Refuse', reason: 'no room for ****' }],
    [fails(new Error('')), good, good, { change: 'Refuse', reason: 'the provider refuses the change without an explanation' }],
    [() => {}, { Name: 'A' }, undefined, { change: 'Refuse', reason: 'properties: Name: want a text of 0 to 8 characters that matches [a-z]+' }],
    [() => true, good, good, { error: 'plan returned a boolean, want an object or nothing' }],
    [() => ({ replace: true, reason: 'ä'.repeat(1000) }), good, good, { change: 'Replace', reason: 'ä'.repeat(512) }],
  ]) {
    assert.deepEqual(await planned(plan, properties, old, old && 'thing-a'), want);
  }
  assert.deepEqual(await planned(() => new Promise(() => {}), good, undefined, undefined, 0.5), { error: 'ran out of time: plan did not return' });
  const request = event('Plan', good);
  assert.deepEqual(await pintle.handler(things())(request), { PintlePlan: { error: 'this provider has no method plan' } });
  assert.deepEqual(await pintle.handler({ 'Custom::Other': things() })(request), {
    PintlePlan: { error: 'this provider has no resource type Custom::Thing, it has Custom::Other' },
  });
});

test('the request of a Plan', async () => {
  const seen = [];
  await planned((request) => void seen.push(request), { Name: 'b', Size: 2 }, { Name: 'a' }, 'thing-a');
  await planned((request) => void seen.push(request), { Name: 'b' });
  assert.deepEqual(seen.map(({ type, id, immutable }) => [type, id, immutable]), [['Plan', 'thing-a', ['Name']], ['Plan', '', []]]);
  assert.deepEqual([seen[0].properties.Size, seen[0].oldProperties.Name, seen[1].oldProperties], [2, 'a', undefined]);
});

test('the schema', () => {
  const schema = pintle.handler({
    'Custom::Thing': things(),
    'Custom::Raw': { create() {}, update() {}, delete() {}, read() {}, plan() {} },
    'Custom::More': {
      properties: {
        Level: pintle.choice([1, 2]), Words: pintle.text({ pattern: /\s+/, default: 'w' }), Letters: pintle.text({ pattern: /[a-z]+/i, optional: true }),
        Owner: pintle.object({ 'a/b': pintle.text({ immutable: true }) }), Secrets: pintle.map(pintle.secret(), { optional: true, maxLength: 3 }),
      },
      create() {}, update() {}, delete() {},
    },
  })[Symbol.for('@pintle-dev/provider.schema')]();
  const { 'Custom::Thing': thing, 'Custom::Raw': raw, 'Custom::More': more } = schema.resourceTypes;
  assert.deepEqual(raw, { properties: {}, reads: true, plans: true });
  assert.equal(thing.reads ?? thing.plans, undefined);
  assert.deepEqual([thing.properties.required, thing.properties.createOnlyProperties], [['Name'], ['/properties/Name']]);
  const number = { pattern: '^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?$' };
  assert.deepEqual(thing.properties.properties, {
    Name: { type: 'string', maxLength: 8, pattern: '^(?:[a-z]+)$' },
    Size: { type: ['integer', 'string'], ...number, minimum: 1, maximum: 10, default: 1 },
    Ratio: { type: ['number', 'string'], ...number, default: 0.5 },
    Public: { enum: [true, false, 'true', 'True', 'TRUE', 'false', 'False', 'FALSE'], default: false },
    Kind: { enum: ['small', 'large'], default: 'small' },
    Tags: { type: 'object', additionalProperties: { type: 'string' }, default: {} },
    Ports: { type: 'array', items: { type: ['integer', 'string'], ...number }, maxItems: 2, default: [] },
    Owner: {
      type: 'object', additionalProperties: false, required: ['Name'],
      properties: { Name: { type: 'string' }, Age: { type: ['integer', 'string'], ...number } },
    },
    Key: { type: 'string', writeOnly: true },
    Pin: { type: 'string', writeOnly: true },
  });
  assert.deepEqual(more.properties, {
    type: 'object', additionalProperties: false, required: ['Level', 'Owner'], createOnlyProperties: ['/properties/Owner/a~1b'],
    properties: {
      Level: { enum: [1, 2, '1', '2'] }, Words: { type: 'string', default: 'w' }, Letters: { type: 'string', pattern: '^(?i)(?:[a-z]+)$' },
      Owner: { type: 'object', additionalProperties: false, required: ['a/b'], properties: { 'a/b': { type: 'string' } } },
      Secrets: { type: 'object', maxProperties: 3, additionalProperties: { type: 'string', writeOnly: true } },
    },
  });
});

test('an optional method that is not a function', () => {
  assert.throws(() => pintle.handler({ ...things(), read: true }), /read of the provider for \* is not a function/);
});

test('the first example of the README', async () => {
  const [, code] = readFileSync(join(__dirname, 'README.md'), 'utf8').match(/```js\n([^]*?)```/);
  const site = {};
  const made = [];
  new Function('require', 'exports', 'makeSite', code)(() => pintle, site, (...args) => made.push(args));
  const answer = await ask(site.handler, 'Create', { Name: 'a', Size: '3' });
  assert.deepEqual([made, answer.PhysicalResourceId, answer.Data], [[['a', 3]], 'site-a', { Url: 'https://a.test' }]);
});
