package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// checkForwards rejects a template with types that this command wants to be forwarded, if another engine carries it out
// and does not forward them. It would refuse them, record them, or create them itself.
func (o *rollout) checkForwards(ctx context.Context) error {
	if len(o.want.forwards) == 0 || o.here != nil {
		return nil
	}
	t, err := o.want.parsed()
	if err != nil {
		return nil //nolint:nilerr // the engine reports the problem
	}
	there, err := o.operator.forwards(ctx)
	if errors.Is(err, errNoOperator) {
		o.say("--forward only affects an engine that this command starts, and the server at %s does not say whether it forwards types", o.url)
		return nil
	}
	if err != nil {
		return fmt.Errorf("the types that %s forwards: %w", o.url, err)
	}
	var differs []string
	for _, r := range t.Resources {
		wanted, is := forwardsTo(o.want.forwards, r.Type), forwardsTo(there, r.Type)
		switch {
		case wanted == "" || wanted == is:
		case is == "":
			return failed(fmt.Errorf("the engine at %s does not forward %s of resource %s to %s", o.url, r.Type, r.LogicalID, wanted),
				"--forward only affects an engine that a command starts: stop that engine, and start it with the flag")
		default:
			if text := r.Type + " to " + is + " instead of " + wanted; !slices.Contains(differs, text) {
				differs = append(differs, text)
			}
		}
	}
	if differs != nil {
		o.say("warning: the engine at %s forwards %s", o.url, strings.Join(differs, ", "))
	}
	return nil
}

// forwardsTo returns the endpoint that rules name for a type, "" for none.
func forwardsTo(rules []forward.Rule, name string) string {
	at := slices.IndexFunc(rules, func(r forward.Rule) bool { return r.Matches(name) })
	if at < 0 {
		return ""
	}
	return rules[at].Endpoint
}
