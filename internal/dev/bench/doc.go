// Package bench measures what an event costs a provider of the SDK. It has no code but a benchmark; the commands in its
// directories measure what a call of AWS and what a deploy of the CDK cost. docs/performance.md has the figures. What is
// compared with programs of other people that would have to be in go.mod is in the module bench.
package bench
