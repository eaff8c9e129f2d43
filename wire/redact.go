package wire

import (
	"regexp"
	"strings"
)

// redacted stands for a secret that was removed.
const redacted = "REDACTED"

// What programs put around the names and values of a query when they print it, as regular expressions. Each may be
// percent-encoded, more than once, or escaped for JSON or HTML.
const (
	redactQuote = `(?:b?["']|\\+["']|\\+u002[27]|&quot;|&apos;|&#(?:34|39|x22|x27);|%(?:25)*2[27])`
	redactSpace = `(?:[\x00-\x20\x7f]|\\+[nrt]|\\+u00[01][0-9a-f]|%(?:25)*20|\[[0-9;]*m)` // with the colours of a terminal
	redactEqual = `(?:=|:|\\+u003[da]|&#(?:61|x3d);|%(?:25)*3[DA])(?:>|\\+u003e|&gt;|%(?:25)*3E)?`
	redactOpen  = `(?:[\[(]|%(?:25)*5B|string\([0-9]+\))`
)

// redactBetween is what separates the name of a secret from its value: "=" in a URL, what stands between key and value of a map,
// or the comma between the two in a list of pairs.
const redactBetween = `(?:` +
	`(?:` + redactQuote + `|` + redactSpace + `|\])*` + redactEqual + `(?:` + redactQuote + `|` + redactSpace + `|` + redactOpen + `)*` +
	`|` + redactQuote + redactSpace + `*,` + redactSpace + `*` +
	`(?:` + redactQuote + `?value` + redactQuote + `?` + redactSpace + `*` + redactEqual + redactSpace + `*)?` + redactQuote +
	`)`

// secretName finds the name of a secret query parameter and what separates it from its value. The plain name signature, which
// URLs of Alibaba Cloud have, is one only where a query can be: after "?" or "&", or in quotes.
var secretName = regexp.MustCompile(`(?i)(?:X-Amz-(?:Signature|Credential|Security-Token)|` +
	`(?:[?&]|&amp;|\\+u0026|&#(?:38|x26);|%(?:25)*(?:3F|26)|["'])Signature)` + redactBetween)

// plainSignature finds a signature of ROS by its form wherever the name stands, as in a parsed query whose keys have no quotes.
var plainSignature = regexp.MustCompile(`(?i)(\bsignature` + redactBetween + `)[0-9a-f]{40}\b`)

// secretValue matches the value itself: the characters of a signature, scope or token, which are letters, digits and
// "/+=" and a few more, plain, percent-encoded or escaped for JSON. Anything else ends it, an encoded "&" too.
var secretValue = regexp.MustCompile(`(?i)^(?:[A-Z0-9/+=._~-]|%(?:25)*(?:2[BDEF]|3[0-9D]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])|\\+/|\\+u00(?:2f|2b|3d))+`)

// Redact returns text with the value of every X-Amz-Signature, X-Amz-Credential and X-Amz-Security-Token in it replaced,
// and of the parameter signature in a URL of Alibaba Cloud, so that a response URL in a log or a reason lets nobody answer. It knows URLs, also inside JSON and inside other
// URLs, and parsed queries as the languages of providers print them.
func Redact(text string) string {
	if !namesSecret(text) { // which is much faster to find out
		return text
	}
	found := secretName.FindAllStringIndex(text, -1)
	if found == nil {
		return redactPlain(text)
	}
	var b strings.Builder
	done := 0
	for _, at := range found {
		if at[0] < done { // inside a value that is gone
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

// namesSecret reports whether a text holds the name of anything that is redacted. It looks for the parts of the names without s
// and k, which in regular expressions that ignore case stand for letters beyond ASCII too.
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
