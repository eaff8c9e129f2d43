// Package language is a directory of packages that read templates: values, the text of a template to a checked graph, the evaluation of its
// functions, dynamic references, jq scripts, and the plan that leads from an old graph to a new one. The template package speaks both
// dialects, CloudFormation and ROS.
//
// All of it is pure: nothing here opens a file, a socket or a clock. The packages import base and wire.
package language
