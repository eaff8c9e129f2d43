package customresource_test

import (
	"strconv"
	"strings"
)

// why identifies a kind of difference.
type why string

// Differences that every case may have.
const (
	successReason why = "the reason of a success"
	noEcho        why = "NoEcho"
	failedID      why = "the physical ID of a failure"
	failedReason  why = "the reason of a failure"
	slash         why = "a slash at the end of a path"
)

// Differences of single cases.
const (
	coerced      why = "more is coerced"
	refused      why = "what the model does not allow is refused"
	javaScript   why = "numbers and dates as JavaScript reads them"
	memory       why = "bytes in a response"
	precise      why = "numbers over 2^53"
	newer        why = "members that a union does not have"
	names        why = "an action with Command behind it"
	words        why = "an error in our words"
	tooLong      why = "too many attributes"
	textID       why = "an ID that is a number"
	missingID    why = "an ID that is not in the response"
	deleted      why = "the answer to a Delete"
	createUpdate why = "a Create that is the Update"
	objects      why = "calls that are objects"
	lookAround   why = "regular expressions"
	ignoredPath  why = "a response path and ignored errors"
	undecided    why = "a Create of which nobody knows what it made"
)

// reasons describe the differences and why they remain.
var reasons = map[why]string{
	successReason: "theirs is OK; ours is none, as it says nothing",
	noEcho:        "theirs is false; ours is left out, which means the same",
	failedID:      "theirs is the name of a log stream, so that a failed Update makes the service delete the resource; ours is the ID that was there, or for a Create one that says that nothing was made",
	failedReason:  "ours begins with theirs, which is the service's message, and more follows: service, action, code and request, or the name that may have been meant",
	slash:         "theirs ends a bucket's path with one, ours those of some actions of Route 53, as botocore does; the services take both",

	coerced:      "booleans that are text become booleans, and numbers become text where the model wants it; theirs are sent as they are, or are lost",
	refused:      "theirs is sent as it is, for the service to refuse or to misread; ours names the parameter and sends nothing",
	javaScript:   "theirs are taken by the rules of JavaScript: nothing is 0, 0x10 is 16, dates may be in words; ours are refused, as nobody means them so",
	memory:       "theirs come with what lay beside them in the memory of the process, parameters among it; ours are only the bytes",
	precise:      "theirs are rounded",
	newer:        "theirs are kept; ours are left out, as all are that the model does not have",
	names:        "theirs strips it only after a large first letter",
	words:        "ours names the place, or says more",
	tooLong:      "theirs are sent, and the service takes no answer over 4,096 bytes; ours says what would help",
	textID:       "theirs is a number in JSON; ours is text, as IDs are",
	missingID:    "theirs is an answer without an ID, which the service calls invalid; ours says which paths there are",
	deleted:      "nobody can read its attributes, and it cannot change the ID",
	createUpdate: "the construct of the CDK writes the Update's call into the Create; who writes templates by hand is spared that",
	objects:      "theirs takes only their text",
	lookAround:   "theirs are JavaScript's; ours are Go's, without look-arounds and back references, and refuse those",
	ignoredPath:  "theirs answers without an ID if the error occurs; ours refuses the two together, as the construct of the CDK does for the attributes",
	undecided:    "theirs is the name of a log stream; ours is the ID that the resource would have, so that what may have been made is deleted",
}

// general removes the differences that all answers have.
func general(theirs, ours lines, used map[why]int) {
	take := func(name string, reason why, cdk, own string) {
		if theirs.get(name) == cdk && ours.get(name) == own {
			delete(theirs, name)
			delete(ours, name)
			used[reason]++
		}
	}
	for name := range theirs {
		if cdk, own := theirs.get(name), ours.get(name); strings.HasSuffix(name, ": path") && cdk != own && strings.TrimSuffix(cdk, "/") == strings.TrimSuffix(own, "/") {
			take(name, slash, cdk, own)
		}
	}
	take("NoEcho", noEcho, "false", absent)
	if theirs["Status"] != ours["Status"] {
		return
	}
	take("Reason", successReason, `"OK"`, absent)
	if theirs["Status"] != `"FAILED"` {
		return
	}
	for _, own := range []string{`"Pintle::CreateFailed"`, `"old"`} {
		take("PhysicalResourceId", failedID, `"log-stream"`, own)
	}
	message, err := strconv.Unquote(theirs.get("Reason"))
	said, err2 := strconv.Unquote(ours.get("Reason"))
	if rest, found := strings.CutPrefix(said, message); err == nil && err2 == nil && found && message != "" && rest != "" {
		take("Reason", failedReason, theirs["Reason"], ours["Reason"])
	}
}
