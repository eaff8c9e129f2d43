// A note, on cfn-response as its pages show it: one send at each end of the function.
const response = require('cfn-response');

exports.handler = (event, context) => {
  try {
    const { Name, Text } = event.ResourceProperties;
    if (event.RequestType === 'Delete') return response.send(event, context, response.SUCCESS, {});
    if (!/^[a-z0-9-]+$/.test(Name)) throw new Error(`Name: want lower-case letters, got ${Name}`);
    response.send(event, context, response.SUCCESS, { Path: `/notes/${Name}`, Text }, `note-${Name}`);
  } catch (error) {
    console.log(error);
    response.send(event, context, response.FAILED, { Error: String(error) });
  }
};
