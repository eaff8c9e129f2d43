// A note, on aws-cloudformation-custom-resource.
const { CustomResource } = require('aws-cloudformation-custom-resource');

const write = async (resource) => {
  const name = resource.properties.Name.value;
  if (!/^[a-z0-9-]+$/.test(name)) throw new Error(`Name: want lower-case letters, got ${name}`);
  resource.setPhysicalResourceId(`note-${name}`);
  resource.addResponseValue('Path', `/notes/${name}`);
};

exports.handler = async (event, context) =>
  new CustomResource(event, context, write, write, async () => {}).done();
