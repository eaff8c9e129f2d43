// Package cdk deploys apps of the AWS CDK with the real command of the CDK on a real server. It has no code but tests.
//
// The apps lie in testdata, a directory each: what a stack of the kind needs, and handlers that write what they are asked into a ledger, a
// file that the test reads. Neither app nor command knows that there is no AWS: the tests set an endpoint and keys, as users do.
// tools/cdkapps/install brings the CDK; make cdk runs all of it.
package cdk
