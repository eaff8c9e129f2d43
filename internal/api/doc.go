// Package api is a directory of packages that answer calls about stacks: the APIs of CloudFormation and ROS, Pintle's
// own for operators, STS for the identity of callers, their protocols (Query, RPC, JSON), the verification of
// signatures, limits on the bodies of unknown callers, the audit log, the console, and metrics.
//
// They translate between a protocol and the engine and hold no state of stacks. They import the engine and the packages
// below it. The local stand-ins for cloud services have their own APIs, in cloud.
package api
