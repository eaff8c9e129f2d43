package main

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// candidates are common parameter values, tried in this order after those that the declaration suggests.
var candidates = []string{
	"test", "Passw0rd_12", "Passw0rd!12", "Passw0rd", "testdb01", "1", "3", "20", "100", "8080", "192.168.0.0/16", "10.0.0.0/24",
	"192.168.1.10", "0.0.0.0/0", "example.com", "www.example.com", "https://example.com/", "user@example.com", "13800000000",
	"cn-hangzhou", "cn-hangzhou-i", "ecs.g6.large", "vpc-bp1234567890abcdefghi", "1234567890123456", "LTAI5tExampleExampleKey00", "true",
	"2030-01-01", "2030-01-01T00:00:00Z", "00:00", "Aa1!Aa1!Aa1!", "/example", "/", "t1,t2", "{}", "[]", "",
}

// associated are values for parameters, by the end of their AssociationProperty. ROS's console suggests values for
// these. Source: ROS, AssociationProperty.
var associated = []struct {
	name   *regexp.Regexp
	values []string
}{
	{regexp.MustCompile(`(?i)Password$`), []string{"Passw0rd_12", "Passw0rd!12", "Passw0rd"}},
	{regexp.MustCompile(`Instance::(ECS)?InstanceType$`), []string{"ecs.g6.large", "ecs.g6.xlarge", "ecs.gn6i-c4g1.xlarge"}},
	{regexp.MustCompile(`(?i)api ?key ?info$`), []string{`{"ApiKeyId": 1, "ApiKeyValue": "sk-00000000000000000000000000000000"}`}},
	{regexp.MustCompile(`^DateTime$`), []string{"2030-01-01T00:00:00Z"}},
	{regexp.MustCompile(`RegionId$`), []string{"cn-hangzhou"}},
}

// zoned matches parameters that are zones. Templates need several different ones.
var zoned = regexp.MustCompile(`(?i)zone(_?id)?[_0-9]*$`)

// fill returns values for the parameters without a default. It derives names from unique, so that concurrent stacks
// do not conflict.
func fill(t *template.Template, unique string) map[string]string {
	given := map[string]string{}
	zones := 0
	for _, p := range t.Parameters {
		if p.Default != nil || p.Empty {
			continue
		}
		options := suggested(p, unique, &zones)
		given[p.Name] = options[0]
		for _, option := range options {
			if takes(t, p, option) {
				given[p.Name] = option
				break
			}
		}
	}
	return given
}

// suggested returns the values to try for a parameter, the best first.
func suggested(p *template.Parameter, unique string, zones *int) (options []string) {
	if len(p.AllowedValues) > 0 {
		return p.AllowedValues
	}
	association := p.Declared.Get("AssociationProperty").Text()
	if zoned.MatchString(association) || association == "" && zoned.MatchString(p.Name) {
		options = append(options, "cn-hangzhou-"+string(rune('a'+*zones%26)))
		*zones++
	}
	for _, a := range associated {
		if a.name.MatchString(association) {
			options = append(options, a.values...)
		}
	}
	switch {
	case p.Type == "Number":
		if p.MinValue != "" {
			options = append(options, p.MinValue)
		}
		options = append(options, "1")
	case p.Type == "Json":
		options = append(options, "{}", "[]", `["`+unique+`"]`)
	case association == "AutoCompleteInput":
		options = append(options, completed(p, unique), unique)
	case p.NoEcho || regexp.MustCompile(`(?i)password`).MatchString(p.Name):
		options = append(options, "Passw0rd_12", "Passw0rd!12", "Passw0rd")
	default:
		options = append(options, unique)
	}
	if re, err := syntax.Parse(p.AllowedPattern, syntax.Perl); err == nil && p.AllowedPattern != "" {
		for more := range 33 {
			options = append(options, sample(re, more))
		}
	}
	return append(options, candidates...)
}

// completed returns the value that ROS's console generates for a parameter with AutoCompleteInput: a prefix and a
// number of letters and digits. Source: ROS, AssociationProperty, AutoCompleteInput.
func completed(p *template.Parameter, unique string) string {
	metadata := p.Declared.Get("AssociationPropertyMetadata")
	if n, err := strconv.Atoi(metadata.Get("Length").Text()); err == nil && n < len(unique) {
		unique = unique[len(unique)-max(n, 6):]
	}
	return metadata.Get("Prefix").Text() + unique
}

// sample returns a text that matches a regular expression. A repetition gets up to more items above its minimum.
func sample(re *syntax.Regexp, more int) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		return string(member(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpCapture, syntax.OpConcat:
		var made strings.Builder
		for _, sub := range re.Sub {
			made.WriteString(sample(sub, more))
		}
		return made.String()
	case syntax.OpAlternate:
		return sample(re.Sub[more%len(re.Sub)], more)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		least, most := map[syntax.Op]int{syntax.OpPlus: 1, syntax.OpRepeat: re.Min}[re.Op], -1
		if re.Op == syntax.OpQuest {
			most = 1
		} else if re.Op == syntax.OpRepeat {
			most = re.Max
		}
		n := least + more
		if most >= 0 {
			n = min(n, most)
		}
		return strings.Repeat(sample(re.Sub[0], more), n)
	case syntax.OpNoMatch, syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
	}
	return ""
}

// member returns a character of a class, given as pairs of bounds. It prefers a letter or a digit.
func member(class []rune) rune {
	for _, wanted := range "a1A" {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= wanted && wanted <= class[i+1] {
				return wanted
			}
		}
	}
	if len(class) == 0 {
		return 'a'
	}
	return class[0]
}

// takes reports whether a parameter accepts a value. It ignores errors about other parameters.
func takes(t *template.Template, p *template.Parameter, text string) bool {
	_, err := t.Bind(map[string]template.Input{p.Name: {Value: text}}, nil, template.Pseudo{Region: "cn-hangzhou"})
	if err == nil {
		return true
	}
	found, ok := err.(template.Errors) //nolint:errorlint // Bind returns them as they are
	if !ok {
		return false
	}
	for _, e := range found {
		if e.Code == "StackValidationFailed" && strings.Contains(e.Message+" ", fmt.Sprintf(" %s ", p.Name)) {
			return false
		}
	}
	return true
}
