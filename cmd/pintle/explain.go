package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/internal/author/catalogue"
)

// explainCommands is the command that explains the codes of errors and findings.
type explainCommands struct {
	*terminal
}

func (a *explainCommands) commands() []*cobra.Command {
	return []*cobra.Command{
		a.explainCommand(),
	}
}

func (a *explainCommands) explainCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain the code of an error or finding",
		Long: `Print what a code means: what happened, why, and what to do. Codes are in the line
"explain" of a failed deployment, in the brackets after findings of check and validate,
and in the documents of -o json. Without a code, list all codes. docs/errors.md has the
same list.`,
		Args: cobra.MaximumNArgs(1),
		RunE: runE(func(_ context.Context, args []string) error { return a.explain(first(args), output) }),
	}
	outputFlag(cmd, &output)
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		var codes []string
		for _, e := range catalogue.Entries() {
			if len(args) == 0 && strings.HasPrefix(e.Code, begun) {
				codes = append(codes, cobra.CompletionWithDesc(e.Code, e.Title))
			}
		}
		return codes, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// explainLine returns the command line that explains a code.
func explainLine(code string) string { return "pintle explain " + quote(code) }

// printExplains prints the command lines that explain some codes, each once.
func (t *terminal) printExplains(codes []string) {
	codes = slices.Compact(slices.Sorted(slices.Values(codes)))
	for _, code := range codes {
		if code != "" {
			fmt.Fprintf(t.stdout, "  explain  %s\n", explainLine(code))
		}
	}
}

// explain prints an entry of the catalogue, or for an empty code the list of all.
func (a *explainCommands) explain(code, output string) error {
	asJSON, err := wantJSON(output)
	if err != nil {
		return err
	}
	if code == "" {
		return a.listCodes(asJSON)
	}
	e, ok := catalogue.Find(strings.Trim(code, "[]"))
	switch {
	case !ok:
		hints := []string{"pintle explain lists all codes"}
		if near := catalogue.Near(code); len(near) > 0 {
			lines := make([]string, len(near))
			for i := range near {
				lines[i] = explainLine(near[i])
			}
			hints = slices.Insert(hints, 0, "did you mean "+strings.Join(lines, " or ")+"?")
		}
		return usageError(fmt.Errorf("unknown code %q", code), hints...)
	case asJSON:
		return a.document(e)
	}
	width := a.width()
	line := func(label, text string) {
		const margin = 10
		text = strings.ReplaceAll(reflow(text, width-margin), "\n", "\n"+strings.Repeat(" ", margin))
		fmt.Fprintf(a.stdout, "%-*s%s\n", margin, label, text)
	}
	line(e.Code, "")
	what := "what"
	if e.Group == catalogue.Check || e.Group == catalogue.Validate {
		what = "rule"
	}
	line(what, e.Title)
	line("cause", e.Cause)
	line("remedy", e.Remedy)
	if ros := e.ROS; ros != nil {
		fmt.Fprint(a.stdout, "\nin ROS\n")
		line(what, ros.Title)
		line("cause", ros.Cause)
		line("remedy", ros.Remedy)
	}
	if len(e.Related) > 0 {
		line("related", strings.Join(e.Related, ", "))
	}
	return nil
}

// listCodes lists the catalogue by its groups.
func (a *explainCommands) listCodes(asJSON bool) error {
	entries := catalogue.Entries()
	if asJSON {
		return a.document(struct {
			Codes []catalogue.Entry `json:"codes"`
		}{entries})
	}
	for i, g := range catalogue.Groups() {
		var rows [][]string
		for _, e := range entries {
			if e.Group == g.Group {
				rows = append(rows, []string{e.Code, e.Title})
			}
		}
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		fmt.Fprintf(a.stdout, "%s\n%s", g.Title, indented(rows))
	}
	fmt.Fprintln(a.stdout, "\nRun \"pintle explain CODE\" for the cause and the remedy.")
	return nil
}
