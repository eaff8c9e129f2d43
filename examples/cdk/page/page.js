const { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client } = require('@aws-sdk/client-s3');

const s3 = new S3Client();
const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

const render = ({ Title, Paragraphs }) =>
  `<!doctype html>\n<title>${escaped(Title)}</title>\n<h1>${escaped(Title)}</h1>\n` + Paragraphs.map((p) => `<p>${escaped(p)}</p>\n`).join('');

// Makes, changes or deletes a page. Its ID is where it is: a page that is to be somewhere else is another page, and the service has the
// old one deleted afterwards.
exports.onEvent = async (event) => {
  if (event.RequestType === 'Delete') {
    const [, , Bucket, Key] = event.PhysicalResourceId.split('/');
    await s3.send(new DeleteObjectCommand({ Bucket, Key }));
    return;
  }
  const { Bucket, Name, Title, Paragraphs } = event.ResourceProperties;
  if (!/^[a-z-]+$/.test(Name)) throw new Error(`a page is named by small letters, and ${JSON.stringify(Name)} is not`);
  const Key = `${Name}.html`;
  await s3.send(new PutObjectCommand({ Bucket, Key, Body: render({ Title, Paragraphs }), ContentType: 'text/html; charset=utf-8' }));
  return { PhysicalResourceId: `s3://${Bucket}/${Key}`, Data: { URL: `s3://${Bucket}/${Key}` } };
};

// Looks whether the page can be read, and says how long it is.
exports.isComplete = async (event) => {
  if (event.RequestType === 'Delete') return { IsComplete: true };
  const [, , Bucket, Key] = event.PhysicalResourceId.split('/');
  const object = await s3.send(new GetObjectCommand({ Bucket, Key }));
  const text = await object.Body.transformToString();
  if (text !== render(event.ResourceProperties)) return { IsComplete: false };
  return { IsComplete: true, Data: { Words: text.replace(/<[^>]*>/g, ' ').trim().split(/\s+/).length } };
};
