// Package responseurl makes and verifies the signed URLs to which providers answer: those of CloudFormation, which have the form of a
// presigned Amazon S3 PUT, and those of ROS.
//
// Anyone who knows such a URL can answer, so its signature is a secret. [github.com/pintle-dev/pintle/wire.Redact] removes it from any text.
// The package does no I/O, and its types are safe for concurrent use.
package responseurl
