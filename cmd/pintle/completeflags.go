package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
)

// aDirectory is the placeholder of flags that take the path of a directory.
const aDirectory = "DIR"

// flagWords returns the words that the flags with a few possible values take, by the names of the flags. A word that ends in "=" is
// continued.
func flagWords() map[string][]string {
	var checks []string
	for _, s := range check.Scenarios() {
		checks = append(checks, s.ID)
	}
	for _, r := range check.Rules() {
		checks = append(checks, r.ID)
	}
	var limits []string
	names, _ := template.LimitNames()
	for _, name := range names {
		limits = append(limits, name+"=")
	}
	return map[string][]string{
		"builtin": {"aws"}, "dialect": {engine.CloudFormation.Name(), engine.ROS.Name()}, "limit": limits, "only": checks, "skip": checks,
		"ros-id-change": {string(engine.IDChangeRefused), string(engine.IDChangeIgnored)}, "ssm": {"own", "aws"},
	}
}

// flags completes the flags of all commands that have the same meaning in each, and that a command does not complete itself.
func (c *completion) flags(cmd *cobra.Command) {
	words := flagWords()
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		_, complete := cmd.GetFlagCompletionFunc(flag.Name)
		known, enumerated := words[flag.Name]
		switch value, _ := pflag.UnquoteUsage(flag); {
		case complete:
		case value == aDirectory:
			_ = cmd.MarkFlagDirname(flag.Name) // it exists
		case enumerated:
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, completeWords(known, strings.HasSuffix(flag.Value.Type(), "Slice")))
		case flag.Name == "stack":
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return c.completions(cmd, "", begun, (*session).stackNames), cobra.ShellCompDirectiveNoFileComp
			})
		}
	})
	for _, below := range cmd.Commands() {
		c.flags(below)
	}
}

// completeWords completes a flag to one of some words, or of a list to several with commas between.
func completeWords(words []string, list bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) (found []string, directive cobra.ShellCompDirective) {
		listed := ""
		if list {
			listed = begun[:strings.LastIndex(begun, ",")+1]
		}
		directive = cobra.ShellCompDirectiveNoFileComp
		for _, word := range words {
			if strings.HasPrefix(word, strings.TrimPrefix(begun, listed)) {
				found = append(found, listed+word)
			}
			if strings.HasSuffix(word, "=") {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
		}
		return found, directive
	}
}
