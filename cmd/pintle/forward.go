package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/internal/cloud/forward"
)

// forwardFlag is the flag for resource types that other endpoints provide.
func forwardFlag(cmd *cobra.Command, rules *[]string) {
	cmd.Flags().StringArrayVar(rules, "forward", nil, "have another CloudFormation endpoint provide resource types, `TYPES=URL` such as AWS::SQS::*=http://127.0.0.1:4566; several types are separated by commas, and the URL aws stands for AWS; may be repeated (default: the value in pintle.yaml)")
}

// forward returns the rules of the flags, then those of the project.
func (p place) forward(given []string) ([]forward.Rule, error) {
	var rules []forward.Rule
	for _, text := range given {
		rule, err := forward.ParseRule(text)
		if err != nil {
			return nil, usagef("use the form --forward AWS::SQS::*=http://127.0.0.1:4566", "--forward %q: %w", text, err)
		}
		rules = append(rules, rule)
	}
	if p.project == nil {
		return rules, nil
	}
	for _, declared := range p.project.Forward {
		rule := forward.Rule{Types: declared.Types, Endpoint: declared.Endpoint, Profile: declared.Profile}
		if err := rule.Check(); err != nil {
			return nil, usageError(forwardError{declared.Place, err})
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// forwardError is a problem in the project file.
type forwardError struct {
	place string
	err   error
}

func (e forwardError) Error() string { return e.place + ": forward: " + e.err.Error() }
func (e forwardError) Unwrap() error { return e.err }

// forwardKey returns a text that differs for different rules.
func forwardKey(rules []forward.Rule) string {
	var b strings.Builder
	for i := range rules {
		b.WriteString(rules[i].String() + " " + rules[i].Profile + "\n")
	}
	return b.String()
}
