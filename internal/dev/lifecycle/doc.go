// Package lifecycle tests that stacks have the same life cycle as in CloudFormation. It contains only tests.
//
// Each file in testdata is a chapter: prose with transcripts in between. A transcript shows, call by call, a client's
// view of a stack and a provider's view of its resources. The test plays each transcript against its own server with
// sockets and a database. The client uses the AWS SDK, and the provider is an HTTP server that answers at the
// response URL. The test compares all events and all requests, in order. The transcripts are written by hand from the
// documented behaviour of the service; no tool regenerates them from the engine. docs/lifecycle.md is generated from
// the chapters, so its tables always match the tests.
//
// The syntax of a transcript:
//
//	% fidelity aws                         a setting of the server, at the top; see the settings in world_test.go
//	given Site id=a {"URL":"u"}            the stack of v1.yaml exists, with this answer of Site's provider
//	...                                    the lines above are played, but not shown in the document
//	$ update-stack --template-body v2.yaml a call, named as in the AWS CLI
//	! ValidationError "text"               the call was refused
//	-> q1 Update Site id=a {new} was {old} a request to the provider, with its properties
//	<- q1 SUCCESS id=b {"URL":"v"}         its answer, with Data
//	-- no answer arrives                   a remark; the lines below it need no action
//	stack UPDATE_COMPLETE "reason"         an event of the stack
//	Site UPDATE_COMPLETE id=b {properties} an event of a resource
//	Site DELETE_COMPLETE id=a (Site-UUID)  the same with the other form of event id; such an event has no properties
//	= Site UPDATE_COMPLETE id=b            a row of describe-stack-resources
//	= CREATE_COMPLETE AVAILABLE "reason"   the result of describe-change-set, and each change below it:
//	= Modify Site Conditional: K Static DirectModification
//	? Site orphan id=a                     after the last line: a resource that the stack left behind
//
// Properties are shown without the service token if it is the usual one, which ends in /thing. A missing property is
// null. Placeholders stand for random values: <stack> for the ARN of the stack, <change set> for the ARN of a change
// set, <random> for the end of an ID that the engine generated, and q1 for the ID of the request with that name.
package lifecycle
