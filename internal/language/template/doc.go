// Package template turns the text of a CloudFormation template into a checked graph and evaluates it.
//
// The way of a template: [Parse] reads JSON or YAML into one tree of [Node] values and checks everything that can be
// known without parameters, every problem at once. [Template.Bind] takes what a client passes as parameters and
// decides the conditions; what it found out is the [Scope]. [Template.Active] and [Template.Graph] tell which resources
// exist in that scope and which needs which. [Evaluate] computes the properties of one resource from its declaration,
// the scope, and what the resources it needs have become.
//
// A declaration is self-contained: a [Resource] that was marshalled, stored and read back evaluates without the rest of
// its template.
//
// A value that came from a NoEcho parameter, or that the caller supplies as secret, taints what is made of it: a string
// of which one part is secret is secret. A condition on a secret does not taint the branch it chooses.
//
// Errors carry CloudFormation's own text; place and explanation lie next to it, see [Error]. The texts and rules follow
// the AWS CloudFormation User Guide and the service's observed answers; where neither says anything the wording is ours.
//
// The package is pure: no clock, no files, no network. All its types may be read by many goroutines at once.
package template
