package main

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/template"
)

// candidates are values that parameters take, tried in this order.
var candidates = []string{
	"Passw0rd_12", "Passw0rd!12", "Passw0rd", "example", "test", "testdb01", "a12345678", "1", "3", "20", "100", "8080", "192.168.0.0/16",
	"10.0.0.0/24", "192.168.1.10", "0.0.0.0/0", "example.com", "www.example.com", "https://example.com/", "user@example.com", "13800000000",
	"cn-hangzhou", "cn-hangzhou-i", "ecs.g6.large", "vpc-bp1234567890abcdefghi", "1234567890123456", "LTAI5tExampleExampleKey00", "true",
	"2030-01-01", "2030-01-01T00:00:00Z", "00:00", "Aa1!Aa1!Aa1!", "/example", "/", "t1,t2", "{}", "[]", "",
}

// fill returns values for the parameters that have no default: the first allowed one, the least number, or the first candidate that
// the declaration takes.
func fill(t *template.Template) map[string]string {
	given := map[string]string{}
	for _, p := range t.Parameters {
		if p.Default != nil || p.Empty {
			continue
		}
		options := candidates
		switch {
		case len(p.AllowedValues) > 0:
			options = p.AllowedValues[:1]
		case p.MinValue != "":
			options = append([]string{p.MinValue}, candidates...)
		}
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

// takes reports whether a parameter takes a value. What is wrong with others does not count.
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
		if e.Code == "StackValidationFailed" && strings.Contains(e.Message+" ", " "+p.Name+" ") {
			return false
		}
	}
	return true
}
