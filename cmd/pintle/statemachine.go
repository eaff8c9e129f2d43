package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/statemachine"
)

func (a *authorCommands) statemachineCommand() *cobra.Command {
	var function string
	cmd := &cobra.Command{
		Use:   "statemachine",
		Short: "Print a Step Functions state machine that waits for a provider on Lambda",
		Long: `Print the definition of the state machine that waits for the operations of a provider
on Lambda, in the Amazon States Language. A provider whose program starts with
statemachine.Main prints it too.

  pintle statemachine --function-arn arn:aws:lambda:eu-west-1:123456789012:function:things

Without an ARN the definition contains ${FunctionArn}, for the DefinitionSubstitutions
of a template.`,
		Args: cobra.NoArgs,
		RunE: runE(func(context.Context, []string) error {
			text, err := statemachine.Definition(function)
			if err != nil {
				return usagef("use --function-arn arn:aws:lambda:REGION:ACCOUNT:function:NAME", "%v", err)
			}
			fmt.Fprintf(a.stdout, "%s\n", text)
			return nil
		}),
	}
	cmd.Flags().StringVar(&function, "function-arn", "", "`ARN` of the provider's function")
	return cmd
}
