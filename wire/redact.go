package wire

import (
	"regexp"
	"strings"
)

// redacted replaces a secret.
const redacted = "REDACTED"

// Regular expressions for the characters that programs print around the names and values of a query. They may be
// percent-encoded, more than once, or escaped for JSON or HTML.
const (
	redactQuote = `(?:b?["']|\\+["']|\\+u002[27]|&quot;|&apos;|&#(?:34|39|x22|x27);|%(?:25)*2[27])`
	redactSpace = `(?:[\x00-\x20\x7f]|\\+[nrt]|\\+u00[01][0-9a-f]|%(?:25)*20|\[[0-9;]*m)` // includes terminal colours
	redactEqual = `(?:=|:|\\+u003[da]|&#(?:61|x3d);|%(?:25)*3[DA])(?:>|\\+u003e|&gt;|%(?:25)*3E)?`
	redactOpen  = `(?:[\[(]|%(?:25)*5B|string\([0-9]+\))`
)

// redactBetween separates the name of a secret from its value: "=" in a URL, the separator of key and value in a map, or
// the comma in a list of pairs.
const redactBetween = `(?:` +
	`(?:` + redactQuote + `|` + redactSpace + `|\])*` + redactEqual + `(?:` + redactQuote + `|` + redactSpace + `|` + redactOpen + `)*` +
	`|` + redactQuote + redactSpace + `*,` + redactSpace + `*` +
	`(?:` + redactQuote + `?value` + redactQuote + `?` + redactSpace + `*` + redactEqual + redactSpace + `*)?` + redactQuote +
	`)`

// secretName finds the name of a secret query parameter and the separator before its value. URLs of Alibaba Cloud have
// the plain name signature. It counts only where a query can be: after "?" or "&", or in quotes.
var secretName = regexp.MustCompile(`(?i)(?:X-Amz-(?:Signature|Credential|Security-Token)|` +
	`(?:[?&]|&amp;|\\+u0026|&#(?:38|x26);|%(?:25)*(?:3F|26)|["'])Signature)` + redactBetween)

// plainSignature finds a signature of ROS by its form at any position, e.g. in a parsed query whose keys have no quotes.
var plainSignature = regexp.MustCompile(`(?i)(\bsignature` + redactBetween + `)[0-9a-f]{40}\b`)

// secretValue matches the value itself: the characters of a signature, scope or token. These are letters, digits, "/+="
// and a few more, plain, percent-encoded or escaped for JSON. Any other character ends the value, even an encoded "&".
var secretValue = regexp.MustCompile(`(?i)^(?:[A-Z0-9/+=._~-]|%(?:25)*(?:2[BDEF]|3[0-9D]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])|\\+/|\\+u00(?:2f|2b|3d))+`)

// Redact replaces secrets in text: the value of every X-Amz-Signature, X-Amz-Credential and X-Amz-Security-Token, and of
// the parameter signature in a URL of Alibaba Cloud. A redacted response URL in a log or a reason cannot be used to
// answer. Redact recognizes URLs, even inside JSON and inside other URLs, and parsed queries as the languages of
// providers print them.
func Redact(text string) string {
	if !namesSecret(text) { // a much faster check
		return text
	}
	found := secretName.FindAllStringIndex(text, -1)
	if found == nil {
		return redactPlain(text)
	}
	var b strings.Builder
	done := 0
	for _, at := range found {
		if at[0] < done { // inside a value that was replaced
			continue
		}
		value := secretValue.FindStringIndex(text[at[1]:])
		if value == nil {
			continue
		}
		b.WriteString(text[done:at[1]])
		b.WriteString(redacted)
		done = at[1] + value[1]
	}
	b.WriteString(text[done:])
	return redactPlain(b.String())
}

// namesSecret reports whether a text contains the name of a secret. It searches for parts of the names without s and k,
// because in case-insensitive regular expressions those two also match non-ASCII letters.
func namesSecret(text string) bool {
	for i := range len(text) {
		var part string
		switch text[i] | 0x20 {
		case 'i':
			part = "ignature"
		case 'c':
			part = "credential"
		case 'e':
			part = "ecurity-to"
		default:
			continue
		}
		if len(text)-i >= len(part) && strings.EqualFold(text[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

func redactPlain(text string) string {
	return plainSignature.ReplaceAllString(text, "${1}"+redacted)
}
