package template

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Language is whose template language a template is written in.
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

// guessed is how many bytes of a text [LanguageOf] looks at.
const guessed = 1 << 20

// rosVersionKey is how a text begins that has ROSTemplateFormatVersion as its next key.
var rosVersionKey = regexp.MustCompile(`^(ROSTemplateFormatVersion|"ROSTemplateFormatVersion"|'ROSTemplateFormatVersion')\s*:(\s|$)`)

// LanguageOf guesses the language of a text: it is ROS's if ROSTemplateFormatVersion is a key at the top, and CloudFormation's if not.
// The text need not be a template, and no more than its first MiB is looked at.
func LanguageOf(body string) Language {
	body = strings.TrimPrefix(body[:min(len(body), guessed)], "\ufeff")
	if strings.HasPrefix(strings.TrimLeft(body, " \t\r\n"), "{") {
		return languageOfJSON(body)
	}
	// In YAML keys at the top are indented as the first is, and all else more.
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

// languageOfJSON looks for the key among those at the top.
func languageOfJSON(body string) Language {
	decoder := json.NewDecoder(strings.NewReader(body))
	depth, key := 0, true
	for {
		token, err := decoder.Token()
		if err != nil {
			return CloudFormation // or a text that breaks off
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
		key = !key // a key, a scalar, or the end of what a key has
	}
}

// ParseROS reads a template of ROS in JSON or YAML and checks it within limits, of which a zero field means the quota of ROS, see
// [ROSQuotas]. The error is an [Errors] with every problem that
// was found, each with its Code.
func ParseROS(body string, limits Limits) (*Template, error) {
	return parseROS(body, limits.withROSDefaults(), false)
}

// Parse is [ParseWithin] or [ParseROS], by the language.
func (l Language) Parse(body string, limits Limits) (*Template, error) {
	if l == ROS {
		return ParseROS(body, limits)
	}
	return ParseWithin(body, limits)
}

// ParseProcessed is [ParseProcessed] or [ParseROSProcessed], by the language.
func (l Language) ParseProcessed(text string, limits Limits) (*Template, error) {
	if l == ROS {
		return ParseROSProcessed(text, limits)
	}
	return ParseProcessed(text, limits)
}

// functionNamed returns a function of the language; false for a name that is none, or none yet.
func (l Language) functionNamed(name string) (function, bool) {
	if l == ROS {
		return rosFunctionNamed(name)
	}
	return functionNamed(name)
}
