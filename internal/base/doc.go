// Package base is a directory of packages that do not depend on stacks: signatures of AWS and Alibaba Cloud for
// outgoing calls, models of AWS services, redaction of secrets, traces, TLS on loopback, guarded connections, file
// watching, and release of idle memory.
//
// They import the standard library, each other, and at most one third-party module. All other packages may import
// them, including the provider SDK, so they stay small.
package base
