package template

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Language is the template language of a template.
type Language uint8

// The languages. The zero value is CloudFormation's.
const (
	// CloudFormation is the language of AWS CloudFormation.
	CloudFormation Language = iota
	// ROS is the language of Resource Orchestration Service of Alibaba Cloud, ROSTemplateFormatVersion 2015-09-01.
	ROS
)

// String returns "cloudformation" or "ros".
func (l Language) String() string {
	if l == ROS {
		return "ros"
	}
	return "cloudformation"
}

// guessed is the number of bytes of a text that [LanguageOf] reads.
const guessed = 1 << 20

// rosVersionKey matches a text whose next key is ROSTemplateFormatVersion.
var rosVersionKey = regexp.MustCompile(`^(ROSTemplateFormatVersion|"ROSTemplateFormatVersion"|'ROSTemplateFormatVersion')\s*:(\s|$)`)

// LanguageOf guesses the language of a text: ROS if ROSTemplateFormatVersion is a top-level key, otherwise
// CloudFormation. The text need not be a template. Only its first MiB is read.
func LanguageOf(body string) Language {
	body = strings.TrimPrefix(body[:min(len(body), guessed)], "\ufeff")
	if strings.HasPrefix(strings.TrimLeft(body, " \t\r\n"), "{") {
		return languageOfJSON(body)
	}
	// In YAML, top-level keys have the indentation of the first one, and all else has more.
	indent := -1
	for line := range strings.Lines(body) {
		text := strings.TrimLeft(line, " ")
		if indent < 0 && text != "" && !strings.ContainsAny(text[:1], "#\r\n%-") {
			indent = len(line) - len(text)
		}
		if indent == len(line)-len(text) && rosVersionKey.MatchString(text) {
			return ROS
		}
	}
	return CloudFormation
}

// languageOfJSON looks for the key at the top level.
func languageOfJSON(body string) Language {
	decoder := json.NewDecoder(strings.NewReader(body))
	depth, key := 0, true
	for {
		token, err := decoder.Token()
		if err != nil {
			return CloudFormation // or a truncated text
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth != 1 {
			continue
		}
		if key && token == "ROSTemplateFormatVersion" {
			return ROS
		}
		key = !key // a key, a scalar, or the end of a key's value
	}
}

// ParseROS parses a ROS template in JSON or YAML and checks it within limits. A zero field means the quota of ROS, see
// [ROSQuotas]. The error is an [Errors] with every problem found, each with its Code.
func ParseROS(body string, limits Limits) (*Template, error) {
	return parseROS(body, limits.withROSDefaults(), false)
}

// Parse calls [ParseWithin] or [ParseROS], depending on the language.
func (l Language) Parse(body string, limits Limits) (*Template, error) {
	if l == ROS {
		return ParseROS(body, limits)
	}
	return ParseWithin(body, limits)
}

// ParseProcessed calls [ParseProcessed] or [ParseROSProcessed], depending on the language.
func (l Language) ParseProcessed(text string, limits Limits) (*Template, error) {
	if l == ROS {
		return ParseROSProcessed(text, limits)
	}
	return ParseProcessed(text, limits)
}

// functionNamed returns a function of the language; false for an unknown or not yet supported name.
func (l Language) functionNamed(name string) (function, bool) {
	if l == ROS {
		return rosFunctionNamed(name)
	}
	return functionNamed(name)
}
