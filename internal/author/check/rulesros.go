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
	if fix := rosFixes[r.ID]; fix != "" {
		r.Fix = fix
	}
	return r
}

const rosWaits = "ROS waits for the resource's Timeout"

// rosWords are the rules of which ROS says or does something else, by ID; an empty text is that of the table.
var rosWords = map[string]struct{ statement, why string }{
	"silence":       {why: rosWaits + ", and again for the Delete that follows; the stack cannot be used during that time"},
	"crash":         {why: "Function Compute does not report the error to ROS: " + rosWaits},
	"hang":          {why: "Function Compute stops the function at its timeout, and no answer follows: " + rosWaits},
	"gives-up":      {why: "the response URL returns 503 when it is busy; the answer is lost, and " + rosWaits},
	"answer-verb":   {"the answer is sent with POST", "the response URL accepts one method: any other is rejected, and " + rosWaits},
	"answer-url":    {why: "its signature covers path and query: a changed URL gets 403, and " + rosWaits},
	"answer-length": {why: "a request without a length may be rejected, and then " + rosWaits},
	"answer-content-type": {
		"the answer has the Content-Type application/json, and a Date",
		"ROS requires both headers: an answer without them may be rejected",
	},
	"crash-after-answer":  {why: "Function Compute may run a failed function once more with the same request, so its work is done twice"},
	"answer-after-return": {why: "Function Compute freezes the process after the handler returns: the answer is sent with the next request, hours later, or never"},
	"answer-json":         {why: "ROS cannot parse the answer, regardless of its content"},
	"answer-too-long":     {why: "ROS rejects the answer, and the reason in it is lost"},
	"answer-status":       {why: "ROS cannot tell success from failure, and fails the resource"},
	"answer-types":        {why: "ROS cannot parse the answer, and fails the resource"},
	"id-missing": {
		"every SUCCESS answer has a PhysicalResourceId",
		"ROS rejects the answer, and the created resource stays",
	},
	"id-too-long": {"the PhysicalResourceId has at most 255 bytes", "ROS rejects the answer, and the created resource stays"},
	"id-changed": {
		"an Update keeps the PhysicalResourceId",
		"in ROS a resource keeps its physical ID for life: an Update with another ID fails",
	},
	"id-changed-on-failure": {why: "in ROS a resource keeps its physical ID for life, so the answer is about another resource"},
	"id-log-stream":         {why: "it differs in each container: the next Update fails, because a resource keeps its physical ID for life"},
	"id-shared":             {why: "the Delete of one resource deletes the other too"},
	"not-replaced":          {why: "in ROS a resource keeps its physical ID for life, and no Update replaces it"},
	"strings-refused":       {why: "a template may contain the text of a number or boolean instead of the value"},
	"strings-misread":       {why: "the string \"false\" is true in many languages: the provider does the opposite of the request"},
	"update-deletes-old":    {why: "in ROS an Update never replaces a resource, so nothing else deletes the old one"},
	"update-refused":        {why: "the stack is rolled back, and a rollback is an Update too: the stack ends in ROLLBACK_FAILED"},
	"rollback-refused":      {why: "the stack ends in ROLLBACK_FAILED and needs another update to recover"},
	"delete-unknown-refused": {why: "a Delete may follow a cancelled or timed-out Create, and may come twice: the stack ends in " +
		"DELETE_FAILED or CREATE_ROLLBACK_FAILED"},
	"delete-after-failure-refused": {why: "the rollback sends it: a provider that rejects the properties again leaves the stack in CREATE_ROLLBACK_FAILED"},
	"delete-harms-other":           {why: "with ReplacementOption the old and the new resource may have the same name, and the wrong one is lost"},
	"failed-with-other-id":         {why: "the rollback may delete with it: a stack that asks for a taken name deletes the resource of another stack"},
	"attributes-lost":              {why: "Data of an Update replaces that of the Create: Fn::GetAtt of a missing attribute fails the stack"},
	"state-in-memory":              {why: "Function Compute starts new processes at any time, and a Delete may come months after its Create"},
	"created-twice": {why: "ROS may send an Update again, and also a Create if the service token says idempotent: the result of a second " +
		"delivery is in no stack and is never deleted"},
	"service-timeout-refused": {why: "a template may pass it on: a stack that sets it fails"},
	"unknown-request-type":    {why: rosWaits + " without an answer, and SUCCESS claims that something was done"},
	"missing-id-unanswered":   {why: "a Delete after a failed Create has none"},
	"secret-in-data":          {"no secret property is returned in Data", "ROS has no NoEcho for answers, and shows attributes wherever they are used"},
}

// rosFixes has the fixes for ROS where they differ, by ID of the rule.
var rosFixes = map[string]string{
	"answer-verb":             "Send the answer with POST.",
	"answer-content-type":     "Set the header Content-Type to application/json, and Date to the current time in the format of HTTP.",
	"gives-up":                "Check the status of the POST, and retry with a growing pause if it is 5xx or the connection fails.",
	"id-missing":              "Set PhysicalResourceId in every SUCCESS answer.",
	"id-changed":              "Return the PhysicalResourceId of the request from every Update.",
	"not-replaced":            "Answer FAILED to an Update of a property that cannot change in place.",
	"update-deletes-old":      "Change the resource in place, or answer FAILED to an Update that cannot.",
	"update-refused":          "Support an Update between any two valid states that differ only in properties that can change in place.",
	"rollback-refused":        "Support the Update back to the previous properties.",
	"answer-types":            "Send PhysicalResourceId, Reason and Status as strings and Data as an object.",
	"region-refused":          "Accept every region of ROS.",
	"service-timeout-refused": "Remove ServiceTimeout from the properties before you validate them.",
	"secret-attribute":        "Leave the attribute out: ROS has no NoEcho for answers.",
	"secret-in-data":          "Leave the secret out of Data: ROS has no NoEcho for answers.",
}
