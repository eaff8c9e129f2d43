package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-lambda-go/lambda"
)

// lambdaGo is a provider that has nothing of Pintle in it: an ordinary function of aws-lambda-go.
func lambdaGo() {
	lambda.Start(cfn.LambdaWrap(func(_ context.Context, event cfn.Event) (string, map[string]any, error) {
		size := fmt.Sprint(event.ResourceProperties["Size"])
		if size == "9" {
			return event.PhysicalResourceID, nil, errors.New("there is no ninth")
		}
		return "thing", map[string]any{"Name": "thing of " + size}, nil
	}))
}
