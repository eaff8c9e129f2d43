package check

import "slices"

// Rule is a requirement for an answer or a sequence of answers.
type Rule struct {
	// ID names it, in kebab-case.
	ID string
	// Severity is how bad it is that it is broken.
	Severity Severity
	// Statement is the requirement, in one line.
	Statement string
	// Why says how the service reacts to a violation, and how that harms users.
	Why string
	// Fix describes the change that a handler needs if it breaks the rule, in one or two sentences.
	Fix string
}

// Rules returns all rules, in the order in which they are documented.
func Rules() []Rule { return slices.Clone(rules) }

func isRule(id string) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.ID == id })
}

// ruleOf returns the rule with an ID of the table.
func ruleOf(id string) Rule {
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		panic("check: unknown rule " + id) // a mistake of this package
	}
	return rules[i]
}

var rules = []Rule{
	// Whether there is an answer.
	{"silence", Error, "every request is answered",
		"CloudFormation waits an hour for the answer and another hour for the Delete that follows; the stack is blocked " +
			"during that time",
		"Send an answer on every path, also for a Delete that has nothing to do. Put the work in a try block, " +
			"and send the answer after it."},
	{"crash", Error, "a failing handler answers FAILED before it ends",
		"Lambda runs a failed function twice more and reports nothing to CloudFormation, which waits an hour for the answer",
		"Catch every error of the handler and answer FAILED with its text. Do not exit the process."},
	{"hang", Error, "the handler ends before its timeout",
		"Lambda stops the function at its timeout, no answer is sent, and CloudFormation waits an hour",
		"Bound every wait by the remaining time of the function. Answer FAILED before it ends, or raise " +
			"the function's timeout."},
	{"delivery-refused", Error, "a request is accepted with a 2xx",
		"an engine retries for a while and then fails the resource; the provider never gets the request",
		"Accept the POST with a 2xx as soon as the request is stored, then do the work."},
	{"crash-after-answer", Warning, "a handler ends without an error after it has answered",
		"Lambda runs a failed function twice more with the same request, so its work is done three times",
		"Let the handler return normally after it has sent the answer. Log errors that occur later."},
	{"answer-after-return", Warning, "the answer is sent before the handler returns",
		"Lambda freezes the process after the handler returns: the answer is sent with the next request, hours later, or never",
		"Wait until the answer is sent before the handler returns: await the promise, or join the thread."},
	{"answered-twice", Warning, "a request gets one answer",
		"the first answer counts and the others are ignored, so an error in a later one is lost",
		"Send the answer in one place, after the work, and not in each branch."},
	{"answers-disagree", Error, "all answers to a request are the same",
		"the first answer counts: a stack continues with a resource that does not exist, or deletes one that does",
		"Send the answer in one place, after the work. Do not answer FAILED because sending SUCCESS failed: " +
			"retry it."},
	{"answered-late", Warning, "no answer arrives after its request is finished",
		"the result of the resource is already recorded, and the late answer is lost",
		"Send the answer once, and stop retries and timers when it is accepted."},
	{"gives-up", Warning, "the provider retries an answer that got status 503, or fails",
		"S3, which receives the answers, returns 503 when it is busy; the answer is lost and CloudFormation waits an hour",
		"Check the status of the PUT, and retry with a growing pause if it is 5xx or the connection fails."},

	// How it is sent.
	{"answer-verb", Error, "the answer is sent with PUT (to ROS with POST)",
		"the response URL is signed for one method: any other gets 403, and CloudFormation waits an hour",
		"Send the answer with PUT."},
	{"answer-url", Error, "the response URL is used unchanged",
		"its signature covers path and query: a changed URL gets 403, and CloudFormation waits an hour",
		"Use ResponseURL exactly as it is in the request, with its query. Do not encode or decode any of it."},
	{"answer-length", Error, "the answer has a Content-Length and is not sent in chunks",
		"S3 rejects presigned uploads without a length with 411 or 501, and CloudFormation waits an hour",
		"Encode the answer to bytes first, and set Content-Length to their number. Do not stream the body or " +
			"send it in chunks."},
	{"answer-encoding", Error, "the answer is UTF-8, not compressed and without a byte order mark",
		"the answer is stored as sent and cannot be parsed: the stack fails",
		"Encode the JSON as UTF-8 without a byte order mark, and turn off compression in the HTTP client."},
	{"answer-content-type", Note, "the answer has no Content-Type, or an empty one (to ROS application/json, and a Date)",
		"the response URL is signed for an empty one; with older S3 signatures, any other got 403",
		"Send an empty Content-Type header, or none."},

	// What is in it.
	{"answer-json", Error, "the answer is a JSON object",
		"CloudFormation fails the resource with Invalid Response object, regardless of the answer",
		"Encode the answer once with a JSON encoder. Set Content-Length to the number of bytes, not of " +
			"characters, and leave out NaN and Infinity."},
	{"answer-too-long", Error, "the answer has at most 4,096 bytes",
		"CloudFormation fails the resource with Response object is too long, and the reason in the answer is lost",
		"Shorten the Reason to about 1,000 characters, and return only the attributes that templates use."},
	{"answer-near-limit", Note, "the answer is well below the limit of 4,096 bytes",
		"longer values in another stack make it too long, and the resource fails",
		"Shorten the Reason to about 1,000 characters, and return only the attributes that templates use."},
	{"answer-grows", Note, "the answer stays within its limits when properties are long",
		"a template with long values makes the answer or the physical ID too long, and the resource fails",
		"Do not copy properties into the answer. Shorten the Reason, and derive the ID from a hash of long " +
			"values."},
	{"answer-status", Error, "Status is SUCCESS or FAILED",
		"CloudFormation fails the resource with: is not a valid ResponseStatus",
		"Set Status to SUCCESS or FAILED, in capitals."},
	{"answer-reason", Warning, "FAILED comes with a Reason",
		"the Reason is all that the user of the stack sees of the error",
		"Set Reason to the text of the error, or to its type if the text is empty."},
	{"answer-types", Error, "the members of the answer have the types of the protocol",
		"CloudFormation fails the resource with Invalid Response object: Value of property ... must be of type ...",
		"Send PhysicalResourceId, Reason and Status as strings, NoEcho as a boolean and Data as an object."},
	{"answer-copies", Error, "StackId, RequestId and LogicalResourceId are copied from the request",
		"they identify the request: with those of another request, the answer reaches the wrong resource, or none",
		"Copy StackId, RequestId and LogicalResourceId from the request to the answer."},
	{"answer-control-characters", Warning, "Reason and PhysicalResourceId contain no control characters",
		"clients that parse the stack's events as XML can no longer read any of them",
		"Remove control characters, such as terminal colors, from Reason and PhysicalResourceId."},

	// The physical ID.
	{"id-missing", Error, "every answer has a PhysicalResourceId, even FAILED ones",
		"CloudFormation reports Invalid PhysicalResourceId instead of the reason and deletes with a generated ID: " +
			"the created resource stays",
		"Set PhysicalResourceId in every answer: the ID of the request, or for a failed Create a new one that " +
			"names no resource."},
	{"id-too-long", Error, "the PhysicalResourceId has at most 1,024 bytes (in ROS 255)",
		"CloudFormation reports Invalid PhysicalResourceId, and the created resource stays",
		"Derive the ID from a hash when the values that make it can be long."},
	{"id-placeholder", Error, "the PhysicalResourceId identifies a resource",
		"None, null, undefined and the like stand for a missing value: all resources share it, and none can be " +
			"found by it",
		"Set PhysicalResourceId to the name of the resource that was created, and check that it has a value " +
			"before it is printed into a string."},
	{"id-log-stream", Warning, "the PhysicalResourceId is not the name of the log stream",
		"it differs in each container: the next Update looks like a replacement, and the Delete that follows hits " +
			"the live resource",
		"Pass a PhysicalResourceId in every answer, FAILED ones too. Without one, many libraries use the name " +
			"of the log stream."},
	{"id-request-id", Warning, "the PhysicalResourceId is not the request ID of the function",
		"each invocation has another: an Update that returns it looks like a replacement, and the Delete that follows hits the " +
			"live resource",
		"Derive the ID from the stack and the resource, not from the invocation."},
	{"id-changed", Error, "an Update that replaces nothing keeps the PhysicalResourceId",
		"CloudFormation treats the resource as replaced and deletes the old ID at the end: the data of a live resource is lost",
		"Derive the ID from the stack and the properties that replace the resource, or return the ID of the " +
			"request from an Update. Use no time, random value or hash of all properties."},
	{"id-changed-on-failure", Error, "a FAILED Update or Delete has the PhysicalResourceId of its request",
		"CloudFormation records the ID of every answer: the rollback goes to the wrong resource, and the right one is " +
			"deleted or forgotten",
		"Return the PhysicalResourceId of the request when an Update or Delete fails."},
	{"id-changed-on-delete", Warning, "the answer to a Delete has the PhysicalResourceId of its request",
		"the stack records that another resource was deleted; if it deletes again, it uses that ID",
		"Return the PhysicalResourceId of the request from a Delete."},
	{"id-shared", Warning, "two resources have different PhysicalResourceIds",
		"a replacement looks like an update, and the Delete of one resource deletes the other too",
		"Make the ID unique for each resource, for example from StackId, LogicalResourceId and the name."},
	{"not-replaced", Error, "properties that replace the resource change the PhysicalResourceId",
		"CloudFormation compares IDs: the old resource is never deleted, or was destroyed before the update succeeded",
		"When a property that cannot change in place changes, create a new resource, and return its ID from " +
			"the Update. Do not delete the old one there."},

	// The life of a resource.
	{"create-refused", Error, "a Create with valid properties succeeds",
		"nothing else can be checked without a resource: use the properties of a resource that can be created",
		"Pass properties of a resource that can be created with -p, or fix the error in the Reason."},
	{"bad-accepted", Error, "properties that are given as bad are rejected",
		"a template with a mistake deploys, and the stack reports success for a resource that is not what was asked for",
		"Validate the properties before you create anything, and answer FAILED with the name of the property."},
	{"strings-refused", Error, "numbers and booleans are accepted as strings",
		"CloudFormation turns each of them into a string, at every depth: what works in a test fails in every stack",
		"Convert numbers and booleans from strings before you use them, at every depth, and do not require " +
			"their JSON types."},
	{"strings-misread", Warning, "\"false\" and \"5\" mean what false and 5 do",
		"CloudFormation sends only strings, and the string \"false\" is true in many languages: the provider does the " +
			"opposite of the request",
		"Compare booleans with the text \"true\", and convert numbers before you calculate with them."},
	{"not-done", Error, "SUCCESS comes when the work is done",
		"resources that depend on this one start before it is ready, and no failure after the answer reaches the stack",
		"Wait until the resource is ready before you answer SUCCESS."},
	{"not-deleted", Error, "a Delete that is answered SUCCESS deletes",
		"the resource is in no stack any more: it stays and costs money until someone finds it",
		"Delete the resource with the ID of the request, and wait until it is deleted before you answer " +
			"SUCCESS."},
	{"update-deletes-old", Error, "an Update that replaces a resource leaves the old one in place",
		"CloudFormation deletes the old resource when the whole update has succeeded; if another resource fails, the rollback " +
			"needs it",
		"Do not delete the old resource in the Update. CloudFormation sends a Delete with its ID when the " +
			"stack is updated."},
	{"update-refused", Error, "an Update to valid properties succeeds",
		"the stack is rolled back, and a rollback is an Update too: the stack ends in UPDATE_ROLLBACK_FAILED",
		"Support an Update between any two valid states. If the change is not possible in place, create a new " +
			"resource, and return its ID."},
	{"rollback-refused", Error, "an Update back to the previous properties succeeds",
		"the stack ends in UPDATE_ROLLBACK_FAILED and needs an operator to recover",
		"Support the Update back to the previous properties. If that is not possible in place, create a new " +
			"resource, and return its ID."},
	{"delete-refused", Error, "a Delete of an existing resource succeeds",
		"the stack ends in DELETE_FAILED, and its resources have to be deleted by hand",
		"Delete the resource with the ID of the request, also when its properties are old or invalid."},
	{"delete-unknown-refused", Error, "a Delete of a resource that does not exist is SUCCESS",
		"CloudFormation deletes resources that were never created, after a cancelled or timed-out Create, and again when it " +
			"repeats a Delete; " +
			"the stack ends in DELETE_FAILED or ROLLBACK_FAILED",
		"Treat \"not found\" as success in a Delete."},
	{"delete-after-failure-refused", Error, "a Delete after a FAILED Create, with its ID and its properties, is SUCCESS",
		"CloudFormation always sends it: a provider that rejects the properties again leaves the stack in ROLLBACK_FAILED",
		"Do not validate properties in a Delete. Delete by the ID of the request, and treat \"not found\" as " +
			"success."},
	{"delete-harms-other", Error, "a Delete removes only the resource with its PhysicalResourceId",
		"after a replacement the old resource is deleted while the new one is in use, and the new one is lost",
		"Delete only the resource with the PhysicalResourceId of the request, and not the one that the " +
			"properties name."},
	{"failed-with-other-id", Error, "a FAILED Create does not have the PhysicalResourceId of an existing resource",
		"CloudFormation always deletes with it: a stack that asks for a taken name deletes the resource of another stack",
		"Set the ID of a FAILED Create to the resource that it created, or to a new one that names no " +
			"resource. Do not derive it from the properties alone."},
	{"old-format-refused", Warning, "an Update accepts old properties in which some are missing",
		"existing stacks lack every new property: they can be neither updated nor rolled back",
		"Read old properties with defaults, as if each could be missing."},
	{"old-values-refused", Note, "Updates and Deletes accept old properties that are invalid today",
		"if the properties ever change their form, existing stacks can be neither updated nor deleted",
		"Do not validate old properties, or the properties of a Delete."},
	{"attributes-lost", Warning, "an Update returns the attributes that the Create returned",
		"Data of an Update replaces that of the Create: Fn::GetAtt of a missing attribute fails the stack with Vendor response " +
			"doesn't contain",
		"Return all attributes from every Update, changed or not."},
	{"state-in-memory", Error, "a new process knows the resources that an earlier one created",
		"Lambda starts new processes at any time, and a Delete may come months after its Create",
		"Look the resource up by its ID in the service that keeps it, and keep no state in variables."},
	{"state-leaks", Warning, "an answer contains nothing from an earlier request",
		"a process handles many requests: leftover state exposes the attributes of other resources, even secret ones",
		"Make a new answer for each request, and keep no data of a request in global variables."},

	// Repeated requests, and requests with new content.
	{"created-twice", Error, "a repeated Create or Update creates nothing new",
		"requests are delivered at least once, by Lambda up to three times: the result of a second delivery is in no stack " +
			"and never deleted",
		"Derive the name of the resource from the request, and use the existing resource if a repeated " +
			"request finds it. Do not use a random name."},
	{"redelivery-refused", Warning, "a repeated Create or Update gets the same answer",
		"the first answer may be lost, and the stack fails although the work was done",
		"Treat \"already exists\" as success if the existing resource is the one of this request."},
	{"region-refused", Note, "stacks of every Region and partition are served",
		"ARNs begin with arn:aws-cn or arn:aws-us-gov in other partitions: a handler that expects arn:aws fails in all stacks there",
		"Accept every Region and partition: compare the parts of an ARN, and take the partition from it."},
	{"unknown-field-refused", Error, "unknown members of a request are ignored",
		"the protocol grows: when the service sends a new member, all stacks fail",
		"Ignore unknown members of the request, and turn off strict decoding for it."},
	{"service-timeout-refused", Error, "ServiceTimeout among the properties is ignored",
		"CloudFormation passes it on with the others: a stack that sets it fails",
		"Remove ServiceToken and ServiceTimeout from the properties before you validate them."},
	{"unknown-request-type", Note, "an unknown RequestType is answered FAILED",
		"without an answer CloudFormation waits an hour, and SUCCESS claims that something was done",
		"Answer FAILED if RequestType is none of Create, Update and Delete."},
	{"missing-id-unanswered", Note, "a Delete without a PhysicalResourceId is answered",
		"CloudFormation always sends one, but manual tests and other engines do not",
		"Read PhysicalResourceId with a default, inside the block that catches errors."},

	// Optional requests, which only a provider gets whose schema declares them.
	{"read-refused", Error, "a Read of an existing resource returns its state",
		"drift detection reports the resource as deleted or unknown, and the resource cannot be imported",
		"Look the resource up by the ID of the request and return its present properties. Report that it is gone only if it does not exist."},
	{"read-differs", Error, "a Read returns the properties and attributes of the last Create or Update",
		"drift that does not exist is reported, and repairs of drift update the resource for nothing; an imported resource has other attributes",
		"Return properties in the form of the template, and leave out those that cannot be read. Return the same attributes as a Create."},
	{"read-gone", Error, "a Read of a resource that does not exist reports that it is gone",
		"drift detection does not find a deleted resource, and an import adopts a resource that does not exist",
		"Return that the resource is gone if it is not found, and not an error or the properties of the request."},
	{"read-changes", Error, "a Read changes nothing",
		"drift detection runs at any time, and users expect that it has no effect",
		"Only look resources up in a Read. Do not create, repair or lock anything."},
	{"plan-refused", Error, "a Plan does not refuse valid properties",
		"change sets, dry runs and validate fail, although the deploy would succeed",
		"Refuse only a change that Create or Update would reject. Return that the resource changes in place if the result is not known."},
	{"plan-failed", Warning, "a Plan is answered within ten seconds",
		"the preview shows the change without a plan, so that users miss replacements and refusals",
		"Return a result for all valid properties, and use only calls that take a few seconds."},
	{"plan-wrong", Error, "a Plan announces what Create or Update will do",
		"users approve a change in place that replaces the resource, or cancel one that would do no harm",
		"Decide in one function whether a change replaces the resource, and call it in Plan and in Update."},
	{"plan-changes", Error, "a Plan has no side effect",
		"dry runs and change sets that are never executed change live resources",
		"Only look at the properties and at what exists. Make the change in Create or Update."},

	// Secrets.
	{"url-in-log", Error, "the log does not show the response URL",
		"anyone who reads the log can answer for the provider for two hours",
		"Do not log the whole event. Log RequestType, LogicalResourceId and RequestId, and remove ResponseURL " +
			"from anything else."},
	{"secret-in-log", Error, "the log does not show secret properties",
		"more people read logs than should see secrets, and logs are kept longer",
		"Do not log the event, its properties or requests to other services. Log RequestType, " +
			"LogicalResourceId and RequestId."},
	{"properties-in-log", Note, "the log does not show properties",
		"a secret among them, for example from a NoEcho parameter, is visible too",
		"Do not log the event or its properties. Log RequestType, LogicalResourceId and RequestId."},
	{"secret-in-reason", Error, "no Reason contains a secret property",
		"the Reason is visible to everyone who can read the stack's events",
		"Name the property in the Reason, not its value. Remove request bodies from the texts of errors."},
	{"secret-in-id", Error, "no PhysicalResourceId contains a secret property",
		"the ID is visible in the list of resources, in events and through Ref",
		"Derive the ID from other properties, or from a random value that you keep."},
	{"secret-attribute", Warning, "attributes with a name like that of a secret come with NoEcho",
		"without it the service shows them to everyone with permission to describe the stack's outputs and resources",
		"Set NoEcho to true in the answer, or leave the attribute out."},
	{"secret-in-data", Warning, "secret properties are returned in Data only with NoEcho",
		"without it the service shows them wherever it shows attributes",
		"Set NoEcho to true in the answer, or leave the secret out of Data."},
}
