// Package bench measures the cost of an event in a provider of the SDK. It contains only a benchmark. The commands in
// its directories measure the cost of an AWS call and of a CDK deployment. docs/performance.md has the results.
// Comparisons with third-party programs that would have to be in go.mod are in the bench module.
package bench
