// Package template turns the text of a CloudFormation template into a checked graph and evaluates it.
//
// [Parse] reads JSON or YAML into one tree of [Node] values. It checks everything that does not depend on parameters,
// and reports all problems at once. [Template.Bind] takes the parameters that a client passes, decides the conditions,
// and returns the [Scope]. [Template.Active] and [Template.Graph] return the resources that exist in that scope and
// their dependencies. [Evaluate] computes the properties of one resource from its declaration, the scope, and the
// results of the resources that it depends on.
//
// A declaration is self-contained: a [Resource] that was marshalled, stored and read back evaluates without the rest of
// its template.
//
// A value that comes from a NoEcho parameter, or that the caller supplies as secret, taints the values that are made
// from it: a string is secret if one part of it is. A condition on a secret does not taint the branch it chooses.
//
// Errors carry CloudFormation's own text. Position and explanation are separate fields, see [Error]. The texts and
// rules follow the AWS CloudFormation User Guide and the service's observed answers; where both are silent the wording
// is ours.
//
// The package is pure: no clock, no files, no network. All its types may be read by many goroutines at once.
package template
