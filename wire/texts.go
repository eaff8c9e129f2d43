package wire

import "strings"

// Exact texts that CloudFormation puts into the status reason of a resource. Tools search for them.
const (
	// TextTooLong is the reason for a response of more than [MaxResponse] bytes.
	TextTooLong = "Response object is too long."
	// TextInvalidPhysicalID is the reason for a response with a missing or invalid physical ID, with either status.
	TextInvalidPhysicalID = "Invalid PhysicalResourceId"
)

const textInvalidResponse = "Invalid Response object: "

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
