// Package author is a directory of packages for those who write providers and templates: the check of a provider, the harness that sends it
// one request, the project to begin with, schemas and their validation, diagnoses for editors, permissions that calls need, and the
// bundle of nested templates.
//
// They work without an engine. They import provider to run handlers, and language to read templates.
package author
