package statemachine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/pintle-dev/pintle"
)

// command is the name of the command that prints the definition.
const command = "statemachine"

// Main is [pintle.Main] for a provider whose waits a state machine keeps if it runs on Lambda and [EnvMachine] is set.
// The command "statemachine" prints the definition of the machine. --function-arn sets the function in it.
func Main(handlers ...pintle.Handler) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == command:
		os.Exit(Command(os.Args[2:], os.Stdout, os.Stderr))
	case os.Getenv(EnvMachine) != "" && os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" && len(os.Args) == 1:
		os.Exit(onLambda(handlers))
	}
	pintle.Main(handlers...)
}

// onLambda serves the handlers as a function.
func onLambda(handlers []pintle.Handler) int {
	c, err := pintle.RunConfigFromEnvironment(handlers...)
	log := c.Logger
	if err != nil {
		log.Error("provider stopped", "error", err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // after the first signal, the next one has its default effect
	// Without its waiter the provider waits in place, which is better than no answer.
	if waiter, err := FromEnvironment(log); err != nil {
		log.Error("there is no state machine to wait, so the function waits itself", "error", err)
	} else {
		c.Waiter = waiter
	}
	if err := pintle.Run(ctx, c); err != nil {
		log.Error("provider stopped", "error", err)
		return 1
	}
	return 0
}

// Command is the command "statemachine". It prints the definition and returns the exit status of the program.
func Command(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	function := flags.String("function-arn", "", "")
	const usage = "usage: statemachine [--function-arn ARN]\n\nPrints the definition of the state machine that waits for the provider. " +
		"Without an ARN it has " + FunctionPlaceholder + " in its place, for DefinitionSubstitutions.\n"
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err != nil {
		fmt.Fprintf(stderr, "statemachine: %v\n\n%s", err, usage)
		return 2
	}
	text, err := Definition(*function)
	if err != nil {
		fmt.Fprintf(stderr, "statemachine: %v\n", err)
		return 2
	}
	fmt.Fprintf(stdout, "%s\n", text)
	return 0
}
