package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
)

// helpAt returns the output of a command line on a terminal of a width.
func helpAt(t *testing.T, width int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	a := newApp(&shell{
		terminal: terminal{stdout: &out, stderr: &out}, variables: variables{func(string) string { return "" }}, workdir: workdir{t.TempDir()},
	})
	if width > 0 {
		a.screen = &display.Screen{Size: func() (int, int) { return width, 24 }}
	}
	if code := a.run(t.Context(), args); code != exitDone {
		t.Fatalf("pintle %s: exit code %d\n%s", strings.Join(args, " "), code, out.String())
	}
	return out.String()
}

func TestHelpFitsTheTerminal(t *testing.T) {
	for _, name := range []string{"deploy", "serve", "check", "delete"} {
		text := helpAt(t, 80, name, "--help")
		_, flags, found := strings.Cut(text, "\nFlags:\n")
		if !found {
			t.Fatalf("the help of %s has no flags:\n%s", name, text)
		}
		for line := range strings.SplitSeq(flags, "\n") {
			if len(line) > 80 {
				t.Errorf("%s: %d columns: %s", name, len(line), line)
			}
		}
	}
	for line := range strings.SplitSeq(helpAt(t, 60, "continue", "--help"), "\n") {
		if len(line) > 60 && !strings.HasPrefix(line, "  ") {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

func TestHelpHasGroups(t *testing.T) {
	text := helpAt(t, 0, "deploy", "--help")
	common, advanced, ros := strings.Index(text, "\nFlags:\n"), strings.Index(text, "\nAdvanced flags:\n"), strings.Index(text, "\nROS flags:\n")
	stack, fidelity, id := strings.LastIndex(text, " --stack "), strings.LastIndex(text, " --fidelity "), strings.LastIndex(text, " --ros-id-change ")
	if order := []int{common, stack, advanced, fidelity, ros, id}; common < 0 || !slices.IsSorted(order) {
		t.Errorf("the flags of deploy are at %v:\n%s", order, text)
	}
	text = helpAt(t, 0, "--help")
	order := []int{0}
	for _, part := range []string{"\nStacks:\n", "  deploy ", "\nProviders and templates:\n", "  check ", "\nServer:\n", "  serve ", "\nOther commands:\n", "  version "} {
		order = append(order, strings.LastIndex(text, part))
	}
	if !slices.IsSorted(order) {
		t.Errorf("the commands are at %v:\n%s", order, text)
	}
}

// Every name in the lists of help.go is the name of a command or a flag.
func TestHelpGroupsNameCommands(t *testing.T) {
	root := commands()
	names, flags := map[string]bool{}, map[string]bool{}
	for _, cmd := range root.Commands() {
		names[cmd.Name()] = true
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { flags[flag.Name] = true })
	}
	for _, group := range commandGroups {
		for _, name := range group {
			if !names[name] {
				t.Errorf("unknown command %s", name)
			}
		}
	}
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.GroupID == "" && !slices.Contains([]string{"completion", "version", "man"}, cmd.Name()) {
			t.Errorf("command %s is in no group", cmd.Name())
		}
	}
	for _, name := range advancedFlags {
		if !flags[name] {
			t.Errorf("unknown flag %s", name)
		}
	}
}

func TestVersionFlag(t *testing.T) {
	if flag, command := helpAt(t, 0, "--version"), helpAt(t, 0, "version"); flag != command {
		t.Errorf("--version prints %q, and version %q", flag, command)
	}
}

// A flag that shapes the engine of deploy does the same for the other commands that can start one.
func TestEngineFlagsOfOtherCommands(t *testing.T) {
	root := commands()
	find := func(name string) *cobra.Command {
		cmd, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	find("deploy").Flags().VisitAll(func(flag *pflag.Flag) {
		if slices.Contains([]string{"run-functions", "node-modules", "unknown-types"}, flag.Name) || strings.HasPrefix(flag.Name, "ros-") {
			for _, name := range []string{"delete", "cancel", "continue", "rollback"} {
				if find(name).Flags().Lookup(flag.Name) == nil {
					t.Errorf("%s has no --%s", name, flag.Name)
				}
			}
		}
	})
}
