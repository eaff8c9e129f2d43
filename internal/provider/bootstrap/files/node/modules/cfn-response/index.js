'use strict';

// Answers a request of CloudFormation: the module that inline functions of Lambda require, anew. The promise that send
// returns is settled when the answer was taken or was not; context.done is called as well, for handlers that await
// nothing. An answer that was not taken makes the function fail, and with it the resource, at once instead of after an
// hour of silence. The URL is a secret and is not printed.

const http = require('node:http');
const https = require('node:https');

const TRIES = 3;

exports.SUCCESS = 'SUCCESS';
exports.FAILED = 'FAILED';

exports.send = function (event, context, responseStatus, responseData, physicalResourceId, noEcho, reason) {
  const body = Buffer.from(JSON.stringify({
    Status: responseStatus,
    Reason: reason || 'See the details in CloudWatch Log Stream: ' + context.logStreamName,
    PhysicalResourceId: physicalResourceId || context.logStreamName,
    StackId: event.StackId,
    RequestId: event.RequestId,
    LogicalResourceId: event.LogicalResourceId,
    NoEcho: noEcho || false,
    Data: responseData === undefined || responseData === null ? {} : responseData,
  }));
  const sent = send(new URL(event.ResponseURL), body, TRIES);
  if (typeof context.done === 'function') {
    sent.then(() => context.done(), (error) => context.done(error));
  }
  return sent;
};

async function send(url, body, tries) {
  let status;
  try {
    status = await put(url, body);
  } catch (error) {
    if (tries > 1) return send(url, body, tries - 1);
    throw new Error('cfn-response: the answer could not be sent: ' + (error.code || error.message));
  }
  if (status >= 500 && tries > 1) return send(url, body, tries - 1);
  if (status >= 400) throw new Error('cfn-response: the answer was refused with status ' + status);
  console.log('cfn-response: Status code: ' + status);
}

function put(url, body) {
  return new Promise((resolve, reject) => {
    const options = {method: 'PUT', headers: {'content-type': '', 'content-length': body.length}, timeout: 30000};
    const request = (url.protocol === 'http:' ? http : https).request(url, options, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode));
      answer.on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error('no answer within 30 s')));
    request.on('error', reject);
    request.end(body);
  });
}
