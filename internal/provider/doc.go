// Package provider is a directory of packages that carry requests to providers: delivery to Lambda, SNS, HTTP, Function Compute and SMQ,
// local processes on the Lambda Runtime API, the programs that stand between that and a handler, providers that are built in,
// the CDK's provider framework over two functions, and the project file that names them.
//
// These packages make no decisions about stacks. They import the store and the engine's native types, never the engine
// itself. cmd/pintle connects the two through interfaces with one method each.
package provider
