// Package cloud is a directory of packages that stand in for services of AWS and Alibaba Cloud, as far as custom resources need them:
// Lambda, SNS, S3 and OSS, Parameter Store, Secrets Manager, CloudWatch Logs, EventBridge and Step Functions. Each service has a
// directory with its logic and, below it, its API; resource types that templates declare are in resources, and the rows of everything in
// registry.
//
// They import api for the protocols, and provider to run functions. Neither the engine, the APIs of stacks nor the server import them:
// the program adds them to its server, and a server without stand-ins needs none of this.
package cloud
