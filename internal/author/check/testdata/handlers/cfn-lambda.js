// A note, on cfn-lambda, with a schema and a property that replaces.
const CfnLambda = require('cfn-lambda');

const create = ({ Name, Text }, reply) => reply(null, `note-${Name}`, { Path: `/notes/${Name}`, Text });

exports.handler = CfnLambda({
  Create: create,
  Update: (id, { Name, Text }, old, reply) => reply(null, id, { Path: `/notes/${Name}`, Text }),
  Delete: (id, properties, reply) => reply(null, id),
  TriggersReplacement: ['Name'],
  Schema: {
    type: 'object',
    required: ['Name'],
    properties: { Name: { type: 'string', pattern: '^[a-z0-9-]+$' }, Text: { type: 'string' } },
  },
});
