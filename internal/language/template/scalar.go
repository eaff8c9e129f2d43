package template

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// The forms of YAML 1.1 scalars. A decimal keeps its text; the other notations are converted to decimals.
var (
	decimalInteger = regexp.MustCompile(`^[-+]?(?:0|[1-9][0-9_]*)$`)
	otherInteger   = regexp.MustCompile(`^[-+]?(?:0b[01_]+|0[0-7_]+|0x[0-9a-fA-F_]+)$`)
	sexagesimal    = regexp.MustCompile(`^[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+$`)
	floatingPoint  = regexp.MustCompile(`^[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?)$`)
)

// resolveScalar returns the kind and text of a plain YAML 1.1 scalar. Dates remain strings. So do infinity and
// not-a-number, which JSON does not support, and numbers in another base that need more than 64 bits. Source: YAML 1.1,
// language-independent types; CloudFormation User Guide, template formats.
func resolveScalar(text string) (value.Kind, string) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return value.Null, ""
	case "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON":
		return value.Bool, "true"
	case "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF":
		return value.Bool, "false"
	}
	if !strings.ContainsRune("+-.0123456789", rune(text[0])) {
		return value.String, text
	}
	switch {
	case decimalInteger.MatchString(text):
		return value.Number, strings.ReplaceAll(strings.TrimPrefix(text, "+"), "_", "")
	case otherInteger.MatchString(text):
		if number, err := strconv.ParseInt(digits(text), 0, 64); err == nil {
			return value.Number, strconv.FormatInt(number, 10)
		}
	case sexagesimal.MatchString(text):
		if number, ok := fromSexagesimal(text); ok {
			return value.Number, strconv.FormatInt(number, 10)
		}
	case floatingPoint.MatchString(text):
		return value.Number, jsonFloat(text)
	}
	return value.String, text
}

// digits returns a number without the underscores YAML allows in it.
func digits(text string) string { return strings.ReplaceAll(text, "_", "") }

// fromSexagesimal parses digits in base 60, e.g. 1:30 for 90; false if they need more than 64 bits.
func fromSexagesimal(text string) (int64, bool) {
	var sum int64
	for digit := range strings.SplitSeq(strings.TrimLeft(digits(text), "+-"), ":") {
		d, err := strconv.ParseInt(digit, 10, 64)
		if err != nil || sum > (1<<62)/60 || d > 1<<60 {
			return 0, false
		}
		sum = sum*60 + d
	}
	if strings.HasPrefix(text, "-") {
		sum = -sum
	}
	return sum, true
}

// jsonFloat returns a YAML number in JSON syntax, changing as little of its text as it can: a digit on both sides of
// the point, no plus sign, no leading zeros.
func jsonFloat(text string) string {
	text = digits(strings.TrimPrefix(text, "+"))
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	exponent := ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		text, exponent = text[:i], text[i:]
	}
	whole, fraction, point := strings.Cut(text, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if point {
		if fraction == "" {
			fraction = "0"
		}
		whole += "." + fraction
	}
	return sign + whole + exponent
}
