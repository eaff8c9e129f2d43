// Package lifecycle tests that stacks go through their life as CloudFormation's do. It has no code but tests.
//
// Each file in testdata is a chapter: a story in words with transcripts in between, which say call by call what a
// client sees of a stack and what a provider sees of its resources. A transcript is played against a server of its
// own with sockets and a database, by a client of the AWS SDK and a provider behind HTTP that answers at the response
// URL, and everything is compared: all events, all requests, in order. The transcripts are written by hand from what
// is known of the service; no tool regenerates them from the behaviour of the engine. docs/lifecycle.md is generated
// from the chapters, so its tables always match the tests.
//
// The words of a transcript:
//
//	% fidelity aws                         a setting of the server, on top; see the settings in world_test.go
//	given Site id=a {"URL":"u"}            the stack of v1.yaml stands, and Site's provider answered so
//	...                                    what is above is played, but not shown in the document
//	$ update-stack --template-body v2.yaml a call, named as the AWS CLI names it
//	! ValidationError "text"               the call was refused
//	-> q1 Update Site id=a {new} was {old} a request that the provider got, with its properties
//	<- q1 SUCCESS id=b {"URL":"v"}         its answer, with Data
//	-- nobody answers                      a remark; what is below it happens by itself
//	stack UPDATE_COMPLETE "reason"         an event of the stack
//	Site UPDATE_COMPLETE id=b {properties} an event of a resource
//	Site DELETE_COMPLETE id=a (Site-UUID)  the same with the other form of event id; such an event has no properties
//	= Site UPDATE_COMPLETE id=b            a row of describe-stack-resources
//	= CREATE_COMPLETE AVAILABLE "reason"   what describe-change-set tells, and each change below it:
//	= Modify Site Conditional: K Static DirectModification
//	? Site orphan id=a                     after the last line: what the stack has left behind
//
// Properties are shown without the service token if it is the usual one, which ends in /thing; one that is not there is
// null. Of what is random <stack> stands for the stack's ARN, <change set> for that of a change set, <random> for the end
// of an id that the engine made up, and q1 for the id of the request called so.
package lifecycle
