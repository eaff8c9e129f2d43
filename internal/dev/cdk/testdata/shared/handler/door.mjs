import { appendFileSync } from 'node:fs';

export const onEvent = async (event) => {
  const { Name } = event.ResourceProperties;
  const stack = event.StackId.split('/')[1];
  appendFileSync(process.env.LEDGER, JSON.stringify({ type: event.RequestType, stack, name: Name }) + '\n');
  if (event.RequestType === 'Delete') return;
  if (Name === 'Crowd') throw new Error('the house is full');
  return { Data: { Key: `key of ${Name} in ${stack}` } };
};
