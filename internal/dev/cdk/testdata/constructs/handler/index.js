exports.handler = async (event) => {
  const { Name } = event.ResourceProperties;
  if (Name === 'Nobody' && event.RequestType !== 'Delete') throw new Error('Nobody cannot be greeted');
  return { PhysicalResourceId: 'greeting', Data: { Text: `Hello ${Name}` } };
};
