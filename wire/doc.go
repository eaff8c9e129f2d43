// Package wire is the custom-resource protocol of AWS CloudFormation: the documents that the service and a provider
// exchange, their limits, the texts of their failures, and the signed URL to which a provider answers.
//
// The service sends a [Request] and the provider sends a [Response]. Both keep fields they do not know, the order of
// keys and the text of numbers, so that a document can pass through without being changed. [ParseRequest] and
// [ParseResponse] read documents from outside: they are bounded, never panic, and say which field is wrong.
//
// The provider answers with one HTTP PUT to the response URL of the request. [Signer] makes and checks such URLs, in
// the form of a presigned Amazon S3 PUT, which is what providers in the field expect. Whoever knows the URL can answer,
// so its signature is a secret: [Redact] removes it from any text, and the String and LogValue methods of the documents
// leave it out.
//
// The package does no input or output and holds no state. Everything in it may be used by many goroutines at once.
package wire
