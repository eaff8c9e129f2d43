// Package base is a directory of packages that know nothing of stacks: signatures of AWS and Alibaba Cloud for
// outgoing calls, models of AWS's services, spellings of secrets, traces, TLS on loopback, guarded connections, file
// watching, memory that is given back.
//
// They import the standard library, each other, and at most one third-party module. All other packages may import
// them, including the provider SDK, so they stay small.
package base
