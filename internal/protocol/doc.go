// Package protocol is a directory of packages with the service's side of the custom-resource protocol: the URLs to which providers answer,
// and the texts of failed requests. Package wire has the documents, which both sides need.
package protocol
