// A runtime of AWS Lambda for the handler of the CDK, as it is installed: node runtime.js FOLDER, with the address of the
// Runtime API in AWS_LAMBDA_RUNTIME_API. It stands for the one of Lambda, which is not to be had outside it.
//
// The handler sends its answers to port 443 by HTTPS, whatever the response URL says. Here they go to the Runtime API's own
// address by HTTP; that is all that is changed for it.
"use strict";
const http = require("http");
const https = require("https");
const path = require("path");

const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(":");
https.request = (options, done) => http.request({ ...options, hostname: host, port }, done);
console.log = console.error = console.warn = () => {};

const agent = new http.Agent({ keepAlive: true });

function ask(method, target, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host, port, method, path: "/2018-06-01/runtime/" + target, agent }, (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part));
      response.on("end", () => resolve({ headers: response.headers, text: Buffer.concat(parts).toString() }));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

async function main() {
  const { handler } = require(path.join(process.argv[2], "handler", "index.js"));
  for (;;) {
    const next = await ask("GET", "invocation/next");
    const id = next.headers["lambda-runtime-aws-request-id"];
    const outcome = await handler(JSON.parse(next.text), { awsRequestId: id, logStreamName: "log-stream" }).then(
      () => ["response", "null"],
      (error) => ["error", JSON.stringify({ errorType: error.name, errorMessage: error.message })],
    );
    await ask("POST", `invocation/${id}/${outcome[0]}`, outcome[1]);
  }
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
