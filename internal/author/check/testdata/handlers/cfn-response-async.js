// A note, on cfn-response-async.
const { send, SUCCESS, FAILED } = require('cfn-response-async');

exports.handler = async (event, context) => {
  try {
    const { Name, Text } = event.ResourceProperties;
    if (event.RequestType === 'Delete') return await send(event, context, SUCCESS, {});
    if (!/^[a-z0-9-]+$/.test(Name)) throw new Error(`Name: want lower-case letters, got ${Name}`);
    await send(event, context, SUCCESS, { Path: `/notes/${Name}`, Text }, `note-${Name}`);
  } catch (error) {
    console.log(error);
    await send(event, context, FAILED, { Error: String(error) });
  }
};
