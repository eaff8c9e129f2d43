// Package generate writes code and documents from the schema that a provider publishes: typed constructs for the AWS CDK and
// the ROS CDK, and a reference of the properties and attributes.
//
// [Read] turns a schema document into resources, in which each value has one of a few kinds, and each [Format] is a template
// over them. A template gets names and types from the functions of its language, so that a new language is one file of Go and
// one template.
//
// The documentation of a property has the rules that its type cannot express, such as a range or a pattern.
package generate
