// Package wire implements the custom-resource protocol of AWS CloudFormation, and that of Alibaba Cloud ROS, which is
// derived from it: the documents that the service and a provider exchange, their limits, and the texts of their
// failures. A [Dialect] says which of the two a document belongs to.
//
// The service sends a [Request] and the provider sends a [Response]. Both keep unknown fields, the order of keys and the
// text of numbers, so that a document can pass through unchanged. [ParseRequest] and [ParseResponse] read untrusted
// documents: they limit the size, never panic, and report which field is invalid.
//
// The provider answers with one HTTP PUT to the response URL of the request. It has the form of a presigned Amazon S3
// PUT. Anyone who knows the URL can answer, so its signature is a secret. [Redact] removes it from any text, and the
// String and LogValue methods of the documents leave it out.
//
// To ROS, a provider sends the response by POST, or as the body of its reply. Requests to providers behind a URL may
// contain a signature, see [ROSSigning].
//
// The package does no I/O and is safe for concurrent use.
package wire
