package statemachine_test

import (
	"context"
	"log"
	"log/slog"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/statemachine"
)

var handler = pintle.HandlerFunc(func(context.Context, *pintle.Request) (pintle.Answer, error) { return pintle.Answer{}, nil })

func ExampleMain() { statemachine.Main(handler) }

func ExampleNew() {
	waiter, err := statemachine.New(statemachine.Config{
		Machine: "arn:aws:states:eu-west-1:123456789012:stateMachine:waits",
		LoadKeys: func(context.Context) ([][]byte, error) {
			return [][]byte{[]byte("32 bytes or more, from a safe place")}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	serve(waiter)
}

func ExampleFromEnvironment() {
	waiter, err := statemachine.FromEnvironment(slog.Default())
	if err != nil {
		log.Fatal(err)
	}
	if waiter != nil { // PINTLE_STATE_MACHINE is set
		serve(waiter)
	}
}

func serve(waiter pintle.Waiter) {
	c, err := pintle.RunConfigFromEnvironment(handler)
	if err != nil {
		log.Fatal(err)
	}
	c.Waiter = waiter
	if err := pintle.Run(context.Background(), c); err != nil {
		log.Fatal(err)
	}
}
