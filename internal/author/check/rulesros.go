package check

import "github.com/pintle-dev/pintle/wire"

// In returns the rule in the words of a service.
func (r Rule) In(dialect wire.Dialect) Rule {
	if dialect != wire.ROS {
		return r
	}
	words := rosWords[r.ID]
	if words.statement != "" {
		r.Statement = words.statement
	}
	if words.why != "" {
		r.Why = words.why
	}
	return r
}

const rosWaits = "ROS waits for as long as the Timeout of the resource says"

// rosWords are the rules of which ROS says or does something else, by ID; an empty text is that of the table.
var rosWords = map[string]struct{ statement, why string }{
	"silence":       {why: rosWaits + ", and again for the Delete that follows; the stack cannot be used in that time"},
	"crash":         {why: "Function Compute does not report the error to ROS: " + rosWaits},
	"hang":          {why: "Function Compute stops the function at its timeout, and no answer follows: " + rosWaits},
	"gives-up":      {why: "the response URL says so when it is busy; the answer is lost, and " + rosWaits},
	"answer-verb":   {"the answer is sent by POST", "the response URL takes one verb: any other is refused, and " + rosWaits},
	"answer-url":    {why: "its signature covers path and query: a changed one is refused with 403, and " + rosWaits},
	"answer-length": {why: "a request without a length may be refused, and then " + rosWaits},
	"answer-content-type": {
		"the answer has the Content-Type application/json",
		"ROS requires the header: an answer with another one may be refused",
	},
	"crash-after-answer":  {why: "Function Compute may run a function that failed once more with the same request: what it does is done twice"},
	"answer-after-return": {why: "Function Compute freezes a process whose handler has returned: the answer goes out with the next request, after hours, or never"},
	"answer-json":         {why: "ROS cannot read the answer, whatever the provider had to say"},
	"answer-too-long":     {why: "ROS refuses the answer, and the reason that was in it is lost"},
	"answer-status":       {why: "ROS cannot tell success from failure, and fails the resource"},
	"answer-types":        {why: "ROS cannot read the answer, and fails the resource"},
	"id-missing": {
		"every answer of SUCCESS has a PhysicalResourceId",
		"ROS refuses the answer, and what was made stays",
	},
	"id-too-long": {"the PhysicalResourceId has at most 255 bytes", "ROS refuses the answer, and what was made stays"},
	"id-changed": {
		"an Update keeps the PhysicalResourceId",
		"in ROS a resource keeps its physical ID for life: an update with another one fails",
	},
	"id-changed-on-failure": {why: "in ROS a resource keeps its physical ID for life, so that the answer says something of another resource"},
	"id-log-stream":         {why: "it is another one in each container: the next Update fails, since a resource keeps its physical ID for life"},
	"id-shared":             {why: "the Delete of one resource takes the other with it"},
	"not-replaced":          {why: "in ROS a resource keeps its physical ID for life, and no Update replaces it"},
	"strings-refused":       {why: "a template may have the text of a number or of a boolean where it means the value"},
	"strings-misread":       {why: "the string \"false\" is true in many languages: the opposite of what was asked for is done"},
	"update-refused":        {why: "the stack is rolled back, and a rollback is an Update too: the stack ends in ROLLBACK_FAILED"},
	"rollback-refused":      {why: "the stack ends in ROLLBACK_FAILED, from where another update has to bring it back"},
	"delete-unknown-refused": {why: "a Delete may follow a Create that was cancelled or timed out, and a Delete may come twice: the stack ends in " +
		"DELETE_FAILED or CREATE_ROLLBACK_FAILED"},
	"delete-after-failure-refused": {why: "the rollback sends it: a provider that refuses the properties once more leaves the stack in CREATE_ROLLBACK_FAILED"},
	"delete-harms-other":           {why: "with ReplacementOption the old resource and the new one may have one name, and the wrong one is lost"},
	"failed-with-other-id":         {why: "the rollback may delete by it: a stack that asked for a name that is taken deletes what another one has by that name"},
	"attributes-lost":              {why: "Data of an Update replaces that of the Create: Fn::GetAtt of what is missing fails the stack"},
	"state-in-memory":              {why: "Function Compute starts new processes at any time, and a Delete comes months after its Create"},
	"created-twice": {why: "ROS assumes that an Update may be sent again, and a Create too if the service token says idempotent: what the second " +
		"delivery made is in no stack and never deleted"},
	"service-timeout-refused": {why: "a template may pass it on: a stack that sets it fails"},
	"unknown-request-type":    {why: rosWaits + " for one that is not answered, and SUCCESS claims that something was done"},
	"missing-id-unanswered":   {why: "a Delete after a failed Create has none"},
	"secret-in-data":          {"no secret property comes back in Data", "ROS has no NoEcho for answers, and shows attributes wherever they are used"},
}
