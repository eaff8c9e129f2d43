// Package provider is a directory of packages that deliver requests to providers: delivery to Lambda, SNS, HTTP,
// Function Compute and SMQ, local processes on the Lambda Runtime API, the boot scripts of their handlers, built-in
// providers, the CDK's provider framework, and the project file that declares providers.
//
// These packages make no decisions about stacks. They import the store and the engine's native types, never the engine
// itself. cmd/pintle connects the two through interfaces with one method each.
package provider
