package awslambda_test

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awslambda"
)

var handler = pintle.HandlerFunc(func(context.Context, *pintle.Request) (pintle.Answer, error) { return pintle.Answer{}, nil })

func ExampleStart() { awslambda.Start(handler) }

func ExampleStartServer() {
	awslambda.StartServer(pintle.ServerConfig{Handlers: []pintle.Handler{handler}}, lambda.WithEnableSIGTERM())
}

// A handler inside another handler.
func ExampleNew() {
	h, err := awslambda.New(pintle.ServerConfig{Handlers: []pintle.Handler{handler}})
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(h)
}
