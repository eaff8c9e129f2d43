// Command pintle runs stacks of custom resources, of CloudFormation and of ROS, on this machine: it is an engine, and a client of one.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// From the first signal on, the next one has its usual effect.
	defer context.AfterFunc(ctx, stop)()
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "."
	}
	return newApp(&shell{
		terminal:  terminal{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, screen: screenOf(os.Stdout)},
		variables: variables{os.Getenv}, workdir: workdir{cwd},
	}).run(ctx, os.Args[1:])
}
