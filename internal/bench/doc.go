// Package bench measures the whole cycle of a request. It has no code but benchmarks.
//
// A cycle is what every step of a stack is: the request is recorded, delivered to its provider over HTTP, which then sends
// its answer over HTTP; the answer is recorded with all that it leads to, the next request among it, and acknowledged.
// [BenchmarkCycle] runs it with the engine and everything around it, and beside that, in turns, a floor: a program that
// does the same exchanges with the same provider and commits rows of the same number and size to the same database, and
// nothing else. Both share commits among all that waits for one. docs/performance.md has the figures.
package bench
