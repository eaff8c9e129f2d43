const fs = require('node:fs');

// A greeting is known by the name in it: another name is another greeting.
exports.onEvent = async (event) => {
  const { RequestType, LogicalResourceId, PhysicalResourceId, ResourceProperties, OldResourceProperties } = event;
  const { ServiceToken, ...properties } = ResourceProperties;
  fs.appendFileSync(
    process.env.LEDGER,
    JSON.stringify({ type: RequestType, of: LogicalResourceId, id: PhysicalResourceId, properties, old: OldResourceProperties?.Mood }) + '\n',
  );
  if (RequestType === 'Delete') return {};
  const { Name, Mood, Times, Loud } = properties;
  if (Name === 'Nobody') throw new Error('there is nobody to greet');
  const text = Array(Number(Times)).fill(`Hello ${Name}`).join(', ') + ` (${Mood})`;
  return { PhysicalResourceId: `greeting-${Name}`, Data: { Text: Loud === 'true' ? text.toUpperCase() : text } };
};
