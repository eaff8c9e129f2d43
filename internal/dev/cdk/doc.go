// Package cdk deploys apps of the AWS CDK with the real command of the CDK on a real server. It has no code but
// tests.
//
// The apps are in testdata, one per directory. Each has a stack and handlers that append their requests to a ledger,
// a file that the test reads. Neither the app nor the command can tell that this is not AWS: the tests only set an
// endpoint and keys, as users do. tools/cdkapps/install installs the CDK, and make cdk runs all tests.
package cdk
