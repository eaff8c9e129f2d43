package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups of commands in the help of pintle.
const (
	groupStacks    = "stacks"
	groupProviders = "providers"
	groupServer    = "server"
)

// commandGroups are the commands of each group. A command that is in none is listed under "Other commands".
var commandGroups = map[string][]string{
	groupStacks: {
		"deploy", "dev", "delete", "list", "describe", "outputs", "events", "logs", "respond", "cancel", "continue", "rollback", "drift",
		"import",
	},
	groupProviders: {"new", "check", "invoke", "record", "validate", "explain", "generate", "statemachine", "aws"},
	groupServer:    {"serve", "console", "env", "backup", "keys"},
}

// advancedFlags are the flags that few users need. The help lists them after the others.
var advancedFlags = []string{
	"allow", "allow-account", "allow-private", "audit-log", "endpoint", "fidelity", "forward", "keep-audit", "keep-deleted", "keep-events",
	"keep-requests", "key-command", "key-file", "limit", "macro", "metrics", "metrics-token-file", "no-schema", "node-modules",
	"resolve-secrets", "ssm", "unknown-types", "zones", "logical-id", "settle", "sns", "listen", "public-url", "request",
	"until-stdin-closes",
}

// The widths of help texts: the one without a terminal, and the smallest one that texts are wrapped at.
const (
	pipeWidth   = 100
	narrowWidth = 40
)

// grouped puts the commands into groups, and gives every command the help of [terminal.printHelp].
func (a *app) grouped(root *cobra.Command) {
	root.AddGroup(&cobra.Group{ID: groupStacks, Title: "Stacks:"},
		&cobra.Group{ID: groupProviders, Title: "Providers and templates:"},
		&cobra.Group{ID: groupServer, Title: "Server:"})
	for _, cmd := range root.Commands() {
		for id, names := range commandGroups {
			if slices.Contains(names, cmd.Name()) {
				cmd.GroupID = id
			}
		}
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { a.printHelp(cmd.OutOrStdout(), cmd) })
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		a.printUsage(cmd.OutOrStderr(), cmd)
		return nil
	})
}

func (t *terminal) printHelp(out io.Writer, cmd *cobra.Command) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	fmt.Fprintf(out, "%s\n\n", reflow(strings.TrimSpace(text), t.width()))
	t.printUsage(out, cmd)
}

func (t *terminal) printUsage(out io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(out, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "  %s COMMAND\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", cmd.Example)
	}
	printCommands(out, cmd)
	var common, advanced, ros pflag.FlagSet
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		switch {
		case strings.HasPrefix(flag.Name, "ros-"):
			ros.AddFlag(flag)
		case slices.Contains(advancedFlags, flag.Name):
			advanced.AddFlag(flag)
		default:
			common.AddFlag(flag)
		}
	})
	for _, part := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"Flags", &common}, {"Advanced flags", &advanced}, {"ROS flags", &ros}} {
		if part.flags.HasAvailableFlags() {
			fmt.Fprintf(out, "\n%s:\n%s", part.title, part.flags.FlagUsagesWrapped(t.width()))
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "\nRun \"%s COMMAND --help\" for the flags of a command.\n", cmd.CommandPath())
	}
}

// printCommands lists the commands below cmd by their groups.
func printCommands(out io.Writer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	list := func(title, group string) {
		var lines []string
		for _, below := range cmd.Commands() {
			if below.GroupID == group && (below.IsAvailableCommand() || below.Name() == "help") {
				lines = append(lines, fmt.Sprintf("  %-*s %s\n", below.NamePadding(), below.Name(), below.Short))
			}
		}
		if len(lines) > 0 {
			fmt.Fprintf(out, "\n%s\n%s", title, strings.Join(lines, ""))
		}
	}
	other := "Commands:"
	for _, group := range cmd.Groups() {
		list(group.Title, group.ID)
		other = "Other commands:"
	}
	list(other, "")
}

// reflow wraps the paragraphs of a text at a width. Indented lines are tables and examples, and stay as they are. A text that fits stays
// as it is too.
func reflow(text string, width int) string {
	var out, paragraph []string
	flush := func() {
		line := ""
		for _, word := range strings.Fields(strings.Join(paragraph, " ")) {
			if line != "" && len(line)+1+len(word) > width {
				out = append(out, line)
				line = ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		if line != "" {
			out = append(out, line)
		}
		paragraph = nil
	}
	fits := true
	for line := range strings.SplitSeq(text, "\n") {
		fits = fits && len(line) <= width
	}
	if fits {
		return text
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || strings.HasPrefix(line, " ") {
			flush()
			out = append(out, line)
			continue
		}
		paragraph = append(paragraph, line)
	}
	flush()
	return strings.Join(out, "\n")
}
