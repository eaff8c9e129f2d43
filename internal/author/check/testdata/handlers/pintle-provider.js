'use strict';
// A note in a file, on @pintle-dev/provider.
const { readFileSync, rmSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const pintle = require('@pintle-dev/provider');

const file = (id) => join(process.env.NOTES, `${id}.json`);

const put = ({ properties: { Name, Text, Lines, Password } }) => {
  writeFileSync(file(`note-${Name}`), JSON.stringify({ text: Text, lines: Lines, password: Password.reveal() }));
  return { id: `note-${Name}`, attributes: { Path: `/notes/${Name}` } };
};

exports.handler = pintle.handler({
  properties: {
    Name: pintle.text({ immutable: true, pattern: /[a-z0-9-]+/ }),
    Text: pintle.text(),
    Lines: pintle.integer({ default: 1, min: 1, max: 100 }),
    Password: pintle.secret({ default: '' }),
  },
  create: put,
  update: put,
  delete: ({ id }) => rmSync(file(id), { force: true }),
  read: ({ id }) => {
    let found;
    try {
      found = JSON.parse(readFileSync(file(id), 'utf8'));
    } catch (error) {
      throw error.code === 'ENOENT' ? new pintle.Gone(`${id} is gone`) : error;
    }
    const Name = id.slice('note-'.length);
    return {
      properties: { Name, Text: found.text, Lines: found.lines, Password: new pintle.Secret(found.password) },
      attributes: { Path: `/notes/${Name}` },
    };
  },
  plan: ({ properties, oldProperties }) => {
    if (properties.Lines > 90) {
      throw new Error(`no room for ${properties.Lines} lines under ${properties.Password.reveal()}`);
    }
    return { replace: properties.Lines < (oldProperties?.Lines ?? 0) - 50, reason: 'a note cannot lose 50 lines' };
  },
});
