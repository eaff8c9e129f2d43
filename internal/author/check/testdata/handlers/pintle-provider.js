'use strict';
// A note, on @pintle-dev/provider.
const pintle = require('@pintle-dev/provider');

const put = ({ properties: { Name } }) => ({ id: `note-${Name}`, attributes: { Path: `/notes/${Name}` } });

exports.handler = pintle.handler({
  properties: {
    Name: pintle.text({ immutable: true, pattern: /[a-z0-9-]+/ }),
    Text: pintle.text(),
    Lines: pintle.integer({ default: 1, min: 1, max: 100 }),
    Password: pintle.secret({ default: '' }),
  },
  create: put,
  update: put,
  delete: () => {},
});
