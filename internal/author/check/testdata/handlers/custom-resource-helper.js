// A note, on custom-resource-helper.
const { customResourceHelper } = require('custom-resource-helper');

const write = async ({ ResourceProperties: { Name, Text } }) => {
  if (!/^[a-z0-9-]+$/.test(Name)) throw new Error(`Name: want lower-case letters, got ${Name}`);
  return { physicalResourceId: `note-${Name}`, responseData: { Path: `/notes/${Name}`, Text } };
};

exports.handler = customResourceHelper(() => ({
  onCreate: write,
  onUpdate: write,
  onDelete: async () => {},
}));
