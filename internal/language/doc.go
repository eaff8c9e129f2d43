// Package language is the parent of the packages that read templates: values, parsing, function evaluation, dynamic
// references, jq scripts, and the plan from an old graph to a new one. Package template reads both dialects,
// CloudFormation and ROS.
//
// All of it is pure: no package here opens a file or a socket, or reads a clock. The packages import base and wire.
package language
