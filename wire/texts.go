package wire

import "strings"

// Exact texts that CloudFormation puts into the status reason of a resource. Tools search for them.
const (
	// TextTooLong is the reason for a response of more than [MaxResponse] bytes.
	TextTooLong = "Response object is too long."
	// TextInvalidPhysicalID is the reason for a response with a missing or invalid physical ID, with either status.
	TextInvalidPhysicalID = "Invalid PhysicalResourceId"
	// TextTokenChanged is the reason for an update that changes the service token of a resource. No provider is called.
	TextTokenChanged = "Modifying service token is not allowed."
	// TextCreationCancelled is the reason for a create that was stopped because another resource failed.
	TextCreationCancelled = "Resource creation cancelled"
	// TextUpdateCancelled is the reason for an update that was stopped because another resource failed.
	TextUpdateCancelled = "Resource update cancelled"
)

const textInvalidResponse = "Invalid Response object: "

// FailedText returns the reason for a response with status FAILED. An empty reason becomes "null".
func FailedText(reason string, id RequestID) string {
	if reason == "" {
		reason = "null"
	}
	return "Received response status [FAILED] from custom resource. Message returned: " + reason +
		" (RequestId: " + string(id) + ")"
}

// TextReturned is the start of the reason for a request whose handler returned without an answer. It is Pintle's own: the
// services wait for the timeout of the request.
const TextReturned = "The provider's handler returned without sending a response"

// TimeoutText returns the reason for a request that was not answered in time.
func TimeoutText(id RequestID) string {
	return "CloudFormation did not receive a response from your Custom Resource. Please check your logs for requestId [" +
		string(id) + "]. If you are using the Python cfn-response module, you may need to update your Lambda function " +
		"code so that CloudFormation can attach the updated version."
}

// MissingAttributeText returns the reason for a resource or output that reads an attribute which is missing in the
// response to key, the last successful response of the custom resource.
func MissingAttributeText(attribute string, key ResponseKey) string {
	return "CustomResource attribute error: Vendor response doesn't contain " + attribute + " attribute in object " +
		key.String()
}

func invalidTypeText(property, want string) string {
	return textInvalidResponse + "Value of property " + property + " must be of type " + want
}

func invalidStatusText(status string) string {
	return textInvalidResponse + "'" + status + "' is not a valid ResponseStatus"
}

// CleanText returns text without the characters that are invalid in XML 1.0: control characters other than tab, line feed
// and carriage return, and the non-characters U+FFFE and U+FFFF. Invalid UTF-8 becomes U+FFFD. One such character in a
// stored reason would make every list of events unreadable for clients.
func CleanText(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\t', c == '\n', c == '\r':
			return c
		case c < 0x20, c == 0xFFFE, c == 0xFFFF:
			return -1
		}
		return c
	}, text)
}
