'use strict';
// Custom resources of CloudFormation in Node: typed properties in, one answer out. See index.d.ts for the contract.
const { createHash } = require('node:crypto');
const http = require('node:http');
const https = require('node:https');
const { inspect, types } = require('node:util');

// CloudFormation, custom resource response objects.
const MAX_RESPONSE = 4096;
const MAX_ID = 1024;

// The physical ID of a resource whose Create failed before it made anything. CloudFormation sends a Delete for it.
const CREATE_FAILED = 'Pintle::CreateFailed';
const NOTHING_CREATED = [CREATE_FAILED, 'AWSCDK::CustomResourceProviderFramework::CREATE_FAILED'];

const SERVICE_TIMEOUT = 3600; // seconds, the default of ServiceTimeout
const SEND_TRIES = 8;
const SEND_MS = 10_000; // for one try
const KEEP_FAILURE_MS = 300_000; // for which a FAILED answer is repeated
const KEEP_ANSWERS = 100;
const SHORT_SECRET = 4; // shorter texts occur in almost any text
const MAX_PROBLEMS = 10;
const MAX_PLAN_REASON = 1024; // bytes
const MASK = '****';
const SCHEMA = Symbol.for('@pintle-dev/provider.schema'); // the member of a handler that Pintle calls for its schema
const OWN_PROPERTIES = ['ServiceToken', 'ServiceTimeout']; // those of CloudFormation

class Secret {
  #text;
  constructor(text) {
    this.#text = text;
  }
  reveal() {
    return this.#text;
  }
  toString() {
    return '****';
  }
  toJSON() {
    return '****';
  }
  [Symbol.for('nodejs.util.inspect.custom')]() {
    return '****';
  }
}

class Gone extends Error {
  constructor(message = 'the resource is gone') {
    super(message);
    this.name = 'Gone';
  }
}

class PropertiesError extends Error {
  constructor(problems, old = false) {
    const more = problems.length > MAX_PROBLEMS ? `; and ${problems.length - MAX_PROBLEMS} more` : '';
    const hint = old
      ? '; they were accepted once, and an immutable one cannot be read, so it is unknown whether the resource must be replaced. ' +
        'Nothing was changed: let the provider accept the old value too, then repeat the update'
      : '';
    super(`${old ? 'old ' : ''}properties: ${problems.slice(0, MAX_PROBLEMS).join('; ')}${more}${hint}`);
    this.name = 'PropertiesError';
    this.problems = problems;
  }
}

class InProgress {
  constructor({ state, id = '', after } = {}) {
    Object.assign(this, { state, id, after });
  }
}

// Fields of properties.

const INVALID = Symbol('a value that cannot be read');

// scalar returns a scalar as CloudFormation would send it.
function scalar(value) {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : INVALID;
}

function number(text) {
  const value = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : NaN;
  return Number.isFinite(value) ? value : INVALID;
}

function whole(text) {
  const value = number(text);
  return Number.isSafeInteger(value) ? value : INVALID;
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const join = (path, name) => (path ? `${path}.${name}` : name);

function length(rules, unit) {
  const { minLength = 0, maxLength } = rules;
  if (maxLength !== undefined) {
    return minLength === maxLength ? ` of ${maxLength} ${unit}` : ` of ${minLength} to ${maxLength} ${unit}`;
  }
  return minLength ? ` of ${minLength} ${unit} or more` : '';
}

function range(rules) {
  const { min, max } = rules;
  if (min !== undefined && max !== undefined) {
    return ` from ${min} to ${max}`;
  }
  return min !== undefined ? `, ${min} or more` : max !== undefined ? `, ${max} or less` : '';
}

const fitsLength = (rules, n) => n >= (rules.minLength ?? 0) && (rules.maxLength === undefined || n <= rules.maxLength);
const fitsRange = (rules, n) => (rules.min === undefined || n >= rules.min) && (rules.max === undefined || n <= rules.max);

// A field has its rules, a description of its values, a function that reads a value: read(value, decoder, path), and one that returns
// the JSON Schema of its values. A field of lists or maps has an item, and one of objects has fields.
function field(rules, want, read, schema, children) {
  return { rules, want, read, schema, ...children };
}

// bounds returns the given members of rules under their names in a JSON Schema.
function bounds(rules, names) {
  return Object.fromEntries(Object.entries(names).filter(([name]) => rules[name] !== undefined).map(([name, as]) => [as, rules[name]]));
}

// portable returns a pattern as other languages understand it, or undefined.
function portable(pattern) {
  const flags = pattern && pattern.flags.replace(/[gmyud]/g, '');
  return !pattern || /\\s/i.test(pattern.source) || /[^is]/.test(flags) ? undefined : `^${flags && `(?${flags})`}(?:${pattern.source})$`;
}

function textField(rules, make) {
  const pattern = rules.pattern && new RegExp(`^(?:${rules.pattern.source})$`, rules.pattern.flags.replace(/[gmy]/g, ''));
  const want = `a text${length(rules, 'characters')}${rules.pattern ? ` that matches ${rules.pattern.source}` : ''}`;
  return field(rules, want, (value, decoder) => {
    const text = scalar(value);
    if (text === INVALID || (!decoder.lenient && !(fitsLength(rules, [...text].length) && (!pattern || pattern.test(text))))) {
      return INVALID;
    }
    return make(text);
  }, () => {
    const expression = portable(rules.pattern);
    return { type: 'string', ...bounds(rules, { minLength: 'minLength', maxLength: 'maxLength' }), ...(expression && { pattern: expression }) };
  });
}

const text = (rules = {}) => textField(rules, (value) => value);
const asSecret = (value) => new Secret(value);
const secret = (rules = {}) => ({ ...textField({ ...rules, secret: true }, asSecret), fallback: asSecret });

const NUMBER_PATTERN = '^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?$';

// numeric returns a field of numbers. CloudFormation may send a number as a string.
function numeric(rules, want, parse, type) {
  return field(rules, want + range(rules), (value, decoder) => {
    const given = scalar(value);
    const parsed = given === INVALID ? INVALID : parse(given);
    return parsed === INVALID || decoder.lenient || fitsRange(rules, parsed) ? parsed : INVALID;
  }, () => ({ type: [type, 'string'], pattern: NUMBER_PATTERN, ...bounds(rules, { min: 'minimum', max: 'maximum' }) }));
}

const integer = (rules = {}) => numeric(rules, 'a whole number', whole, 'integer');
const float = (rules = {}) => numeric(rules, 'a number', number, 'number');

const BOOLEANS = { enum: [true, false, 'true', 'True', 'TRUE', 'false', 'False', 'FALSE'] };

const boolean = (rules = {}) =>
  field(rules, 'true or false', (value) => new Map([['true', true], ['false', false]]).get(String(scalar(value)).toLowerCase()) ?? INVALID, () => ({ ...BOOLEANS }));

const choice = (values, rules = {}) =>
  field(rules, `one of ${values.join(', ')}`, (value) => values.find((allowed) => String(allowed) === scalar(value)) ?? INVALID, () => ({
    enum: [...new Set([...values, ...values.map(String)])],
  }));

// hasImmutable reports whether a field, or one within it, is immutable.
const hasImmutable = (each) => Boolean(each.rules.immutable) || Object.values(each.fields ?? {}).some(hasImmutable);

// mutable rejects an immutable item. Items have no names, so they cannot be compared one by one.
function mutable(item) {
  if (hasImmutable(item)) {
    throw new TypeError('a field within a list or map cannot be immutable: make the whole of it immutable');
  }
}

const list = (item, rules = {}) => {
  mutable(item);
  return field(rules, `a list${length(rules, 'items')}`, (value, decoder, path) => {
    if (!Array.isArray(value) || (!decoder.lenient && !fitsLength(rules, value.length))) {
      return INVALID;
    }
    return value.map((each, i) => decoder.value(item, each, `${path}[${i}]`));
  }, () => ({ type: 'array', items: schemaOf(item), ...bounds(rules, { minLength: 'minItems', maxLength: 'maxItems' }) }), { item });
};

const map = (member, rules = {}) => {
  mutable(member);
  return field(rules, `an object${length(rules, 'members')}`, (value, decoder, path) => {
    if (!isObject(value) || (!decoder.lenient && !fitsLength(rules, Object.keys(value).length))) {
      return INVALID;
    }
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, decoder.value(member, each, join(path, name))]));
  }, () => ({
    type: 'object', additionalProperties: schemaOf(member), ...bounds(rules, { minLength: 'minProperties', maxLength: 'maxProperties' }),
  }), { item: member });
};

const object = (fields, rules = {}) =>
  field(rules, 'an object', (value, decoder, path) => (isObject(value) ? decoder.object(fields, value, path) : INVALID), () => schemaOfFields(fields), { fields });

const any = (rules = {}) => field(rules, 'a value', (value) => value, () => ({}));
const UNDECLARED = any(); // the field of a value whose type is unknown

// schemaOf returns the JSON Schema of a field.
function schemaOf({ rules, schema, fallback }) {
  const { default: value } = rules;
  const hidden = Boolean(rules.secret || fallback);
  return { ...schema(), ...(hidden && { writeOnly: true }), ...(value !== undefined && !hidden && { default: value }) };
}

function schemaOfFields(fields) {
  const required = Object.keys(fields).filter((name) => !fields[name].rules.optional && !('default' in fields[name].rules));
  return {
    type: 'object', properties: Object.fromEntries(Object.entries(fields).map(([name, each]) => [name, schemaOf(each)])), additionalProperties: false,
    ...(required.length > 0 && { required }),
  };
}

// createOnly returns the JSON pointers of the immutable properties.
const createOnly = (fields, path) =>
  Object.entries(fields ?? {}).flatMap(([name, each]) => {
    const place = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    return each.rules.immutable ? [place] : createOnly(each.fields, place);
  });

// schemaOfProvider returns the schema of a resource type, in the form of the command "schema" of the SDK for Go.
function schemaOfProvider({ properties, read, plan }) {
  const paths = createOnly(properties, '/properties');
  return {
    properties: properties ? { ...schemaOfFields(properties), ...(paths.length > 0 && { createOnlyProperties: paths }) } : {},
    ...(typeof read === 'function' && { reads: true }), ...(typeof plan === 'function' && { plans: true }),
  };
}

// isSecret reports whether every value of a field is secret.
const isSecret = (each) => Boolean(each.rules.secret || each.fallback);

// holdsSecret reports whether a field, or one within it, is secret.
const holdsSecret = (each) =>
  isSecret(each) || (each.item !== undefined && holdsSecret(each.item)) || Object.values(each.fields ?? {}).some(holdsSecret);

// unset reports whether a value counts as one that cannot be read back.
const unset = (value) => value === undefined || value === null || value === '' || (value instanceof Secret && !value.reveal());

// same reports whether two values are equal in a template.
const same = (one, other) => stable(plain(one, () => {}) ?? null) === stable(plain(other, () => {}) ?? null);

// memberOf returns a member of an object, or undefined if the value is not an object or has no such member.
const memberOf = (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined);

// scalarsIn returns the scalars in a value as texts.
function scalarsIn(value) {
  if (typeof value === 'object' && value !== null) {
    return Object.values(value).flatMap(scalarsIn);
  }
  return value === undefined || value === null ? [] : [String(value)];
}

// copyOf returns a value with copies of its lists and plain objects.
function copyOf(value) {
  if (Array.isArray(value)) {
    return value.map(copyOf);
  }
  const plainObject = isObject(value) && Object.getPrototypeOf(value) === Object.prototype;
  return plainObject ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, copyOf(member)])) : value;
}

// present returns the members of an object in the form of a template. given are the declared members, and was is their decoded value.
function present(fields, given, was, now) {
  const members = {};
  for (const [name, each] of Object.entries(fields)) {
    const raw = memberOf(given, name) ?? undefined;
    const [old, next] = [was?.[name], now?.[name]];
    if (same(old, next) || (isSecret(each) && unset(next))) {
      if (raw !== undefined) {
        members[name] = raw;
      }
    } else {
      members[name] = presentValue(each, raw, old, next);
    }
  }
  return members;
}

// presentValue returns a value whose parts keep their declared form if they equal the declared ones. It masks those that are secret because
// of their field or because they are a Secret.
function presentValue(each, raw, was, now) {
  if (raw !== undefined && same(was, now)) {
    return raw;
  }
  if (isSecret(each) || now instanceof Secret) {
    return unset(now) ? raw ?? null : MASK;
  }
  if (each.fields && isObject(now)) {
    return present(each.fields, raw, was, now);
  }
  if (!each.item && holdsSecret(each)) {
    return unset(now) ? null : MASK; // it is not the object that the field describes
  }
  if (typeof now?.toJSON === 'function') {
    return presentValue(each, raw, was, now.toJSON());
  }
  const item = each.item ?? UNDECLARED;
  if (Array.isArray(now)) {
    return now.map((value, i) => presentValue(item, Array.isArray(raw) ? raw[i] : undefined, Array.isArray(was) ? was[i] : undefined, value));
  }
  if (isObject(now)) {
    const members = Object.entries(now).filter(([, value]) => each.item || (value !== undefined && value !== null));
    return Object.fromEntries(members.map(([name, value]) => [name, presentValue(item, memberOf(raw, name), memberOf(was, name), value)]));
  }
  return holdsSecret(each) && !unset(now) ? MASK : plain(now, () => {}) ?? null;
}

// stateOf returns the present properties for the answer to a Read. Those that equal the declared ones are sent as declared.
function stateOf({ fields, given, declared, now }, masks) {
  const live = !fields && typeof now.toJSON === 'function' ? now.toJSON() : now;
  const properties = fields ? present(fields, given, declared, now) : presentValue(UNDECLARED, given, declared, live);
  if (!isObject(properties)) {
    throw new TypeError('the properties from read are not an object');
  }
  const secret = Object.keys(properties).filter((name) => {
    let hidden = fields !== undefined && holdsSecret(fields[name]);
    plain(live[name], () => (hidden = true));
    return hidden || masks.shows(JSON.stringify(properties[name]));
  });
  return { properties, secret: secret.sort() };
}

// secretsOf calls found with the texts of the secrets in a value of a field.
function secretsOf(each, value, found) {
  if (!holdsSecret(each)) {
    plain(value, found);
  } else if (!isSecret(each) && each.fields && isObject(value)) {
    Object.entries(each.fields).forEach(([name, member]) => secretsOf(member, value[name], found));
  } else if (!isSecret(each) && each.item && typeof value === 'object' && value !== null) {
    Object.values(value).forEach((item) => secretsOf(each.item, item, found));
  } else {
    scalarsIn(plain(value, () => {})).forEach(found);
  }
}

// secretsIn returns the texts of the secrets in a value of a field. If the value is not JSON, it returns those that it found before.
function secretsIn(each, value) {
  const found = [];
  try {
    secretsOf(each, value, (text) => found.push(...scalarsIn(text)));
  } catch {
    // The code that encodes the value reports the problem.
  }
  return found;
}

// secretsFound returns the texts of the secrets in the result of a method. All attributes are secret if they are NoEcho.
function secretsFound({ response, present: state }) {
  const { attributes, noEcho } = response ?? {};
  const hidden = noEcho ? secretsIn(secret(), attributes).filter((text) => !['true', 'false'].includes(text)) : [];
  const properties = state ? secretsIn(state.fields ? object(state.fields) : UNDECLARED, state.now) : [];
  return [...secretsIn(UNDECLARED, attributes), ...hidden, ...properties];
}

// near returns the name that a misspelled one most likely means.
function near(name, names) {
  const distance = (a, b) => {
    let row = [...Array(b.length + 1).keys()];
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++) {
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      }
      row = next;
    }
    return row[b.length];
  };
  const short = name.slice(0, 100).toLowerCase();
  return names.find((each) => distance(short, each.toLowerCase()) <= Math.min(2, Math.floor(each.length / 3)));
}

// Decoder reads properties and collects the problems. Old properties are read leniently: they were accepted once.
class Decoder {
  problems = [];
  immutable = false; // one of the problems is with an immutable property
  secrets = [];
  constructor(lenient) {
    this.lenient = lenient;
  }

  object(fields, given, path) {
    const values = {};
    for (const [name, each] of Object.entries(fields)) {
      const value = Object.hasOwn(given, name) ? given[name] : undefined;
      const before = this.problems.length;
      if (value !== undefined && value !== null) {
        values[name] = this.value(each, value, join(path, name));
      } else if ('default' in each.rules) {
        const fallback = copyOf(each.rules.default);
        this.secrets.push(...secretsIn(each, fallback));
        values[name] = each.fallback ? each.fallback(fallback) : fallback;
      } else if (!each.rules.optional && !this.lenient) {
        this.problems.push(`${join(path, name)}: is missing`);
      }
      this.immutable ||= Boolean(each.rules.immutable) && this.problems.length > before;
    }
    if (!this.lenient) {
      for (const name of Object.keys(given).filter((each) => !Object.hasOwn(fields, each)).sort()) {
        const meant = near(name, Object.keys(fields));
        this.problems.push(`${join(path, name).slice(0, 100)}: is not known${meant ? `, did you mean ${meant}?` : ''}`);
      }
    }
    return values;
  }

  value(each, value, path) {
    if (each.rules.secret) {
      this.hide(value);
    }
    const read = each.read(value, this, path);
    if (read === INVALID) {
      this.immutable ||= hasImmutable(each);
      this.problems.push(`${path}: want ${each.want}`);
      return undefined;
    }
    return read;
  }

  hide(value) {
    this.secrets.push(...scalarsIn(value));
  }
}

const digest = (value) => createHash('sha256').update(value).digest('hex');

// stable returns a value as JSON in which the order of members does not matter.
function stable(value) {
  const sorted = (_, member) => (isObject(member) ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))) : member);
  return JSON.stringify(value, sorted) ?? 'null';
}

// Masks replaces the secrets of a request in texts, in each encoding in which they can appear.
class Masks {
  constructor(secrets, responseURL) {
    const forms = secrets.filter((each) => each.length >= SHORT_SECRET).flatMap((each) => [
      each,
      JSON.stringify(each).slice(1, -1),
      encodeURIComponent(Buffer.from(each).toString()), // which replaces lone surrogates
      new URLSearchParams([['', each]]).toString().slice(1),
      Buffer.from(each).toString('base64'),
    ]);
    this.texts = [...new Set(forms)].sort((a, b) => b.length - a.length);
    const { search, searchParams } = responseURL ? new URL(responseURL) : { search: '', searchParams: new URLSearchParams() };
    const values = [...searchParams.values()].filter((each) => each.length >= 16);
    this.signed = [responseURL, search.slice(1), ...values].filter((each) => each.length >= SHORT_SECRET);
  }

  mask(value) {
    return [...this.signed, ...this.texts].reduce((masked, each) => masked.replaceAll(each, '****'), value);
  }

  // shows reports whether a text contains a secret property.
  shows(value) {
    return this.texts.some((each) => value.includes(each));
  }
}

// plain returns attributes as JSON has them, with secrets in clear text, and calls found with the text of each secret.
function plain(value, found) {
  if (value instanceof Secret) {
    found(value.reveal());
    return value.reveal();
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new TypeError('a number is not finite');
  }
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol') {
    throw new TypeError(`a ${typeof value} is not JSON`);
  }
  if (Array.isArray(value)) {
    return value.map((each) => plain(each, found));
  }
  if (typeof value?.toJSON === 'function') {
    return plain(value.toJSON(), found);
  }
  if (isObject(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined && member !== null);
    return Object.fromEntries(members.map(([name, member]) => [name, plain(member, found)]));
  }
  return value;
}

// dataOf returns the attributes of a response as the Data of an answer, and calls found with the text of each secret.
function dataOf(attributes, found) {
  const data = plain(attributes ?? {}, found);
  if (!isObject(data)) {
    throw new TypeError('want an object');
  }
  return data;
}

// clean returns a text without the characters that XML 1.0, and so a list of events, cannot hold.
function clean(value) {
  // eslint-disable-next-line no-control-regex
  return Buffer.from(value).toString().replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '');
}

const size = (document) => Buffer.byteLength(JSON.stringify(document));

// tooLong returns a problem that names the largest attributes if an answer is too long without its reason.
function tooLong(document) {
  const total = size(document);
  if (total <= MAX_RESPONSE || size({ ...document, Reason: '' }) <= MAX_RESPONSE) {
    return '';
  }
  const { Data: data = {}, PintleState: state } = document;
  if (state) {
    return (
      `the response is ${total} bytes long, ${MAX_RESPONSE} are allowed: the state of the resource takes ${size(state)} of them, ` +
      `the attributes ${size(data)}`
    );
  }
  const largest = Object.entries(data).map(([name, value]) => [name.slice(0, 100), size(value)]).sort((a, b) => b[1] - a[1]).slice(0, 3);
  return (
    `the response is ${total} bytes long, ${MAX_RESPONSE} are allowed: Data takes ${size(data)} of them, the largest attributes are ` +
    `${largest.map(([name, bytes]) => `"${name}" with ${bytes}`).join(', ')}; return the name of a place where the value is kept instead`
  );
}

// encode returns the body of an answer: 4,096 bytes at most. It shortens the reason, and fails a request whose attributes do not fit.
function encode(document) {
  const problem = document.Status === 'SUCCESS' && tooLong(document);
  if (problem) {
    delete document.Data;
    delete document.PintleState;
    delete document.NoEcho;
    document.Status = 'FAILED';
    document.Reason = problem;
  }
  if (size(document) <= MAX_RESPONSE) {
    return JSON.stringify(document);
  }
  // The middle is left out: errors begin with the attempt and end with the cause.
  const reason = [...document.Reason];
  const shortened = (keep) => {
    const head = keep - Math.floor(keep / 3);
    const tail = reason.length - Math.floor(keep / 3);
    const note = `… [${tail - head} characters are left out here, the log of the provider has them] …`;
    return { ...document, Reason: reason.slice(0, head).join('') + note + reason.slice(tail).join('') };
  };
  let [least, most] = [0, reason.length];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (size(shortened(middle)) <= MAX_RESPONSE) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  return JSON.stringify(shortened(least));
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const LATE = Symbol('late');

// within resolves with the result of a promise, or with LATE at a time.
async function within(time, promise) {
  let timer;
  const limit = new Promise((resolve) => (timer = setTimeout(resolve, Math.max(time - Date.now(), 0), LATE)));
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}

// put sends a body once. It resolves with the status, and rejects with an error that may have the URL.
function put(url, body, timeout) {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'http:' ? http : https).request(
      url,
      { method: 'PUT', agent: false, headers: { 'Content-Type': '', 'Content-Length': Buffer.byteLength(body) } },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode));
        response.on('error', reject);
      },
    );
    const timer = setTimeout(() => request.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })), timeout);
    request.on('close', () => clearTimeout(timer));
    request.on('error', reject);
    request.end(body);
  });
}

// send sends an answer until it arrives. Connection errors, 429 and 5xx are tried again, any other status is an error at once.
async function send(responseURL, body, until) {
  const url = new URL(responseURL);
  for (let attempt = 1; ; attempt++) {
    let problem;
    let again = true;
    try {
      const status = await put(url, body, Math.max(Math.min(SEND_MS, until - Date.now()), 100));
      if (status >= 200 && status < 300) {
        return;
      }
      problem = `status ${status}`;
      again = status === 429 || status >= 500;
    } catch (error) {
      problem = error.code ?? error.name;
    }
    const message = `send response to ${url.host}, try ${attempt}: ${problem}`;
    const wait = Math.random() * Math.min(200 * 2 ** (attempt - 1), 5000);
    if (!again || attempt === SEND_TRIES || Date.now() + wait > until) {
      throw new Error(message);
    }
    console.warn(`response did not arrive, trying again: ${message}`);
    await pause(wait);
  }
}

// budgetOf divides the time until a deadline: for the method, until the library answers for it, and for sending.
function budgetOf(now, deadline) {
  const left = Math.max(deadline - now, 0);
  const reserve = Math.min(Math.max(left / 5, 200), 5000, left / 2);
  return { method: deadline - reserve * 1.5, watchdog: deadline - reserve, send: deadline - reserve / 5 };
}

const own = (properties) => Object.fromEntries(Object.entries(properties).filter(([name]) => !OWN_PROPERTIES.includes(name)));

// decode returns the properties for a provider. In lenient mode, problems with them count only if whole is set.
function decode(provider, given, lenient, secrets, whole = !lenient, old = false) {
  if (!provider.properties) {
    return own(given);
  }
  const decoder = new Decoder(lenient);
  const properties = decoder.object(provider.properties, own(given), '');
  secrets.push(...decoder.secrets);
  if (decoder.problems.length > 0 && whole) {
    throw new PropertiesError(decoder.problems);
  }
  if (old && decoder.immutable) {
    throw new PropertiesError(decoder.problems, true);
  }
  return properties;
}

// decodeOld returns the properties before an Update. Immutable ones must be readable, or a replacement could be missed, or made without need.
const decodeOld = (provider, given, secrets) => decode(provider, given, true, secrets, false, true);

// immutables returns the immutable properties by their paths, each as text, also those of objects in them.
const immutables = (fields, properties, path = '') =>
  Object.entries(fields ?? {}).flatMap(([name, each]) =>
    each.rules.immutable
      ? [[join(path, name), stable(plain(properties?.[name], () => {}) ?? null)]]
      : Object.entries(immutables(each.fields, properties?.[name], join(path, name))),
  ).reduce((found, [name, text]) => ({ ...found, [name]: text }), {});

// changed returns the paths of the immutable properties that differ.
function changed(provider, now, before) {
  const [one, other] = [now, before].map((properties) => immutables(provider.properties, properties));
  return Object.keys(one).filter((name) => one[name] !== other[name]).sort();
}

// idProblem returns the problem of a physical ID from a provider, or '' for a valid one. It quotes a part of the masked ID.
function idProblem(id, masks) {
  if (typeof id !== 'string') {
    return `the physical ID from the handler is a ${typeof id}, want a string`;
  }
  if (Buffer.from(id).toString() !== id) {
    return 'the physical ID from the handler is not UTF-8';
  }
  if (Buffer.byteLength(id) > MAX_ID) {
    return `the physical ID from the handler is ${Buffer.byteLength(id)} bytes long, ${MAX_ID} are allowed: "${masks.mask(id).slice(0, 40)}"…`;
  }
  if (clean(id) !== id || /[\t\n\r]/.test(id)) {
    return `the physical ID from the handler holds a control character: ${JSON.stringify(masks.mask(id).slice(0, 40))}`;
  }
  return '';
}

function remember(memory, key, value) {
  memory.delete(key);
  memory.set(key, value);
  if (memory.size > KEEP_ANSWERS) {
    memory.delete(memory.keys().next().value);
  }
}

// words returns a value as text, and '' if it has none because its conversion throws.
function words(value) {
  try {
    return typeof value === 'object' && value !== null ? inspect(value, { breakLength: Infinity }) : String(value);
  } catch {
    return '';
  }
}

// asError returns a thrown value as an Error. Errors of other realms, such as those of node:vm, are errors too.
function asError(thrown) {
  if (thrown instanceof Error || types.isNativeError(thrown)) {
    return thrown;
  }
  const error = new Error(typeof thrown?.message === 'string' ? thrown.message : words(thrown));
  return typeof thrown?.id === 'string' ? Object.assign(error, { id: thrown.id }) : error;
}

class Handler {
  #providers;
  #answers = new Map();
  #refused = new Map(); // Updates that did not change their resource, so that their rollbacks are known
  #running = null; // a method that ran out of time

  constructor(providers) {
    this.#providers = providers;
  }

  async serve(event, context) {
    const now = Date.now();
    const left = context?.getRemainingTimeInMillis?.() ?? SERVICE_TIMEOUT * 1000;
    if (event?.RequestType === 'Plan') {
      return this.#plan(event, budgetOf(now, now + left));
    }
    const requests = Array.isArray(event?.Records) ? event.Records.map((record) => JSON.parse(record.Sns.Message)) : [event];
    for (const request of requests) {
      await this.#serve(request, now, now + left);
    }
    return undefined;
  }

  async #serve(event, now, deadline) {
    const missing = ['ResponseURL', 'StackId', 'RequestId', 'LogicalResourceId'].filter((name) => typeof event?.[name] !== 'string' || !event[name]);
    if (missing.length > 0) {
      throw new Error(`the event is not a request of CloudFormation: it has no ${missing.join(', ')}`);
    }
    const properties = isObject(event.ResourceProperties) ? event.ResourceProperties : {};
    const given = number(scalar(properties.ServiceTimeout ?? SERVICE_TIMEOUT).toString());
    const timeout = given === INVALID ? SERVICE_TIMEOUT : Math.min(Math.max(given, 1), SERVICE_TIMEOUT);
    const budget = budgetOf(now, Math.min(deadline, now + timeout * 1000));
    const key = digest(stable({ ...event, ResponseURL: undefined }));
    const kept = this.#answers.get(key);
    let body = kept && !(kept.failed && now - kept.at > KEEP_FAILURE_MS) ? kept.body : undefined;
    if (body === undefined) {
      const document = await this.#answer(event, properties, budget);
      body = encode(document);
      remember(this.#answers, key, { at: now, failed: document.Status === 'FAILED', body });
    }
    await send(event.ResponseURL, body, budget.send);
  }

  // #answer returns the answer to a request.
  async #answer(event, properties, budget) {
    const kind = event.RequestType;
    const current = typeof event.PhysicalResourceId === 'string' ? event.PhysicalResourceId : '';
    const secrets = [];
    const outcome = await this.#ask(event, properties, current, budget, secrets);
    const masks = new Masks([...secrets, ...secretsFound(outcome)], event.ResponseURL);
    const response = outcome.response ?? {};
    const gone = kind === 'Read' && outcome.error instanceof Gone;
    const error = gone || (kind === 'Delete' && outcome.error instanceof Gone) ? undefined : outcome.error;
    let [status, reason, physical] = ['SUCCESS', words(response.reason ?? ''), response.id ?? ''];
    if (error) {
      status = 'FAILED';
      reason = words(error.message) || `the handler failed with an error that has no text, a ${error.name}`;
      physical = typeof error.id === 'string' ? error.id : physical;
      if (kind === 'Read') {
        physical = current;
      }
      console.error(masks.mask(`${kind} ${event.LogicalResourceId} failed: ${words(error.stack ?? reason)}`));
    }
    const problem = idProblem(physical, masks);
    if (problem) {
      [status, reason] = ['FAILED', problem];
      physical = kind === 'Create' ? event.RequestId : ''; // something was made, so its Delete must be asked for
    }
    if (kind === 'Create') {
      physical ||= error && !outcome.late && !problem ? CREATE_FAILED : event.RequestId;
    } else if (kind === 'Update' && physical && physical !== current && !response.replaces) {
      if (!error && !problem) {
        status = 'FAILED';
        reason =
          `the Update of "${current}" returned another physical ID, "${masks.mask(physical).slice(0, 200)}", without replaces. CloudFormation would then ` +
          `delete "${current}", so the resource keeps its ID. If the Update made a new resource, set replaces in the response or make the ` +
          'property immutable; otherwise return the ID of the request, or none';
      }
      physical = current;
    } else if (kind === 'Delete' && physical && current && physical !== current) {
      status = 'FAILED';
      reason = `a Delete cannot change the physical ID, the handler answered "${masks.mask(physical).slice(0, 200)}" to the Delete of "${current}"`;
      physical = current;
    }
    const document = {
      Status: status,
      PhysicalResourceId: physical || current || CREATE_FAILED,
      StackId: event.StackId,
      RequestId: event.RequestId,
      LogicalResourceId: event.LogicalResourceId,
      Reason: clean(masks.mask(reason)) || (status === 'FAILED' ? 'the handler failed with an error that has no text to show' : ''),
    };
    if (gone) {
      document.PintleState = { gone: true };
    } else if (outcome.present && status === 'SUCCESS') {
      try {
        document.PintleState = stateOf(outcome.present, masks);
      } catch (failure) {
        [document.Status, document.Reason] = ['FAILED', `the state cannot be encoded: ${masks.mask(asError(failure).message)}`];
      }
    }
    if (document.Status === 'SUCCESS' && kind !== 'Delete' && (response.attributes ?? undefined) !== undefined) {
      try {
        let hidden = Boolean(response.noEcho);
        const data = dataOf(response.attributes, () => (hidden = true));
        if (Object.keys(data).length > 0) {
          document.Data = data;
        }
        if (hidden || masks.shows(JSON.stringify(data))) {
          document.NoEcho = true;
        }
      } catch (failure) {
        delete document.PintleState;
        document.Status = 'FAILED';
        document.Reason = `the attributes cannot be encoded: ${masks.mask(asError(failure).message)}`;
      }
    }
    if (document.Status === 'SUCCESS' && kind !== 'Delete' && masks.shows(document.PhysicalResourceId)) {
      document.NoEcho = true;
    }
    return document;
  }

  // #ask calls the method of the provider, and waits for it within the budget.
  async #ask(event, properties, current, budget, secrets) {
    const kind = event.RequestType;
    let request;
    let call;
    try {
      if (!['Create', 'Update', 'Delete', 'Read'].includes(kind)) {
        throw new Error(`the request type ${JSON.stringify(String(kind).slice(0, 100))} is not known`);
      }
      if (kind === 'Delete' && NOTHING_CREATED.includes(current)) {
        return {}; // the Create had failed
      }
      if (kind !== 'Create' && !current) {
        throw new Error(`the ${kind} has no PhysicalResourceId`);
      }
      [request, call] = this.#prepare(event, properties, current, budget, secrets);
    } catch (error) {
      return { error: asError(error) };
    }
    await this.#free(budget);
    const began = Date.now();
    const running = (async () => call())().then(
      (response) => ({ response, present: request.present }),
      (error) => ({ error: asError(error) }),
    );
    this.#running = running;
    const outcome = await within(budget.watchdog, running);
    if (outcome !== LATE) {
      this.#running = null;
      return outcome;
    }
    const error = new Error(
      `ran out of time: the handler did not return within ${((Date.now() - began) / 1000).toFixed(3)} s; ` +
        'give it more time (the timeout of the function, ServiceTimeout in the template), or make it respect request.remaining()',
    );
    if (kind === 'Create' && request.made) {
      error.id = request.made;
    }
    return { error, late: true };
  }

  // #free waits for a method that ran out of time in an earlier request: it must not work at the same time as the next one.
  async #free(budget) {
    if (!this.#running) {
      return;
    }
    if ((await within(budget.method, this.#running)) === LATE) {
      console.error('an earlier request is still being handled: the process ends, and the request is delivered again');
      process.exit(1);
    }
    this.#running = null;
  }

  #provider(type) {
    const provider = this.#providers.get(type) ?? this.#providers.get('*');
    if (!provider) {
      throw new Error(`this provider has no resource type ${type.slice(0, 100)}, it has ${[...this.#providers.keys()].sort().join(', ')}`);
    }
    return provider;
  }

  // schema returns the schema of the resource types, which Pintle asks for.
  schema() {
    return {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      resourceTypes: Object.fromEntries([...this.#providers].map(([type, provider]) => [type, schemaOfProvider(provider)])),
    };
  }

  // #prepareRead returns the request of a Read and the call to make.
  #prepareRead(provider, event, properties, current, budget, secrets) {
    if (typeof provider.read !== 'function') {
      throw new Error('this provider has no method read, so the present state of its resources is unknown');
    }
    const declared = decode(provider, properties, true, secrets, true);
    // The method may change the properties of its request.
    const request = requestOf(event, current, decode(provider, structuredClone(properties), true, []), undefined, budget);
    const read = async () => {
      const { properties: now, attributes, noEcho } = (await provider.read(request)) ?? {};
      if (!isObject(now)) {
        throw new TypeError('read returned no properties, want an object with the member properties');
      }
      const present = { fields: provider.properties, given: own(properties), declared, now };
      Object.defineProperty(request, 'present', { value: present, configurable: true }); // not enumerable: it is not for the provider
      return { attributes, noEcho };
    };
    return [request, read];
  }

  // #plan answers a Plan. It records nothing, and does not wait for other requests of the resource.
  async #plan(event, budget) {
    const secrets = [];
    const running = this.#planned(event, budget, secrets).catch((thrown) => {
      const error = asError(thrown);
      return { error: words(error.message) || `the handler failed with an error that has no text, a ${error.name}` };
    });
    const outcome = await within(budget.watchdog, running);
    const shown = outcome === LATE ? { error: 'ran out of time: plan did not return' } : outcome;
    const masks = new Masks(secrets, '');
    for (const name of ['reason', 'error'].filter((each) => each in shown)) {
      const bytes = Buffer.from(clean(masks.mask(shown[name])));
      shown[name] = bytes.subarray(0, MAX_PLAN_REASON).toString().replace(/\ufffd+$/, '');
    }
    return { PintlePlan: shown };
  }

  // #planned returns the members of the answer to a Plan. A refusal is an answer; an error means that the provider cannot plan.
  async #planned(event, budget, secrets) {
    const missing = ['StackId', 'RequestId', 'LogicalResourceId'].filter((name) => typeof event[name] !== 'string' || !event[name]);
    if (missing.length > 0) {
      throw new Error(`the event is not a Plan: it has no ${missing.join(', ')}`);
    }
    const provider = this.#provider(event.ResourceType ?? '');
    if (typeof provider.plan !== 'function') {
      throw new Error('this provider has no method plan');
    }
    const properties = isObject(event.ResourceProperties) ? event.ResourceProperties : {};
    const current = typeof event.PhysicalResourceId === 'string' ? event.PhysicalResourceId : '';
    let immutable = [];
    let result;
    try {
      const decoded = decode(provider, properties, false, secrets);
      let before;
      if (current) {
        before = decodeOld(provider, isObject(event.OldResourceProperties) ? event.OldResourceProperties : {}, secrets);
        immutable = changed(provider, decoded, before);
      }
      const request = { ...requestOf(event, current, decoded, before, budget), immutable: [...immutable] };
      try {
        result = await provider.plan(request);
      } catch (error) {
        if (!(error instanceof Gone && current)) {
          throw error;
        }
        result = { replace: true, reason: words(error.message) };
      }
    } catch (thrown) {
      console.warn(`the plan refuses the change of ${event.LogicalResourceId}`);
      return { change: 'Refuse', reason: words(asError(thrown).message) || 'the provider refuses the change without an explanation' };
    }
    result ??= {};
    if (!isObject(result)) {
      throw new TypeError(`plan returned a ${Array.isArray(result) ? 'list' : typeof result}, want an object or nothing`);
    }
    if (!current || !(result.replace || immutable.length > 0)) {
      return { change: 'InPlace' };
    }
    const because = immutable.length > 0 ? `${immutable.join(', ')} ${immutable.length === 1 ? 'is' : 'are'} immutable` : '';
    return { change: 'Replace', reason: [because, words(result.reason ?? '')].filter(Boolean).join('; ') };
  }

  // #prepare decodes the properties and returns the request and the call to make.
  #prepare(event, properties, current, budget, secrets) {
    const kind = event.RequestType;
    const provider = this.#provider(event.ResourceType ?? '');
    if (kind === 'Read') {
      return this.#prepareRead(provider, event, properties, current, budget, secrets);
    }
    const old = isObject(event.OldResourceProperties) ? event.OldResourceProperties : {};
    const note = stable([event.StackId, event.LogicalResourceId, current]);
    const change = [digest(stable(own(old))), digest(stable(own(properties)))];
    const refused = kind === 'Update' ? this.#refused.get(note) : undefined;
    this.#refused.delete(note);
    const undoes = refused !== undefined && refused[0] === change[1] && refused[1] === change[0];
    let decoded;
    let before;
    try {
      before = kind === 'Update' ? decodeOld(provider, old, secrets) : undefined;
      decoded = decode(provider, properties, kind === 'Delete', secrets);
    } catch (error) {
      if (kind === 'Update') {
        remember(this.#refused, note, undoes ? refused : change); // the rollback may be refused too, and is then tried again
      }
      throw error;
    }
    const request = requestOf(event, current, decoded, before, budget);
    const run = async (method) => finish(provider, request, await provider[method](request));
    // If the create fails, the answer must keep the ID of the old resource: with the ID of an incomplete replacement, CloudFormation would
    // delete the good resource. So the incomplete one is deleted here.
    const replace = async () => {
      try {
        const made = await run('create');
        const response = { ...made, id: made.id || request.requestId, replaces: true };
        checkReplacement(request, response);
        return response;
      } catch (thrown) {
        const error = asError(thrown);
        if (typeof error.id === 'string' && error.id && error.id !== current) {
          await undo(provider, request, error);
        }
        throw error;
      }
    };
    if (kind !== 'Update') {
      return [request, () => run(kind.toLowerCase())];
    }
    if (!undoes && changed(provider, decoded, before).length > 0) {
      remember(this.#refused, note, change);
      const replaced = async () => {
        const response = await replace();
        this.#refused.delete(note);
        return response;
      };
      return [request, replaced];
    }
    const update = async () => {
      try {
        return await run('update');
      } catch (error) {
        if (error instanceof Gone) {
          return replace();
        }
        throw error;
      }
    };
    return [request, update];
  }
}

// requestOf returns the request for a method.
function requestOf(event, id, properties, oldProperties, budget) {
  return {
    type: event.RequestType,
    id,
    logicalId: event.LogicalResourceId,
    resourceType: event.ResourceType ?? '',
    stackId: event.StackId,
    requestId: event.RequestId,
    properties,
    oldProperties,
    state: undefined,
    token: digest(`${event.StackId}|${event.LogicalResourceId}|${event.RequestId}`).slice(0, 32),
    name: [...event.StackId.split('/').slice(1, 2), event.LogicalResourceId, digest(`${event.StackId}|${event.LogicalResourceId}`).slice(0, 12)].join('-'),
    remaining: () => (budget.method - Date.now()) / 1000,
  };
}

// checkReplacement throws if the attributes of a replacement cannot be sent. Its ID must not be in an answer that is FAILED.
function checkReplacement(request, response) {
  let problem;
  try {
    problem = tooLong({
      Status: 'SUCCESS', PhysicalResourceId: response.id, StackId: request.stackId, RequestId: request.requestId, LogicalResourceId: request.logicalId,
      Reason: '', Data: dataOf(response.attributes, () => {}), NoEcho: true,
    });
  } catch (error) {
    problem = `the attributes cannot be encoded: ${asError(error).message}`;
  }
  if (problem) {
    throw Object.assign(new Error(problem), { id: response.id });
  }
}

// undo deletes the resource that a failed replacement has made.
async function undo(provider, request, error) {
  const remove = { ...request, type: 'Delete', id: error.id, oldProperties: undefined, state: undefined };
  try {
    await finish(provider, remove, await provider.delete(remove));
  } catch (failure) {
    if (!(failure instanceof Gone)) {
      throw new Error(`${words(error.message)}; and ${error.id}, which it had made, is left behind: ${asError(failure).message}`, { cause: error });
    }
  }
}

// finish polls an operation until it is done.
async function finish(provider, request, first) {
  let result = first;
  let id = '';
  let next = 1;
  const withID = (thrown) => {
    const error = asError(thrown);
    if (!id || error.id !== undefined) {
      return error;
    }
    return Object.assign(Object.isExtensible(error) ? error : new Error(error.message, { cause: error }), { id });
  };
  while (result instanceof InProgress) {
    id = result.id || id;
    Object.defineProperty(request, 'made', { value: id, configurable: true }); // not enumerable: it is not for the provider
    let wait = result.after;
    if (wait === undefined) {
      wait = next * (0.75 + Math.random() / 2);
      next = Math.min(next * 2, 30);
    }
    if (wait > request.remaining()) {
      throw withID(new Error('Operation timed out: the function has no time left for another poll'));
    }
    await pause(wait * 1000);
    request.state = result.state;
    request.id = id || request.id;
    try {
      if (typeof provider.poll !== 'function') {
        throw new Error('the provider returned InProgress and has no method poll');
      }
      result = await provider.poll(request);
    } catch (error) {
      throw withID(error);
    }
  }
  result ??= {};
  if (!isObject(result)) {
    throw new TypeError(`the handler returned a ${Array.isArray(result) ? 'list' : typeof result}, want an object, InProgress or nothing`);
  }
  return { ...result, id: result.id || id };
}

function handler(providers) {
  const several = !('create' in providers);
  const all = new Map(several ? Object.entries(providers) : [['*', providers]]);
  if (all.size === 0) {
    throw new TypeError('there is no provider');
  }
  for (const [type, provider] of all) {
    for (const method of ['create', 'update', 'delete']) {
      if (typeof provider?.[method] !== 'function') {
        throw new TypeError(`the provider for ${type} has no method ${method}`);
      }
    }
    for (const method of ['read', 'plan', 'poll']) {
      if (provider[method] !== undefined && typeof provider[method] !== 'function') {
        throw new TypeError(`${method} of the provider for ${type} is not a function`);
      }
    }
    for (const [name, each] of Object.entries(provider.properties ?? {})) {
      if (typeof each?.read !== 'function') {
        throw new TypeError(`the property ${name} of ${type} is not a field such as text()`);
      }
    }
  }
  const served = new Handler(all);
  return Object.assign((event, context) => served.serve(event, context), { [SCHEMA]: () => served.schema() });
}

exports.Gone = Gone;
exports.InProgress = InProgress;
exports.PropertiesError = PropertiesError;
exports.Secret = Secret;
exports.any = any;
exports.boolean = boolean;
exports.choice = choice;
exports.float = float;
exports.handler = handler;
exports.integer = integer;
exports.list = list;
exports.map = map;
exports.object = object;
exports.secret = secret;
exports.text = text;
