// Package cloud is a directory of packages that stand in for services of AWS and Alibaba Cloud, as far as custom
// resources need them: Lambda, SNS, S3 and OSS, Parameter Store, Secrets Manager, CloudWatch Logs, EventBridge and
// Step Functions. Each service has a directory with its logic and, below it, its API. The resource types that
// templates declare are in resources, and registry stores the rows of all services.
//
// They import api for the protocols, and provider to run functions. The engine, the stack APIs and the server do not
// import them. The program adds them to its server, and a server without stand-ins needs none of them.
package cloud
