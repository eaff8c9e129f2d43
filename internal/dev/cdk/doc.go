// Package cdk tests deployments of AWS CDK apps with the real CDK command on a real server. It contains only tests.
//
// The apps are in testdata, one per directory. Each has a stack and handlers that append their requests to a ledger,
// a file that the test reads. The tests only set an endpoint and keys, as users do, so neither the app nor the
// command is adapted to Pintle. tools/cdkapps/install installs the CDK, and make cdk runs all tests.
package cdk
