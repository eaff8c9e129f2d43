package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/api/operator"
)

func (a *showCommands) outputsCommand() *cobra.Command {
	var o readOptions
	var secrets bool
	cmd := &cobra.Command{
		Use:   "outputs [STACK | DIR] [OUTPUT]",
		Short: "Show the outputs of a stack, or the value of one",
		Long: `Show the outputs of a stack. The default is the stack in pintle.yaml. With the name of
an output, print only its value.

Outputs that hold a secret, such as the value of a NoEcho parameter, are shown as ****.
--show-secrets shows them in clear text. Only the owner of the engine's data may see
them: the user of the data directory, or on a server an access key with
pintle_console = operator. Each read is recorded in the stack's audit list, and in
the log of "pintle serve --audit-log".`,
		Args: cobra.MaximumNArgs(2),
		RunE: runE(func(ctx context.Context, args []string) error {
			name := ""
			if len(args) == 2 {
				name = args[1]
			}
			return a.showOutputs(ctx, &o, first(args), name, secrets)
		}),
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&secrets, "show-secrets", false, "show secret outputs in clear text")
	cmd.ValidArgsFunction = a.complete.stack
	return cmd
}

// outputValue is an output as it is printed.
type outputValue struct{ name, text string }

func (a *showCommands) showOutputs(ctx context.Context, o *readOptions, given, output string, secrets bool) error {
	asJSON, err := wantJSON(o.output)
	if err != nil {
		return err
	}
	s, _, name, err := a.readStack(ctx, o, given)
	if err != nil {
		return err
	}
	list, err := s.outputs(ctx, name, output, secrets)
	if err := errors.Join(err, s.close()); err != nil {
		return err
	}
	switch {
	case asJSON:
		document := struct {
			Stack   string            `json:"stack"`
			Outputs map[string]string `json:"outputs"`
		}{name, map[string]string{}}
		for _, one := range list {
			document.Outputs[one.name] = one.text
		}
		return a.document(document)
	case output != "":
		fmt.Fprintln(a.stdout, display.CleanLines(list[0].text))
	case len(list) == 0:
		a.say("stack %s has no outputs", name)
	default:
		var rows [][]string
		for _, one := range list {
			rows = append(rows, []string{one.name, one.text})
		}
		fmt.Fprint(a.stdout, display.Columns(rows))
	}
	return nil
}

// outputs returns the outputs of a stack, or the one with a name.
func (s *session) outputs(ctx context.Context, stack, output string, secrets bool) (list []outputValue, err error) {
	shown, err := s.stacks.Stack(ctx, stack)
	if errors.Is(err, stacks.ErrNone) {
		return nil, noStack(stack)
	} else if err != nil {
		return nil, err
	}
	var names []string
	for _, o := range shown.Outputs {
		names = append(names, o.Name)
		if output == "" || o.Name == output {
			list = append(list, outputValue{o.Name, o.Text})
		}
	}
	if output != "" && !slices.Contains(names, output) {
		return nil, failed(fmt.Errorf("stack %s has no output %s", stack, output),
			cmp.Or(didYouMean(output, names), fmt.Sprintf("run \"pintle outputs %s\" to see its outputs", quote(stack))))
	}
	if !secrets {
		return list, nil
	}
	var keys []string
	if output != "" {
		keys = []string{output}
	}
	clear, err := s.operator.outputs(ctx, shown.ID, keys)
	if refused, ok := errors.AsType[*operator.Error](err); ok && refused.Status == http.StatusForbidden {
		return nil, failed(refused, "run it on the server's machine with --data, or use a key that has pintle_console = operator")
	} else if err != nil {
		return nil, failed(err)
	}
	list = nil
	for _, o := range clear {
		list = append(list, outputValue{o.Key, o.Value})
	}
	return list, nil
}
