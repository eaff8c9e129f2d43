// Answers with the client that the resource's property Client names, as CLIENT:FORM.
const http = require('http');
const https = require('https');
const tls = require('tls');

// send does a request with options of the http and https modules.
function send(module, options, body) {
  return new Promise((resolve, reject) => {
    module.request({method: 'PUT', headers: {'content-length': body.length}, ...options}, (r) => {
      r.resume();
      r.on('end', () => resolve(r.statusCode));
    }).on('error', reject).end(body);
  });
}

const clients = {
  hostname: (u, body) => send(u.protocol === 'https:' ? https : http, {hostname: u.hostname, port: u.port, path: u.pathname + u.search}, body),
  // Many take URL.host, which has no port at 443.
  host: (u, body) => send(https, {host: u.host, path: u.pathname + u.search}, body),
  agent: (u, body) => send(https, {
    hostname: u.hostname, port: u.port || 443, path: u.pathname + u.search, agent: new https.Agent({keepAlive: false}),
  }, body),
  fetch: async (u, body) => (await fetch(u, {method: 'PUT', body, headers: {'content-type': ''}})).status,
  tls: (u, body) => new Promise((resolve, reject) => {
    const socket = tls.connect(Number(u.port || 443), u.hostname, {host: u.hostname}, () => {
      socket.write(`PUT ${u.pathname + u.search} HTTP/1.1\r\nHost: ${u.host}\r\nContent-Length: ${body.length}\r\n` +
        `Connection: close\r\n\r\n${body}`);
    });
    let text = '';
    socket.on('data', (chunk) => { text += chunk; });
    socket.on('end', () => resolve(Number(text.split(' ')[1])));
    socket.on('error', reject);
  }),
  axios: async (u, body) => {
    const axios = require(process.env.CLIENT_MODULES + '/axios');
    return (await axios.put(u.href, body, {headers: {'content-type': ''}})).status;
  },
};

exports.handler = async ({ResourceProperties, ResponseURL, StackId, RequestId, LogicalResourceId}, context) => {
  if (context.awsRequestId === RequestId) throw new Error('the ID of the invocation is that of the request');
  const [client, form] = ResourceProperties.Client.split(':');
  let url = ResponseURL;
  if (form === 'port') url = url.replace('http:', 'https:');
  if (form === '443') url = url.replace(/^http:\/\/([^/:]+|\[[^\]]*\])(:\d+)?/, 'https://$1');
  const body = JSON.stringify({Status: 'SUCCESS', PhysicalResourceId: LogicalResourceId, StackId, RequestId, LogicalResourceId});
  const status = await clients[client](new URL(url), body);
  if (status !== 200) throw new Error('status ' + status);
};
