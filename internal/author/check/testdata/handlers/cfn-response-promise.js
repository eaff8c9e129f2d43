// A note, on cfn-response-promise.
const response = require('cfn-response-promise');

exports.handler = async (event, context) => {
  try {
    const { Name, Text } = event.ResourceProperties;
    if (event.RequestType === 'Delete') return await response.send(event, context, response.SUCCESS, {});
    if (!/^[a-z0-9-]+$/.test(Name)) throw new Error(`Name: want lower-case letters, got ${Name}`);
    return await response.send(event, context, response.SUCCESS, { Path: `/notes/${Name}`, Text }, `note-${Name}`);
  } catch (error) {
    console.log(error);
    return await response.send(event, context, response.FAILED, { Error: String(error) });
  }
};
