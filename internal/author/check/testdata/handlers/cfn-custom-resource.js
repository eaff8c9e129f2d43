// A note, on cfn-custom-resource.
const { sendSuccess, sendFailure, DELETE } = require('cfn-custom-resource');

exports.handler = async (event) => {
  try {
    const { Name, Text } = event.ResourceProperties;
    if (event.RequestType === DELETE) return await sendSuccess(event.PhysicalResourceId, {}, event);
    if (!/^[a-z0-9-]+$/.test(Name)) throw new Error(`Name: want lower-case letters, got ${Name}`);
    return await sendSuccess(`note-${Name}`, { Path: `/notes/${Name}`, Text }, event);
  } catch (error) {
    return await sendFailure(error.message, event); // its simple form
  }
};
