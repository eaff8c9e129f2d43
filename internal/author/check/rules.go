package check

import "slices"

// Rule is what an answer, or a sequence of answers, is held against.
type Rule struct {
	// ID names it, in kebab-case.
	ID string
	// Severity is how bad it is that it is broken.
	Severity Severity
	// Statement says what is asked for, in one line.
	Statement string
	// Why says what the service does otherwise, and what users lose by that.
	Why string
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
		panic("check: there is no rule " + id) // a mistake of this package
	}
	return rules[i]
}

var rules = []Rule{
	// Whether there is an answer.
	{"silence", Error, "every request is answered",
		"CloudFormation waits an hour for an answer, and for another at the Delete that follows; the stack cannot be used " +
			"in that time"},
	{"crash", Error, "a handler that fails answers FAILED before it ends",
		"Lambda runs a function that failed twice more and tells CloudFormation nothing, which waits an hour for the answer"},
	{"hang", Error, "the handler ends in time",
		"Lambda stops the function at its timeout, and nobody answers any more: CloudFormation waits an hour"},
	{"delivery-refused", Error, "a request is accepted with a 2xx",
		"an engine tries for a while and then fails the resource; the provider has never seen the request"},
	{"crash-after-answer", Warning, "a handler that has answered ends without an error",
		"Lambda runs a function that failed twice more with the same request: what it does is done three times"},
	{"answer-after-return", Warning, "the answer is sent before the handler returns",
		"Lambda stops a process whose handler has returned: the answer goes out with the next request, after hours, or never"},
	{"answered-twice", Warning, "a request is answered once",
		"the first answer counts and the others are ignored, so that what they say, an error for example, is lost"},
	{"answers-disagree", Error, "all answers to a request say the same",
		"the first answer counts: a stack goes on with a resource that is not there, or deletes one that is"},
	{"answered-late", Warning, "no answer comes after its request is over",
		"the resource has been settled without it, and what it says of the resource is lost"},
	{"gives-up", Warning, "an answer that was told 503 is sent again, or the handler fails",
		"S3, where answers go, says so when it is busy; the answer is lost and CloudFormation waits an hour"},

	// How it is sent.
	{"answer-verb", Error, "the answer is sent by PUT (to ROS by POST)",
		"the response URL is signed for one verb: any other is refused with 403, and CloudFormation waits an hour"},
	{"answer-url", Error, "the response URL is used as it was sent, letter by letter",
		"its signature covers path and query: a changed one is refused with 403, and CloudFormation waits an hour"},
	{"answer-length", Error, "the answer has a Content-Length and is not sent in chunks",
		"S3 refuses presigned uploads without a length with 411 or 501, and CloudFormation waits an hour"},
	{"answer-encoding", Error, "the answer is UTF-8, not compressed and without a byte order mark",
		"it is kept as it was sent and cannot be read: the stack fails for it"},
	{"answer-content-type", Note, "the answer has no Content-Type, or an empty one (to ROS application/json)",
		"the response URL is signed for an empty one; with the older signatures of S3 another was refused with 403"},

	// What is in it.
	{"answer-json", Error, "the answer is a JSON object",
		"CloudFormation fails the resource with Invalid Response object, whatever the provider had to say"},
	{"answer-too-long", Error, "the answer has at most 4,096 bytes",
		"CloudFormation fails the resource with Response object is too long, and the reason that was in it is lost"},
	{"answer-near-limit", Note, "the answer keeps away from the limit of 4,096 bytes",
		"longer values in another stack make it too long, and then the resource fails"},
	{"answer-grows", Note, "the answer stays within its limits when properties are long",
		"a template with long values makes the answer too long, or its physical ID, and then the resource fails"},
	{"answer-status", Error, "Status is SUCCESS or FAILED",
		"CloudFormation fails the resource with: is not a valid ResponseStatus"},
	{"answer-reason", Warning, "FAILED comes with a Reason",
		"it is all that the user of the stack gets to see of the error"},
	{"answer-types", Error, "the members of the answer have the types of the protocol",
		"CloudFormation fails the resource with Invalid Response object: Value of property ... must be of type ..."},
	{"answer-copies", Error, "StackId, RequestId and LogicalResourceId are copied from the request",
		"an answer is found by them: one with those of another request settles the wrong resource, or none"},
	{"answer-control-characters", Warning, "Reason and PhysicalResourceId hold no control characters",
		"the events of the whole stack cannot be read any more by clients that parse them as XML"},

	// The physical ID.
	{"id-missing", Error, "every answer has a PhysicalResourceId, FAILED ones too",
		"CloudFormation says Invalid PhysicalResourceId in the place of the reason, makes an ID up, and deletes by that: " +
			"what was made stays"},
	{"id-too-long", Error, "the PhysicalResourceId has at most 1,024 bytes (in ROS 255)",
		"CloudFormation says Invalid PhysicalResourceId, and what was made stays"},
	{"id-placeholder", Error, "the PhysicalResourceId names something",
		"None, null, undefined and the like are what a program prints of nothing: all resources share it, and none can be " +
			"found by it"},
	{"id-log-stream", Warning, "the PhysicalResourceId is not the name of the log stream",
		"it is another one in each container: the next Update seems to be a replacement, and the Delete that follows hits " +
			"the live resource"},
	{"id-changed", Error, "an Update that replaces nothing keeps the PhysicalResourceId",
		"CloudFormation takes the resource for replaced and deletes the old ID in the end: the data of a live resource is lost"},
	{"id-changed-on-failure", Error, "a FAILED Update or Delete has the PhysicalResourceId of its request",
		"CloudFormation records the ID of every answer: the rollback goes to the wrong resource, and the right one is " +
			"deleted or forgotten"},
	{"id-changed-on-delete", Warning, "the answer to a Delete has the PhysicalResourceId of its request",
		"the record says that something else was deleted; if the stack deletes again, it is for that ID"},
	{"id-shared", Warning, "two resources have two PhysicalResourceIds",
		"a replacement cannot be told from an update, and the Delete of one resource takes the other with it"},
	{"not-replaced", Error, "properties that replace the resource change the PhysicalResourceId",
		"CloudFormation goes by the ID: the old resource is never deleted, or was destroyed before the update had succeeded"},

	// The life of a resource.
	{"create-refused", Error, "properties that are right are created with",
		"without a resource nothing else can be checked: give the properties of a resource that can be made"},
	{"strings-refused", Error, "numbers and booleans are taken as strings",
		"CloudFormation makes a string of each of them, at every depth: what works in a test fails in every stack"},
	{"strings-misread", Warning, "\"false\" and \"5\" mean what false and 5 do",
		"CloudFormation sends only strings, and the string \"false\" is true in many languages: the opposite of what was " +
			"asked for is done"},
	{"update-refused", Error, "properties that are right are updated to",
		"the stack is rolled back, and a rollback is an Update too: the stack ends in UPDATE_ROLLBACK_FAILED"},
	{"rollback-refused", Error, "an Update back to the properties before is done",
		"the stack ends in UPDATE_ROLLBACK_FAILED, from where only an operator brings it back"},
	{"delete-refused", Error, "a resource that is there is deleted",
		"the stack ends in DELETE_FAILED, and its resources have to be deleted by hand"},
	{"delete-unknown-refused", Error, "a Delete of what is not there is SUCCESS",
		"CloudFormation deletes what was never made: after a Create that was cancelled or timed out, and again when it " +
			"repeats a Delete; " +
			"the stack ends in DELETE_FAILED or ROLLBACK_FAILED"},
	{"delete-after-failure-refused", Error, "a Delete after a FAILED Create, with its ID and its properties, is SUCCESS",
		"CloudFormation always sends it: a provider that refuses the properties once more leaves the stack in ROLLBACK_FAILED"},
	{"delete-harms-other", Error, "a Delete takes nothing but what its PhysicalResourceId names",
		"after a replacement the old resource is deleted while the new one is in use, and the new one is lost"},
	{"failed-with-other-id", Error, "a FAILED Create does not have the PhysicalResourceId of what was there before",
		"CloudFormation always deletes by it: a stack that asked for a name that is taken deletes what another one has by that name"},
	{"old-format-refused", Warning, "an Update gets along with old properties in which some are missing",
		"a property that is new today is in no stack of yesterday: none of them can be updated, nor rolled back"},
	{"old-values-refused", Note, "Updates and Deletes get along with old properties that would be refused today",
		"if the properties ever had another form, stacks of that time can neither be updated nor deleted"},
	{"attributes-lost", Warning, "an Update answers with the attributes that the Create had",
		"Data of an Update replaces that of the Create: Fn::GetAtt of what is missing fails the stack with Vendor response " +
			"doesn't contain"},
	{"state-in-memory", Error, "a new process knows the resources that an earlier one made",
		"Lambda starts new processes at any time, and a Delete comes months after its Create"},
	{"state-leaks", Warning, "nothing of an answer stems from an earlier request",
		"a process handles one request after the other: what is kept in it shows the attributes of other resources, secret ones too"},

	// Requests that come again, and that hold what is new.
	{"created-twice", Error, "a Create or Update that comes again makes nothing new",
		"requests are delivered at least once, by Lambda up to three times: what the second delivery made is in no stack " +
			"and never deleted"},
	{"redelivery-refused", Warning, "a Create or Update that comes again is answered as it was",
		"the answer of the first time may be lost, and the stack fails although all was done"},
	{"unknown-field-refused", Error, "members of a request that are not known are ignored",
		"the protocol grows: the service sends more than it did, and all stacks fail on that day"},
	{"service-timeout-refused", Error, "ServiceTimeout among the properties is ignored",
		"CloudFormation passes it on with the others: a stack that sets it fails"},
	{"unknown-request-type", Note, "a RequestType that is not known is answered FAILED",
		"one that is not answered is waited for for an hour, and SUCCESS claims that something was done"},
	{"missing-id-unanswered", Note, "a Delete without a PhysicalResourceId is answered",
		"CloudFormation sends one always, but tests by hand and other engines do not"},

	// Secrets.
	{"url-in-log", Error, "the log does not show the response URL",
		"who reads the log can answer in the place of the provider, for two hours, and settle the resource as he likes"},
	{"secret-in-log", Error, "the log does not show secret properties",
		"logs are kept longer and read by more people than secrets should be"},
	{"properties-in-log", Note, "the log does not show properties",
		"a secret among them, from a NoEcho parameter for example, shows too"},
	{"secret-in-reason", Error, "no Reason holds a secret property",
		"it is shown in the events of the stack to everybody who may read them"},
	{"secret-in-id", Error, "no PhysicalResourceId holds a secret property",
		"it is shown in the list of resources, in the events and by Ref"},
	{"secret-in-data", Warning, "secret properties come back in Data only with NoEcho",
		"without it the service shows them wherever it shows attributes"},
}
