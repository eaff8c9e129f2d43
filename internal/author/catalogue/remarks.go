package catalogue

import "strings"

// The remarks that no rule of check is about.
const (
	notificationLost = "notification-not-delivered"
	notGivenBack     = "import-not-released"
)

func remarkEntries() []Entry {
	return []Entry{
		{
			Code: notificationLost, Group: Remarks, Title: "A notification of a stack's event was not delivered.",
			Cause:  "The topic or URL that the stack notifies did not accept the message, or could not be reached.",
			Remedy: "Check that the topic or URL exists and accepts messages. The stack itself is not affected.",
		},
		{
			Code: notGivenBack, Group: Remarks, Title: "An imported resource was not released.",
			Cause:  "The stack no longer has the resource, but its record could not be returned to the stack or account that it came from.",
			Remedy: "Nothing is blocked: another stack can import the resource.",
		},
	}
}

// OfRemark returns the code of an entry of the audit list by its text, and "" if it is about nothing that is wrong, such as an answer
// that a person gave. Where a rule of check is about the same, the code is that rule's.
func OfRemark(text string) string {
	switch {
	case strings.HasPrefix(text, "answer to a request that was settled before (answered)"):
		return "answered-twice"
	case strings.HasPrefix(text, "answer to a request that was settled before"):
		return "answered-late"
	case strings.HasPrefix(text, "the answer has the PhysicalResourceId "):
		return "id-changed"
	case strings.HasPrefix(text, "the answer has "):
		return "answer-copies"
	case strings.HasPrefix(text, "the provider's handler returned without an answer"):
		return "answer-after-return"
	case strings.HasPrefix(text, "a notification to "):
		return notificationLost
	case strings.HasPrefix(text, "the resource was not given back"):
		return notGivenBack
	}
	return ""
}
